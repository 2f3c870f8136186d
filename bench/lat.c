// SPDX-License-Identifier: BSD-3-Clause
// One-way latency of a message between two ranks, over sizes: a ping-pong.
#include "bench.h"

struct pair {
    unsigned char *buf;
    long size;
};

static void ping_pong(int me, int iters, void *arg)
{
    struct pair *p = arg;
    int size = (int)p->size;
    for (int i = 0; i < iters; i++) {
        if (me == 0) {
            MPI_Send(p->buf, size, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
            MPI_Recv(p->buf, size, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(p->buf, size, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(p->buf, size, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        }
    }
}

int main(int argc, char **argv)
{
    static const long usual[] = {
        1, 8, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304
    };
    int me = b_start(&argc, &argv, 2);
    long sizes[64];
    int n = b_sizes(argc, argv, usual, sizeof usual / sizeof usual[0], sizes, 64);
    for (int i = 0; i < n; i++) {
        struct pair p = { b_alloc((size_t)sizes[i]), sizes[i] };
        double t = b_measure(me, ping_pong, &p, 0.01);
        // The bytes that came back are the ones rank 0 wrote.
        if (me == 0) {
            b_fill(p.buf, p.size, i);
        }
        ping_pong(me, 1, &p);
        b_expect(p.buf, p.size, i);
        if (me == 0) {
            char params[64];
            snprintf(params, sizeof params, "size=%ld ranks=2", sizes[i]);
            b_report("lat", params, t / 2 * 1e6, "us");
        }
        free(p.buf);
    }
    MPI_Finalize();
    return 0;
}
