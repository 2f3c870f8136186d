// SPDX-License-Identifier: BSD-3-Clause
// Endpoints driven by threads: a process dies with all of its endpoints while the others' threads
// wait in different calls. The argument is how many endpoints a process has; with `windows` they
// also have windows; with `spawn`, the process of the root and milliseconds, all are in
// MPI_Comm_spawn, and the new processes take so long until they call MPI_Init. Needs mpiexec
// --on-failure=shrink; rank 1 of the processes dies.
#include "ep_t.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LARGE = 1 << 17 };

static int n_ep, process, spawner = -1;
static char *program, *child_ms;
static bool has_windows;
static atomic_int n_ready;

static void expect(int code, int want)
{
    int class = -1;
    MPI_Error_class(code, &class);
    T_EQ(class, want);
}

// Threads of one process send to each other while others hear the news.
static void use(MPI_Comm c, int want)
{
    int rank, size, sum = 0, one = 1;
    double *out = calloc(LARGE, sizeof *out), *in = calloc(LARGE, sizeof *in);
    MPI_Comm_rank(c, &rank);
    MPI_Comm_size(c, &size);
    T_EQ(size, want);
    for (int i = 0; i < 5; i++) {
        out[LARGE - 1] = rank;
        T_EQ(MPI_Sendrecv(out, LARGE, MPI_DOUBLE, (rank + 1) % size, 1, in, LARGE, MPI_DOUBLE,
                          (rank + size - 1) % size, 1, c, MPI_STATUS_IGNORE),
             MPI_SUCCESS);
        T_OK(in[LARGE - 1] == (rank + size - 1) % size);
        T_EQ(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, c), MPI_SUCCESS);
        T_EQ(sum, want);
    }
    free(out);
    free(in);
}

// Everybody writes to everybody's window, those of its own process too. The window stays.
static MPI_Win open_and_write(MPI_Comm c)
{
    int rank, size, *at;
    MPI_Win w;
    MPI_Comm_rank(c, &rank);
    MPI_Comm_size(c, &size);
    T_MUST(MPI_Win_allocate(size * (MPI_Aint)sizeof(int), sizeof(int), MPI_INFO_NULL, c, &at, &w) ==
           MPI_SUCCESS);
    MPI_Win_set_errhandler(w, MPI_ERRORS_RETURN);
    MPI_Win_fence(0, w);
    for (int i = 0; i < size; i++) {
        T_EQ(MPI_Put(&rank, 1, MPI_INT, i, rank, 1, MPI_INT, w), MPI_SUCCESS);
    }
    MPI_Win_fence(0, w);
    for (int i = 0; i < size; i++) {
        T_EQ(at[i], i);
    }
    return w;
}

// A signal that comes to this process in the middle of MPI_Comm_spawn.
static void die_later(void)
{
    timer_t t;
    struct sigevent how = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL };
    struct itimerspec when = { .it_value = { .tv_nsec = 100000000 } };
    T_EQ(timer_create(CLOCK_MONOTONIC, &how, &t), 0);
    T_EQ(timer_settime(t, 0, &when, NULL), 0);
}

static int child(int ms)
{
    nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000L }, NULL);
    MPI_Init(NULL, NULL); // does not return
    fprintf(stderr, "a child of the failed call is connected\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
    return 1;
}

static void spawn_and_lose(MPI_Comm c)
{
    char *args[] = { "child", child_ms, NULL };
    int flag = 3, size;
    MPI_Comm both, next;
    MPI_Comm_size(c, &size);
    MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
    T_EQ(MPIX_Comm_agree(c, &flag), MPI_SUCCESS);
    if (process == 1 && atomic_fetch_add(&n_ready, 1) == 0) {
        die_later();
    }
    expect(MPI_Comm_spawn(program, args, 2, MPI_INFO_NULL, spawner * n_ep + n_ep - 1, c, &both,
                          MPI_ERRCODES_IGNORE),
           MPIX_ERR_PROC_FAILED);
    if (process == 1) {
        pause();
    }
    T_EQ(MPIX_Comm_shrink(c, &next), MPI_SUCCESS);
    use(next, size - n_ep);
    MPI_Comm_free(&next);
}

static void lose(MPI_Comm c)
{
    int rank, size, x = 0, flag = 3;
    MPI_Comm next;
    double *big = calloc(LARGE, sizeof *big);
    MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
    MPI_Comm_rank(c, &rank);
    MPI_Comm_size(c, &size);
    use(c, size);
    MPI_Win w = has_windows ? open_and_write(c) : MPI_WIN_NULL;
    T_EQ(MPIX_Comm_agree(c, &flag), MPI_SUCCESS); // nobody dies before all have come so far
    if (process == 1) {
        if (atomic_fetch_add(&n_ready, 1) + 1 == n_ep) { // the last of its threads
            usleep(50000);
            kill(getpid(), SIGKILL);
        }
        pause();
    }
    switch (rank % 3) {
    case 0:
        expect(MPI_Recv(&x, 1, MPI_INT, n_ep, 2, c, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
        break;
    case 1:
        expect(MPI_Send(big, LARGE, MPI_DOUBLE, n_ep, 2, c), MPIX_ERR_PROC_FAILED);
        break;
    default:
        expect(MPI_Barrier(c), MPIX_ERR_PROC_FAILED);
        break;
    }
    T_EQ(MPIX_Comm_failure_ack(c), MPI_SUCCESS);
    T_EQ(MPIX_Comm_agree(c, &flag), MPI_SUCCESS); // all have come out
    T_EQ(flag, 3);
    T_EQ(MPIX_Comm_revoke(c), MPI_SUCCESS);
    expect(MPI_Barrier(c), MPIX_ERR_REVOKED);
    T_EQ(MPIX_Comm_shrink(c, &next), MPI_SUCCESS);
    use(next, size - n_ep);
    if (has_windows) {
        T_EQ(MPI_Win_free(&w), MPI_SUCCESS);
        w = open_and_write(next);
        T_EQ(MPI_Win_free(&w), MPI_SUCCESS);
    }
    MPI_Comm_free(&next);
    free(big);
}

int main(int argc, char **argv)
{
    int level;
    if (argc > 2 && strcmp(argv[1], "child") == 0) {
        return child(atoi(argv[2]));
    }
    program = argv[0];
    n_ep = argc > 1 ? atoi(argv[1]) : 2;
    has_windows = argc > 2 && strcmp(argv[2], "windows") == 0;
    if (argc > 4 && strcmp(argv[2], "spawn") == 0) {
        spawner = atoi(argv[3]);
        child_ms = argv[4];
    }
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    T_MUST(level == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &process);
    ep_run(MPI_COMM_WORLD, n_ep, spawner >= 0 ? spawn_and_lose : lose);
    MPI_Finalize();
    return t_status();
}
