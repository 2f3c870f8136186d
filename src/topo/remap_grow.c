// SPDX-License-Identifier: BSD-3-Clause
// Connected parts of a graph: a part starts at the first node left and takes, again and
// again, the node with most edges into it.
#include "topo/remap_priv.h"

#include <stdlib.h>
#include <string.h>

struct entry {
    int gain, node;
};

struct grow {
    const struct pli_locality *places;
    const int *procs;
    int *begin, *near; // both directions of every edge: those of i from begin[i] to begin[i + 1]
    int *gain;
    char *is_open; // may be taken by the part that grows
    struct entry *heap;
    int n_heap;
    int *order;
};

static bool is_better(struct entry a, struct entry b)
{
    return a.gain > b.gain || (a.gain == b.gain && a.node < b.node);
}

static void push(struct grow *g, struct entry e)
{
    int i = g->n_heap++;
    while (i > 0 && is_better(e, g->heap[(i - 1) / 2])) {
        g->heap[i] = g->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    g->heap[i] = e;
}

static struct entry pop(struct grow *g)
{
    struct entry top = g->heap[0], last = g->heap[--g->n_heap];
    int i = 0;
    for (int c; (c = 2 * i + 1) < g->n_heap; i = c) {
        c += c + 1 < g->n_heap && is_better(g->heap[c + 1], g->heap[c]);
        if (!is_better(g->heap[c], last)) {
            break;
        }
        g->heap[i] = g->heap[c];
    }
    g->heap[i] = last;
    return top;
}

// The best open node; entries that are no longer true are dropped. `from` is the first that may be
// open, for a fresh start.
static int next_node(struct grow *g, const int nodes[], int *from)
{
    while (g->n_heap > 0) {
        struct entry e = pop(g);
        if (g->is_open[e.node] && g->gain[e.node] == e.gain) {
            return e.node;
        }
    }
    while (!g->is_open[nodes[*from]]) {
        ++*from;
    }
    return nodes[*from];
}

static int by_value(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

// Choose `size` of the n open nodes; they come to the front of `nodes`, both halves ascending.
static void choose(struct grow *g, int nodes[], int n, int size)
{
    int from = 0;
    g->n_heap = 0;
    for (int i = 0; i < n; i++) {
        g->gain[nodes[i]] = 0;
    }
    for (int k = 0; k < size; k++) {
        int node = next_node(g, nodes, &from);
        g->is_open[node] = 0;
        for (int e = g->begin[node]; e < g->begin[node + 1]; e++) {
            if (g->is_open[g->near[e]]) {
                push(g, (struct entry){ ++g->gain[g->near[e]], g->near[e] });
            }
        }
    }
    int front = 0;
    for (int i = 0; i < n; i++) { // taken ones forward; order among the rest is mended below
        if (!g->is_open[nodes[i]]) {
            int t = nodes[front];
            nodes[front++] = nodes[i];
            nodes[i] = t;
        }
    }
    qsort(nodes, (size_t)size, sizeof nodes[0], by_value);
    qsort(nodes + size, (size_t)(n - size), sizeof nodes[0], by_value);
}

// Give the nodes to the processes procs[at] on, at this level and those below.
static void divide(struct grow *g, int nodes[], int n, int at, int level)
{
    if (level == PLI_REMAP_N_LEVEL) {
        memcpy(g->order + at, nodes, (size_t)n * sizeof nodes[0]);
        return;
    }
    for (int done = 0; done < n;) {
        int size = 1;
        while (done + size < n && pli_remap_same(&g->places[g->procs[at + done]],
                                                 &g->places[g->procs[at + done + size]], level)) {
            size++;
        }
        if (size < n - done) {
            for (int i = done; i < n; i++) {
                g->is_open[nodes[i]] = 1;
            }
            choose(g, nodes + done, n - done, size);
            for (int i = done; i < n; i++) {
                g->is_open[nodes[i]] = 0;
            }
        }
        divide(g, nodes + done, size, at + done, level + 1);
        done += size;
    }
}

static void both_ways(const struct pli_remap_graph *from, struct grow *g)
{
    for (int i = 0, e = 0; i < from->n; i++) {
        for (; e < from->index[i]; e++) {
            int to = from->edges[e];
            if (to >= 0 && to != i) {
                g->begin[i + 1]++;
                g->begin[to + 1]++;
            }
        }
    }
    for (int i = 0; i < from->n; i++) {
        g->begin[i + 1] += g->begin[i];
        g->gain[i] = g->begin[i]; // where the next one goes
    }
    for (int i = 0, e = 0; i < from->n; i++) {
        for (; e < from->index[i]; e++) {
            int to = from->edges[e];
            if (to >= 0 && to != i) {
                g->near[g->gain[i]++] = to;
                g->near[g->gain[to]++] = i;
            }
        }
    }
}

bool pli_remap_grow(const struct pli_locality places[], const int procs[],
                    const struct pli_remap_graph *from, int order[])
{
    size_t n = (size_t)from->n, n_edge = n > 0 ? (size_t)from->index[n - 1] : 0;
    struct grow g = { .places = places, .procs = procs, .order = order };
    g.begin = calloc(n + 1, sizeof *g.begin);
    g.near = malloc((2 * n_edge + 1) * sizeof *g.near);
    g.gain = calloc(n, sizeof *g.gain);
    g.is_open = calloc(n, 1);
    g.heap = malloc((2 * n_edge + 1) * sizeof *g.heap);
    int *nodes = malloc(n * sizeof *nodes);
    bool is_there = g.begin != NULL && g.near != NULL && g.gain != NULL && g.is_open != NULL &&
                    g.heap != NULL && nodes != NULL;
    if (is_there) {
        for (int i = 0; i < from->n; i++) {
            nodes[i] = i;
        }
        both_ways(from, &g);
        divide(&g, nodes, from->n, 0, 0);
    }
    free(g.begin);
    free(g.near);
    free(g.gain);
    free(g.is_open);
    free(g.heap);
    free(nodes);
    return is_there;
}
