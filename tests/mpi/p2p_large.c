// SPDX-License-Identifier: BSD-3-Clause
// One message of more than 2^31 bytes and more than 2^31 elements.
#include <mpi.h>

#include "t.h"

int main(int argc, char **argv)
{
    const MPI_Count n = ((MPI_Count)1 << 31) + 100;
    int rank, small;
    MPI_Count count;
    MPI_Status s;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char *buf = malloc((size_t)n);
    T_MUST(buf != NULL);
    if (rank == 0) {
        for (MPI_Count i = 0; i < n; i += 4096) {
            buf[i] = (char)(i >> 12);
        }
        buf[n - 1] = 77;
        T_EQ(MPI_Send_c(buf, n, MPI_CHAR, 1, 0, MPI_COMM_WORLD), MPI_SUCCESS);
    } else {
        T_EQ(MPI_Probe(0, 0, MPI_COMM_WORLD, &s), MPI_SUCCESS);
        T_EQ(MPI_Get_count_c(&s, MPI_CHAR, &count), MPI_SUCCESS);
        T_EQ(count, n);
        T_EQ(MPI_Get_count(&s, MPI_CHAR, &small), MPI_SUCCESS);
        T_EQ(small, MPI_UNDEFINED);
        T_EQ(MPI_Recv_c(buf, n, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &s), MPI_SUCCESS);
        for (MPI_Count i = 0; i < n - 1; i += 4096) {
            if (buf[i] != (char)(i >> 12)) {
                T_EQ(buf[i], (char)(i >> 12));
                break;
            }
        }
        T_EQ(buf[n - 1], 77);
    }
    free(buf);
    MPI_Finalize();
    return t_status();
}
