// SPDX-License-Identifier: BSD-3-Clause
// Which ranks are on which host, for tests that run on one host and on several.
#ifndef PLI_TESTS_MPI_HOST_H
#define PLI_TESTS_MPI_HOST_H

#include "obj.h"

static int h_host[64]; // of each rank, numbered in the order of first ranks
static int h_count;    // hosts
static int h_mine;

// Find out, over a communicator of all.
static inline void h_find(MPI_Comm comm)
{
    static char names[64][MPI_MAX_PROCESSOR_NAME];
    char mine[MPI_MAX_PROCESSOR_NAME] = "";
    int rank, size, len;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Get_processor_name(mine, &len);
    MPI_Allgather(mine, sizeof mine, MPI_CHAR, names, sizeof mine, MPI_CHAR, comm);
    for (int i = 0; i < size; i++) {
        int k = 0;
        while (strcmp(names[k], names[i]) != 0) {
            k++;
        }
        h_host[i] = k == i ? h_count++ : h_host[k];
    }
    h_mine = h_host[rank];
}

#endif
