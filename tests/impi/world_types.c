// SPDX-License-Identifier: BSD-3-Clause
// Datatypes whose elements need care on their way to another client.
#include "world.h"
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 1024, LEN = 128, STRIDE = 256, N_INT = BLOCKS * STRIDE };

static int is_filled(const int *v, int salt)
{
    for (int b = 0; b < BLOCKS; b++) {
        for (int i = 0; i < LEN; i++) {
            if (v[b * STRIDE + i] != b * LEN + i + salt) {
                return 0;
            }
        }
        if (v[b * STRIDE + LEN] != -1) { // the gap
            return 0;
        }
    }
    return 1;
}

static void fill(int *v, int salt)
{
    for (int b = 0; b < BLOCKS; b++) {
        for (int i = 0; i < STRIDE; i++) {
            v[b * STRIDE + i] = i < LEN ? b * LEN + i + salt : -1;
        }
    }
}

// One element that is larger than a packet of the protocol and is not contiguous.
void world_large_element(int me, int n)
{
    MPI_Datatype type;
    MPI_Request req;
    int *v = malloc(N_INT * sizeof *v), last = n - 1;
    MPI_Type_vector(BLOCKS, LEN, STRIDE, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (int k = 0; k < 9 && n > 1; k++) {
        if (me == 0) {
            fill(v, k);
            if (k % 3 == 0) {
                MPI_Send(v, 1, type, last, k, MPI_COMM_WORLD);
            } else if (k % 3 == 1) {
                MPI_Ssend(v, 1, type, last, k, MPI_COMM_WORLD);
            } else {
                MPI_Isend(v, 1, type, last, k, MPI_COMM_WORLD, &req);
                MPI_Wait(&req, MPI_STATUS_IGNORE);
            }
        } else if (me == last) {
            memset(v, -1, N_INT * sizeof *v);
            MPI_Recv(v, 1, type, 0, k, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(is_filled(v, k));
        }
    }
    for (int k = 0; k < 3; k++) {
        memset(v, -1, N_INT * sizeof *v);
        if (me == k % n) {
            fill(v, k);
        }
        MPI_Bcast(v, 1, type, k % n, MPI_COMM_WORLD);
        CHECK(is_filled(v, k));
    }
    MPI_Type_free(&type);
    free(v);
}
