// SPDX-License-Identifier: BSD-3-Clause
// Time of one lap of a token around all ranks, most of which wait: more ranks than cores. With the
// argument "poll" they ask for it by MPI_Test in a loop.
#include "bench.h"

#include <stdbool.h>

enum { MIN_LAPS = 3, CHUNKS = 5 };

static bool is_poll;

static void take(long long *token, int prev)
{
    MPI_Request q;
    int flag = 0;
    if (!is_poll) {
        MPI_Recv(token, 8, MPI_BYTE, prev, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return;
    }
    MPI_Irecv(token, 8, MPI_BYTE, prev, 1, MPI_COMM_WORLD, &q);
    while (!flag) {
        MPI_Test(&q, &flag, MPI_STATUS_IGNORE);
    }
}

// `laps` laps; the token counts hops, so that a lost or doubled one shows.
static double run(int me, int n, int laps)
{
    int next = (me + 1) % n, prev = (me + n - 1) % n;
    double t = MPI_Wtime();
    for (int i = 0; i < laps; i++) {
        long long token = 0;
        if (me == 0) {
            MPI_Send(&token, 8, MPI_BYTE, next, 1, MPI_COMM_WORLD);
        }
        take(&token, prev);
        if (token != (me + n - 1) % n) {
            b_die("the token took another way");
        }
        token++;
        if (me != 0) {
            MPI_Send(&token, 8, MPI_BYTE, next, 1, MPI_COMM_WORLD);
        }
    }
    return (MPI_Wtime() - t) / laps;
}

// Rank 0 decides, and the number travels around the ring.
static int agree(int me, int n, int value)
{
    int next = (me + 1) % n, prev = (me + n - 1) % n;
    if (me == 0) {
        MPI_Send(&value, 1, MPI_INT, next, 2, MPI_COMM_WORLD);
        MPI_Recv(&value, 1, MPI_INT, prev, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(&value, 1, MPI_INT, prev, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&value, 1, MPI_INT, next, 2, MPI_COMM_WORLD);
    }
    return value;
}

int main(int argc, char **argv)
{
    int me = b_start(&argc, &argv, 0), n;
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    is_poll = argc > 1 && strcmp(argv[1], "poll") == 0;
    if (n < 2) {
        b_die("a ring needs two ranks");
    }
    // Some implementations take a thousand times longer than others: fill half a second.
    double t = run(me, n, MIN_LAPS);
    t = run(me, n, MIN_LAPS);
    int laps = agree(me, n, t > 0.1 / MIN_LAPS ? MIN_LAPS : (int)(0.1 / t) + 1);
    double v[CHUNKS];
    for (int i = 0; i < CHUNKS; i++) {
        v[i] = run(me, n, laps);
    }
    if (me == 0) {
        char params[64];
        snprintf(params, sizeof params, "size=8 ranks=%d", n);
        b_report(is_poll ? "ring_poll" : "ring", params, b_median(v, CHUNKS) * 1e6, "us");
    }
    MPI_Finalize();
    return 0;
}
