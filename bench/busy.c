// SPDX-License-Identifier: BSD-3-Clause
// Time of a small message or a barrier as a program feels it, the moments in which other work has
// the cores included: the mean over a while, not the median of short pieces. Arguments: "lat" or
// "barrier", and the number of competitors that run beside it, which is only reported.
#include "bench.h"

enum { BATCH = 20, WARM = 200 };

static const double run_s = 0.3;

static void ping_pong(int me)
{
    char buf[8] = { 0 };
    if (me == 0) {
        MPI_Send(buf, 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
        MPI_Recv(buf, 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(buf, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(buf, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    }
}

static void barrier(int me)
{
    (void)me;
    MPI_Barrier(MPI_COMM_WORLD);
}

// Seconds per round: batches until the time is over, which rank 0 decides.
static double measure(int me, int n_rank, void (*round_trip)(int me))
{
    for (int i = 0; i < WARM; i++) {
        round_trip(me);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    long n = 0;
    double begin = MPI_Wtime(), t = 0;
    for (int goes_on = 1; goes_on; n += BATCH) {
        for (int i = 0; i < BATCH; i++) {
            round_trip(me);
        }
        t = MPI_Wtime() - begin;
        goes_on = t < run_s;
        if (n_rank == 2) {
            goes_on = b_share(me, goes_on);
        } else {
            MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
        }
    }
    return t / (double)n;
}

int main(int argc, char **argv)
{
    int me = b_start(&argc, &argv, 0), n_rank;
    MPI_Comm_size(MPI_COMM_WORLD, &n_rank);
    int is_lat = argc == 3 && strcmp(argv[1], "lat") == 0;
    if (is_lat && n_rank != 2) {
        b_die("run this with two ranks");
    }
    if (!is_lat && (argc != 3 || strcmp(argv[1], "barrier") != 0)) {
        b_die("arguments: lat or barrier, and the number of competitors");
    }
    double t = measure(me, n_rank, is_lat ? ping_pong : barrier);
    if (me == 0) {
        char params[64];
        snprintf(params, sizeof params, "size=%d ranks=%d competitors=%s", is_lat ? 8 : 0, n_rank,
                 argv[2]);
        b_report(is_lat ? "busy_lat" : "busy_barrier", params, (is_lat ? t / 2 : t) * 1e6, "us");
    }
    MPI_Finalize();
    return 0;
}
