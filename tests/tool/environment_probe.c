// SPDX-License-Identifier: BSD-3-Clause
// A program that uses the locale of its user: says how it writes a half, and what becomes of a wait
// at a port whose time limit is a fraction.
#include <locale.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    char port[MPI_MAX_PORT_NAME];
    MPI_Comm other;
    MPI_Info info;
    int rank, sum, err_class;
    setlocale(LC_ALL, "");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Info_create(&info);
    MPI_Info_set(info, "timeout", "0.1");
    MPI_Open_port(MPI_INFO_NULL, port);
    int err = MPI_Comm_accept(port, info, 0, MPI_COMM_SELF, &other);
    MPI_Error_class(err, &err_class);
    printf("sum %d half %.1f %s\n", sum, 0.5,
           err_class == MPI_ERR_PORT ? "nobody came" : "another error");
    MPI_Close_port(port);
    MPI_Info_free(&info);
    MPI_Finalize();
    return 0;
}
