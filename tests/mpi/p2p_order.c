// SPDX-License-Identifier: BSD-3-Clause
// Messages between two ranks do not overtake, whatever mixture of sizes, tags, wildcards, posted
// and unexpected; receives are served in the order they were posted. [MPI-5.0 3.5]
#include <mpi.h>
#include <unistd.h>

#include "t.h"

enum { N = 400, BIG = 20000 };

static int rank;

// Sizes alternate between inline, eager and handshake; all have the same tag.
static int size_of(int i)
{
    static const int sizes[] = { 1, 100, BIG, 5, 3000, 1, 1, 9000 };
    return sizes[i % 8];
}

static void one_tag(int wild)
{
    int *big = malloc(BIG * sizeof *big);
    if (rank == 0) {
        MPI_Request r[N];
        int *data[N];
        for (int i = 0; i < N; i++) {
            data[i] = calloc((size_t)size_of(i), sizeof(int));
            data[i][0] = i;
            data[i][size_of(i) - 1] = i;
            MPI_Isend(data[i], size_of(i), MPI_INT, 1, 3, MPI_COMM_WORLD, &r[i]);
        }
        T_EQ(MPI_Waitall(N, r, MPI_STATUSES_IGNORE), MPI_SUCCESS);
        for (int i = 0; i < N; i++) {
            free(data[i]);
        }
    } else {
        for (int i = 0; i < N; i++) {
            MPI_Status s;
            int got;
            MPI_Recv(big, BIG, MPI_INT, wild & 1 ? MPI_ANY_SOURCE : 0, wild & 2 ? MPI_ANY_TAG : 3,
                     MPI_COMM_WORLD, &s);
            MPI_Get_count(&s, MPI_INT, &got);
            T_EQ(got, size_of(i));
            T_EQ(big[0], i);
            T_EQ(big[got - 1], i);
        }
    }
    free(big);
}

// Posted in a mixture of exact and wildcard receives: the first that fits gets the message.
static void posted_order(void)
{
    int v[6] = { -1, -1, -1, -1, -1, -1 }, token = 0;
    if (rank == 1) {
        MPI_Request r[6];
        MPI_Irecv(&v[0], 1, MPI_INT, 0, 7, MPI_COMM_WORLD, &r[0]);
        MPI_Irecv(&v[1], 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &r[1]);
        MPI_Irecv(&v[2], 1, MPI_INT, MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, &r[2]);
        MPI_Irecv(&v[3], 1, MPI_INT, 0, 8, MPI_COMM_WORLD, &r[3]);
        MPI_Irecv(&v[4], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &r[4]);
        MPI_Irecv(&v[5], 1, MPI_INT, 0, 7, MPI_COMM_WORLD, &r[5]);
        MPI_Send(&token, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
        MPI_Waitall(6, r, MPI_STATUSES_IGNORE);
        T_EQ(v[1], 80); // tag 8: the first that fits is the one with any tag
        T_EQ(v[2], 81);
        T_EQ(v[3], 82);
        T_EQ(v[0], 70);
        T_EQ(v[4], 71); // any, posted before the second exact one
        T_EQ(v[5], 72);
    } else {
        const int tag[] = { 8, 8, 8, 7, 7, 7 }, val[] = { 80, 81, 82, 70, 71, 72 };
        MPI_Recv(&token, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < 6; i++) {
            MPI_Send(&val[i], 1, MPI_INT, 1, tag[i], MPI_COMM_WORLD);
        }
    }
}

// Thousands of receives, served in reverse: each finds its own.
static void many_posted(void)
{
    enum { MANY = 5000 };
    static int v[MANY];
    static MPI_Request r[MANY];
    int token = 0;
    if (rank == 1) {
        for (int i = 0; i < MANY; i++) {
            MPI_Irecv(&v[i], 1, MPI_INT, 0, i, MPI_COMM_WORLD, &r[i]);
        }
        MPI_Send(&token, 1, MPI_INT, 0, MANY, MPI_COMM_WORLD);
        MPI_Waitall(MANY, r, MPI_STATUSES_IGNORE);
        for (int i = 0; i < MANY; i++) {
            T_EQ(v[i], i * 3);
        }
    } else {
        MPI_Recv(&token, 1, MPI_INT, 1, MANY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = MANY - 1; i >= 0; i--) {
            int x = i * 3;
            MPI_Send(&x, 1, MPI_INT, 1, i, MPI_COMM_WORLD);
        }
    }
}

// A flood of small messages while the receiver looks away: senders wait at the limit, nothing is
// lost. Small sends must not wait for their receive otherwise, or many programs would hang.
static void flood(void)
{
    enum { MANY = 20000, LEN = 100 };
    static int v[LEN];
    if (rank == 0) {
        for (int i = 0; i < MANY; i++) {
            v[0] = i;
            v[LEN - 1] = ~i;
            MPI_Send(v, LEN, MPI_INT, 1, i % 2, MPI_COMM_WORLD);
        }
    } else {
        usleep(50000);
        for (int i = 0; i < MANY; i++) {
            MPI_Recv(v, LEN, MPI_INT, 0, i % 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            T_EQ(v[0], i);
            T_EQ(v[LEN - 1], ~i);
        }
    }
}

// The same with the last half received first: all the sends are under way at once.
static void flood_backwards(void)
{
    enum { MANY = 4000, LEN = 100 };
    static int v[MANY][LEN];
    static MPI_Request r[MANY];
    if (rank == 0) {
        for (int i = 0; i < MANY; i++) {
            v[i][0] = i;
            MPI_Isend(v[i], LEN, MPI_INT, 1, i % 2, MPI_COMM_WORLD, &r[i]);
        }
        MPI_Waitall(MANY, r, MPI_STATUSES_IGNORE);
    } else {
        for (int tag = 1; tag >= 0; tag--) {
            for (int i = tag; i < MANY; i += 2) {
                MPI_Recv(v[0], LEN, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                T_EQ(v[0][0], i);
            }
        }
    }
}

// A receiver that takes one tag while small messages of another pile up.
static void pile(void)
{
    enum { MANY = 2000, LEN = 10 };
    static int v[LEN];
    for (int tag = 0; tag < 2; tag++) {
        for (int i = 0; i < MANY; i++) {
            if (rank == 0) {
                v[0] = i;
                MPI_Send(v, LEN, MPI_INT, 1, tag, MPI_COMM_WORLD);
            }
        }
    }
    if (rank == 1) {
        usleep(100000); // long enough for the sender to run out of room and wait
    }
    for (int tag = 1; tag >= 0 && rank == 1; tag--) {
        for (int i = 0; i < MANY; i++) {
            MPI_Recv(v, LEN, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            T_EQ(v[0], i);
        }
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int wild = 0; wild < 4; wild++) {
        one_tag(wild);
    }
    posted_order();
    many_posted();
    flood();
    flood_backwards();
    if (argc == 1) { // needs room for the pile
        pile();
    }
    int flag;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    T_EQ(flag, 0); // all were received
    MPI_Finalize();
    return t_status();
}
