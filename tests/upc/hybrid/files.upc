// SPDX-License-Identifier: BSD-3-Clause
// Threads write what they have of a shared array to a file of MPI, interleaved as it is shared, and
// read what their neighbours wrote. files FILE
#include <mpi.h>
#include <stdio.h>
#include <upc.h>

enum { BLOCK = 16, N_BLOCK = 20 };
shared [BLOCK] int data[BLOCK * N_BLOCK * THREADS];

int main(int argc, char **argv)
{
    int bad = argc != 2, all, in[BLOCK * N_BLOCK];
    int *mine = (int *)&data[BLOCK * MYTHREAD];
    MPI_File f;
    MPI_Datatype block, view;
    MPI_Init(&argc, &argv);
    upc_forall(int i = 0; i < BLOCK * N_BLOCK * THREADS; i++; &data[i]) data[i] = 3 * i;
    upc_barrier;
    MPI_Type_contiguous(BLOCK, MPI_INT, &block);
    MPI_Type_create_resized(block, 0, (MPI_Aint)(BLOCK * THREADS * sizeof(int)), &view);
    MPI_Type_commit(&view);
    bad |= MPI_File_open(MPI_COMM_WORLD, argv[1],
                         MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                         &f) != 0;
    MPI_File_set_view(f, (MPI_Offset)(BLOCK * MYTHREAD * sizeof(int)), MPI_INT, view, "native",
                      MPI_INFO_NULL);
    bad |= MPI_File_write_all(f, mine, BLOCK * N_BLOCK, MPI_INT, MPI_STATUS_IGNORE) != 0;
    MPI_File_sync(f);
    upc_barrier;
    MPI_File_sync(f);
    int next = (MYTHREAD + 1) % THREADS;
    MPI_File_set_view(f, (MPI_Offset)(BLOCK * next * sizeof(int)), MPI_INT, view, "native",
                      MPI_INFO_NULL);
    bad |= MPI_File_read_at(f, 0, in, BLOCK * N_BLOCK, MPI_INT, MPI_STATUS_IGNORE) != 0;
    for (int i = 0; i < BLOCK * N_BLOCK; i++) {
        bad |= in[i] != 3 * (i / BLOCK * BLOCK * THREADS + BLOCK * next + i % BLOCK);
    }
    MPI_File_close(&f);
    MPI_Reduce(&bad, &all, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
    if (MYTHREAD == 0) {
        printf("%s\n", all ? "bad" : "good");
    }
    MPI_Finalize();
    return 0;
}
