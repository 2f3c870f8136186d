// SPDX-License-Identifier: BSD-3-Clause
// Memory runs out at the first allocation, then at the second, and so on until none is left to
// fail. Each round must come to an end with an error, and leave nothing allocated. Linked with
// malloc and its relatives wrapped.
#include "engine/impi_client.h"
#include "engine/impi_engine.h"
#include "server/srv_conf.h"
#include "server/srv_job.h"
#include "server/srv_log.h"
#include "t_job.h"
#include <sys/uio.h>

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void __real_free(void *p);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void __wrap_free(void *p);

static long n_live, n_until_fail; // 0: never

static bool fails(void)
{
    return n_until_fail > 0 && --n_until_fail == 0;
}

void *__wrap_malloc(size_t n)
{
    void *p = fails() ? NULL : __real_malloc(n);
    n_live += p != NULL;
    return p;
}

void *__wrap_calloc(size_t n, size_t size)
{
    void *p = fails() ? NULL : __real_calloc(n, size);
    n_live += p != NULL;
    return p;
}

void *__wrap_realloc(void *p, size_t n)
{
    void *q = fails() ? NULL : __real_realloc(p, n);
    n_live += p == NULL && q != NULL;
    return q;
}

void __wrap_free(void *p)
{
    n_live -= p != NULL;
    __real_free(p);
}

static const struct t_shape shape = { 2, 1, 2, 64, 2, 4 };

// A client and a server without sockets between them: startup, then the end.
static bool startup(void)
{
    struct pli_srv_conf conf = {
        .n_client = 1, .handshake_s = 30, .limit_mib = 1, .n_method = 1, .method = { 1 }, .key = 5
    };
    static const struct t_shape one = { 1, 2, 3, 64, 2, 4 };
    struct t_client me;
    t_client(&one, 0, &me);
    struct pli_impi_client_conf cc = { .has_key = true, .key = 5, .info = &me.info };
    struct pli_srv_job *job = NULL;
    struct pli_srv_peer *peer = NULL;
    struct pli_impi_client *c = NULL;
    bool ok = pli_srv_job_create(&conf, 0, &job) == PLI_IMPI_OK &&
              pli_srv_job_admit(job, "test", 0, &peer) == PLI_IMPI_OK &&
              pli_impi_client_create(&cc, &c) == PLI_IMPI_OK;
    bool has_moved = true;
    while (ok && has_moved) {
        const unsigned char *p;
        size_t n = pli_impi_client_output(c, &p);
        has_moved = n > 0;
        pli_srv_job_input(job, peer, p, n);
        pli_impi_client_wrote(c, n);
        while (ok && (n = pli_srv_job_output(job, peer, &p)) > 0) {
            has_moved = true;
            ok = pli_impi_client_input(c, p, n) == PLI_IMPI_OK;
            pli_srv_job_wrote(peer, n);
        }
        if (ok && pli_impi_client_state(c) == PLI_IMPI_CLIENT_RUN) {
            ok = pli_impi_client_finish(c) == PLI_IMPI_OK;
        }
    }
    enum pli_srv_exit code = PLI_SRV_EXIT_START;
    ok = ok && pli_srv_job_is_over(job, &code) && code == PLI_SRV_EXIT_OK;
    pli_impi_client_destroy(c);
    pli_srv_job_destroy(job);
    return ok;
}

struct side {
    struct pli_impi_engine *e;
    unsigned char dst[1000];
    int n_done;
    bool is_down;
};

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
    struct side *s = arg;
    free(p);
    if (a->handle != 0 && pli_impi_engine_accept(s->e, a->handle, s->dst, sizeof s->dst) < 0) {
        s->is_down = true;
    }
}

static void sent(void *arg, uint64_t req, enum pli_impi_err err)
{
    struct side *s = arg;
    (void)req;
    s->n_done += err == PLI_IMPI_OK;
}

static void down(void *arg, uint32_t host, enum pli_impi_err err)
{
    struct side *s = arg;
    (void)host;
    s->is_down = s->is_down || err != PLI_IMPI_OK;
}

static bool move(struct side *from, uint32_t a, struct side *to, uint32_t b)
{
    struct iovec iov[2];
    int n = pli_impi_engine_out_iov(from->e, b, iov, 1);
    if (n > 0) {
        (void)pli_impi_engine_input(to->e, a, iov[0].iov_base, iov[0].iov_len);
        pli_impi_engine_out_done(from->e, b, iov[0].iov_len);
    }
    return n > 0;
}

static bool traffic(const struct pli_impi_job *job)
{
    static unsigned char data[1000];
    struct pli_impi_engine_ops ops = pli_impi_engine_quiet;
    struct pli_impi_log log = { 0 };
    struct side s[2] = { 0 };
    ops.room = room;
    ops.dropped = dropped;
    ops.arrived = arrived;
    ops.sent = sent;
    ops.peer_down = down;
    bool ok = true;
    for (uint32_t h = 0; h < 2 && ok; h++) {
        ok = pli_impi_engine_create(job, h, &ops, &s[h], &log, &s[h].e) == PLI_IMPI_OK &&
             pli_impi_engine_open(s[h].e, 1 - h) == PLI_IMPI_OK;
    }
    for (uint32_t i = 0; i < 12 && ok; i++) {
        uint64_t req, len = i * 80;
        struct pli_impi_send m = { .env = { .src = i % 2, .dst = 2 + i / 2 % 2 },
                                   .data = data,
                                   .len = len,
                                   .ready = len,
                                   .is_sync = i % 3 == 0 };
        ok = pli_impi_engine_send(s[0].e, &m, &req) == PLI_IMPI_OK;
    }
    while (ok && (move(&s[0], 0, &s[1], 1) || move(&s[1], 1, &s[0], 0))) {
        if (s[0].n_done == 12) {
            pli_impi_engine_finish(s[0].e);
            pli_impi_engine_finish(s[1].e);
        }
        ok = !s[0].is_down && !s[1].is_down;
    }
    ok = ok && pli_impi_engine_is_over(s[0].e) && pli_impi_engine_is_over(s[1].e);
    pli_impi_engine_destroy(s[0].e);
    pli_impi_engine_destroy(s[1].e);
    return ok;
}

static void rehearse(const char *what, bool (*run)(const struct pli_impi_job *), long at_least)
{
    struct pli_impi_job *job = t_job(&shape);
    long before = n_live, n = 0;
    bool ok;
    do {
        n_until_fail = ++n;
        ok = run(job);
        bool has_failed = n_until_fail == 0;
        n_until_fail = 0;
        T_EQ(before, n_live);
        T_TRUE(ok != has_failed); // it is told exactly when it happens
    } while (!ok);
    printf("%s: %ld allocations\n", what, n - 1);
    T_TRUE(n - 1 >= at_least);
    pli_impi_job_destroy(job);
    T_EQ(0, n_live);
}

static bool run_startup(const struct pli_impi_job *job)
{
    (void)job;
    return startup();
}

int main(void)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    pli_srv_log_set(PLI_SRV_SILENT);
    rehearse("startup", run_startup, 30);
    rehearse("traffic", traffic, 30);
    return 0;
}
