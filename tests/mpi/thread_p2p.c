// SPDX-License-Identifier: BSD-3-Clause
// Many threads of two ranks talk at once: exchanges, wildcards, messages to oneself, waitany.
#include <mpi.h>
#include <pthread.h>

#include "t.h"

enum { N_THREAD = 4, N_ROUND = 300, BIG = 40000 };

static int rank, size;

static void *exchange(void *arg)
{
    int me = (int)(long)arg, peer = rank ^ 1;
    int *out = malloc(BIG * sizeof *out), *in = malloc(BIG * sizeof *in);
    for (int i = 0; i < N_ROUND; i++) {
        int n = i % 50 == 0 ? BIG : i % 10 == 0 ? 3000 : i % 7;
        for (int k = 0; k < n; k++) {
            out[k] = me * 1000003 + i * 17 + k;
        }
        MPI_Request r[2];
        T_MUST(MPI_Irecv(in, BIG, MPI_INT, peer, me, MPI_COMM_WORLD, &r[0]) == MPI_SUCCESS);
        T_MUST(MPI_Isend(out, n, MPI_INT, peer, me, MPI_COMM_WORLD, &r[1]) == MPI_SUCCESS);
        MPI_Status s[2];
        if (i % 3 == 0) {
            T_MUST(MPI_Waitall(2, r, s) == MPI_SUCCESS);
        } else {
            for (int k = 0; k < 2; k++) {
                int index;
                MPI_Status one;
                T_MUST(MPI_Waitany(2, r, &index, &one) == MPI_SUCCESS);
                T_OK(index == 0 || index == 1);
                s[index] = one;
            }
        }
        int got;
        T_MUST(MPI_Get_count(&s[0], MPI_INT, &got) == MPI_SUCCESS);
        T_OK(got == n);
        for (int k = 0; k < n; k++) {
            T_OK(in[k] == out[k]);
        }
    }
    free(out);
    free(in);
    return NULL;
}

static void *to_myself(void *arg)
{
    int tag = 100 + (int)(long)arg;
    static _Thread_local char out[9000], in[9000];
    for (int i = 0; i < N_ROUND; i++) {
        int n = i % 2 ? 10 : 9000;
        memset(out, i, (size_t)n);
        MPI_Request r;
        T_MUST(MPI_Isend(out, n, MPI_CHAR, rank, tag, MPI_COMM_WORLD, &r) == MPI_SUCCESS);
        T_MUST(MPI_Recv(in, n, MPI_CHAR, rank, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ==
               MPI_SUCCESS);
        T_MUST(MPI_Wait(&r, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        T_OK(memcmp(in, out, (size_t)n) == 0);
    }
    return NULL;
}

static void *sink(void *arg)
{
    (void)arg;
    long sum = 0;
    for (int i = 0; i < N_ROUND; i++) {
        int v;
        MPI_Message m;
        MPI_Status s;
        T_MUST(MPI_Mprobe(rank ^ 1, 500, MPI_COMM_WORLD, &m, &s) == MPI_SUCCESS);
        T_MUST(MPI_Mrecv(&v, 1, MPI_INT, &m, &s) == MPI_SUCCESS);
        sum += v;
    }
    T_OK(sum == (long)N_ROUND * (N_ROUND - 1) / 2);
    return NULL;
}

static void *source(void *arg)
{
    (void)arg;
    for (int i = 0; i < N_ROUND; i++) {
        T_MUST(MPI_Ssend(&i, 1, MPI_INT, rank ^ 1, 500, MPI_COMM_WORLD) == MPI_SUCCESS);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    T_MUST(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS);
    T_OK(provided == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    T_OK(size == 2);
    pthread_t t[2 * N_THREAD + 2];
    int n = 0;
    for (long i = 0; i < N_THREAD; i++) {
        pthread_create(&t[n++], NULL, exchange, (void *)i);
    }
    for (long i = 0; i < N_THREAD / 2; i++) {
        pthread_create(&t[n++], NULL, to_myself, (void *)i);
    }
    pthread_create(&t[n++], NULL, sink, NULL);
    pthread_create(&t[n++], NULL, source, NULL);
    for (int i = 0; i < n; i++) {
        pthread_join(t[i], NULL);
    }
    MPI_Finalize();
    return t_status();
}
