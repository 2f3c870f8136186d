// SPDX-License-Identifier: BSD-3-Clause
// Speed of a message whose data are not contiguous: 131,072 doubles (1 MiB), every other one.
#include "bench.h"

enum { N = 131072 };

struct side {
    double *buf;
    MPI_Datatype type;
    int count;
};

struct pair {
    struct side send, recv;
};

// Rank 0 sends, rank 1 answers with nothing: only one direction is measured.
static void send_once(int me, int iters, void *arg)
{
    struct pair *p = arg;
    for (int i = 0; i < iters; i++) {
        if (me == 0) {
            MPI_Send(p->send.buf, p->send.count, p->send.type, 1, 1, MPI_COMM_WORLD);
            MPI_Recv(NULL, 0, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(p->recv.buf, p->recv.count, p->recv.type, 0, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
            MPI_Send(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
        }
    }
}

static void measure(int me, struct pair *p, int send_step, int recv_step, const char *params)
{
    for (int i = 0; i < 2 * N; i++) {
        p->send.buf[i] = i + 0.5;
        p->recv.buf[i] = -1;
    }
    double t = b_measure(me, send_once, p, 0.02);
    for (int i = 0; me == 1 && i < N; i++) {
        if (p->recv.buf[i * recv_step] != i * send_step + 0.5) {
            b_die("an element arrived in another place");
        }
        if (recv_step == 2 && p->recv.buf[i * 2 + 1] != -1) {
            b_die("a gap was overwritten");
        }
    }
    if (me == 0) {
        b_report("strided", params, N * 8 / t / 1e9, "GB/s");
    }
}

int main(int argc, char **argv)
{
    int me = b_start(&argc, &argv, 2);
    MPI_Datatype every_other;
    MPI_Type_vector(N, 1, 2, MPI_DOUBLE, &every_other);
    MPI_Type_commit(&every_other);
    double *from = b_alloc(2 * N * sizeof *from), *to = b_alloc(2 * N * sizeof *to);
    struct side strided_from = { from, every_other, 1 }, strided_to = { to, every_other, 1 };
    struct side plain_to = { to, MPI_DOUBLE, N };
    struct pair to_plain = { strided_from, plain_to }, to_strided = { strided_from, strided_to };
    measure(me, &to_plain, 2, 1, "size=1048576 to=plain ranks=2");
    measure(me, &to_strided, 2, 2, "size=1048576 to=strided ranks=2");
    MPI_Type_free(&every_other);
    MPI_Finalize();
    return 0;
}
