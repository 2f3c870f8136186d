// SPDX-License-Identifier: BSD-3-Clause
// Compares assignments of processes to ranks and keeps the best. For grids the candidate cuts the
// grid into boxes, one per node, and those into boxes for packages and caches; where sizes do not
// divide, halving the longest side again and again still keeps neighbours near.
#include "topo/remap.h"

#include "topo/remap_priv.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    enum pli_hwtree_level piece;
    int weight; // of an edge that leaves the piece
} levels[PLI_REMAP_N_LEVEL] = { { PLI_HWTREE_MACHINE, 64 },
                                { PLI_HWTREE_PACKAGE, 16 },
                                { PLI_HWTREE_NUMA, 8 },
                                { PLI_HWTREE_L3, 4 },
                                { PLI_HWTREE_L2, 1 } };

static int distance(const struct pli_locality *a, const struct pli_locality *b)
{
    if (a->node != b->node) {
        return levels[0].weight;
    }
    for (int i = 1; i < PLI_REMAP_N_LEVEL; i++) {
        uint32_t x = a->at[levels[i].piece], y = b->at[levels[i].piece];
        if (x != y && x != PLI_HWTREE_ANY && y != PLI_HWTREE_ANY) {
            return levels[i].weight;
        }
    }
    return 0;
}

bool pli_remap_same(const struct pli_locality *a, const struct pli_locality *b, int level)
{
    bool is_same = a->node == b->node;
    for (int i = 1; is_same && i <= level; i++) {
        is_same = a->at[levels[i].piece] == b->at[levels[i].piece];
    }
    return is_same;
}

bool pli_remap_matters(const struct pli_locality places[], int n)
{
    for (int i = 1; i < n; i++) {
        if (distance(&places[0], &places[i]) != 0) {
            return true;
        }
    }
    return false;
}

struct row {
    struct pli_locality place;
    int proc;
};

static int by_place(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    if (x->place.node != y->place.node) {
        return x->place.node < y->place.node ? -1 : 1;
    }
    for (int i = 0; i < PLI_N_HWTREE; i++) {
        if (x->place.at[i] != y->place.at[i]) {
            return x->place.at[i] < y->place.at[i] ? -1 : 1;
        }
    }
    return (x->proc > y->proc) - (x->proc < y->proc);
}

// The processes in order of place, so that those of one node, package and so on are together.
// Freed by the caller; NULL: no memory.
static int *sort(const struct pli_locality places[], int n)
{
    struct row *rows = malloc((size_t)n * sizeof *rows);
    int *procs = malloc((size_t)n * sizeof *procs);
    for (int i = 0; rows != NULL && i < n; i++) {
        rows[i] = (struct row){ places[i], i };
    }
    if (rows != NULL && procs != NULL) {
        qsort(rows, (size_t)n, sizeof *rows, by_place);
        for (int i = 0; i < n; i++) {
            procs[i] = rows[i].proc;
        }
    } else {
        free(procs);
        procs = NULL;
    }
    free(rows);
    return procs;
}

long long pli_remap_cost(const struct pli_locality places[], const struct pli_remap_graph *g,
                         const int rank[])
{
    int *at = malloc((size_t)g->n * sizeof *at); // the process at a rank
    if (at == NULL) {
        return LLONG_MAX;
    }
    for (int i = 0; i < g->n; i++) {
        at[rank[i]] = i;
    }
    long long cost = 0;
    for (int i = 0, e = 0; i < g->n; i++) {
        for (; e < g->index[i]; e++) {
            if (g->edges[e] >= 0) {
                cost += distance(&places[at[i]], &places[at[g->edges[e]]]);
            }
        }
    }
    free(at);
    return cost;
}

// Keep the candidate if it is better than the identity: the k-th process of `procs` gets order[k].
static void keep_better(const struct pli_locality places[], const struct pli_remap_graph *g,
                        const int procs[], const int order[], int rank_out[])
{
    for (int i = 0; i < g->n; i++) {
        rank_out[i] = i;
    }
    long long as_is = pli_remap_cost(places, g, rank_out);
    for (int i = 0; i < g->n; i++) {
        rank_out[procs[i]] = order[i];
    }
    if (pli_remap_cost(places, g, rank_out) >= as_is) {
        for (int i = 0; i < g->n; i++) {
            rank_out[i] = i;
        }
    }
}

struct walk {
    int n_dim, n_level;
    int size[PLI_REMAP_N_LEVEL]; // of the boxes at each level
    const int *dims, *periods;
    int *origin, *box;        // where the walk is
    int *trial, *best, *kept; // n_dim each; kept: 3 * n_dim for each level
    long long best_cut;
    int *order, n_order;
};

static void emit(struct walk *w)
{
    int cell = 0;
    for (int i = 0; i < w->n_dim; i++) {
        cell = cell * w->dims[i] + w->origin[i];
    }
    w->order[w->n_order++] = cell;
}

// All cells of the box, halving its longest side.
static void halve(struct walk *w)
{
    int at = 0;
    for (int i = 1; i < w->n_dim; i++) {
        at = w->box[i] > w->box[at] ? i : at;
    }
    if (w->n_dim == 0 || w->box[at] == 1) {
        emit(w);
        return;
    }
    int all = w->box[at], half = all / 2;
    w->box[at] = half;
    halve(w);
    w->origin[at] += half;
    w->box[at] = all - half;
    halve(w);
    w->origin[at] -= half;
    w->box[at] = all;
}

// Try every way to cut boxes of `size` cells out of the box; the fewest cut edges win.
static void try_boxes(struct walk *w, int dim, int size)
{
    if (dim == w->n_dim) {
        long long volume = 1, cut = 0;
        for (int i = 0; i < w->n_dim; i++) {
            volume *= w->box[i];
        }
        for (int i = 0; i < w->n_dim; i++) {
            bool is_ring = w->periods[i] && w->box[i] == w->dims[i];
            cut += volume / w->box[i] * (w->box[i] / w->trial[i] - !is_ring) *
                   (w->trial[i] < w->box[i]);
        }
        if (size == 1 && cut < w->best_cut) {
            w->best_cut = cut;
            memcpy(w->best, w->trial, (size_t)w->n_dim * sizeof(int));
        }
        return;
    }
    for (int side = 1; side <= w->box[dim] && side <= size; side++) {
        if (w->box[dim] % side == 0 && size % side == 0) {
            w->trial[dim] = side;
            try_boxes(w, dim + 1, size / side);
        }
    }
}

// The cells of the box, box by box of the level's size.
static void walk(struct walk *w, int level)
{
    w->best_cut = LLONG_MAX;
    if (level < w->n_level) {
        try_boxes(w, 0, w->size[level]);
    }
    if (w->best_cut == LLONG_MAX) {
        halve(w);
        return;
    }
    size_t len = (size_t)w->n_dim * sizeof(int);
    int *origin = w->kept + (size_t)level * 3 * (size_t)w->n_dim;
    int *box = origin + w->n_dim, *side = box + w->n_dim;
    memcpy(origin, w->origin, len);
    memcpy(box, w->box, len);
    memcpy(side, w->best, len);
    memcpy(w->box, side, len);
    for (int i = 0; i >= 0;) {
        walk(w, level + 1);
        for (i = w->n_dim - 1; i >= 0; i--) { // the next one, last coordinate first
            w->origin[i] += side[i];
            if (w->origin[i] < origin[i] + box[i]) {
                break;
            }
            w->origin[i] = origin[i];
        }
    }
    memcpy(w->box, box, len);
}

// Sizes of nodes, packages and so on, as far down as all are alike.
static void find_sizes(struct walk *w, const struct pli_locality places[], const int procs[], int n)
{
    int last = n;
    for (int level = 0; level < PLI_REMAP_N_LEVEL; level++) {
        int size = 0;
        for (int i = 0, from = 0; i < n; i++) {
            if (i + 1 == n || !pli_remap_same(&places[procs[i]], &places[procs[i + 1]], level)) {
                if (size != 0 && size != i + 1 - from) {
                    return;
                }
                size = i + 1 - from;
                from = i + 1;
            }
        }
        if (size < last) {
            w->size[w->n_level++] = size;
            last = size;
        }
    }
}

// The grid as a graph, for the costs. Freed by the caller, at index; NULL: no memory.
static int *grid_edges(int n, int n_dim, const int dims[], const int periods[],
                       struct pli_remap_graph *g)
{
    int *index = malloc((size_t)n * (size_t)(1 + n_dim) * sizeof *index);
    if (index == NULL) {
        return NULL;
    }
    int *edges = index + n, n_edge = 0;
    for (int cell = 0; cell < n; cell++) {
        int stride = 1;
        for (int d = n_dim - 1; d >= 0; d--) {
            int at = cell / stride % dims[d];
            int to = at + 1 < dims[d] ? cell + stride : periods[d] ? cell - at * stride : -1;
            edges[n_edge++] = to;
            stride *= dims[d];
        }
        index[cell] = n_edge;
    }
    *g = (struct pli_remap_graph){ n, index, edges };
    return index;
}

enum pli_err pli_remap_cart(const struct pli_locality places[], int n_dim, const int dims[],
                            const int periods[], int rank_out[])
{
    int n = 1;
    for (int i = 0; i < n_dim; i++) {
        n *= dims[i];
    }
    size_t d = (size_t)n_dim;
    struct walk w = { .n_dim = n_dim, .dims = dims, .periods = periods };
    struct pli_remap_graph g;
    int *index = grid_edges(n, n_dim, dims, periods, &g);
    int *procs = sort(places, n);
    int *space = calloc(d * (4 + 3 * PLI_REMAP_N_LEVEL) + (size_t)n, sizeof *space);
    bool is_there = index != NULL && procs != NULL && space != NULL;
    if (is_there) {
        w.origin = space;
        w.box = space + d;
        w.trial = space + 2 * d;
        w.best = space + 3 * d;
        w.kept = space + 4 * d;
        w.order = w.kept + 3 * PLI_REMAP_N_LEVEL * d;
        memcpy(w.box, dims, d * sizeof(int));
        find_sizes(&w, places, procs, n);
        walk(&w, 0);
        keep_better(places, &g, procs, w.order, rank_out);
    }
    free(index);
    free(procs);
    free(space);
    return is_there ? PLI_OK : pli_fail(PLI_ERR_NOMEM, "no memory to place a grid of %d", n);
}

enum pli_err pli_remap_graph(const struct pli_locality places[], const struct pli_remap_graph *g,
                             int rank_out[])
{
    int *procs = sort(places, g->n);
    int *order = malloc((size_t)g->n * sizeof *order);
    bool is_there = procs != NULL && order != NULL && pli_remap_grow(places, procs, g, order);
    if (is_there) {
        keep_better(places, g, procs, order, rank_out);
    }
    free(procs);
    free(order);
    return is_there ? PLI_OK : pli_fail(PLI_ERR_NOMEM, "no memory to place a graph of %d", g->n);
}
