// SPDX-License-Identifier: BSD-3-Clause
// Distributed graphs on communicators that span clients. Ranks are not reordered. Between clients
// go the messages of MPI_Alltoall and MPI_Alltoallv, by which edges come to their ends, and those
// of MPI_Comm_create.
#include "shim/shim_coll.h"
#include "shim/shim_topo.h"
#include <stdlib.h>
#include <string.h>

enum { INTS = 3 }; // of the end of an edge: whether it comes in, the other rank, its weight

static struct shim_topo *make(int n_in, int n_out, bool is_weighted)
{
    size_t n = ((size_t)n_in + (size_t)n_out) * (is_weighted ? 2 : 1);
    struct shim_topo *t = calloc(1, sizeof *t + n * sizeof t->v[0]);
    if (t != NULL) {
        *t = (struct shim_topo){ .kind = MPI_DIST_GRAPH,
                                 .n = n_in,
                                 .n_two = n_out,
                                 .is_weighted = is_weighted,
                                 .n_all = (int)n };
    }
    return t;
}

static void fill(int *to, const int *from, int n)
{
    if (n > 0) {
        memcpy(to, from, (size_t)n * sizeof *to);
    }
}

static int check_ranks(const struct shim_span *s, int n, const int *rank)
{
    for (int i = 0; i < n; i++) {
        if (rank[i] < 0 || rank[i] >= s->size) {
            return MPI_ERR_RANK;
        }
    }
    return n < 0 ? MPI_ERR_ARG : MPI_SUCCESS;
}

PLI_SHIM_API int MPI_Dist_graph_create_adjacent(MPI_Comm comm, int indegree, const int sources[],
                                                const int sourceweights[], int outdegree,
                                                const int destinations[], const int destweights[],
                                                MPI_Info info, int reorder, MPI_Comm *newcomm)
{
    PLI_SHIM_ENTER;
    struct shim_span *s = pli_shim_span_find(comm);
    if (s == NULL) {
        return PLI_SHIM_OUTSIDE(
            PMPI_Dist_graph_create_adjacent(comm, indegree, sources, sourceweights, outdegree,
                                            destinations, destweights, info, reorder, newcomm));
    }
    int rc = pli_shim_inter_refuse(s);
    rc = rc == MPI_SUCCESS ? check_ranks(s, indegree, sources) : rc;
    rc = rc == MPI_SUCCESS ? check_ranks(s, outdegree, destinations) : rc;
    if (rc != MPI_SUCCESS) {
        return pli_shim_end(comm, rc);
    }
    bool is_weighted = sourceweights != MPI_UNWEIGHTED;
    struct shim_topo *t = make(indegree, outdegree, is_weighted);
    if (t != NULL) {
        fill(t->v, sources, indegree);
        fill(t->v + indegree, destinations, outdegree);
        if (is_weighted) {
            fill(t->v + indegree + outdegree, sourceweights, indegree);
            fill(t->v + 2 * indegree + outdegree, destweights, outdegree);
        }
    }
    return pli_shim_end(comm, pli_shim_topo_attach(s, s->size, t, newcomm));
}

struct ends { // of edges, on their way to the processes that have them
    int *counts, *displs, *in_counts, *in_displs; // one piece of memory
    int *out, *in;
    int n_in;
};

static int add_up(const int *counts, int *displs, int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++) {
        displs[i] = sum;
        sum += counts[i];
    }
    return sum;
}

// The ends of the edges that this process names, by the rank they go to, in the order of the edges.
static int sort_ends(const struct shim_span *s, int n, const int *sources, const int *degrees,
                     const int *destinations, const int *weights, struct ends *e)
{
    size_t size = (size_t)s->size;
    e->counts = calloc(5 * size, sizeof *e->counts);
    if (e->counts == NULL) {
        return MPI_ERR_NO_MEM;
    }
    e->displs = e->counts + size;
    e->in_counts = e->displs + size;
    e->in_displs = e->in_counts + size;
    int *next = e->in_displs + size;
    for (int i = 0, k = 0; i < n; i++) {
        for (int end = k + degrees[i]; k < end; k++) {
            e->counts[sources[i]] += INTS;
            e->counts[destinations[k]] += INTS;
        }
    }
    int total = add_up(e->counts, e->displs, s->size);
    e->out = malloc(((size_t)total + 1) * sizeof *e->out);
    if (e->out == NULL) {
        return MPI_ERR_NO_MEM;
    }
    for (int i = 0, k = 0; i < n; i++) {
        for (int end = k + degrees[i]; k < end; k++) {
            int from = sources[i], to = destinations[k];
            int weight = weights != MPI_UNWEIGHTED ? weights[k] : 0;
            memcpy(e->out + e->displs[from] + next[from], (int[]){ 0, to, weight },
                   sizeof(int[INTS]));
            next[from] += INTS;
            memcpy(e->out + e->displs[to] + next[to], (int[]){ 1, from, weight },
                   sizeof(int[INTS]));
            next[to] += INTS;
        }
    }
    return MPI_SUCCESS;
}

static int exchange_ends(struct shim_span *s, struct ends *e)
{
    int rc = pli_shim_coll_alltoall(s, e->counts, 1, MPI_INT, e->in_counts, 1, MPI_INT);
    if (rc != MPI_SUCCESS) {
        return rc;
    }
    e->n_in = add_up(e->in_counts, e->in_displs, s->size);
    e->in = malloc(((size_t)e->n_in + 1) * sizeof *e->in);
    return e->in == NULL ? MPI_ERR_NO_MEM
                         : pli_shim_coll_alltoallv(s, e->out, PLI_SHIM_LIST_NARROW(e->counts),
                                                   PLI_SHIM_LIST_NARROW(e->displs), MPI_INT, e->in,
                                                   PLI_SHIM_LIST_NARROW(e->in_counts),
                                                   PLI_SHIM_LIST_NARROW(e->in_displs), MPI_INT);
}

static struct shim_topo *topo_of_ends(const struct ends *e, bool is_weighted)
{
    int n = e->n_in / INTS, n_in = 0, at[2] = { 0, 0 };
    for (int i = 0; i < n; i++) {
        n_in += e->in[i * INTS] != 0;
    }
    struct shim_topo *t = make(n_in, n - n_in, is_weighted);
    for (int i = 0; t != NULL && i < n; i++) {
        const int *end = e->in + (size_t)i * INTS;
        int place = end[0] != 0 ? at[0]++ : n_in + at[1]++;
        t->v[place] = end[1];
        if (is_weighted) {
            t->v[n + place] = end[2];
        }
    }
    return t;
}

static int create(struct shim_span *s, int n, const int *sources, const int *degrees,
                  const int *destinations, const int *weights, MPI_Comm *out)
{
    struct ends e = { 0 };
    int n_edge = 0;
    int rc = check_ranks(s, n, sources);
    for (int i = 0; i < n && rc == MPI_SUCCESS; i++) {
        rc = degrees[i] < 0 ? MPI_ERR_ARG : MPI_SUCCESS;
        n_edge += degrees[i];
    }
    rc = rc == MPI_SUCCESS ? check_ranks(s, n_edge, destinations) : rc;
    rc = rc == MPI_SUCCESS ? sort_ends(s, n, sources, degrees, destinations, weights, &e) : rc;
    rc = rc == MPI_SUCCESS ? exchange_ends(s, &e) : rc;
    if (rc == MPI_SUCCESS) {
        rc = pli_shim_topo_attach(s, s->size, topo_of_ends(&e, weights != MPI_UNWEIGHTED), out);
    }
    free(e.counts);
    free(e.out);
    free(e.in);
    return rc;
}

PLI_SHIM_API int MPI_Dist_graph_create(MPI_Comm comm, int n, const int sources[],
                                       const int degrees[], const int destinations[],
                                       const int weights[], MPI_Info info, int reorder,
                                       MPI_Comm *newcomm)
{
    PLI_SHIM_ENTER;
    struct shim_span *s = pli_shim_span_find(comm);
    if (s == NULL) {
        return PLI_SHIM_OUTSIDE(PMPI_Dist_graph_create(comm, n, sources, degrees, destinations,
                                                       weights, info, reorder, newcomm));
    }
    int rc = pli_shim_inter_refuse(s);
    return pli_shim_end(comm, rc == MPI_SUCCESS
                                  ? create(s, n, sources, degrees, destinations, weights, newcomm)
                                  : rc);
}

PLI_SHIM_API int MPI_Dist_graph_neighbors_count(MPI_Comm comm, int *indegree, int *outdegree,
                                                int *weighted)
{
    PLI_SHIM_TOPO_OR(MPI_DIST_GRAPH,
                     PMPI_Dist_graph_neighbors_count(comm, indegree, outdegree, weighted));
    *indegree = t->n;
    *outdegree = t->n_two;
    *weighted = t->is_weighted;
    return MPI_SUCCESS;
}

static void give(const int *from, const int *weights, int n, int max, int *to, int *to_weights)
{
    n = n < max ? n : max;
    fill(to, from, n);
    if (weights != NULL && to_weights != NULL && to_weights != MPI_UNWEIGHTED) {
        fill(to_weights, weights, n);
    }
}

PLI_SHIM_API int MPI_Dist_graph_neighbors(MPI_Comm comm, int maxindegree, int sources[],
                                          int sourceweights[], int maxoutdegree, int destinations[],
                                          int destweights[])
{
    PLI_SHIM_TOPO_OR(MPI_DIST_GRAPH,
                     PMPI_Dist_graph_neighbors(comm, maxindegree, sources, sourceweights,
                                               maxoutdegree, destinations, destweights));
    const int *weights = t->is_weighted ? t->v + t->n + t->n_two : NULL;
    give(t->v, weights, t->n, maxindegree, sources, sourceweights);
    give(t->v + t->n, weights != NULL ? weights + t->n : NULL, t->n_two, maxoutdegree, destinations,
         destweights);
    return MPI_SUCCESS;
}
