// SPDX-License-Identifier: BSD-3-Clause
// Sendrecv and its relatives around a ring, buffered sends and their buffers, MPI_PROC_NULL.
#include <mpi.h>

#include "t.h"

static int rank, size, left, right;

static void ring(void)
{
    enum { N = 50000 };
    int *out = malloc(N * sizeof *out), *in = malloc(N * sizeof *in);
    static const int sizes[] = { 0, 1, 6, 1000, N };
    for (int k = 0; k < 5; k++) {
        int n = sizes[k];
        MPI_Status s;
        MPI_Request r;
        for (int form = 0; form < 4; form++) {
            for (int i = 0; i < n; i++) {
                out[i] = rank * 100000 + i;
                in[i] = -1;
            }
            int *got = form % 2 ? out : in;
            if (form == 0) {
                T_EQ(MPI_Sendrecv(out, n, MPI_INT, right, k, in, n, MPI_INT, left, k,
                                  MPI_COMM_WORLD, &s),
                     MPI_SUCCESS);
            } else if (form == 1) {
                T_EQ(MPI_Sendrecv_replace(out, n, MPI_INT, right, k, left, k, MPI_COMM_WORLD, &s),
                     MPI_SUCCESS);
            } else if (form == 2) {
                T_EQ(MPI_Isendrecv(out, n, MPI_INT, right, k, in, n, MPI_INT, left, MPI_ANY_TAG,
                                   MPI_COMM_WORLD, &r),
                     MPI_SUCCESS);
                T_EQ(MPI_Wait(&r, &s), MPI_SUCCESS);
            } else {
                T_EQ(MPI_Isendrecv_replace(out, n, MPI_INT, right, k, left, k, MPI_COMM_WORLD, &r),
                     MPI_SUCCESS);
                T_EQ(MPI_Wait(&r, &s), MPI_SUCCESS);
            }
            T_EQ(s.MPI_SOURCE, left);
            T_EQ(s.MPI_TAG, k);
            for (int i = 0; i < n; i++) {
                if (got[i] != left * 100000 + i) {
                    T_EQ(got[i], left * 100000 + i);
                    break;
                }
            }
        }
    }
    free(out);
    free(in);
}

static void nobody(void)
{
    int v = 42, flag;
    MPI_Status s;
    MPI_Request r;
    MPI_Message m;
    T_EQ(MPI_Send(&v, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD), MPI_SUCCESS);
    T_EQ(MPI_Recv(&v, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &s), MPI_SUCCESS);
    T_OK(v == 42 && s.MPI_SOURCE == MPI_PROC_NULL && s.MPI_TAG == MPI_ANY_TAG);
    T_EQ(MPI_Irecv(&v, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &r), MPI_SUCCESS);
    T_EQ(MPI_Wait(&r, &s), MPI_SUCCESS);
    T_EQ(s.MPI_SOURCE, MPI_PROC_NULL);
    T_EQ(MPI_Probe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &s), MPI_SUCCESS);
    T_EQ(MPI_Improbe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &flag, &m, &s), MPI_SUCCESS);
    T_OK(flag && m == MPI_MESSAGE_NO_PROC);
    T_EQ(MPI_Mrecv(&v, 1, MPI_INT, &m, &s), MPI_SUCCESS);
    T_OK(m == MPI_MESSAGE_NULL && s.MPI_SOURCE == MPI_PROC_NULL);
}

static int class_of(int rc)
{
    int class;
    MPI_Error_class(rc, &class);
    return class;
}

static void buffers(void)
{
    static char mine[100 + MPI_BSEND_OVERHEAD];
    char data[100] = "x", got[100];
    void *back;
    int len;
    MPI_Request r;
    T_EQ(class_of(MPI_Bsend(data, 1, MPI_CHAR, rank, 1, MPI_COMM_WORLD)), MPI_ERR_BUFFER);
    T_EQ(MPI_Buffer_attach(mine, sizeof mine), MPI_SUCCESS);
    T_EQ(class_of(MPI_Buffer_attach(mine, sizeof mine)), MPI_ERR_BUFFER);
    T_EQ(class_of(MPI_Bsend(mine, 101, MPI_CHAR, rank, 1, MPI_COMM_WORLD)), MPI_ERR_BUFFER);
    for (int i = 0; i < 50; i++) { // the one piece of room is used again and again
        data[0] = (char)i;
        T_EQ(MPI_Bsend(data, 100, MPI_CHAR, rank, 1, MPI_COMM_WORLD), MPI_SUCCESS);
        T_EQ(MPI_Recv(got, 100, MPI_CHAR, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
        T_EQ(got[0], (char)i);
    }
    T_EQ(MPI_Buffer_flush(), MPI_SUCCESS);
    T_EQ(MPI_Buffer_iflush(&r), MPI_SUCCESS);
    T_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
    T_EQ(MPI_Buffer_detach(&back, &len), MPI_SUCCESS);
    T_OK(back == mine && len == (int)sizeof mine);
    // Automatic buffering has no limit, and a communicator's own buffer goes first.
    T_EQ(MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0), MPI_SUCCESS);
    T_EQ(MPI_Comm_attach_buffer(MPI_COMM_SELF, mine, sizeof mine), MPI_SUCCESS);
    char *big = calloc(1, 300000);
    T_EQ(MPI_Bsend(big, 300000, MPI_CHAR, right, 2, MPI_COMM_WORLD), MPI_SUCCESS);
    T_EQ(class_of(MPI_Bsend(big, 300000, MPI_CHAR, 0, 2, MPI_COMM_SELF)), MPI_ERR_BUFFER);
    T_EQ(MPI_Recv(big, 300000, MPI_CHAR, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
    T_EQ(MPI_Comm_flush_buffer(MPI_COMM_SELF), MPI_SUCCESS);
    T_EQ(MPI_Comm_detach_buffer(MPI_COMM_SELF, &back, &len), MPI_SUCCESS);
    T_OK(back == mine);
    T_EQ(MPI_Buffer_detach(&back, &len), MPI_SUCCESS);
    T_OK(back == MPI_BUFFER_AUTOMATIC);
    free(big);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    ring();
    nobody();
    buffers();
    MPI_Finalize();
    return t_status();
}
