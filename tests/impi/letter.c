// SPDX-License-Identifier: BSD-3-Clause
// One rank of an ordinary MPI program whose only partner is played by test_letter.py, which looks
// at every byte and answers as a machine of another kind would. The steps are in the order of the
// script's.
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#define CHECK(cond) ((cond) ? (void)0 : fail(__LINE__, #cond))

static void fail(int line, const char *what)
{
    fprintf(stderr, "letter: line %d: not so: %s\n", line, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

struct all {
    char c[2];
    short s;
    int i;
    long l;
    unsigned long ul;
    long long ll;
    float f;
    double d;
    long double ld;
    wchar_t w;
};

static MPI_Datatype type_of_all(void)
{
    int len[10] = { 2, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    MPI_Aint at[10] = { offsetof(struct all, c), offsetof(struct all, s),  offsetof(struct all, i),
                        offsetof(struct all, l), offsetof(struct all, ul), offsetof(struct all, ll),
                        offsetof(struct all, f), offsetof(struct all, d),  offsetof(struct all, ld),
                        offsetof(struct all, w) };
    MPI_Datatype of[10] = { MPI_CHAR,          MPI_SHORT,     MPI_INT,   MPI_LONG,
                            MPI_UNSIGNED_LONG, MPI_LONG_LONG, MPI_FLOAT, MPI_DOUBLE,
                            MPI_LONG_DOUBLE,   MPI_WCHAR };
    MPI_Datatype type;
    MPI_Type_create_struct(10, len, at, of, &type);
    MPI_Type_commit(&type);
    return type;
}

static void scalars(int peer)
{
    struct all out = {
        { 'p', 'q' }, -2, 0x01020304, -5, 4000000000ul, -6, 1.5f, -2.25, 3.0L, L'x'
    };
    struct all in;
    long many[4];
    int count;
    MPI_Status st;
    MPI_Datatype type = type_of_all();
    memset(&in, 0, sizeof in);
    MPI_Send(&out, 1, type, peer, 1, MPI_COMM_WORLD);
    MPI_Recv(&in, 1, type, peer, 2, MPI_COMM_WORLD, &st);
    CHECK(memcmp(in.c, "yz", 2) == 0 && in.s == 515 && in.i == -16909060 && in.l == -2147483647);
    CHECK(in.ul == 4294967295ul && in.ll == 72623859790382856ll && in.f == -0.5f);
    CHECK(in.d == 1e10 && in.ld == -1.0L && in.w == L'A');
    MPI_Get_count(&st, type, &count);
    CHECK(count == 1);
    MPI_Type_free(&type);
    // where a long is 8 bytes here and 4 there, its count must still be right
    MPI_Probe(peer, 3, MPI_COMM_WORLD, &st);
    MPI_Get_count(&st, MPI_LONG, &count);
    CHECK(count == 3);
    MPI_Recv(many, 4, MPI_LONG, peer, 3, MPI_COMM_WORLD, &st);
    MPI_Get_count(&st, MPI_LONG, &count);
    CHECK(count == 3 && many[0] == 1 && many[1] == -1 && many[2] == 2147483647);
}

static void modes(int peer)
{
    int v[60], in[60];
    MPI_Request req;
    MPI_Status st;
    for (int i = 0; i < 60; i++) {
        v[i] = i;
    }
    MPI_Ssend(v, 2, MPI_INT, peer, 10, MPI_COMM_WORLD);
    MPI_Send(v, 60, MPI_INT, peer, 11, MPI_COMM_WORLD); // 240 bytes in packets of 100
    MPI_Irecv(in, 60, MPI_INT, peer, 12, MPI_COMM_WORLD, &req);
    MPI_Wait(&req, &st);
    MPI_Send(NULL, 0, MPI_INT, peer, 13, MPI_COMM_WORLD);
    for (int i = 0; i < 60; i++) {
        CHECK(in[i] == 1000 + i);
    }
}

// Sends that are cancelled after they have left, the first with success, and what is left of
// messages that the other side takes back.
static void cancels(int peer)
{
    int v[2] = { 0, 1 }, flag;
    MPI_Request req;
    MPI_Status st;
    for (int i = 0; i < 2; i++) {
        MPI_Issend(v, 2, MPI_INT, peer, 40 + 2 * i, MPI_COMM_WORLD, &req);
        MPI_Recv(NULL, 0, MPI_INT, peer, 41 + 2 * i, MPI_COMM_WORLD, &st);
        MPI_Cancel(&req);
        MPI_Wait(&req, &st);
        MPI_Test_cancelled(&st, &flag);
        CHECK(flag == (i == 0));
    }
    MPI_Recv(NULL, 0, MPI_INT, peer, 45, MPI_COMM_WORLD, &st);
    MPI_Recv(v, 1, MPI_INT, peer, 44, MPI_COMM_WORLD, &st);
    CHECK(v[0] == 9);
    MPI_Iprobe(peer, 44, MPI_COMM_WORLD, &flag, &st);
    CHECK(flag == 0);
    MPI_Recv(v, 1, MPI_INT, peer, 46, MPI_COMM_WORLD, &st);
    CHECK(v[0] == 46);
    MPI_Recv(NULL, 0, MPI_INT, peer, 47, MPI_COMM_WORLD, &st);
}

static void collectives(int peer)
{
    int v[2] = { 5, 7 }, sum[2] = { 0, 0 }, all[4], rank;
    MPI_Comm copy, half;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Bcast(v, 2, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Bcast(sum, 2, MPI_INT, peer, MPI_COMM_WORLD);
    CHECK(sum[0] == 11 && sum[1] == 12);
    MPI_Reduce(v, sum, 2, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    CHECK(sum[0] == 105 && sum[1] == 207);
    MPI_Allreduce(v, sum, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    CHECK(sum[0] == 5 && sum[1] == 9);
    MPI_Gather(v, 2, MPI_INT, all, 2, MPI_INT, 0, MPI_COMM_WORLD);
    CHECK(all[0] == 5 && all[1] == 7 && all[2] == 21 && all[3] == 22);
    MPI_Scatter(all, 2, MPI_INT, sum, 2, MPI_INT, 0, MPI_COMM_WORLD);
    CHECK(sum[0] == 5);
    MPI_Alltoall(all, 2, MPI_INT, (int[4]){ 0 }, 2, MPI_INT, MPI_COMM_WORLD);
    MPI_Scan(v, sum, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Send(v, 1, MPI_INT, peer, 30, copy);
    MPI_Comm_split(copy, 4, 8, &half); // the other one first
    MPI_Comm_rank(half, &rank);
    CHECK(rank == 1);
    MPI_Send(v, 1, MPI_INT, 0, 31, half);
    MPI_Comm_free(&half);
    MPI_Comm_free(&copy);
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(rank == 0 && size == 2);
    scalars(1);
    modes(1);
    cancels(1);
    collectives(1);
    puts("letter ok");
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
