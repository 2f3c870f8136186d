// SPDX-License-Identifier: BSD-3-Clause
// A master and its workers over processes and threads alike: every thread is a rank, rank 0 hands
// out ranges of numbers to any worker that asks, and the workers count the primes in them. A worker
// asks with a message that rank 0 receives from any source, so its answer reaches that very thread;
// without endpoints each process would need a scheme of tags for its threads.
//
//     mpiexec -n 2 ./ep_workers 3          # 2 processes with 3 threads each
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { LIMIT = 200000, RANGE = 2000, PRIMES = 17984, TAG_ASK = 1, TAG_RANGE = 2 };

struct ask {
    int n_prime; // found in the range before, -1 at first
};

static int is_prime(int n)
{
    for (int d = 2; d * d <= n; d++) {
        if (n % d == 0) {
            return 0;
        }
    }
    return n >= 2;
}

static void work(MPI_Comm comm)
{
    struct ask ask = { -1 };
    for (;;) {
        int first;
        MPI_Send(&ask, sizeof ask, MPI_BYTE, 0, TAG_ASK, comm);
        MPI_Recv(&first, 1, MPI_INT, 0, TAG_RANGE, comm, MPI_STATUS_IGNORE);
        if (first >= LIMIT) {
            return;
        }
        ask.n_prime = 0;
        for (int n = first; n < first + RANGE && n < LIMIT; n++) {
            ask.n_prime += is_prime(n);
        }
    }
}

static void lead(MPI_Comm comm)
{
    int size, sum = 0, n_range = 0, next = 0;
    MPI_Comm_size(comm, &size);
    int *n_of = calloc((size_t)size, sizeof(int));
    for (int busy = size - 1; busy > 0; next += RANGE) {
        struct ask ask;
        MPI_Status st;
        MPI_Recv(&ask, sizeof ask, MPI_BYTE, MPI_ANY_SOURCE, TAG_ASK, comm, &st);
        if (ask.n_prime >= 0) {
            sum += ask.n_prime;
            n_of[st.MPI_SOURCE]++;
            n_range++;
        }
        MPI_Send(&next, 1, MPI_INT, st.MPI_SOURCE, TAG_RANGE, comm);
        busy -= next >= LIMIT;
    }
    for (int r = 1; r < size; r++) {
        printf("worker %d of %d counted %d ranges\n", r, size - 1, n_of[r]);
    }
    printf("%d primes below %d in %d ranges by %d workers, %s\n", sum, LIMIT, n_range, size - 1,
           sum == PRIMES ? "right" : "WRONG");
    free(n_of);
}

static void *thread(void *arg)
{
    MPI_Comm comm = *(MPI_Comm *)arg;
    int rank;
    MPI_Comm_attach(comm);
    MPI_Comm_rank(comm, &rank);
    if (rank == 0) {
        lead(comm);
    } else {
        work(comm);
    }
    MPI_Comm_detach(comm);
    MPI_Comm_free(&comm);
    return NULL;
}

int main(int argc, char **argv)
{
    int level, n_process;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_size(MPI_COMM_WORLD, &n_process);
    int n = argc > 1 ? atoi(argv[1]) : 3;
    if (level < MPI_THREAD_MULTIPLE || n < 1 || n * n_process < 2) {
        fprintf(stderr, "usage: mpiexec -n PROCESSES ep_workers THREADS, together at least 2\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Comm *comms = malloc((size_t)n * sizeof *comms);
    pthread_t *ids = malloc((size_t)n * sizeof *ids);
    MPI_Comm_create_endpoints(MPI_COMM_WORLD, n, MPI_INFO_NULL, comms);
    for (int i = 0; i < n; i++) {
        if (pthread_create(&ids[i], NULL, thread, &comms[i]) != 0) {
            fprintf(stderr, "ep_workers: cannot start thread %d\n", i);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    for (int i = 0; i < n; i++) {
        pthread_join(ids[i], NULL);
    }
    free(ids);
    free(comms);
    MPI_Finalize();
    return 0;
}
