// SPDX-License-Identifier: BSD-3-Clause
// Rank 0 is outside MPI while the others fill what they have for it. Small messages between those
// do not wait for their receives meanwhile: neighbours that both send first come through, and so
// does one that sends before a barrier in which its message cannot be received, or is in
// MPI_Finalize when it is.
#include <mpi.h>
#include <unistd.h>

#include "t.h"

enum { N = 200, LEN = 256, AWAY_S = 3, ROUNDS = 2 };

static int rank, size;

static void fill(int *data, int seed)
{
    for (int i = 0; i < LEN; i++) {
        data[i] = seed + i;
    }
}

static void check(const int *data, int seed)
{
    T_EQ(data[0], seed);
    T_EQ(data[LEN - 1], seed + LEN - 1);
}

static void be_away(void)
{
    int in[LEN];
    sleep(AWAY_S);
    for (int s = size - 1; s > 0; s--) {
        for (int i = 0; i < N; i++) {
            T_EQ(MPI_Recv(in, LEN, MPI_INT, s, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
            check(in, s * N + i);
        }
    }
}

// Every second number, so that the data has holes; or all.
static void exchange(MPI_Comm others, int peer, MPI_Datatype type, int step)
{
    int out[LEN], in[LEN], wide[2 * LEN] = { 0 };
    for (int i = 0; i < ROUNDS; i++) {
        fill(out, rank + i);
        for (int k = 0; k < LEN; k++) {
            wide[step * k] = out[k];
        }
        T_EQ(MPI_Send(wide, 1, type, peer, 5, others), MPI_SUCCESS);
        memset(wide, 0, sizeof wide); // it is the program's again
        T_EQ(MPI_Recv(in, LEN, MPI_INT, peer, 5, others, MPI_STATUS_IGNORE), MPI_SUCCESS);
        check(in, peer + 1 + i);
    }
}

static void talk(MPI_Comm others)
{
    static int out[N][LEN];
    int me = rank - 1, peer = me ^ 1, in[LEN];
    MPI_Request req[N];
    MPI_Datatype dense, holes;
    MPI_Type_contiguous(LEN, MPI_INT, &dense);
    MPI_Type_vector(LEN, 1, 2, MPI_INT, &holes);
    MPI_Type_commit(&dense);
    MPI_Type_commit(&holes);
    for (int i = 0; i < N; i++) {
        fill(out[i], rank * N + i);
        T_EQ(MPI_Isend(out[i], LEN, MPI_INT, 0, i, MPI_COMM_WORLD, &req[i]), MPI_SUCCESS);
    }
    if (peer < size - 1) {
        exchange(others, peer, dense, 1);
        exchange(others, peer, holes, 2);
        fill(in, me);
        T_EQ(MPI_Send(in, LEN, MPI_INT, peer, 6, others), MPI_SUCCESS);
    }
    T_EQ(MPI_Barrier(others), MPI_SUCCESS);
    if (peer < size - 1) {
        T_EQ(MPI_Recv(in, LEN, MPI_INT, peer, 6, others, MPI_STATUS_IGNORE), MPI_SUCCESS);
        check(in, peer);
    }
    if (me % 2 == 0 && peer < size - 1) {
        T_EQ(MPI_Send(in, LEN, MPI_INT, peer, 7, others), MPI_SUCCESS);
    }
    T_EQ(MPI_Waitall(N, req, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    if (me % 2 != 0) {
        sleep(1); // the other one is in MPI_Finalize
        memset(in, 0, sizeof in);
        T_EQ(MPI_Recv(in, LEN, MPI_INT, peer, 7, others, MPI_STATUS_IGNORE), MPI_SUCCESS);
        check(in, me);
    }
    MPI_Type_free(&dense);
    MPI_Type_free(&holes);
}

int main(int argc, char **argv)
{
    MPI_Comm others;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, rank > 0, rank, &others);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        be_away();
    } else {
        talk(others);
    }
    MPI_Comm_free(&others);
    MPI_Finalize();
    return t_status();
}
