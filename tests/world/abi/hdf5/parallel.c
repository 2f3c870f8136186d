// SPDX-License-Identifier: BSD-3-Clause
// Ranks write their columns of a chunked data set, collectively, and read all of it.
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>

enum { ROWS = 64, COLUMNS = 32 };

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
    hid_t file = H5Fcreate("parallel.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access);
    hsize_t dims[2] = { ROWS, (hsize_t)COLUMNS * size }, start[2] = { 0, (hsize_t)COLUMNS * rank },
            count[2] = { ROWS, COLUMNS };
    hid_t space = H5Screate_simple(2, dims, NULL), memory = H5Screate_simple(2, count, NULL);
    hid_t layout = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(layout, 2, (hsize_t[2]){ 16, 16 });
    hid_t set = H5Dcreate2(file, "table", H5T_NATIVE_INT, space, H5P_DEFAULT, layout, H5P_DEFAULT);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
    hid_t way = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_dxpl_mpio(way, H5FD_MPIO_COLLECTIVE);
    static int data[ROWS][COLUMNS];
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            data[i][j] = 1000 * rank + i + j;
    herr_t failed = H5Dwrite(set, H5T_NATIVE_INT, memory, space, way, data);
    H5Dclose(set);
    H5Fclose(file);
    file = H5Fopen("parallel.h5", H5F_ACC_RDONLY, access);
    set = H5Dopen2(file, "table", H5P_DEFAULT);
    start[1] = (hsize_t)COLUMNS * ((rank + 1) % size);
    hid_t there = H5Dget_space(set);
    H5Sselect_hyperslab(there, H5S_SELECT_SET, start, NULL, count, NULL);
    failed |= H5Dread(set, H5T_NATIVE_INT, memory, there, way, data);
    long sum = 0, all = 0;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            sum += data[i][j];
    MPI_Reduce(&sum, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    H5Dclose(set);
    H5Fclose(file);
    if (rank == 0)
        printf("answer %d %ld\n", failed, all);
    MPI_Finalize();
    return failed != 0;
}
