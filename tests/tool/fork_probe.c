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
    int level, is_multiple = argc > 1 && strcmp(argv[1], "multiple") == 0;
    MPI_Init_thread(&argc, &argv, is_multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED, &level);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    const char *what = argc > 1 ? argv[1] : "";
    int rank, size, len;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (is(what, "stubborn")) { // ranks that see their notice and stay
        for (int flag = 0, said = 0;; nap(0.01)) {
            MPIX_World_leaving(&flag);
            if (flag && !said) {
                said = printf("rank %d has its notice\n", rank);
                fflush(stdout);
            }
        }
    }
    printf("before, without an end of line;"); // must be printed once
    if (is(what, "threads") || (is_multiple && rank == 0)) {
        start_counting();
    }
    if (is(what, "dies") && rank == 0) {
        pthread_atfork(NULL, NULL, dies_in_fork);
    }
    int got = argc > 2 ? fork_on(argv[2]) : MPI_Fork(2);
    if (got < 0) {
        MPI_Error_string(-got, text, &len);
        printf(" rank %d: %s\n", rank, text);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Finalize();
        return 0;
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    printf(" rank %d of %d\n", rank, size);
    fflush(stdout);
    if (is(what, "threads")) { // those of a clone go on, and are its own
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
