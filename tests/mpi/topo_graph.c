// SPDX-License-Identifier: BSD-3-Clause
// Graph topologies, whole and distributed, against naive models: random graphs with loops and
// multiple edges, weights, edges named by anybody, reordering, neighborhood collectives, mistakes.
#include "comm.h"

enum { ROUNDS = 25, MAX_EDGE = 2000 };

struct edge {
    int from, to, weight, by; // by: who names it
};

static struct edge edges[MAX_EDGE];
static int n_edge;

static void random_edges(unsigned seed, int n)
{
    unsigned s = seed * 31 + 3;
    n_edge = (int)(c_random(&s) % (unsigned)(3 * n + 1));
    for (int i = 0; i < n_edge; i++) {
        edges[i] =
            (struct edge){ (int)(c_random(&s) % (unsigned)n), (int)(c_random(&s) % (unsigned)n),
                           (int)(c_random(&s) % 100), (int)(c_random(&s) % (unsigned)n) };
    }
}

static void graph(unsigned seed)
{
    int n = 1 + (int)(seed % (unsigned)world_size), index[64], list[MAX_EDGE], at = 0;
    int x, y, got_index[64], got[MAX_EDGE], map;
    MPI_Comm c;
    random_edges(seed, n);
    for (int i = 0; i < n; i++) {
        for (int e = 0; e < n_edge; e++) {
            if (edges[e].from == i) {
                list[at++] = edges[e].to;
            }
        }
        index[i] = at;
    }
    T_MPI(MPI_Graph_map(MPI_COMM_WORLD, n, index, list, &map));
    T_EQ(map, world_rank < n ? world_rank : MPI_UNDEFINED);
    T_MPI(MPI_Graph_create(MPI_COMM_WORLD, n, index, list, (int)seed % 2, &c));
    if (c == MPI_COMM_NULL) {
        T_OK(world_rank >= n);
        return;
    }
    T_MPI(MPI_Topo_test(c, &x));
    T_EQ(x, MPI_GRAPH);
    T_MPI(MPI_Graphdims_get(c, &x, &y));
    T_OK(x == n && y == n_edge);
    T_MPI(MPI_Graph_get(c, n, n_edge, got_index, got));
    T_OK(memcmp(got_index, index, (size_t)n * sizeof(int)) == 0);
    T_OK(memcmp(got, list, (size_t)n_edge * sizeof(int)) == 0);
    for (int i = 0; i < n; i++) {
        int first = i > 0 ? index[i - 1] : 0;
        T_MPI(MPI_Graph_neighbors_count(c, i, &x));
        T_EQ(x, index[i] - first);
        T_MPI(MPI_Graph_neighbors(c, i, x, got));
        T_OK(memcmp(got, list + first, (size_t)x * sizeof(int)) == 0);
    }
    T_REFUSED(MPI_Graph_neighbors_count(c, n, &x), MPI_ERR_RANK, "rank");
    T_REFUSED(MPI_Graph_get(c, n - 1, n_edge, got_index, got), MPI_ERR_ARG, "room");
    T_REFUSED(MPI_Cartdim_get(c, &x), MPI_ERR_TOPOLOGY, "a graph topology");
    MPI_Comm_free(&c);
}

// My neighbours in the order the library promises: by who names the edge, then as it was named.
static int expect(int rank, int is_in, int by_namer, int peers[], int weights[])
{
    int n = 0;
    for (int by = 0; by < (by_namer ? world_size : 1); by++) {
        for (int e = 0; e < n_edge; e++) {
            if ((is_in ? edges[e].to : edges[e].from) == rank && (!by_namer || edges[e].by == by)) {
                peers[n] = is_in ? edges[e].from : edges[e].to;
                weights[n++] = edges[e].weight;
            }
        }
    }
    return n;
}

static void check_dist(MPI_Comm c, int by_namer, int is_weighted)
{
    static int in[MAX_EDGE], out[MAX_EDGE], in_w[MAX_EDGE], out_w[MAX_EDGE];
    static int got_in[MAX_EDGE], got_out[MAX_EDGE], got_in_w[MAX_EDGE], got_out_w[MAX_EDGE];
    int rank, n_in, n_out, weighted, x;
    MPI_Comm_rank(c, &rank);
    int want_in = expect(rank, 1, by_namer, in, in_w),
        want_out = expect(rank, 0, by_namer, out, out_w);
    T_MPI(MPI_Topo_test(c, &x));
    T_EQ(x, MPI_DIST_GRAPH);
    T_MPI(MPI_Dist_graph_neighbors_count(c, &n_in, &n_out, &weighted));
    T_OK(n_in == want_in && n_out == want_out && weighted == is_weighted);
    T_MPI(MPI_Dist_graph_neighbors(c, n_in, got_in, is_weighted ? got_in_w : MPI_UNWEIGHTED, n_out,
                                   got_out, is_weighted ? got_out_w : MPI_UNWEIGHTED));
    T_OK(memcmp(got_in, in, (size_t)n_in * sizeof(int)) == 0);
    T_OK(memcmp(got_out, out, (size_t)n_out * sizeof(int)) == 0);
    if (is_weighted) {
        T_OK(memcmp(got_in_w, in_w, (size_t)n_in * sizeof(int)) == 0);
        T_OK(memcmp(got_out_w, out_w, (size_t)n_out * sizeof(int)) == 0);
    }
    got_in[0] = got_in[1] = -5; // less room than neighbours: the first of them
    T_MPI(MPI_Dist_graph_neighbors(c, n_in > 0, got_in, MPI_UNWEIGHTED, 0, NULL, MPI_UNWEIGHTED));
    T_EQ(got_in[0], n_in > 0 ? in[0] : -5);
    T_EQ(got_in[1], -5);
    T_MPI(MPI_Neighbor_allgather(&rank, 1, MPI_INT, got_in, 1, MPI_INT, c));
    T_OK(memcmp(got_in, in, (size_t)n_in * sizeof(int)) == 0);
}

static void dist(unsigned seed, int is_weighted)
{
    static int sources[MAX_EDGE], degrees[MAX_EDGE], to[MAX_EDGE], weights[MAX_EDGE];
    int n = 0;
    MPI_Comm c, copy;
    random_edges(seed, world_size);
    for (int e = 0; e < n_edge; e++) {
        if (edges[e].by == world_rank) {
            sources[n] = edges[e].from;
            degrees[n] = 1;
            weights[n] = edges[e].weight;
            to[n++] = edges[e].to;
        }
    }
    T_MPI(MPI_Dist_graph_create(MPI_COMM_WORLD, n, sources, degrees, to,
                                !is_weighted ? MPI_UNWEIGHTED
                                : n == 0     ? MPI_WEIGHTS_EMPTY
                                             : weights,
                                MPI_INFO_NULL, (int)seed % 2, &c));
    check_dist(c, 1, is_weighted);
    T_MPI(MPI_Comm_dup(c, &copy));
    MPI_Comm_free(&c);
    check_dist(copy, 1, is_weighted);
    MPI_Comm_free(&copy);
}

static void adjacent(unsigned seed, int is_weighted)
{
    static int in[MAX_EDGE], out[MAX_EDGE], in_w[MAX_EDGE], out_w[MAX_EDGE];
    MPI_Comm c;
    random_edges(seed, world_size);
    int n_in = expect(world_rank, 1, 0, in, in_w), n_out = expect(world_rank, 0, 0, out, out_w);
    int *iw = is_weighted ? n_in == 0 ? MPI_WEIGHTS_EMPTY : in_w : MPI_UNWEIGHTED;
    int *ow = is_weighted ? n_out == 0 ? MPI_WEIGHTS_EMPTY : out_w : MPI_UNWEIGHTED;
    T_MPI(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, n_in, in, iw, n_out, out, ow,
                                         MPI_INFO_NULL, (int)seed % 2, &c));
    check_dist(c, 0, is_weighted);
    MPI_Comm_free(&c);
}

// Several destinations per source, as the standard's own example has it.
static void degrees(void)
{
    int source = world_rank, degree = world_size, to[64], n_in, n_out, weighted;
    MPI_Comm c;
    for (int i = 0; i < world_size; i++) {
        to[i] = i;
    }
    T_MPI(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &source, &degree, to, MPI_UNWEIGHTED,
                                MPI_INFO_NULL, 0, &c));
    T_MPI(MPI_Dist_graph_neighbors_count(c, &n_in, &n_out, &weighted));
    T_OK(n_in == world_size && n_out == world_size && !weighted);
    MPI_Comm_free(&c);
}

static void mistakes(void)
{
    MPI_Comm c = MPI_COMM_NULL;
    int index[65] = { 1 }, one = world_size, minus = -1, zero = 0, x, y, z;
    T_REFUSED(MPI_Graph_create(MPI_COMM_WORLD, 1, index, &one, 0, &c), MPI_ERR_ARG, "edges[0]");
    T_REFUSED(MPI_Graph_create(MPI_COMM_WORLD, world_size + 1, index, &zero, 0, &c), MPI_ERR_ARG,
              "ranks");
    T_REFUSED(MPI_Graph_create(MPI_COMM_WORLD, 1, &minus, &zero, 0, &c), MPI_ERR_ARG, "index[0]");
    T_REFUSED(MPI_Graph_create(MPI_COMM_WORLD, -1, index, &zero, 0, &c), MPI_ERR_ARG, "nnodes");
    T_MPI(MPI_Graph_create(MPI_COMM_WORLD, 0, NULL, NULL, 0, &c));
    T_OK(c == MPI_COMM_NULL);
    T_REFUSED(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &one, MPI_UNWEIGHTED, 0, NULL,
                                             MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &c),
              MPI_ERR_RANK, "sources[0]");
    T_REFUSED(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &zero, MPI_UNWEIGHTED, 1, &zero,
                                             &one, MPI_INFO_NULL, 0, &c),
              MPI_ERR_ARG, "MPI_UNWEIGHTED");
    T_REFUSED(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &zero, &minus, &zero, MPI_UNWEIGHTED,
                                    MPI_INFO_NULL, 0, &c),
              MPI_ERR_ARG, "degrees[0]");
    index[0] = 1;
    T_REFUSED(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &zero, index, &one, MPI_UNWEIGHTED,
                                    MPI_INFO_NULL, 0, &c),
              MPI_ERR_RANK, "destinations[0]");
    T_REFUSED(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &zero, index, &zero, MPI_WEIGHTS_EMPTY,
                                    MPI_INFO_NULL, 0, &c),
              MPI_ERR_ARG, "MPI_WEIGHTS_EMPTY");
    T_REFUSED(MPI_Dist_graph_neighbors_count(MPI_COMM_WORLD, &x, &y, &z), MPI_ERR_TOPOLOGY, "no");
    T_OK(c == MPI_COMM_NULL);
}

int main(int argc, char **argv)
{
    c_start(&argc, &argv);
    for (unsigned round = 0; round < ROUNDS; round++) {
        graph(round);
        dist(round, (int)round / 2 % 2);
        adjacent(round, (int)round / 2 % 2);
    }
    degrees();
    mistakes();
    return t_end();
}
