// SPDX-License-Identifier: BSD-3-Clause
// Mapping topologies onto made-up machines: fewer borders crossed than before, as few as can be
// where that is known, always a permutation, and never worse than the old order.
#include "topo/remap.h"

#include "t.h"

enum { MAX = 4096 };

static struct pli_locality places[MAX];
static int ranks[MAX];

// Process i on node i / per_node, or dealt out in turn; two packages per node.
static void make_places(int n, int per_node, int is_dealt)
{
    int n_node = (n + per_node - 1) / per_node;
    for (int i = 0; i < n; i++) {
        int node = is_dealt ? i % n_node : i / per_node;
        int inside = is_dealt ? i / n_node : i % per_node;
        places[i].node = 1000 + (unsigned)node;
        for (int k = 0; k < PLI_N_HWTREE; k++) {
            places[i].at[k] = PLI_HWTREE_ANY;
        }
        places[i].at[PLI_HWTREE_MACHINE] = 0;
        places[i].at[PLI_HWTREE_PACKAGE] = (unsigned)(inside >= (per_node + 1) / 2);
    }
}

static void is_permutation(int n)
{
    static int seen[MAX];
    memset(seen, 0, sizeof seen);
    for (int i = 0; i < n; i++) {
        T_MUST(ranks[i] >= 0 && ranks[i] < n);
        seen[ranks[i]]++;
    }
    for (int i = 0; i < n; i++) {
        T_EQ(seen[i], 1);
    }
}

static int is_identity(int n)
{
    for (int i = 0; i < n; i++) {
        if (ranks[i] != i) {
            return 0;
        }
    }
    return 1;
}

// Edges of a grid that leave a node.
static int node_borders(int n_dim, const int dims[], const int periods[])
{
    static int at[MAX];
    int n = 1, borders = 0;
    for (int i = 0; i < n_dim; i++) {
        n *= dims[i];
    }
    for (int i = 0; i < n; i++) {
        at[ranks[i]] = i;
    }
    for (int cell = 0; cell < n; cell++) {
        for (int d = n_dim - 1, stride = 1; d >= 0; stride *= dims[d--]) {
            int x = cell / stride % dims[d];
            if (x + 1 < dims[d] || periods[d]) {
                int to = x + 1 < dims[d] ? cell + stride : cell - x * stride;
                borders += places[at[cell]].node != places[at[to]].node;
            }
        }
    }
    return borders;
}

static void grids(void)
{
    const int sq[2] = { 8, 8 }, open[3] = { 0, 0, 0 }, cube[3] = { 8, 8, 8 }, ring[3] = { 1, 1, 1 };
    // 64 processes, 16 to a node, in rows: two rows of 8 per node, 3 * 8 borders. Blocks of 4 x 4
    // cut the square once each way: 2 * 8.
    make_places(64, 16, 0);
    T_EQ(pli_remap_cart(places, 2, sq, open, ranks), PLI_OK);
    is_permutation(64);
    T_EQ(node_borders(2, sq, open), 16);
    // Dealt out in turn, nearly every edge is a border; the blocks are the same.
    make_places(64, 16, 1);
    T_EQ(pli_remap_cart(places, 2, sq, open, ranks), PLI_OK);
    is_permutation(64);
    T_EQ(node_borders(2, sq, open), 16);
    // 512 in a periodic cube on nodes of 64: blocks of 4 x 4 x 4, 6 * 16 outer faces each, each
    // shared by two.
    make_places(512, 64, 1);
    T_EQ(pli_remap_cart(places, 3, cube, ring, ranks), PLI_OK);
    is_permutation(512);
    T_EQ(node_borders(3, cube, ring), 8 * 6 * 16 / 2);
    // Sizes that do not divide: 7 to a node. Better than dealt out, and still whole.
    make_places(64, 7, 1);
    for (int i = 0; i < 64; i++) {
        ranks[i] = i;
    }
    int before = node_borders(2, sq, open);
    T_EQ(pli_remap_cart(places, 2, sq, open, ranks), PLI_OK);
    is_permutation(64);
    T_OK(node_borders(2, sq, open) < before / 2);
    // All on one node without bindings: nothing to gain, nothing changes.
    make_places(64, 64, 0);
    for (int i = 0; i < 64; i++) {
        places[i].at[PLI_HWTREE_PACKAGE] = PLI_HWTREE_ANY;
    }
    T_OK(!pli_remap_matters(places, 64));
    T_EQ(pli_remap_cart(places, 2, sq, open, ranks), PLI_OK);
    T_OK(is_identity(64));
}

// Random graphs on random machines: never worse than before.
static void random_graphs(void)
{
    static int index[MAX], edges[MAX];
    unsigned s = 7;
    for (int round = 0; round < 200; round++) {
        int n = 2 + (int)((s = s * 1664525u + 1013904223u) >> 10) % 60, n_edge = 0;
        for (int i = 0; i < n; i++) {
            int degree = (int)((s = s * 1664525u + 1013904223u) >> 10) % 5;
            for (int k = 0; k < degree; k++) {
                edges[n_edge++] = (int)(((s = s * 1664525u + 1013904223u) >> 10) % (unsigned)n);
            }
            index[i] = n_edge;
        }
        make_places(n, 1 + round % 9, round % 2);
        struct pli_remap_graph g = { n, index, edges };
        for (int i = 0; i < n; i++) {
            ranks[i] = i;
        }
        long long before = pli_remap_cost(places, &g, ranks);
        T_EQ(pli_remap_graph(places, &g, ranks), PLI_OK);
        is_permutation(n);
        T_OK(pli_remap_cost(places, &g, ranks) <= before);
    }
}

// Eight cliques of eight whose members are dealt out over eight nodes: each gets a node.
static void cliques(void)
{
    static int index[64], edges[64 * 7];
    int n_edge = 0;
    for (int i = 0; i < 64; i++) {
        for (int k = 0; k < 8; k++) {
            int to = i / 8 * 8 + k;
            if (to != i) {
                edges[n_edge++] = to;
            }
        }
        index[i] = n_edge;
    }
    make_places(64, 8, 1);
    struct pli_remap_graph g = { 64, index, edges };
    T_EQ(pli_remap_graph(places, &g, ranks), PLI_OK);
    is_permutation(64);
    for (int i = 0; i < 64; i++) {
        for (int j = 0; j < 64; j++) {
            T_OK(ranks[i] / 8 != ranks[j] / 8 || places[i].node == places[j].node);
        }
    }
}

int main(void)
{
    grids();
    random_graphs();
    cliques();
    return t_status();
}
