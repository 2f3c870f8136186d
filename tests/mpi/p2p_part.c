// SPDX-License-Identifier: BSD-3-Clause
// Partitioned communication: different cuts on both sides, parts ready in any order, several
// rounds, whichever side begins first.
#include <mpi.h>

#include "t.h"

enum { TOTAL = 1200, ROUNDS = 4 };

static int rank;
static int buf[TOTAL];

static void exchange(int n_send, int n_recv, int late)
{
    MPI_Request r = MPI_REQUEST_NULL, ping;
    int token = 0;
    memset(buf, 0, sizeof buf);
    if (rank == 0) {
        if (late) { // the receive is started before the send exists
            MPI_Recv(&token, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        T_EQ(MPI_Psend_init(buf, n_send, TOTAL / n_send, MPI_INT, 1, 5, MPI_COMM_WORLD,
                            MPI_INFO_NULL, &r),
             MPI_SUCCESS);
        for (int round = 0; round < ROUNDS; round++) {
            T_EQ(MPI_Start(&r), MPI_SUCCESS);
            for (int i = 0; i < TOTAL; i++) {
                buf[i] = round * 10000 + i;
            }
            for (int p = n_send - 1; p >= 2; p--) {
                T_EQ(MPI_Pready(p, r), MPI_SUCCESS);
            }
            if (n_send >= 2) {
                T_EQ(MPI_Pready_range(0, 1, r), MPI_SUCCESS);
            } else {
                T_EQ(MPI_Pready_list(1, &(int){ 0 }, r), MPI_SUCCESS);
            }
            T_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
        }
    } else {
        T_EQ(MPI_Precv_init(buf, n_recv, TOTAL / n_recv, MPI_INT, 0, 5, MPI_COMM_WORLD,
                            MPI_INFO_NULL, &r),
             MPI_SUCCESS);
        for (int round = 0; round < ROUNDS; round++) {
            T_EQ(MPI_Start(&r), MPI_SUCCESS);
            if (late && round == 0) {
                MPI_Isend(&token, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, &ping);
                MPI_Wait(&ping, MPI_STATUS_IGNORE);
            }
            int flag = 0;
            while (!flag) {
                T_MUST(MPI_Parrived(r, n_recv - 1, &flag) == MPI_SUCCESS);
            }
            T_EQ(buf[TOTAL - 1], round * 10000 + TOTAL - 1);
            T_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
            for (int i = 0; i < TOTAL; i++) {
                T_EQ(buf[i], round * 10000 + i);
            }
        }
    }
    T_EQ(MPI_Request_free(&r), MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    static const int cuts[][2] = { { 1, 1 }, { 4, 4 }, { 8, 3 }, { 3, 8 }, { 1, 5 }, { 6, 1 } };
    for (int i = 0; i < 6; i++) {
        exchange(cuts[i][0], cuts[i][1], i % 2);
    }
    MPI_Request r;
    int flag;
    if (rank == 0) {
        MPI_Psend_init(buf, 4, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
        T_OK(MPI_Pready(0, r) != MPI_SUCCESS); // not started
        MPI_Start(&r);
        T_OK(MPI_Pready(4, r) != MPI_SUCCESS);          // out of range
        T_OK(MPI_Parrived(r, 0, &flag) != MPI_SUCCESS); // not a receive
        T_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
        MPI_Request_free(&r);
    }
    MPI_Finalize();
    return t_status();
}
