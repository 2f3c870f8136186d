// SPDX-License-Identifier: BSD-3-Clause
// Endpoints driven by one thread each: messages of all sizes in all directions, wildcards, probes,
// blocking collectives, splits, duplicates, endpoints of endpoints.
#include "ep_t.h"

enum { BIG = 300000 };

static void fill(char *buf, int n, int seed)
{
    for (int i = 0; i < n; i++) {
        buf[i] = (char)(i * 31 + seed);
    }
}

static int is_filled(const char *buf, int n, int seed)
{
    for (int i = 0; i < n; i++) {
        if (buf[i] != (char)(i * 31 + seed)) {
            return 0;
        }
    }
    return 1;
}

static void ring(MPI_Comm comm)
{
    static const int sizes[] = { 0, 1, 24, 25, 1000, 5000, 16384, 16385, 100000, BIG };
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    char *out = malloc(BIG), *in = malloc(BIG);
    for (int k = 0; k < 10; k++) {
        for (int way = 0; way < 4; way++) {
            MPI_Status s;
            MPI_Request r;
            int n = sizes[k], got;
            fill(out, n, rank + k);
            memset(in, 0, (size_t)n);
            switch (way) {
            case 0:
                MPI_Sendrecv(out, n, MPI_CHAR, to, k, in, n, MPI_CHAR, from, k, comm, &s);
                break;
            case 1:
                MPI_Isend(out, n, MPI_CHAR, to, k, comm, &r);
                MPI_Recv(in, BIG, MPI_CHAR, MPI_ANY_SOURCE, k, comm, &s);
                MPI_Wait(&r, MPI_STATUS_IGNORE);
                break;
            case 2:
                MPI_Irecv(in, n, MPI_CHAR, from, MPI_ANY_TAG, comm, &r);
                MPI_Ssend(out, n, MPI_CHAR, to, k, comm);
                MPI_Wait(&r, &s);
                break;
            default:
                MPI_Issend(out, n, MPI_CHAR, to, k, comm, &r);
                MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &s);
                MPI_Get_count(&s, MPI_CHAR, &got);
                T_EQ(got, n);
                MPI_Recv(in, n, MPI_CHAR, s.MPI_SOURCE, s.MPI_TAG, comm, &s);
                MPI_Wait(&r, MPI_STATUS_IGNORE);
                break;
            }
            MPI_Get_count(&s, MPI_CHAR, &got);
            T_EQ(got, n);
            T_EQ(s.MPI_SOURCE, from);
            T_EQ(s.MPI_TAG, k);
            T_OK(is_filled(in, n, from + k));
            MPI_Barrier(comm); // wildcards must not reach into the next turn
        }
    }
    free(out);
    free(in);
}

// Holes on both sides: copied once inside a process, packed between processes.
static void strided(MPI_Comm comm)
{
    enum { N = 20000 };
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Datatype every2, every3;
    MPI_Type_vector(N, 1, 2, MPI_INT, &every2);
    MPI_Type_vector(N, 1, 3, MPI_INT, &every3);
    MPI_Type_commit(&every2);
    MPI_Type_commit(&every3);
    int *out = calloc(N * 2, sizeof *out), *in = calloc(N * 3, sizeof *in);
    for (int i = 0; i < N; i++) {
        out[2 * i] = rank * N + i;
    }
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    MPI_Sendrecv(out, 1, every2, to, 0, in, 1, every3, from, 0, comm, MPI_STATUS_IGNORE);
    for (int i = 0; i < N; i++) {
        T_OK(in[3 * i] == from * N + i && in[3 * i + 1] == 0);
    }
    MPI_Type_free(&every2);
    MPI_Type_free(&every3);
    free(out);
    free(in);
}

static void collectives(MPI_Comm comm)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int *all = malloc((size_t)size * sizeof *all), *out = malloc((size_t)size * sizeof *out);
    double *big = malloc(50000 * sizeof *big), *sum = malloc(50000 * sizeof *sum);
    for (int round = 0; round < 20; round++) {
        int v = rank + round, total;
        MPI_Barrier(comm);
        MPI_Allreduce(&v, &total, 1, MPI_INT, MPI_SUM, comm);
        T_EQ(total, size * (size - 1) / 2 + size * round);
        int root = round % size, b = rank == root ? round * 3 : -1;
        MPI_Bcast(&b, 1, MPI_INT, root, comm);
        T_EQ(b, round * 3);
        MPI_Allgather(&v, 1, MPI_INT, all, 1, MPI_INT, comm);
        for (int i = 0; i < size; i++) {
            T_EQ(all[i], i + round);
            out[i] = rank * 1000 + i;
        }
        MPI_Alltoall(out, 1, MPI_INT, all, 1, MPI_INT, comm);
        for (int i = 0; i < size; i++) {
            T_EQ(all[i], i * 1000 + rank);
        }
        MPI_Scan(&v, &total, 1, MPI_INT, MPI_SUM, comm);
        T_EQ(total, rank * (rank + 1) / 2 + (rank + 1) * round);
        int n = round % 5 == 0 ? 50000 : 300;
        for (int i = 0; i < n; i++) {
            big[i] = rank + i;
        }
        MPI_Allreduce(big, sum, n, MPI_DOUBLE, MPI_SUM, comm);
        for (int i = 0; i < n; i += 97) {
            T_OK(sum[i] == size * (size - 1) / 2.0 + (double)size * i);
        }
        MPI_Bcast(big, n, MPI_DOUBLE, root, comm);
        T_OK(big[n - 1] == root + n - 1);
    }
    free(all);
    free(out);
    free(big);
    free(sum);
}

static void constructors(MPI_Comm comm)
{
    int rank, size, r, n, v, total;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Comm half, copy;
    MPI_Comm_split(comm, rank % 2, -rank, &half);
    MPI_Comm_rank(half, &r);
    MPI_Comm_size(half, &n);
    T_EQ(n, (size + 1 - rank % 2) / 2);
    T_EQ(r, n - 1 - rank / 2);
    MPI_Comm_dup(half, &copy);
    v = rank;
    MPI_Allreduce(&v, &total, 1, MPI_INT, MPI_SUM, copy);
    T_EQ(total, rank % 2 == 0 ? n * (n - 1) : n * n);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&half);
    MPI_Request req;
    MPI_Comm_idup(comm, &copy, &req);
    MPI_Wait(&req, MPI_STATUS_IGNORE);
    ring(copy);
    MPI_Comm_disconnect(&copy);
}

static void nested(MPI_Comm comm)
{
    int size, inner, rank, outer;
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &outer);
    MPI_Comm two[2];
    T_MUST(MPI_Comm_create_endpoints(comm, 2, MPI_INFO_NULL, two) == MPI_SUCCESS);
    for (int i = 0; i < 2; i++) {
        MPI_Comm_size(two[i], &inner);
        MPI_Comm_rank(two[i], &rank);
        T_EQ(inner, 2 * size);
        T_EQ(rank, 2 * outer + i);
    }
    int in[2], out[2] = { 2 * outer, 2 * outer + 1 };
    MPI_Request r[2];
    MPI_Iallreduce(&out[0], &in[0], 1, MPI_INT, MPI_SUM, two[0], &r[0]);
    MPI_Iallreduce(&out[1], &in[1], 1, MPI_INT, MPI_SUM, two[1], &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    T_EQ(in[0], size * (2 * size - 1));
    T_EQ(in[1], in[0]);
    MPI_Comm_free(&two[1]);
    MPI_Comm_free(&two[0]);
}

static void all_of_it(MPI_Comm comm)
{
    T_EQ(MPI_Comm_attach(comm), MPI_SUCCESS);
    ring(comm);
    strided(comm);
    collectives(comm);
    constructors(comm);
    nested(comm);
    T_EQ(MPI_Comm_detach(comm), MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    int level, n = argc > 1 ? atoi(argv[1]) : 2;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    T_MUST(level == MPI_THREAD_MULTIPLE);
    ep_run(MPI_COMM_WORLD, n, all_of_it);
    ep_run(MPI_COMM_SELF, n, collectives);
    MPI_Finalize();
    return t_status();
}
