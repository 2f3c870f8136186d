// SPDX-License-Identifier: BSD-3-Clause
// A program that forks its ranks and then does what its first argument says. Driven by fork.py.
#include "counting_threads.h"

#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void nap(double s)
{
    struct timespec t = { (time_t)s, (long)((s - (double)(time_t)s) * 1e9) };
    nanosleep(&t, NULL);
}

static int is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

// Some clones do not survive the call itself: they are killed while it is under way.
static void dies_in_fork(void)
{
    kill(getpid(), SIGKILL);
}

// MPI_THREAD_MULTIPLE: threads that each have an endpoint, and wait outside of MPI for work.
enum { N_WORKER = 3 };
static MPI_Comm ends[N_WORKER];
static pthread_t workers[N_WORKER];
static pthread_barrier_t work;
static volatile int is_work_over, n_bad_work;

// Where a thread was stopped, calls lay below that its copy never leaves: the address sanitizer,
// which checks what memset writes, must have forgotten them.
__attribute__((no_sanitize("address"))) static void use_stack(void)
{
    char room[24 * 1024];
    memset(room, 0, sizeof room);
    __asm__ volatile("" : : "r"(room) : "memory");
}

static void *do_work(void *arg)
{
    int i = (int)(long)arg, rank, size, sum;
    for (;;) {
        pthread_barrier_wait(&work);
        if (is_work_over) {
            return arg;
        }
        use_stack();
        MPI_Comm_rank(ends[i], &rank);
        MPI_Comm_size(ends[i], &size);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, ends[i]);
        __atomic_add_fetch(&n_bad_work, sum != size * (size - 1) / 2, __ATOMIC_RELAXED);
        pthread_barrier_wait(&work);
    }
}

static void start_workers(void)
{
    MPI_Comm_create_endpoints(MPI_COMM_WORLD, N_WORKER, MPI_INFO_NULL, ends);
    pthread_barrier_init(&work, NULL, N_WORKER + 1);
    for (long i = 0; i < N_WORKER; i++) {
        pthread_create(&workers[i], NULL, do_work, (void *)i);
    }
}

static void use_workers(void)
{
    for (int i = 0; i < 2 * 50; i++) {
        pthread_barrier_wait(&work);
    }
}

static int end_workers(void)
{
    is_work_over = 1;
    pthread_barrier_wait(&work);
    for (int i = 0; i < N_WORKER; i++) {
        pthread_join(workers[i], NULL);
        MPI_Comm_free(&ends[i]);
    }
    return n_bad_work == 0;
}

// A thread in a call of MPI.
static volatile int is_called;
static void *wait_in_call(void *arg)
{
    is_called = 1;
    MPI_Recv(arg, 1, MPI_INT, 0, 7, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    return arg;
}

static void begin_call(pthread_t *thread, int *received)
{
    pthread_create(thread, NULL, wait_in_call, received);
    while (!is_called) {
        nap(0.01);
    }
    nap(0.2);
}

// Ranks that see their notice and stay.
static void stay(int rank)
{
    for (int flag = 0, said = 0;; nap(0.01)) {
        MPIX_World_leaving(&flag);
        if (flag && !said) {
            said = printf("rank %d has its notice\n", rank);
            fflush(stdout);
        }
    }
}

static int fork_on(const char *hosts)
{
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "host", hosts);
    int got = MPIX_Fork_with_info(2, info);
    MPI_Info_free(&info);
    return got;
}

int main(int argc, char **argv)
{
    int level, is_waiting = argc > 1 && is(argv[1], "waits"), received = 0, sent = 1;
    int is_multiple = is_waiting || (argc > 1 && (is(argv[1], "multiple") || is(argv[1], "work")));
    pthread_t waiting;
    MPI_Init_thread(&argc, &argv, is_multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED, &level);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    const char *what = argc > 1 ? argv[1] : "";
    int rank, size, len;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (is(what, "stubborn")) {
        stay(rank);
    }
    printf("before, without an end of line;"); // must be printed once
    if (is(what, "threads") || is(what, "multiple")) {
        start_counting();
    } else if (is(what, "work")) {
        start_workers();
        use_workers();
    } else if (is_waiting && rank == 0) {
        begin_call(&waiting, &received);
    }
    if (is(what, "dies") && rank == 0) {
        pthread_atfork(NULL, NULL, dies_in_fork);
    }
    int got = argc > 2 ? fork_on(argv[2]) : MPI_Fork(2);
    if (got < 0) {
        MPI_Error_string(-got, text, &len);
        printf(" rank %d: %s\n", rank, text);
        if (is_waiting && rank == 0) { // and no harm was done
            MPI_Send(&sent, 1, MPI_INT, 0, 7, MPI_COMM_SELF);
            pthread_join(waiting, NULL);
            printf("received %d\n", received);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Finalize();
        return 0;
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    printf(" rank %d of %d\n", rank, size);
    fflush(stdout);
    if (is(what, "work")) {
        use_workers();
        printf("rank %d has %s threads\n", rank, end_workers() ? "good" : "bad");
    } else if (is(what, "threads") || is_multiple) { // those of a clone go on, and are its own
        nap(0.01);
        printf("rank %d has %s threads\n", rank, end_counting() ? "good" : "bad");
    } else if (is(what, "where")) {
        gethostname(text, sizeof text);
        printf("rank %d is on %s\n", rank, text);
    } else if (is(what, "children")) { // a clone is nobody's child that the program could meet
        printf("rank %d waits for %d\n", rank, (int)waitpid(-1, NULL, 0));
    } else if (is(what, "input")) {
        printf("rank %d reads %d\n", rank, getchar());
    } else if (is(what, "crash") && got == 0) {
        signal(SIGSEGV, SIG_DFL); // a sanitizer has its own idea of it
        raise(SIGSEGV);
    } else if (is(what, "abort") && rank == 3) {
        MPI_Abort(MPI_COMM_WORLD, 9);
    } else if (is(what, "exit") && rank == 2) {
        exit(5);
    } else if (is(what, "sleep")) {
        fprintf(stderr, "asleep\n");
        nap(60);
    } else if (is(what, "hang") && rank == 2) {
        MPI_Recv(&len, 1, MPI_INT, 3, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (!is(what, "early")) {
        MPI_Barrier(MPI_COMM_WORLD);
    } else if (got == 0) { // the parents end first
        nap(0.3);
    }
    MPI_Finalize();
    if (is(what, "late") && rank == 3) {
        return 7;
    }
    return 0;
}
