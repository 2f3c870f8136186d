// SPDX-License-Identifier: BSD-3-Clause
// A program that asks for moves of its last rank, to one host after the other, and exchanges
// messages until it is there: migrate_probe HOST...
#include <mpi.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, size, len, n = 0;
    char name[256] = "", text[MPI_MAX_ERROR_STRING];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int rc = MPIX_Comm_migrate(MPI_COMM_WORLD, size, "x");
    MPI_Error_string(rc, text, &len);
    if (rc == MPI_SUCCESS || strstr(text, "argument rank is") == NULL) {
        printf("a rank that is not there: %s\n", text);
    }
    for (int i = 1; i < argc; i++) {
        rc = MPIX_Comm_migrate(MPI_COMM_WORLD, size - 1, argv[i]);
        if (rc != MPI_SUCCESS) {
            MPI_Error_string(rc, text, &len);
            printf("rank %d hears: %s\n", rank, text);
            continue;
        }
        double end = MPI_Wtime() + 100;
        do {
            gethostname(name, sizeof name - 1);
            MPI_Bcast(name, sizeof name, MPI_CHAR, size - 1, MPI_COMM_WORLD);
            MPI_Allreduce(MPI_IN_PLACE, &n, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
            usleep(1000);
            rc = MPI_Wtime() < end;
            MPI_Bcast(&rc, 1, MPI_INT, 0, MPI_COMM_WORLD);
        } while (rc && strcmp(name, argv[i]) != 0);
        if (rank == 0) {
            printf("rank %d is on %s\n", size - 1, name);
            fflush(stdout);
        }
    }
    MPI_Finalize();
    return 0;
}
