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

// Partitions without bytes arrive when they are ready, not before; and in the right place where the
// two sides cut differently.
static void empty(int n_send, int n_recv)
{
    MPI_Request s, r;
    int flag = -1;
    MPI_Psend_init(buf, n_send, 0, MPI_INT, 0, 6, MPI_COMM_SELF, MPI_INFO_NULL, &s);
    MPI_Precv_init(buf, n_recv, 0, MPI_INT, 0, 6, MPI_COMM_SELF, MPI_INFO_NULL, &r);
    for (int round = 0; round < 2; round++) {
        MPI_Start(&r);
        MPI_Parrived(r, 0, &flag);
        T_EQ(flag, 0);
        MPI_Start(&s);
        for (int i = 0; i < n_recv; i++) {
            MPI_Parrived(r, i, &flag);
            T_EQ(flag, 0);
        }
        MPI_Pready(0, s);
        for (int i = 0; i < n_recv && n_send > 1; i++) {
            MPI_Parrived(r, n_recv - 1, &flag);
            T_EQ(flag, 0);
        }
        for (int i = 1; i < n_send; i++) {
            MPI_Pready(i, s);
        }
        for (int i = 0; i < n_recv; i++) {
            while (MPI_Parrived(r, i, &flag) == MPI_SUCCESS && !flag) {
            }
        }
        T_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
        T_EQ(MPI_Wait(&s, MPI_STATUS_IGNORE), MPI_SUCCESS);
    }
    MPI_Request_free(&r);
    MPI_Request_free(&s);
}

// Sides that do not hold the same amount: the message says what each has.
static void unequal(void)
{
    MPI_Request r[2];
    MPI_Count one = 1; // the standard's type of the argument
    char text[MPI_MAX_ERROR_STRING];
    int rc, len, class;
    MPI_Psend_init(buf, 3, one, MPI_INT, 0, 7, MPI_COMM_SELF, MPI_INFO_NULL, &r[0]);
    MPI_Precv_init(buf, 2, one, MPI_INT, 0, 7, MPI_COMM_SELF, MPI_INFO_NULL, &r[1]);
    rc = MPI_Start(&r[1]);
    MPI_Start(&r[0]);
    MPI_Pready_range(0, 2, r[0]);
    rc = rc == MPI_SUCCESS ? MPI_Wait(&r[1], MPI_STATUS_IGNORE) : rc;
    MPI_Error_class(rc, &class);
    T_EQ(class, MPI_ERR_TRUNCATE);
    MPI_Error_string(rc, text, &len);
    T_HAS(text, "3 partitions of 4 bytes, 12 in all");
    T_HAS(text, "room for 2 of 4 bytes, 8 in all");
    T_EQ(MPI_Wait(&r[0], MPI_STATUS_IGNORE), MPI_SUCCESS);
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
}

// A pair that was freed before it was started is a pair all the same: the next one has its own
// announcement, also where the freed receive came first, or each message waits for its receive.
static void freed(void)
{
    MPI_Request s, r;
    int from[2] = { 5, 6 }, to[2] = { 0, 0 };
    MPI_Precv_init(to, 2, 1, MPI_INT, 0, 8, MPI_COMM_SELF, MPI_INFO_NULL, &r);
    MPI_Request_free(&r);
    MPI_Psend_init(from, 1, 2, MPI_INT, 0, 8, MPI_COMM_SELF, MPI_INFO_NULL, &s);
    MPI_Request_free(&s);
    MPI_Psend_init(from, 2, 1, MPI_INT, 0, 8, MPI_COMM_SELF, MPI_INFO_NULL, &s);
    MPI_Request_free(&s);
    MPI_Precv_init(to, 1, 2, MPI_INT, 0, 8, MPI_COMM_SELF, MPI_INFO_NULL, &r);
    MPI_Request_free(&r);
    MPI_Psend_init(from, 2, 1, MPI_INT, 0, 8, MPI_COMM_SELF, MPI_INFO_NULL, &s);
    MPI_Precv_init(to, 2, 1, MPI_INT, 0, 8, MPI_COMM_SELF, MPI_INFO_NULL, &r);
    MPI_Start(&r);
    MPI_Start(&s);
    MPI_Pready_range(0, 1, s);
    T_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
    T_EQ(MPI_Wait(&s, MPI_STATUS_IGNORE), MPI_SUCCESS);
    T_EQ(to[0], 5);
    T_EQ(to[1], 6);
    MPI_Request_free(&r);
    MPI_Request_free(&s);
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
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    empty(1, 1);
    empty(2, 1);
    empty(4, 2);
    freed();
    empty(2, 3);
    unequal();
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
