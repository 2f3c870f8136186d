// SPDX-License-Identifier: BSD-3-Clause
// A rank of a world that jobs join by a token: prints where it is, and then, where it is asked to,
// exchanges messages of so many MiB with its neighbours, or takes part in barriers until it is
// ended, or in collective writes of a file.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

// Both ways at once, so that neither waits for the other.
static void exchange(int rank, int size, int mib)
{
    enum { N = 1 << 18 }; // integers
    int next = (rank + 1) % size, before = (rank + size - 1) % size, count = mib * N;
    int *out = malloc((size_t)count * sizeof *out), *in = malloc((size_t)count * sizeof *in);
    for (int i = 0; i < count; i++) {
        out[i] = i * 7 + rank;
    }
    MPI_Sendrecv(out, count, MPI_INT, next, 1, in, count, MPI_INT, before, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    for (int i = 0; i < count; i++) {
        if (in[i] != i * 7 + before) {
            printf("integer %d of %d is %d\n", i, count, in[i]);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    free(out);
    free(in);
}

static MPI_File open_file(const char *path)
{
    MPI_File f;
    MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f);
    MPI_File_set_errhandler(f, MPI_ERRORS_ARE_FATAL);
    MPI_File_set_atomicity(f, 1);
    return f;
}

static void write_all(MPI_File f)
{
    enum { N = 1 << 20 };
    static char out[N];
    MPI_File_write_at_all(f, 0, out, N, MPI_BYTE, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int rank, size, sum, twice = -1;
    MPI_File file = MPI_FILE_NULL;
    MPI_Request req;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Iallreduce(&rank, &twice, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &req); // they overlap
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Wait(&req, MPI_STATUS_IGNORE);
    if (twice != sum) {
        printf("the nonblocking sum is %d, the other %d\n", twice, sum);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (argc > 2 && argv[2][0] == '/') {
        file = open_file(argv[2]);
    }
    printf("rank %d of %d sum %d process %d\n", rank, size, sum, (int)getpid());
    fflush(stdout);
    if (argc > 2 && file == MPI_FILE_NULL) {
        exchange(rank, size, atoi(argv[2]));
    }
    for (int i = argc > 1 ? atoi(argv[1]) : 0; i > 0; i--) {
        if (file != MPI_FILE_NULL) {
            write_all(file);
        } else {
            usleep(50000);
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }
    if (file != MPI_FILE_NULL) {
        MPI_File_close(&file);
    }
    MPI_Finalize();
    return 0;
}
