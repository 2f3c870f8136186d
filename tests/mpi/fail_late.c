// SPDX-License-Identifier: BSD-3-Clause
// A communicator is revoked, and another rank hears of it at the worst moment. "idup": it does not
// know yet which one that is. "wait FILE": it receives on it, and is about to sleep without end,
// where PLIANT_FAULT=sleep:1@FILE holds it. It must come out of the receive. Needs mpiexec
// --on-failure=shrink and 2 ranks of one host.
#include <mpi.h>

#include "t.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int rank;

static void nap(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

static void receive(MPI_Comm c)
{
    int x, class = -1;
    MPI_Error_class(MPI_Recv(&x, 1, MPI_INT, 0, 0, c, MPI_STATUS_IGNORE), &class);
    T_EQ(class, MPIX_ERR_REVOKED);
}

// The ranks tell each other by a file what they must not say by a message, with which one would
// look at everything that has come.
static void idup(void)
{
    char file[64] = "/tmp/pliant-late-XXXXXX";
    struct stat st = { 0 };
    MPI_Comm c;
    MPI_Request r, b;
    if (rank == 0) {
        close(mkstemp(file));
    }
    MPI_Bcast(file, sizeof file, MPI_CHAR, 0, MPI_COMM_WORLD);
    while (rank == 0 && stat(file, &st) == 0 && st.st_size == 0) {
        nap(); // until rank 1 has begun, and waits for the context from here
    }
    MPI_Comm_idup(MPI_COMM_WORLD, &c, &r);
    if (rank == 0) {
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        T_EQ(MPIX_Comm_revoke(c), MPI_SUCCESS);
        unlink(file);
        MPI_Ibarrier(MPI_COMM_WORLD, &b);
    } else {
        T_EQ(truncate(file, 1), 0);
        while (access(file, F_OK) == 0) {
            nap();
        }
        MPI_Ibarrier(MPI_COMM_WORLD, &b); // looks for news before it begins, and for nothing else
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        receive(c);
    }
    MPI_Wait(&b, MPI_STATUS_IGNORE);
    MPI_Comm_free(&c);
}

static void wait_held(const char *file)
{
    char held[600];
    MPI_Comm c;
    snprintf(held, sizeof held, "%s.held", file);
    MPI_Comm_dup(MPI_COMM_WORLD, &c);
    if (rank == 1) {
        close(open(file, O_CREAT | O_WRONLY, 0600));
        receive(c);
    } else {
        while (access(held, F_OK) != 0) {
            nap();
        }
        T_EQ(MPIX_Comm_revoke(c), MPI_SUCCESS);
        unlink(held);
    }
    MPI_Comm_free(&c);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); // its copies have it too
    T_MUST(argc > 1);
    if (strcmp(argv[1], "idup") == 0) {
        idup();
    } else {
        T_MUST(argc > 2);
        wait_held(argv[2]);
    }
    MPI_Finalize();
    return t_status();
}
