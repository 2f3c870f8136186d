// SPDX-License-Identifier: BSD-3-Clause
// A token goes around ranks that wait for it by asking again and again, in every way there is.
// Where ranks outnumber cores each must give way while it asks, or a lap takes a slice of time for
// every rank: the fastest lap of each way is compared with that of a blocking receive.
#include "t.h"

#include <mpi.h>

enum { LAPS = 12, MUCH = 200 };

static int me, n;
static MPI_Win win;
static long *mem;
static MPI_Request part_send, part_recv;
static long part_in, part_out;

typedef void (*take_fn)(long *token, int from);

static void by_recv(long *token, int from)
{
    MPI_Recv(token, 1, MPI_LONG, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void by_test(long *token, int from)
{
    MPI_Request q;
    int flag = 0;
    MPI_Irecv(token, 1, MPI_LONG, from, 1, MPI_COMM_WORLD, &q);
    while (!flag) {
        MPI_Test(&q, &flag, MPI_STATUS_IGNORE);
    }
}

static void by_testsome(long *token, int from)
{
    MPI_Request q;
    int done = 0, which;
    MPI_Irecv(token, 1, MPI_LONG, from, 1, MPI_COMM_WORLD, &q);
    while (done == 0) {
        MPI_Testsome(1, &q, &done, &which, MPI_STATUSES_IGNORE);
    }
}

static void by_get_status(long *token, int from)
{
    MPI_Request q;
    int flag = 0;
    MPI_Irecv(token, 1, MPI_LONG, from, 1, MPI_COMM_WORLD, &q);
    while (!flag) {
        MPI_Request_get_status(q, &flag, MPI_STATUS_IGNORE);
    }
    MPI_Wait(&q, MPI_STATUS_IGNORE);
}

static void by_iprobe(long *token, int from)
{
    for (int flag = 0; !flag;) {
        MPI_Iprobe(from, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
    by_recv(token, from);
}

static void by_improbe(long *token, int from)
{
    MPI_Message m;
    for (int flag = 0; !flag;) {
        MPI_Improbe(from, 1, MPI_COMM_WORLD, &flag, &m, MPI_STATUS_IGNORE);
    }
    MPI_Mrecv(token, 1, MPI_LONG, &m, MPI_STATUS_IGNORE);
}

// Ways to read the word of this rank's window.
static void by_sync(long *token, int from)
{
    (void)from;
    MPI_Win_sync(win);
    *token = *(volatile long *)mem;
}

static void by_flush(long *token, int from)
{
    (void)from;
    MPI_Get(token, 1, MPI_LONG, me, 0, 1, MPI_LONG, win);
    MPI_Win_flush(me, win);
}

static void by_flush_local_all(long *token, int from)
{
    (void)from;
    MPI_Get(token, 1, MPI_LONG, me, 0, 1, MPI_LONG, win);
    MPI_Win_flush_local_all(win);
}

static void by_fetch(long *token, int from)
{
    (void)from;
    MPI_Fetch_and_op(NULL, token, MPI_LONG, me, 0, MPI_NO_OP, win);
    MPI_Win_flush(me, win);
}

static void by_rget(long *token, int from)
{
    MPI_Request q;
    (void)from;
    MPI_Rget(token, 1, MPI_LONG, me, 0, 1, MPI_LONG, win, &q);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
}

static void by_rget_accumulate(long *token, int from)
{
    MPI_Request q;
    (void)from;
    MPI_Rget_accumulate(NULL, 0, MPI_LONG, token, 1, MPI_LONG, me, 0, 1, MPI_LONG, MPI_NO_OP, win,
                        &q);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
}

static void by_parrived(long *token, int from)
{
    (void)from;
    MPI_Start(&part_recv);
    for (int flag = 0; !flag;) {
        MPI_Parrived(part_recv, 0, &flag);
    }
    MPI_Wait(&part_recv, MPI_STATUS_IGNORE);
    *token = part_in;
}

enum how { MESSAGE, MEMORY, PART };

static const struct way {
    const char *name;
    take_fn take;
    enum how how;
} ways[] = {
    { "MPI_Recv", by_recv, MESSAGE },
    { "MPI_Test", by_test, MESSAGE },
    { "MPI_Testsome", by_testsome, MESSAGE },
    { "MPI_Request_get_status", by_get_status, MESSAGE },
    { "MPI_Iprobe", by_iprobe, MESSAGE },
    { "MPI_Improbe", by_improbe, MESSAGE },
    { "MPI_Win_sync", by_sync, MEMORY },
    { "MPI_Win_flush", by_flush, MEMORY },
    { "MPI_Win_flush_local_all", by_flush_local_all, MEMORY },
    { "MPI_Fetch_and_op", by_fetch, MEMORY },
    { "MPI_Rget", by_rget, MEMORY },
    { "MPI_Rget_accumulate", by_rget_accumulate, MEMORY },
    { "MPI_Parrived", by_parrived, PART },
};

static void pass_on(const struct way *w, long token)
{
    int to = (me + 1) % n;
    if (w->how == MESSAGE) {
        MPI_Send(&token, 1, MPI_LONG, to, 1, MPI_COMM_WORLD);
    } else if (w->how == MEMORY) {
        MPI_Accumulate(&token, 1, MPI_LONG, to, 0, 1, MPI_LONG, MPI_REPLACE, win);
        MPI_Win_flush(to, win);
    } else {
        part_out = token;
        MPI_Start(&part_send);
        MPI_Pready(0, part_send);
        MPI_Wait(&part_send, MPI_STATUS_IGNORE);
    }
}

// Tokens are numbered for ever, so that one of an earlier lap is not taken for the next.
static double run_lap(const struct way *w, long number)
{
    int from = (me + n - 1) % n;
    long token = -1, want = number * n + (me == 0 ? n : me);
    double t = MPI_Wtime();
    if (me == 0) {
        pass_on(w, number * n + 1);
    }
    do {
        w->take(&token, from);
    } while (w->how == MEMORY && token != want);
    T_EQ(token, want);
    if (me != 0) {
        pass_on(w, token + 1);
    }
    return MPI_Wtime() - t;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MPI_Win_allocate(sizeof *mem, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win);
    *mem = -1;
    MPI_Win_lock_all(0, win);
    MPI_Psend_init(&part_out, 1, 1, MPI_LONG, (me + 1) % n, 2, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &part_send);
    MPI_Precv_init(&part_in, 1, 1, MPI_LONG, (me + n - 1) % n, 2, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &part_recv);
    MPI_Barrier(MPI_COMM_WORLD);
    double blocking = 0;
    long number = 1;
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        double best = 1e9;
        for (int lap = 0; lap < LAPS; lap++) {
            double t = run_lap(&ways[i], number++);
            best = t < best ? t : best;
        }
        MPI_Barrier(MPI_COMM_WORLD);
        blocking = i == 0 ? best : blocking;
        if (me == 0 && best > MUCH * blocking) {
            fprintf(stderr, "a lap by %s takes %.0f us, one by MPI_Recv %.0f\n", ways[i].name,
                    best * 1e6, blocking * 1e6);
            t_failed++;
        }
    }
    MPI_Request_free(&part_send);
    MPI_Request_free(&part_recv);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Finalize();
    return t_status();
}
