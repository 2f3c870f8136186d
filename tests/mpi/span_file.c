// SPDX-License-Identifier: BSD-3-Clause
// A file of ranks that are far from each other: run on one job, and over several that IMPI joins.
// All are of Pliant MPI, so there is atomic mode too. tests/impi/world_file.c has the rest.
#include <mpi.h>

#include "t.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 20, LONG = 5000 };

static int rank, size;
static char path[64];

static MPI_File open_file(int amode)
{
    MPI_File f;
    T_EQ(MPI_File_open(MPI_COMM_WORLD, path, amode, MPI_INFO_NULL, &f), MPI_SUCCESS);
    return f;
}

// All write the same bytes with gaps, again and again: what is read is of one rank in each piece.
static void atomic_writes(void)
{
    int out[LONG], in[LONG], flag = 0;
    MPI_Datatype gaps;
    MPI_Type_vector(LONG, 1, 2, MPI_INT, &gaps);
    MPI_Type_commit(&gaps);
    MPI_File f = open_file(MPI_MODE_CREATE | MPI_MODE_RDWR);
    T_EQ(MPI_File_set_view(f, 0, MPI_INT, gaps, "native", MPI_INFO_NULL), MPI_SUCCESS);
    T_EQ(MPI_File_set_atomicity(f, 1), MPI_SUCCESS);
    MPI_File_get_atomicity(f, &flag);
    T_EQ(flag, 1);
    for (int k = 0; k < ROUNDS; k++) {
        for (int i = 0; i < LONG; i++) {
            out[i] = 1 + rank + size * k;
        }
        T_EQ(MPI_File_write_at(f, 0, out, LONG, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
        T_EQ(MPI_File_read_at(f, 0, in, LONG, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
        int n_other = 0;
        for (int i = 1; i < LONG; i++) {
            n_other += in[i] != in[0];
        }
        T_EQ(n_other, 0);
    }
    T_EQ(MPI_File_close(&f), MPI_SUCCESS);
    MPI_Type_free(&gaps);
}

// Doubles as other machines have them, by the individual and the shared pointer, at once and later.
static void other_form(void)
{
    double out[2] = { rank + 0.5, -rank }, in[2], all[2];
    MPI_Request q;
    MPI_Offset at;
    MPI_File f = open_file(MPI_MODE_CREATE | MPI_MODE_RDWR);
    T_EQ(MPI_File_set_view(f, 0, MPI_DOUBLE, MPI_DOUBLE, "external32", MPI_INFO_NULL), MPI_SUCCESS);
    T_EQ(MPI_File_write_ordered(f, out, 2, MPI_DOUBLE, MPI_STATUS_IGNORE), MPI_SUCCESS);
    T_EQ(MPI_File_sync(f), MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    T_EQ(MPI_File_sync(f), MPI_SUCCESS);
    int to = size - 1 - rank;
    T_EQ(MPI_File_seek(f, 2 * to, MPI_SEEK_SET), MPI_SUCCESS);
    T_EQ(MPI_File_iread_all(f, in, 2, MPI_DOUBLE, &q), MPI_SUCCESS);
    T_EQ(MPI_Wait(&q, MPI_STATUS_IGNORE), MPI_SUCCESS);
    T_OK(in[0] == to + 0.5 && in[1] == -to);
    T_EQ(MPI_File_get_position_shared(f, &at), MPI_SUCCESS);
    T_EQ(at, 2 * size);
    T_EQ(MPI_File_seek_shared(f, 0, MPI_SEEK_SET), MPI_SUCCESS);
    T_EQ(MPI_File_read_shared(f, all, 2, MPI_DOUBLE, MPI_STATUS_IGNORE), MPI_SUCCESS);
    double sum = 0;
    MPI_Allreduce(&all[0], &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    T_OK(sum == size * (size - 1) / 2 + 0.5 * size);
    T_EQ(MPI_File_close(&f), MPI_SUCCESS);
}

// More than is done at once in a nonblocking access.
static void large(void)
{
    enum { N = 1 << 17 };
    int *out = malloc(N * sizeof *out), *in = malloc(N * sizeof *in), to = size - 1 - rank;
    MPI_Offset each = N * (MPI_Offset)sizeof *out;
    MPI_File f = open_file(MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
    for (int i = 0; i < N; i++) {
        out[i] = i ^ rank << 20;
    }
    T_EQ(MPI_File_write_at_all_begin(f, rank * each, out, N, MPI_INT), MPI_SUCCESS);
    T_EQ(MPI_File_write_at_all_end(f, out, MPI_STATUS_IGNORE), MPI_SUCCESS);
    T_EQ(MPI_File_sync(f), MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    T_EQ(MPI_File_sync(f), MPI_SUCCESS);
    T_EQ(MPI_File_read_at_all(f, to * each, in, N, MPI_INT, MPI_STATUS_IGNORE), MPI_SUCCESS);
    int n_wrong = 0;
    for (int i = 0; i < N; i++) {
        n_wrong += in[i] != (i ^ to << 20);
    }
    T_EQ(n_wrong, 0);
    T_EQ(MPI_File_close(&f), MPI_SUCCESS);
    T_OK(access(path, F_OK) != 0);
    free(out);
    free(in);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(path, sizeof path, "/tmp/span_file.%d", (int)getpid());
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
    atomic_writes();
    other_form();
    large();
    MPI_Finalize();
    return t_status();
}
