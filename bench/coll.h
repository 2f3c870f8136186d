// SPDX-License-Identifier: BSD-3-Clause
// Timing of an operation that all ranks of the world take part in.
#ifndef PLI_BENCH_COLL_H
#define PLI_BENCH_COLL_H

#include "bench.h"

// Seconds per call at the slowest rank, the median of several chunks of a twentieth of a second, or
// the fastest of many short ones.
static inline double c_measure(void (*run)(int size), int size)
{
    int n = b_is_best() ? B_MANY_CHUNKS : 5;
    double chunk_s = b_is_best() ? 0.002 : 0.05;
    run(size);
    run(size);
    double t = MPI_Wtime();
    for (int i = 0; i < 3; i++) {
        run(size);
    }
    t = (MPI_Wtime() - t) / 3;
    int iters = t > chunk_s / 3 ? 3 : (int)(chunk_s / (t > 1e-7 ? t : 1e-7)) + 1;
    MPI_Bcast(&iters, 1, MPI_INT, 0, MPI_COMM_WORLD);
    double v[B_MANY_CHUNKS];
    for (int c = 0; c < n; c++) {
        MPI_Barrier(MPI_COMM_WORLD);
        t = MPI_Wtime();
        for (int i = 0; i < iters; i++) {
            run(size);
        }
        double mine = MPI_Wtime() - t, slowest;
        MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        v[c] = slowest / iters;
    }
    return b_median(v, n);
}

#endif
