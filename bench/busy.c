// SPDX-License-Identifier: BSD-3-Clause
// Time of a small message or a barrier as a program feels it, the moments in which other work has
// the cores included: the mean over a while, not the median of short pieces. Arguments: "lat",
// "barrier" or both with a comma, how often, because starting takes longer than measuring, and the
// number of competitors that run beside it, which is only reported.
#include "bench.h"

enum { BATCH = 10, ASIDE_US = 20000 };

static const double warm_s = 0.01, run_s = 0.3;

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
static double mean_over(int me, int n_rank, void (*round_trip)(int me), double seconds)
{
    MPI_Barrier(MPI_COMM_WORLD);
    long n = 0;
    double begin = MPI_Wtime(), t = 0;
    for (int goes_on = 1; goes_on; n += BATCH) {
        for (int i = 0; i < BATCH; i++) {
            round_trip(me);
        }
        t = MPI_Wtime() - begin;
        goes_on = t < seconds;
        if (n_rank == 2) {
            goes_on = b_share(me, goes_on);
        } else {
            MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
        }
    }
    return t / (double)n;
}

static double measure(int me, int n_rank, void (*round_trip)(int me))
{
    mean_over(me, n_rank, round_trip, warm_s);
    return mean_over(me, n_rank, round_trip, run_s);
}

static void report(const char *name, int size, int n_rank, const char *competitors, double s)
{
    char params[64];
    snprintf(params, sizeof params, "size=%d ranks=%d competitors=%s", size, n_rank, competitors);
    b_report(name, params, s * 1e6, "us");
}

// Out of the way for a while, so that the system places the rank anew when it comes back.
static void step_aside(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    usleep(ASIDE_US);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int me = b_start(&argc, &argv, 0), n_rank;
    MPI_Comm_size(MPI_COMM_WORLD, &n_rank);
    int n_run = argc == 4 ? atoi(argv[2]) : 0;
    if (n_run < 1) {
        b_die("arguments: what to measure (lat and barrier, with a comma), how often, and the "
              "number of competitors");
    }
    int is_lat = strstr(argv[1], "lat") != NULL, is_barrier = strstr(argv[1], "barrier") != NULL;
    if (is_lat && n_rank != 2) {
        b_die("run this with two ranks");
    }
    for (int i = 0; i < n_run; i++) {
        step_aside();
        double lat = is_lat ? measure(me, n_rank, ping_pong) / 2 : 0;
        double meet = is_barrier ? measure(me, n_rank, barrier) : 0;
        if (me == 0 && is_lat) {
            report("busy_lat", 8, n_rank, argv[3], lat);
        }
        if (me == 0 && is_barrier) {
            report("busy_barrier", 0, n_rank, argv[3], meet);
        }
    }
    MPI_Finalize();
    return 0;
}
