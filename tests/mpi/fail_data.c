// SPDX-License-Identifier: BSD-3-Clause
// Data comes for a receive that has failed, and must go nowhere. "dead": from the rank that died.
// "round", with a third rank: from one that lives and has not heard of the death, for a collective
// that has ended. Needs mpiexec --on-failure=shrink and ranks of one host.
#include <mpi.h>

#include "t.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int rank;

static void nap(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

// The ranks tell each other by the length of a file what they must not say by a message, with which
// one would look at everything that has come.
static char file[64] = "/tmp/pliant-data-XXXXXX";

static void make_file(void)
{
    if (rank == 0) {
        close(mkstemp(file));
    }
    MPI_Bcast(file, sizeof file, MPI_CHAR, 0, MPI_COMM_WORLD);
}

static void reach(int step)
{
    T_EQ(truncate(file, step), 0);
}

static void await(int step)
{
    struct stat st = { 0 };
    while (stat(file, &st) == 0 && st.st_size < step) {
        nap();
    }
}

enum { LARGE = 1 << 20, BLOCK = 37000, N_TAKEN = 8 };

static int test(MPI_Request *r, int *is_done)
{
    int class = -1;
    MPI_Error_class(MPI_Test(r, is_done, MPI_STATUS_IGNORE), &class);
    return class;
}

// Take in all that has come.
static void poll_all(void)
{
    int is;
    for (int i = 0; i < 100; i++) {
        MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_SELF, &is, MPI_STATUS_IGNORE);
    }
}

static int count_other(const char *p, size_t n, char than)
{
    int k = 0;
    for (size_t i = 0; i < n; i++) {
        k += p[i] != than;
    }
    return k;
}

// Hear of a death without a look at what has come.
static void hear_of_one(MPI_Comm c)
{
    int n = 0;
    while (n == 0) {
        MPI_Group g;
        nap();
        T_MUST(MPIX_Comm_get_failed(c, &g) == MPI_SUCCESS);
        MPI_Group_size(g, &n);
        MPI_Group_free(&g);
    }
}

static void from_dead(MPI_Comm c)
{
    char *buf = calloc(LARGE, 1);
    int is_done = 0;
    MPI_Request r;
    if (rank == 1) {
        MPI_Isend(buf, LARGE, MPI_CHAR, 0, 0, c, &r);
        reach(1);
        await(2);
        test(&r, &is_done); // the first pieces
        raise(SIGKILL);
    }
    await(1);
    MPI_Irecv(buf, LARGE, MPI_CHAR, 1, 0, c, &r);
    poll_all();
    reach(2);
    hear_of_one(c);
    T_EQ(test(&r, &is_done), MPIX_ERR_PROC_FAILED);
    T_EQ(is_done, 1);
    memset(buf, 'x', LARGE);
    poll_all();
    T_EQ(count_other(buf, LARGE, 'x'), 0);
    free(buf);
}

// Rank 0 asks rank 2 for the data of the first round, and rank 1 dies. What the collective had, it
// has given back when the data comes.
static void to_round(MPI_Comm c)
{
    static char in[3 * BLOCK], out[BLOCK];
    char *taken[N_TAKEN];
    int is_done = 0;
    MPI_Request r;
    if (rank == 1) {
        await(2);
        raise(SIGKILL);
    }
    if (rank == 0) {
        await(1);
    }
    MPI_Ireduce_scatter_block(in, out, BLOCK, MPI_CHAR, MPI_BOR, c, &r);
    if (rank == 2) {
        reach(1);
        await(3);
        test(&r, &is_done);
        reach(4);
    } else {
        poll_all();
        reach(2);
        int class = -1;
        MPI_Error_class(MPI_Wait(&r, MPI_STATUS_IGNORE), &class);
        T_EQ(class, MPIX_ERR_PROC_FAILED);
        for (int i = 0; i < N_TAKEN; i++) {
            taken[i] = malloc(BLOCK);
            memset(taken[i], 'x', BLOCK);
        }
        reach(3);
        await(4);
        poll_all();
        for (int i = 0; i < N_TAKEN; i++) {
            T_EQ(count_other(taken[i], BLOCK, 'x'), 0);
            free(taken[i]);
        }
    }
    while (rank == 2 && !is_done) {
        test(&r, &is_done);
    }
}

// One that finds its heap destroyed would be a second death.
static void finish(MPI_Comm c)
{
    MPI_Comm d;
    int before, n, bad = 0;
    T_EQ(MPIX_Comm_shrink(c, &d), MPI_SUCCESS);
    MPI_Comm_size(c, &before);
    MPI_Comm_size(d, &n);
    T_EQ(n, before - 1);
    MPI_Allreduce(&t_failed, &bad, 1, MPI_INT, MPI_SUM, d);
    t_failed = bad;
    MPI_Comm_free(&d);
    MPI_Comm_free(&c);
}

int main(int argc, char **argv)
{
    MPI_Comm c;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); // its copies have it too
    T_MUST(argc > 1);
    MPI_Comm_dup(MPI_COMM_WORLD, &c);
    make_file();
    if (strcmp(argv[1], "dead") == 0) {
        from_dead(c);
    } else {
        to_round(c);
    }
    unlink(file);
    finish(c);
    MPI_Finalize();
    return t_status();
}
