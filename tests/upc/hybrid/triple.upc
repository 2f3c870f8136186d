// SPDX-License-Identifier: BSD-3-Clause
// Says its triple, and with an argument its host; checks it against MPI where it has a rank, and checks that groups are apart.
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <upc.h>
#include <upc_hybrid.h>

shared int mine[THREADS];
shared int groups_seen[THREADS];

int main(int argc, char **argv)
{
    upc_hybrid_t h = upc_hybrid_info();
    int bad = h.thread != MYTHREAD || h.threads != THREADS || h.group >= h.groups;
    if (h.rank >= 0) {
        int rank, size, flag;
        MPI_Initialized(&flag);
        bad |= flag;
        MPI_Init(&argc, &argv);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        bad |= rank != h.rank || size != h.ranks;
        // Every rank hears of every other one's group.
        int all[64], here = 0;
        MPI_Allgather(&h.group, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
        for (int i = 0; i < size; i++) {
            here += all[i] == h.group;
        }
        bad |= here != size / h.groups;
        MPI_Comm_size(MPI_COMM_SELF, &size);
        bad |= size != 1;
    }
    mine[MYTHREAD] = h.group; // of one group all have the same number
    upc_barrier 5;
    for (int i = 0; i < THREADS; i++) {
        bad |= mine[i] != h.group;
    }
    upc_barrier 6;
    if (h.rank >= 0) {
        MPI_Finalize();
    }
    char host[65] = " on ";
    gethostname(host + 4, 60);
    printf("%d/%d %d/%d %d/%d %s%s\n", h.group, h.groups, h.thread, h.threads, h.rank, h.ranks,
           bad ? "bad" : "good", argc == 2 ? host : "");
    return bad;
}
