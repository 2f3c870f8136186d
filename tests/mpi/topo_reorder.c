// SPDX-License-Identifier: BSD-3-Clause
// Reordering with ranks bound so that the old order is the worst: neighbours move together, every
// process gets the edges of the node it became, and nothing gets lost.
#include "comm.h"
#include "host.h"

#include <sched.h>

static int n_cpu, my_cpu; // numbers of processors go on from host to host

// Odd ranks on one processor, even ones on the other.
static void bind(void)
{
    cpu_set_t mask, one;
    int cpu[2];
    T_MUST(sched_getaffinity(0, sizeof mask, &mask) == 0);
    for (int i = 0; i < CPU_SETSIZE && n_cpu < 2; i++) {
        if (CPU_ISSET(i, &mask)) {
            cpu[n_cpu++] = i;
        }
    }
    my_cpu = cpu[world_rank % n_cpu];
    CPU_ZERO(&one);
    CPU_SET(my_cpu, &one);
    T_MUST(sched_setaffinity(0, sizeof one, &one) == 0);
    my_cpu += h_mine * CPU_SETSIZE;
}

// The fewest crossings of a line through all processors that have ranks.
static int fewest(void)
{
    int cpus[64], n = 0;
    MPI_Allgather(&my_cpu, 1, MPI_INT, cpus, 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < world_size; i++) {
        int k = 0;
        while (cpus[k] != cpus[i]) {
            k++;
        }
        n += k == i;
    }
    return n - 1;
}

// How many neighbours run on another processor, all together.
static int crossings(MPI_Comm c)
{
    int rank, size, n = 0, all, cpus[64];
    MPI_Comm_rank(c, &rank);
    MPI_Comm_size(c, &size);
    MPI_Allgather(&my_cpu, 1, MPI_INT, cpus, 1, MPI_INT, c);
    if (rank + 1 < size) {
        n = cpus[rank + 1] != my_cpu;
    }
    MPI_Allreduce(&n, &all, 1, MPI_INT, MPI_SUM, c);
    return all;
}

// A permutation: every process of the old one is there once.
static void is_whole(MPI_Comm c)
{
    int got[64], seen[64] = { 0 };
    MPI_Allgather(&world_rank, 1, MPI_INT, got, 1, MPI_INT, c);
    for (int i = 0; i < world_size; i++) {
        seen[got[i]]++;
    }
    for (int i = 0; i < world_size; i++) {
        T_EQ(seen[i], 1);
    }
}

int main(int argc, char **argv)
{
    c_start(&argc, &argv);
    h_find(MPI_COMM_WORLD);
    bind();
    int zero = 0, index[64], edges[128], n = 0, rank, best = fewest();
    MPI_Comm c;
    // A line of processes: one crossing is enough.
    T_MPI(MPI_Cart_create(MPI_COMM_WORLD, 1, &world_size, &zero, 0, &c));
    T_EQ(crossings(c), n_cpu > 1 ? world_size - 1 : h_count - 1);
    MPI_Comm_free(&c);
    T_MPI(MPI_Cart_create(MPI_COMM_WORLD, 1, &world_size, &zero, 1, &c));
    is_whole(c);
    T_EQ(crossings(c), best);
    MPI_Comm_free(&c);
    // The same line as a graph.
    for (int i = 0; i < world_size; i++) {
        if (i > 0) {
            edges[n++] = i - 1;
        }
        if (i + 1 < world_size) {
            edges[n++] = i + 1;
        }
        index[i] = n;
    }
    T_MPI(MPI_Graph_create(MPI_COMM_WORLD, world_size, index, edges, 1, &c));
    is_whole(c);
    T_EQ(crossings(c), best);
    MPI_Comm_free(&c);
    // And distributed, with weights that tell whose edges they are.
    int next = world_rank + 1, has_next = next < world_size, prev = world_rank - 1;
    int out_w = 100 + world_rank, in_w = 100 + prev, in, out, n_in, n_out, weighted;
    T_MPI(MPI_Dist_graph_create_adjacent(
        MPI_COMM_WORLD, prev >= 0, &prev, prev >= 0 ? &in_w : MPI_WEIGHTS_EMPTY, has_next, &next,
        has_next ? &out_w : MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 1, &c));
    is_whole(c);
    T_EQ(crossings(c), best);
    MPI_Comm_rank(c, &rank);
    T_MPI(MPI_Dist_graph_neighbors_count(c, &n_in, &n_out, &weighted));
    T_OK(n_in == (rank > 0) && n_out == (rank + 1 < world_size) && weighted);
    T_MPI(MPI_Dist_graph_neighbors(c, 1, &in, &in_w, 1, &out, &out_w));
    if (n_in) {
        T_OK(in == rank - 1 && in_w == 100 + rank - 1);
    }
    if (n_out) {
        T_OK(out == rank + 1 && out_w == 100 + rank);
    }
    MPI_Comm_free(&c);
    return t_end();
}
