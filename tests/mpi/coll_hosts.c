// SPDX-License-Identifier: BSD-3-Clause
// Collectives of communicators on several hosts, often enough that boards inside hosts come into
// use: all sizes at which the way is another one, all roots, operations with an order, ranks in the
// order of hosts and across it.
#include "t.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { P = 10007, MOST = 150000, TURNS = 4 };

static _Thread_local int rank, size;
static _Thread_local MPI_Comm comm;

// x -> ax + b modulo P: does not commute. The left operand is applied first.
struct map {
    int a, b;
};

static void compose(void *in, void *inout, int *len, MPI_Datatype *type)
{
    (void)type;
    struct map *l = in, *r = inout;
    for (int i = 0; i < *len; i++) {
        r[i] = (struct map){ (int)((long)l[i].a * r[i].a % P),
                             (int)(((long)r[i].a * l[i].b + r[i].b) % P) };
    }
}

static struct map map_of(int r, int i)
{
    return (struct map){ 2 + (r * 31 + i) % 97, 1 + (r * 7 + i * 3) % 89 };
}

static struct map want_map(int i)
{
    struct map m = map_of(0, i);
    for (int r = 1; r < size; r++) {
        struct map next = map_of(r, i);
        int one = 1;
        compose(&m, &next, &one, NULL);
        m = next;
    }
    return m;
}

static void ordered(MPI_Op op, MPI_Datatype type, int n, int root)
{
    struct map *mine = malloc((size_t)n * sizeof *mine), *got = malloc((size_t)n * sizeof *got);
    for (int i = 0; i < n; i++) {
        mine[i] = map_of(rank, i);
    }
    MPI_Allreduce(mine, got, n, type, op, comm);
    for (int i = 0; i < n; i += 1 + n / 50) {
        struct map want = want_map(i);
        T_OK(got[i].a == want.a && got[i].b == want.b);
    }
    memset(got, 0, (size_t)n * sizeof *got);
    MPI_Reduce(mine, got, n, type, op, root, comm);
    for (int i = 0; i < n && rank == root; i += 1 + n / 50) {
        struct map want = want_map(i);
        T_OK(got[i].a == want.a && got[i].b == want.b);
    }
    free(mine);
    free(got);
}

static void sums(int n, int turn)
{
    long *v = malloc((size_t)n * sizeof *v), *got = malloc((size_t)n * sizeof *got);
    for (int i = 0; i < n; i++) {
        v[i] = (long)(rank + 1) * (i + turn);
    }
    long all = (long)size * (size + 1) / 2;
    MPI_Allreduce(v, got, n, MPI_LONG, MPI_SUM, comm);
    int n_bad = 0;
    for (int i = 0; i < n; i++) {
        n_bad += got[i] != all * (i + turn);
    }
    T_EQ(n_bad, 0);
    MPI_Allreduce(MPI_IN_PLACE, v, n, MPI_LONG, MPI_SUM, comm);
    T_EQ(memcmp(v, got, (size_t)n * sizeof *v), 0);
    free(v);
    free(got);
}

static void broadcasts(int n, int root, int turn)
{
    int *v = malloc((size_t)n * 2 * sizeof *v);
    MPI_Datatype holes;
    MPI_Type_vector(n, 1, 2, MPI_INT, &holes);
    MPI_Type_commit(&holes);
    for (int i = 0; i < 2 * n; i++) {
        v[i] = rank == root ? i ^ turn : -1;
    }
    MPI_Bcast(v, 1, holes, root, comm);
    int n_bad = 0;
    for (int i = 0; i < 2 * n - 1; i++) {
        n_bad += v[i] != (i % 2 == 0 || rank == root ? i ^ turn : -1);
    }
    T_EQ(n_bad, 0);
    MPI_Bcast(v, 2 * n, MPI_INT, root, comm);
    for (int i = 0; i < 2 * n; i++) {
        n_bad += v[i] != (i ^ turn);
    }
    T_EQ(n_bad, 0);
    MPI_Type_free(&holes);
    free(v);
}

static int block_of(int from, int to, int i)
{
    return from * 1000003 + to * 1009 + i;
}

// Blocks of n integers, plain, from a type with holes, and in place.
static void moves(int n)
{
    size_t all = (size_t)n * (size_t)size;
    int *out = malloc(2 * all * sizeof *out), *in = malloc(all * sizeof *in);
    MPI_Datatype holes;
    MPI_Type_vector(n, 1, 2, MPI_INT, &holes);
    MPI_Type_commit(&holes);
    for (int i = 0; i < n; i++) {
        out[2 * i] = block_of(rank, 0, i);
    }
    MPI_Allgather(out, 1, holes, in, n, MPI_INT, comm);
    int n_bad = 0;
    for (size_t k = 0; k < all; k++) {
        n_bad += in[k] != block_of((int)(k / (size_t)n), 0, (int)(k % (size_t)n));
    }
    T_EQ(n_bad, 0);
    for (size_t k = 0; k < all; k++) {
        in[k] = k / (size_t)n == (size_t)rank ? in[k] : -1;
    }
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, n, MPI_INT, comm);
    for (size_t k = 0; k < all; k++) {
        n_bad += in[k] != block_of((int)(k / (size_t)n), 0, (int)(k % (size_t)n));
        out[k] = block_of(rank, (int)(k / (size_t)n), (int)(k % (size_t)n));
    }
    T_EQ(n_bad, 0);
    MPI_Alltoall(out, n, MPI_INT, in, n, MPI_INT, comm);
    for (size_t k = 0; k < all; k++) {
        n_bad += in[k] != block_of((int)(k / (size_t)n), rank, (int)(k % (size_t)n));
    }
    T_EQ(n_bad, 0);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, n, MPI_INT, comm);
    T_EQ(memcmp(in, out, all * sizeof *in), 0);
    MPI_Type_free(&holes);
    free(out);
    free(in);
}

// Nobody leaves before everybody has come: counted at rank 0 by messages.
static void barriers(int turn)
{
    int late = turn % size, word = turn;
    if (rank == late) {
        for (int i = 0; i < size; i++) {
            if (i != rank) {
                MPI_Send(&word, 1, MPI_INT, i, 5, comm);
            }
        }
    }
    MPI_Barrier(comm);
    if (rank != late) {
        MPI_Recv(&word, 1, MPI_INT, late, 5, comm, MPI_STATUS_IGNORE);
        T_EQ(word, turn);
    }
    MPI_Barrier(comm);
}

// One rank has an element more than the others: it is told, nobody waits for ever, and what follows
// is right.
static void disagree(int n)
{
    size_t room = ((size_t)n + 1) * (size_t)size;
    long *a = calloc(room, sizeof *a), *b = calloc(room, sizeof *b), one = 1, sum = 0;
    int len = rank == 1 ? n + 1 : n;
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    T_OK((MPI_Allgather(a, len, MPI_LONG, b, len, MPI_LONG, comm) != MPI_SUCCESS) || rank != 1);
    MPI_Allreduce(&one, &sum, 1, MPI_LONG, MPI_SUM, comm);
    T_EQ(sum, size);
    T_OK((MPI_Alltoall(a, len, MPI_LONG, b, len, MPI_LONG, comm) != MPI_SUCCESS) || rank != 1);
    MPI_Allreduce(&one, &sum, 1, MPI_LONG, MPI_SUM, comm);
    T_EQ(sum, size);
    T_OK((MPI_Allreduce(a, b, len, MPI_LONG, MPI_SUM, comm) != MPI_SUCCESS) || rank != 1);
    MPI_Allreduce(&one, &sum, 1, MPI_LONG, MPI_SUM, comm);
    T_EQ(sum, size);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
    free(a);
    free(b);
}

static void all(void)
{
    static const int sizes[] = { 1, 12, 13, 300, 1024, 1025, 20000, MOST };
    MPI_Op op;
    MPI_Datatype type;
    MPI_Op_create(compose, 0, &op);
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int turn = 0; turn < TURNS; turn++) {
        for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
            int root = (int)(k + (size_t)turn * 3) % size;
            barriers(turn + (int)k);
            sums(sizes[k], turn);
            ordered(op, type, sizes[k] < MOST ? sizes[k] : 30000, root);
            broadcasts(sizes[k], root, turn);
            if (sizes[k] < MOST) {
                moves(sizes[k]);
            }
        }
    }
    MPI_Type_free(&type);
    MPI_Op_free(&op);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    comm = MPI_COMM_WORLD;
    all();
    disagree(3);
    disagree(200);
    disagree(20000);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, 0, rank % 2 * size + rank, &comm); // across the hosts
    all();
    MPI_Comm_free(&comm);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0, -rank, &comm); // one less, backwards
    all();
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return t_status();
}
