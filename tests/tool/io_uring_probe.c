// SPDX-License-Identifier: BSD-3-Clause
// For io_uring.py: ranks write and read large parts of a file again and again until a second file
// is there: io_uring_probe FILE GATE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LEN = 8 << 20 };

static void must(int rc, const char *what)
{
    if (rc != MPI_SUCCESS) {
        fprintf(stderr, "%s failed\n", what);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

int main(int argc, char **argv)
{
    MPI_File f;
    int rank, size, is_over = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 3) {
        must(MPI_ERR_ARG, "reading the arguments");
    }
    char *out = malloc(LEN), *in = malloc(LEN);
    memset(out, 'a' + rank, LEN);
    must(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f),
         "MPI_File_open");
    for (int step = 1; !is_over; step++) {
        MPI_Request r;
        must(MPI_File_iwrite_at(f, (MPI_Offset)rank * LEN, out, LEN, MPI_BYTE, &r),
             "MPI_File_iwrite_at");
        must(MPI_Wait(&r, MPI_STATUS_IGNORE), "MPI_Wait");
        memset(in, 0, LEN);
        must(MPI_File_read_at(f, (MPI_Offset)rank * LEN, in, LEN, MPI_BYTE, MPI_STATUS_IGNORE),
             "MPI_File_read_at");
        must(memcmp(in, out, LEN) == 0 ? MPI_SUCCESS : MPI_ERR_OTHER, "comparing");
        if (rank == 0) {
            printf("step %d \n", step);
            fflush(stdout);
            is_over = access(argv[2], F_OK) == 0;
        }
        MPI_Bcast(&is_over, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    must(MPI_File_close(&f), "MPI_File_close");
    if (rank == 0) {
        printf("all is well with %d ranks\n", size);
    }
    MPI_Finalize();
    free(out);
    free(in);
    return 0;
}
