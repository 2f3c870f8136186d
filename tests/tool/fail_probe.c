// SPDX-License-Identifier: BSD-3-Clause
// A program whose rank 1 ends as the first argument says. Driven by failure.py.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static void say(int code)
{
    char text[MPI_MAX_ERROR_STRING];
    int len;
    MPI_Error_string(code, text, &len);
    printf("%s\n", text);
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const char *what = argc > 1 ? argv[1] : "";
    if (!is(what, "fatal")) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    }
    if (is(what, "revoke")) {
        say(MPIX_Comm_revoke(MPI_COMM_WORLD));
        MPI_Finalize();
        return 0;
    }
    if (rank == 1 && is(what, "abort")) {
        MPI_Abort(MPI_COMM_WORLD, 7);
    } else if (rank == 1 && is(what, "exit")) {
        exit(3);
    } else if (rank == 1) {
        kill(getpid(), SIGKILL);
    }
    int rc = MPI_Barrier(MPI_COMM_WORLD);
    if (rc != MPI_SUCCESS) {
        say(rc);
    }
    MPI_Finalize();
    return 0;
}
