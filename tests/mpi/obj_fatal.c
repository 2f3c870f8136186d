// SPDX-License-Identifier: BSD-3-Clause
// Dies in the way its argument names; obj_fatal.sh looks at what it says and how it ends.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    int rank = 0, size = 0, x = 0;
    const char *how = argc > 1 ? argv[1] : "";
    if (strcmp(how, "early") == 0) {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    } else if (strcmp(how, "early-type") == 0) {
        MPI_Type_size(MPI_INT, &size);
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank != 0) {
        MPI_Recv(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); // until the end
    }
    if (strcmp(how, "default") == 0) {
        MPI_Send(&x, 1, MPI_INT, 77, 0, MPI_COMM_WORLD);
    } else if (strcmp(how, "abort") == 0) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ABORT);
        MPI_Send(&x, 1, MPI_INT, 77, 0, MPI_COMM_WORLD);
    } else if (strcmp(how, "user") == 0) {
        int code;
        MPI_Add_error_class(&code);
        MPI_Add_error_string(code, "out of coffee");
        MPI_Comm_call_errhandler(MPI_COMM_WORLD, code);
    } else if (strcmp(how, "late") == 0) {
        MPI_Finalize();
        MPI_Comm_size(MPI_COMM_WORLD, &size);
    }
    printf("survived\n");
    MPI_Finalize();
    return 0;
}
