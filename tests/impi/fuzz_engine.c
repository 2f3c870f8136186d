// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target of the protocol engine and of the client's startup. For the engine the input is a
// list of operations: our process sends, accepts, cancels, finishes; the peer sends packets that
// are nearly right, or raw bytes. Every buffer is freed the moment the engine says it may be, so
// that a use after that shows.
#include "engine/impi_client.h"
#include "engine/impi_engine.h"
#include "t_job.h"
#include "wire/impi_packet_wire.h"
#include <sys/uio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { N_REQ = 64, N_MSG = 64 };

struct world {
    struct pli_impi_engine *e;
    const struct pli_impi_job *job;
    unsigned char *buf[N_REQ]; // by request id
    uint64_t handle[N_MSG];
    unsigned char *msg[N_MSG]; // where an accepted one goes, by slot
    struct pli_impi_cancel asked;
    bool has_asked;
};

static void let_go(struct world *w, uint64_t req)
{
    if (req < N_REQ) {
        free(w->buf[req]);
        w->buf[req] = NULL;
    }
}

static void *room(void *arg, const struct pli_impi_arrival *a)
{
    (void)arg;
    return malloc(a->len);
}

static void dropped(void *arg, void *p)
{
    (void)arg;
    free(p);
}

static void arrived(void *arg, const struct pli_impi_arrival *a, void *p)
{
    struct world *w = arg;
    free(p);
    if (a->handle != 0) {
        w->handle[a->handle % N_MSG] = a->handle;
    }
}

static void received(void *arg, uint64_t handle, enum pli_impi_err err)
{
    struct world *w = arg;
    (void)err;
    free(w->msg[handle % N_MSG]);
    w->msg[handle % N_MSG] = NULL;
}

static void sent(void *arg, uint64_t req, enum pli_impi_err err)
{
    (void)err;
    let_go(arg, req);
}

static void cancelled(void *arg, uint64_t req, bool yes)
{
    if (yes) {
        let_go(arg, req);
    }
}

static void cancel_asked(void *arg, const struct pli_impi_cancel *c)
{
    struct world *w = arg;
    w->asked = *c;
    w->has_asked = true;
}

static void do_send(struct world *w, const uint8_t *p)
{
    uint64_t len = p[1] % 40, req;
    unsigned char *buf = calloc(1, len + 1);
    struct pli_impi_send s = { .env = { .src = p[0] & 1, .dst = 2 + (p[0] >> 1 & 1) },
                               .data = buf,
                               .len = len,
                               .ready = p[0] & 4 ? len : len / 2,
                               .is_sync = (p[0] & 8) != 0 };
    enum pli_impi_err err = pli_impi_engine_send(w->e, &s, &req);
    if (err != PLI_IMPI_OK || req >= N_REQ) {
        if (err == PLI_IMPI_OK) {
            abort(); // the input is too short for that many
        }
        free(buf);
    } else {
        w->buf[req] = buf;
    }
}

static void do_accept(struct world *w, const uint8_t *p)
{
    uint64_t handle = w->handle[p[0] % N_MSG];
    unsigned char *base = malloc(16);
    if (handle == 0 || w->msg[handle % N_MSG] != NULL ||
        pli_impi_engine_accept(w->e, handle, base, 16) != PLI_IMPI_OK) {
        free(base);
        return;
    }
    w->handle[handle % N_MSG] = 0;
    w->msg[handle % N_MSG] = base; // freed in received, or at the end
}

static void do_cancel(struct world *w, const uint8_t *p)
{
    struct pli_impi_cancel c = { p[0] & 1, 2 + (p[0] >> 1 & 1), p[1] % N_REQ };
    enum pli_impi_cancel_result r;
    if (pli_impi_engine_cancel(w->e, &c, &r) == PLI_IMPI_OK && r == PLI_IMPI_CANCEL_DONE) {
        let_go(w, c.srqid);
    }
}

static void do_output(struct world *w, size_t max)
{
    struct iovec iov[5];
    int n = pli_impi_engine_out_iov(w->e, 1, iov, 5);
    size_t len = 0;
    volatile unsigned sum = 0;
    for (int i = 0; i < n && len < max; i++) {
        size_t part = iov[i].iov_len < max - len ? iov[i].iov_len : max - len;
        for (size_t k = 0; k < part; k++) {
            sum += ((const unsigned char *)iov[i].iov_base)[k];
        }
        len += part;
    }
    pli_impi_engine_out_done(w->e, 1, len);
}

static void do_packet(struct world *w, const uint8_t *p)
{
    unsigned char raw[PLI_IMPI_PACKET_HEAD + 16] = { 0 };
    struct pli_impi_packet pk = { .type = p[0] & 7,
                                  .len = p[1] & 15,
                                  .msglen = p[2] & 31,
                                  .srqid = p[3],
                                  .drqid = p[4],
                                  .src = w->job->proc[2 + (p[0] >> 3 & 1)].id,
                                  .dest = w->job->proc[p[0] >> 4 & 1].id };
    if (p[1] & 16) {
        pk.msglen = pk.len;
    }
    if (pk.type == PLI_IMPI_PK_FINI && p[1] != 7) {
        pk.type = PLI_IMPI_PK_DATA; // or most runs would be over soon
    }
    pli_impi_packet_put(raw, &pk);
    size_t len = PLI_IMPI_PACKET_HEAD + pli_impi_packet_data(&pk);
    size_t cut = p[1] & 32 ? p[2] % len : 0;
    (void)pli_impi_engine_input(w->e, 1, raw, cut);
    (void)pli_impi_engine_input(w->e, 1, raw + cut, len - cut);
}

static void operate(struct world *w, const uint8_t *p) // six bytes
{
    switch (p[0] % 11) {
    case 0:
        do_send(w, p + 1);
        break;
    case 1:
        do_accept(w, p + 1);
        break;
    case 2:
        do_cancel(w, p + 1);
        break;
    case 3:
        if (w->has_asked) {
            (void)pli_impi_engine_answer(w->e, &w->asked, p[1] & 1 ? w->handle[p[2] % N_MSG] : 0,
                                         (p[1] & 2) != 0);
            w->has_asked = false;
        }
        break;
    case 4:
        (void)pli_impi_engine_input(w->e, 1, p + 1, 5);
        break;
    case 5:
        if (p[1] == 0) {
            pli_impi_engine_finish(w->e);
        } else if (p[1] == 1) {
            pli_impi_engine_eof(w->e, 1, PLI_IMPI_OK);
        }
        break;
    case 6:
        (void)pli_impi_engine_more(w->e, p[1] % N_REQ, p[2] % 40);
        break;
    case 7:
        do_output(w, (size_t)p[1] + 1);
        break;
    case 8:
        do_output(w, 100000);
        break;
    default:
        do_packet(w, p + 1);
        break;
    }
}

static void fuzz_engine(const uint8_t *p, size_t len)
{
    static const struct t_shape shape = { 2, 1, 2, 8, 2, 5 };
    static struct pli_impi_job *job;
    if (job == NULL) {
        job = t_job(&shape);
    }
    struct pli_impi_engine_ops ops = pli_impi_engine_quiet;
    ops.room = room;
    ops.dropped = dropped;
    ops.arrived = arrived;
    ops.received = received;
    ops.sent = sent;
    ops.cancelled = cancelled;
    ops.cancel_asked = cancel_asked;
    struct world w = { .job = job };
    struct pli_impi_log log = { 0 };
    T_EQ(PLI_IMPI_OK, pli_impi_engine_create(job, 0, &ops, &w, &log, &w.e));
    T_EQ(PLI_IMPI_OK, pli_impi_engine_open(w.e, 1));
    for (size_t at = 0, n = 0; at + 6 <= len && n < N_REQ - 1; at += 6, n++) {
        operate(&w, p + at);
    }
    pli_impi_engine_destroy(w.e);
    for (int i = 0; i < N_REQ; i++) {
        free(w.buf[i]);
        free(w.msg[i]);
    }
}

static void fuzz_client(const uint8_t *p, size_t len)
{
    static const struct t_shape shape = { 1, 1, 2, 1024, 10, 20 };
    static struct t_client me;
    t_client(&shape, 0, &me);
    struct pli_impi_client_conf conf = {
        .has_none = true, .has_key = true, .info = &me.info, .limit = 100000
    };
    struct pli_impi_client *c = NULL;
    T_EQ(PLI_IMPI_OK, pli_impi_client_create(&conf, &c));
    if (len > 0 && (p[0] & 1) != 0) { // begin in the middle
        static const unsigned char good[] = { 0,   0,   0, 0, 0, 0, 0, 0, 'I', 'M',
                                              'P', 'I', 0, 0, 0, 4, 0, 0, 0,   1 };
        T_EQ(PLI_IMPI_OK, pli_impi_client_input(c, good, sizeof good));
    }
    for (size_t at = 1; at < len;) {
        size_t n = 1 + p[0] / 2u;
        n = n < len - at ? n : len - at;
        if (pli_impi_client_input(c, p + at, n) != PLI_IMPI_OK) {
            break;
        }
        at += n;
    }
    (void)pli_impi_client_eof(c);
    pli_impi_client_destroy(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (len > 0 && data[0] % 4 == 0) {
        fuzz_client(data + 1, len - 1);
    } else if (len > 0) {
        fuzz_engine(data + 1, len - 1);
    }
    return 0;
}
