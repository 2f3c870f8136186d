// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target of the server without its sockets. The input is a list of operations on a job of up
// to four clients: open a connection, feed it, lose it, read from it, let time pass. A connection
// may also be walked through a correct handshake, so that the later states are reached.
#include "server/srv_conf.h"
#include "server/srv_job.h"
#include "server/srv_log.h"
#include "wire/impi_cmd_wire.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { N_CONN = 8 };

struct world {
    struct pli_srv_job *job;
    struct pli_srv_peer *peer[N_CONN];
    uint64_t now;
    bool has_key;
};

static void reap(struct world *w)
{
    for (int i = 0; i < N_CONN; i++) {
        if (w->peer[i] != NULL && !pli_srv_job_is_open(w->peer[i])) {
            pli_srv_job_reap(w->job, w->peer[i]);
            w->peer[i] = NULL;
        }
    }
}

static void drain(struct world *w, struct pli_srv_peer *peer, size_t step)
{
    const unsigned char *p;
    size_t n;
    while ((n = pli_srv_job_output(w->job, peer, &p)) > 0) {
        n = n < step ? n : step;
        volatile unsigned char sum = 0;
        for (size_t i = 0; i < n; i++) {
            sum = (unsigned char)(sum + p[i]);
        }
        pli_srv_job_wrote(peer, n);
    }
}

static void join(struct world *w, struct pli_srv_peer *peer, int rank)
{
    unsigned char buf[64];
    size_t n = pli_impi_cmd_put_auth(buf, 3);
    n += w->has_key ? pli_impi_cmd_put_key(buf + n, 7) : 0;
    n += pli_impi_cmd_put_impi(buf + n, rank);
    pli_srv_job_input(w->job, peer, buf, n);
}

// One operation; returns the bytes of the input it took.
static size_t operate(struct world *w, const uint8_t *p, size_t len)
{
    struct pli_srv_peer **at = &w->peer[p[0] % N_CONN];
    unsigned char done[8];
    size_t n = 1;
    switch (p[0] / N_CONN % 8) {
    case 0:
        if (*at == NULL && pli_srv_job_admit(w->job, "fuzz", w->now, at) != PLI_IMPI_OK) {
            abort();
        }
        break;
    case 1: // the rest of the cases need a connection
    case 2:
        if (len > 1 && *at != NULL) {
            n = p[1] < len - 2 ? p[1] : len - 2;
            pli_srv_job_input(w->job, *at, p + 2, n);
            n += 2;
        }
        break;
    case 3:
        if (*at != NULL) {
            pli_srv_job_lost(w->job, *at, NULL);
        }
        break;
    case 4:
        if (*at != NULL) {
            drain(w, *at, (size_t)p[0] + 1);
        }
        break;
    case 5:
        w->now += (uint64_t)p[0] * 100;
        (void)pli_srv_job_tick(w->job, w->now);
        break;
    case 6:
        if (*at != NULL) {
            join(w, *at, p[0] % 4);
        }
        break;
    default:
        if (*at != NULL) {
            pli_srv_job_input(w->job, *at, done, pli_impi_cmd_put_done(done));
        }
        break;
    }
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (len == 0) {
        return 0;
    }
    struct pli_srv_conf conf = { .n_client = data[0] % 4 + 1,
                                 .handshake_s = 30,
                                 .limit_mib = 1,
                                 .timeout_s = data[0] & 16 ? 60 : 0,
                                 .n_method = 1,
                                 .method = { data[0] & 32 ? 0 : 1 },
                                 .key = 7 };
    struct world w = { .now = 1000, .has_key = conf.method[0] == 1 };
    enum pli_srv_exit code;
    pli_srv_log_set(PLI_SRV_SILENT);
    if (pli_srv_job_create(&conf, w.now, &w.job) != PLI_IMPI_OK) {
        abort();
    }
    for (size_t at = 1; at < len && !pli_srv_job_is_over(w.job, &code);) {
        at += operate(&w, data + at, len - at);
        reap(&w);
    }
    pli_srv_job_destroy(w.job);
    return 0;
}
