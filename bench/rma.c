// SPDX-License-Identifier: BSD-3-Clause
// One-sided accesses of one rank to memory of another on the same host, which waits meanwhile: each
// complete at the target before the next. No compare-and-swap: Open MPI 4.1.4 crashes in many of
// them.
#include "bench.h"

enum { WINDOW = 64 };

struct access {
    MPI_Win win;
    MPI_Group peer;
    unsigned char *buf;
    int size;
};

static void put(int me, int iters, void *arg)
{
    struct access *a = arg;
    for (int i = 0; me == 0 && i < iters; i++) {
        MPI_Put(a->buf, a->size, MPI_BYTE, 1, 0, a->size, MPI_BYTE, a->win);
        MPI_Win_flush(1, a->win);
    }
}

static void get(int me, int iters, void *arg)
{
    struct access *a = arg;
    for (int i = 0; me == 0 && i < iters; i++) {
        MPI_Get(a->buf, a->size, MPI_BYTE, 1, 0, a->size, MPI_BYTE, a->win);
        MPI_Win_flush(1, a->win);
    }
}

static void fetch(int me, int iters, void *arg)
{
    struct access *a = arg;
    long one = 1, got;
    for (int i = 0; me == 0 && i < iters; i++) {
        MPI_Fetch_and_op(&one, &got, MPI_LONG, 1, 0, MPI_SUM, a->win);
        MPI_Win_flush(1, a->win);
    }
}

static void get_accumulate(int me, int iters, void *arg)
{
    struct access *a = arg;
    long one = 1, got;
    for (int i = 0; me == 0 && i < iters; i++) {
        MPI_Get_accumulate(&one, 1, MPI_LONG, &got, 1, MPI_LONG, 1, 0, 1, MPI_LONG, MPI_SUM,
                           a->win);
        MPI_Win_flush(1, a->win);
    }
}

static void accumulate(int me, int iters, void *arg)
{
    struct access *a = arg;
    for (int i = 0; me == 0 && i < iters; i++) {
        MPI_Accumulate(a->buf, a->size / 8, MPI_LONG, 1, 0, a->size / 8, MPI_LONG, MPI_SUM, a->win);
        MPI_Win_flush(1, a->win);
    }
}

// Several puts, complete together.
static void puts_window(int me, int iters, void *arg)
{
    struct access *a = arg;
    for (int i = 0; me == 0 && i < iters; i++) {
        for (int w = 0; w < WINDOW; w++) {
            MPI_Put(a->buf, a->size, MPI_BYTE, 1, 0, a->size, MPI_BYTE, a->win);
        }
        MPI_Win_flush(1, a->win);
    }
}

// Rank 0 starts, puts and completes; rank 1 posts and waits.
static void pscw(int me, int iters, void *arg)
{
    struct access *a = arg;
    for (int i = 0; i < iters; i++) {
        if (me == 0) {
            MPI_Win_start(a->peer, 0, a->win);
            MPI_Put(a->buf, a->size, MPI_BYTE, 1, 0, a->size, MPI_BYTE, a->win);
            MPI_Win_complete(a->win);
        } else {
            MPI_Win_post(a->peer, 0, a->win);
            MPI_Win_wait(a->win);
        }
    }
}

static void lock(int me, int iters, void *arg)
{
    struct access *a = arg;
    for (int i = 0; me == 0 && i < iters; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, a->win);
        MPI_Put(a->buf, a->size, MPI_BYTE, 1, 0, a->size, MPI_BYTE, a->win);
        MPI_Win_unlock(1, a->win);
    }
}

static void fence(int me, int iters, void *arg)
{
    struct access *a = arg;
    for (int i = 0; i < iters; i++) {
        MPI_Put(a->buf, a->size, MPI_BYTE, 1 - me, 0, a->size, MPI_BYTE, a->win);
        MPI_Win_fence(0, a->win);
    }
}

static void measure(int me, const char *name, b_body_fn body, struct access *a)
{
    char params[64];
    double t = b_measure(me, body, a, 0.01);
    if (me == 0) {
        snprintf(params, sizeof params, "size=%d ranks=2", a->size);
        b_report(name, params, t * 1e6, "us");
    }
}

int main(int argc, char **argv)
{
    static const long usual[] = { 8, 1024, 65536 };
    int me = b_start(&argc, &argv, 2);
    long sizes[8];
    int n = b_sizes(argc, argv, usual, 3, sizes, 8);
    struct access a;
    unsigned char *mem;
    MPI_Win_allocate(1 << 20, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &a.win);
    a.buf = b_alloc(1 << 20);
    MPI_Group world;
    int other = 1 - me;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &other, &a.peer);
    MPI_Group_free(&world);
    for (int i = 0; i < n && sizes[i] <= 1 << 20; i++) {
        a.size = (int)sizes[i];
        MPI_Win_lock_all(0, a.win);
        measure(me, "rma_put", put, &a);
        measure(me, "rma_get", get, &a);
        measure(me, "rma_accumulate", accumulate, &a);
        measure(me, "rma_puts64", puts_window, &a);
        MPI_Win_unlock_all(a.win);
    }
    a.size = 8;
    MPI_Win_lock_all(0, a.win);
    measure(me, "rma_fetch", fetch, &a);
    measure(me, "rma_get_accumulate", get_accumulate, &a);
    MPI_Win_unlock_all(a.win);
    measure(me, "rma_lock", lock, &a);
    measure(me, "rma_pscw", pscw, &a);
    MPI_Win_fence(0, a.win);
    measure(me, "rma_fence", fence, &a);
    MPI_Group_free(&a.peer);
    MPI_Win_free(&a.win);
    MPI_Finalize();
    return 0;
}
