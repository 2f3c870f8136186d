// SPDX-License-Identifier: BSD-3-Clause
// A dot product in MPI and UPC at once. The vectors are cut into one part for each UPC group;
// inside a group each thread takes the elements it owns, and MPI adds up over all ranks.
//   upcc dot.upc -o dot
//   upcrun -n 4 ./dot                                   one group, all ranks
//   mpiexec --upc-groups=2 -n 4 ./dot                   two groups of two, all ranks
//   mpiexec upcrun -n 2 ./dot : upcrun -n 2 ./dot       one rank for each group
#include <mpi.h>
#include <stdio.h>
#include <upc.h>
#include <upc_hybrid.h>

enum { PER_THREAD = 1000 };
shared double v1[PER_THREAD * THREADS], v2[PER_THREAD * THREADS];
shared double part[THREADS]; // of each thread
shared double group_sum;

int main(int argc, char **argv)
{
    upc_hybrid_t me = upc_hybrid_info();
    const int n = PER_THREAD * THREADS;
    double sum = 0, total = 0;
    if (me.rank >= 0) {
        MPI_Init(&argc, &argv);
    }
    // All groups together have groups * n elements; this one has those from group * n on.
    upc_forall(int i = 0; i < n; i++; &v1[i]) {
        v1[i] = 1.0 + me.group * n + i;
        v2[i] = 2.0;
    }
    upc_forall(int i = 0; i < n; i++; &v1[i]) {
        sum += v1[i] * v2[i];
    }
    part[MYTHREAD] = sum;
    upc_all_reduceD(&group_sum, part, UPC_ADD, THREADS, 1, NULL, UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC);

    // The thread that represents the group adds its sum; other ranks add 0.
    sum = MYTHREAD == 0 ? group_sum : 0;
    if (me.rank >= 0) {
        MPI_Reduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        MPI_Finalize();
    }
    if (me.rank == 0) {
        double m = (double)me.groups * n; // 2 * (1 + 2 + ... + m)
        printf("%d groups of %d threads, %d ranks: the dot product is %.0f, %s\n", me.groups,
               me.threads, me.ranks, total, total == m * (m + 1) ? "as it should be" : "WRONG");
    }
    return 0;
}
