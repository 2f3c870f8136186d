// SPDX-License-Identifier: BSD-3-Clause
// A group has lost a member when its root accepts: the root meets the other group, which cannot see
// that, and must hear of it. Needs mpiexec --on-failure=shrink.
#include <mpi.h>

#include "t.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

enum { HELLO_MS = 300 }; // by then the other group has usually come to the port

static int class_of(int code)
{
    int class = -1;
    MPI_Error_class(code, &class);
    return class;
}

// The members of a group are ranks 0 and 2, of the other one 1 and 3.
int main(int argc, char **argv)
{
    char port[MPI_MAX_PORT_NAME] = "";
    int rank, unused;
    MPI_Comm group, both;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    T_EQ(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &group), MPI_SUCCESS);
    if (rank == 0) {
        T_EQ(MPI_Open_port(MPI_INFO_NULL, port), MPI_SUCCESS);
    }
    T_EQ(MPI_Bcast(port, sizeof port, MPI_CHAR, 0, MPI_COMM_WORLD), MPI_SUCCESS);
    T_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
    if (rank == 2) {
        kill(getpid(), SIGKILL);
    }
    if (rank == 0) {
        int rc = MPI_Recv(&unused, 1, MPI_INT, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        T_EQ(class_of(rc), MPIX_ERR_PROC_FAILED);
        nanosleep(&(struct timespec){ .tv_nsec = HELLO_MS * 1000000L }, NULL);
        rc = MPI_Comm_accept(port, MPI_INFO_NULL, 0, group, &both);
        T_EQ(class_of(rc), MPIX_ERR_PROC_FAILED);
        T_EQ(MPI_Close_port(port), MPI_SUCCESS);
    } else {
        int class = class_of(MPI_Comm_connect(port, MPI_INFO_NULL, 0, group, &both));
        T_OK(class == MPIX_ERR_PROC_FAILED || class == MPI_ERR_PORT); // it came after all
    }
    MPI_Comm_free(&group);
    MPI_Finalize();
    return t_status();
}
