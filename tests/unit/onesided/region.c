// SPDX-License-Identifier: BSD-3-Clause
// One-sided access between endpoints of one process, by messages where nothing is near and by load
// and store where all is: both must do the same, in order, and to the last byte.
#include "onesided/region.h"
#include "onesided/region_serve.h"

#include "msg/endpoint.h"
#include "msg/lane.h"
#include "ft/failure.h"
#include "msg/process.h"
#include "net/list/net_list.h"
#include "msg/progress.h"
#include "comm/endpoints.h"
#include "glue/prepare.h"
#include "obj/comm.h"
#include "obj/group_build.h"

#include "t.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { N = 3, SIZE = 1 << 20, ROUNDS = 400 };

static char *memory[N];
static _Atomic int n_here;
static bool is_far;

struct member {
    pthread_t id;
    int me;
    struct pli_comm *comm;
    struct pli_region *region;
};

static void hear(struct pli_region *r, void *arg, int origin, uint32_t tag, const void *text,
                 size_t len)
{
    struct member *m = arg;
    int x;
    T_EQ(len, sizeof x);
    memcpy(&x, text, sizeof x);
    T_OK(m->me >= 0);
    x = x * 2 + origin;
    if (tag != 0) {
        pli_region_serve_answer(r, origin, tag, &x, sizeof x);
    }
}

// All have come this far. A member that waits serves the others.
static void stage(struct member *m)
{
    T_EQ(pli_region_flush_all(m->region), PLI_OK);
    int want = (atomic_fetch_add(&n_here, 1) / N + 1) * N;
    while (atomic_load(&n_here) < want) {
        pli_progress_once(m->comm->ep->lane);
        sched_yield();
    }
}

static void bytes(struct member *m)
{
    static const size_t lens[] = { 1, 2, 7, 8, 9, 4095, 8192, 8193, 32767, 32768, 100000, 300000 };
    int to = (m->me + 1) % N;
    size_t base = (size_t)m->me * (SIZE / N);
    for (size_t k = 0; k < sizeof lens / sizeof lens[0]; k++) {
        size_t len = lens[k];
        unsigned char *a = malloc(len), *b = malloc(len);
        for (size_t i = 0; i < len; i++) {
            a[i] = (unsigned char)(i * 7 + k + (size_t)m->me);
        }
        T_EQ(pli_region_put(m->region, to, base + k, a, len), PLI_OK);
        memset(b, 0, len);
        T_EQ(pli_region_get(m->region, to, base + k, b, len), PLI_OK); // sees the put before it
        T_EQ(memcmp(a, b, len), 0);
        struct pli_request *req;
        memset(b, 0, len);
        T_EQ(pli_region_get_begin(m->region, to, base + k, b, len, &req), PLI_OK);
        while (req != NULL && pli_region_get_test(m->region, req) == PLI_AGAIN) {
        }
        T_EQ(memcmp(a, b, len), 0);
        T_EQ(pli_region_set(m->region, to, base + k, 0x5a, len), PLI_OK);
        T_EQ(pli_region_get(m->region, to, base + k, b, len), PLI_OK);
        T_OK(b[0] == 0x5a && b[len - 1] == 0x5a);
        free(a);
        free(b);
    }
    T_EQ(pli_region_put(m->region, to, base, NULL, 0), PLI_OK);
}

// Large puts, small ones and operations on the same bytes, from all members to one at once.
static void order(struct member *m)
{
    enum { LONG = 70000 };
    size_t base = (size_t)m->me * 2 * 65536; // words have their alignment
    unsigned char *a = malloc(LONG), *b = malloc(LONG);
    for (int k = 0; k < 50; k++) {
        memset(a, k, LONG);
        int64_t word = k, old = 0;
        T_EQ(pli_region_put(m->region, 1, base, a, LONG), PLI_OK);
        memset(a, 0xee, LONG); // it may be used again
        T_EQ(pli_region_put(m->region, 1, base + 8, &word, sizeof word), PLI_OK);
        T_EQ(pli_region_atomic(m->region, 1, base + 8, PLI_REGION_I64, PLI_REGION_ADD, &word, NULL,
                               &old),
             PLI_OK);
        T_EQ(old, k);
        T_EQ(pli_region_get(m->region, 1, base, b, LONG), PLI_OK);
        memcpy(&old, b + 8, sizeof old);
        T_EQ(old, 2 * k);
        T_OK(b[7] == k && b[16] == k && b[LONG - 1] == k);
    }
    free(a);
    free(b);
}

static void shapes(struct member *m)
{
    int to = (m->me + 2) % N;
    size_t base = (size_t)m->me * (SIZE / N);
    static const size_t blocks[] = { 1, 8, 24, 5000 };
    for (size_t k = 0; k < sizeof blocks / sizeof blocks[0]; k++) {
        size_t block = blocks[k], n = block > 1000 ? 5 : 700;
        size_t step = block + 16;
        char *a = calloc(n, step), *b = calloc(n, step);
        for (size_t i = 0; i < n * step; i++) {
            a[i] = (char)(i * 31 + k);
        }
        struct pli_region_strided s = { base + (n - 1) * step, block, n, -(ptrdiff_t)step,
                                        (ptrdiff_t)step };
        T_EQ(pli_region_put_strided(m->region, to, &s, a), PLI_OK);
        T_EQ(pli_region_get_strided(m->region, to, &s, b), PLI_OK);
        uint64_t *at = malloc(n * sizeof *at);
        char *c = calloc(n, block);
        for (size_t i = 0; i < n; i++) {
            T_EQ(memcmp(a + i * step, b + i * step, block), 0);
            at[i] = base + i * step; // the other way round than above
        }
        T_EQ(pli_region_get_indexed(m->region, to, at, n, block, c), PLI_OK);
        for (size_t i = 0; i < n; i++) {
            T_EQ(memcmp(c + i * block, a + (n - 1 - i) * step, block), 0);
        }
        memset(c, 0x77, n * block);
        T_EQ(pli_region_put_indexed(m->region, to, at, n, block, c), PLI_OK);
        char last;
        T_EQ(pli_region_get(m->region, to, at[n - 1] + block - 1, &last, 1), PLI_OK);
        T_EQ(last, 0x77);
        free(a);
        free(b);
        free(c);
        free(at);
    }
}

#define ATOMICS(T, type, at)                                                                       \
    {                                                                                              \
        T one = 1, two = 2, old = 0, all = 0;                                                      \
        for (int i = 0; i < ROUNDS; i++) {                                                         \
            T_EQ(pli_region_atomic(m->region, 0, at, type, PLI_REGION_ADD, &one, NULL,             \
                                   i % 2 ? &old : NULL),                                           \
                 PLI_OK);                                                                          \
        }                                                                                          \
        stage(m);                                                                                  \
        T_EQ(pli_region_atomic(m->region, 0, at, type, PLI_REGION_LOAD, NULL, NULL, &all),         \
             PLI_OK);                                                                              \
        T_OK(all == ROUNDS * N);                                                                   \
        size_t own = at + 64 + (size_t)m->me * 8;                                                  \
        T v = 6, got;                                                                              \
        T_EQ(pli_region_atomic(m->region, 0, own, type, PLI_REGION_STORE, &v, NULL, &old),         \
             PLI_OK);                                                                              \
        T_OK(old == 0);                                                                            \
        T_EQ(pli_region_atomic(m->region, 0, own, type, PLI_REGION_MULT, &two, NULL, &old),        \
             PLI_OK);                                                                              \
        T_OK(old == 6);                                                                            \
        v = 12;                                                                                    \
        T_EQ(pli_region_atomic(m->region, 0, own, type, PLI_REGION_CSWAP, &v, &one, &old),         \
             PLI_OK);                                                                              \
        T_OK(old == 12);                                                                           \
        T_EQ(pli_region_atomic(m->region, 0, own, type, PLI_REGION_CSWAP, &v, &two, &old),         \
             PLI_OK);                                                                              \
        T_OK(old == 1);                                                                            \
        T_EQ(pli_region_atomic(m->region, 0, own, type, PLI_REGION_MAX, &v, NULL, NULL), PLI_OK);  \
        T_EQ(pli_region_atomic(m->region, 0, own, type, PLI_REGION_MIN, &two, NULL, &old),         \
             PLI_OK);                                                                              \
        T_OK(old == 12);                                                                           \
        T_EQ(pli_region_get(m->region, 0, own, &got, sizeof got), PLI_OK);                         \
        T_OK(got == 2);                                                                            \
    }

static void atomics(struct member *m)
{
    ATOMICS(int32_t, PLI_REGION_I32, 0)
    ATOMICS(uint32_t, PLI_REGION_U32, 1024)
    ATOMICS(int64_t, PLI_REGION_I64, 2048)
    ATOMICS(uint64_t, PLI_REGION_U64, 3072)
    ATOMICS(float, PLI_REGION_F32, 4096)
    ATOMICS(double, PLI_REGION_F64, 5120)
    T_OK(!pli_region_type_has(PLI_REGION_F32, PLI_REGION_XOR));
    T_OK(pli_region_type_has(PLI_REGION_U32, PLI_REGION_XOR));
    uint64_t bits = 1ull << m->me, old;
    T_EQ(pli_region_atomic(m->region, 1, 8192, PLI_REGION_U64, PLI_REGION_OR, &bits, NULL, &old),
         PLI_OK);
    T_EQ(old & bits, 0);
}

static void questions(struct member *m)
{
    for (int i = 0; i < ROUNDS; i++) {
        int to = i % N, x = i, got = 0;
        unsigned char text[PLI_REGION_ASK];
        size_t len = 0;
        T_EQ(pli_region_ask(m->region, to, &x, sizeof x, text, &len), PLI_OK);
        T_EQ(len, sizeof got);
        memcpy(&got, text, sizeof got);
        T_EQ(got, 2 * i + m->me);
        x = 0;
        T_EQ(pli_region_tell(m->region, to, &x, sizeof x), PLI_OK);
    }
}

static void *run(void *arg)
{
    struct member *m = arg;
    char *near[N];
    T_EQ(pli_endpoint_attach(m->comm->ep), PLI_OK);
    for (int i = 0; i < N; i++) {
        near[i] = !is_far || i == m->me ? memory[i] : NULL;
    }
    struct pli_region_plan plan = { .comm = m->comm,
                                    .base = memory[m->me],
                                    .size = SIZE,
                                    .near = near,
                                    .has_far = is_far,
                                    .on_message = hear,
                                    .arg = m };
    T_MUST(pli_region_create(&plan, &m->region) == PLI_OK);
    T_OK(pli_region_near(m->region, m->me) == memory[m->me]);
    bytes(m);
    stage(m);
    order(m);
    stage(m);
    shapes(m);
    stage(m);
    memset(memory[m->me], 0, SIZE);
    stage(m);
    atomics(m);
    stage(m);
    questions(m);
    stage(m);
    pli_region_destroy(m->region);
    pli_endpoint_detach(m->comm->ep);
    return NULL;
}

static void all(struct pli_comm *parent, bool far)
{
    struct pli_comm *comms[N];
    struct member members[N];
    is_far = far;
    T_MUST(pli_endpoints_create(parent, N, NULL, PLI_OK, comms) == PLI_OK);
    for (int i = 0; i < N; i++) {
        members[i] = (struct member){ .me = i, .comm = comms[i] };
        T_MUST(pthread_create(&members[i].id, NULL, run, &members[i]) == 0);
    }
    for (int i = 0; i < N; i++) {
        pthread_join(members[i].id, NULL);
        pli_comm_release(comms[i]);
    }
}

int main(void)
{
    struct pli_group_build b;
    struct pli_group *group;
    struct pli_comm *parent;
    pli_prepare();
    T_MUST(pli_process_open(true, pli_net_list, &pli_failure_handlers) == PLI_OK);
    struct pli_endpoint *ep = pli_process_ep();
    pli_group_build_init(&b);
    pli_group_build_add_id(&b, ep->id);
    T_MUST(pli_group_build_finish(&b, NULL, ep->id, &group) == PLI_OK);
    T_MUST(pli_comm_create(pli_endpoint_retain(ep), ep->id, group, NULL, PLI_CONTEXT_SELF,
                           &parent) == PLI_OK);
    pli_group_release(group);
    for (int i = 0; i < N; i++) {
        memory[i] = calloc(1, SIZE);
    }
    all(parent, true);
    all(parent, false);
    pli_comm_release(parent);
    for (int i = 0; i < N; i++) {
        free(memory[i]);
    }
    pli_process_close();
    return t_status();
}
