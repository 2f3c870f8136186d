// SPDX-License-Identifier: BSD-3-Clause
// Distributed graphs from edges that any process may name: each edge travels to its two ends.
#include "topo/dist_spread.h"

#include "coll/coll.h"
#include "obj/comm.h"
#include "topo/dist_graph.h"
#include "topo/dist_make.h"
#include "topo/topo.h"

#include <limits.h>
#include <stdlib.h>

// What the process at an end of an edge gets.
struct edge_end {
    int is_in, peer, weight;
};
enum { INTS = sizeof(struct edge_end) / sizeof(int) };

struct spread {
    struct edge_end *out, *in;  // to send, by destination; received, by source
    int *counts, *starts;       // of numbers to send to each rank
    int *in_counts, *in_starts; // and to receive
    long long n_out, n_in;      // numbers altogether
};

static enum pli_err check(const struct pli_comm *comm, int n, const int sources[],
                          const int degrees[], const int destinations[], const int weights[],
                          int *n_edge_out)
{
    enum pli_err err = pli_topo_check_parent(comm);
    long long n_edge = 0;
    if (err == PLI_OK) {
        err = pli_topo_check_array("sources", sources, n);
    }
    if (err == PLI_OK) {
        err = pli_topo_check_array("degrees", degrees, n);
    }
    for (int i = 0; err == PLI_OK && i < n; i++) {
        if (sources[i] < 0 || sources[i] >= comm->size) {
            err = pli_fail(PLI_ERR_RANK, "sources[%d] is %d, but %s has %d ranks", i, sources[i],
                           pli_comm_say(comm), comm->size);
        } else if (degrees[i] < 0) {
            err = pli_fail(PLI_ERR_ARG, "degrees[%d] is %d, but must be 0 or more", i, degrees[i]);
        }
        n_edge += err == PLI_OK ? degrees[i] : 0;
    }
    if (err == PLI_OK && n_edge > INT_MAX / (2 * INTS)) {
        err = pli_fail(PLI_ERR_ARG, "one process names %lld edges, more than %d", n_edge,
                       INT_MAX / (2 * INTS));
    }
    if (err == PLI_OK) {
        err = pli_topo_check_array("destinations", destinations, n_edge);
    }
    if (err == PLI_OK && weights != MPI_UNWEIGHTED) {
        err = pli_topo_check_array("weights", weights, n_edge);
    }
    if (err == PLI_OK && weights == MPI_WEIGHTS_EMPTY && n_edge > 0) {
        err = pli_fail(PLI_ERR_ARG,
                       "argument weights is MPI_WEIGHTS_EMPTY, but there are %lld "
                       "edges",
                       n_edge);
    }
    for (int i = 0; err == PLI_OK && i < n_edge; i++) {
        if (destinations[i] < 0 || destinations[i] >= comm->size) {
            err = pli_fail(PLI_ERR_RANK, "destinations[%d] is %d, but %s has %d ranks", i,
                           destinations[i], pli_comm_say(comm), comm->size);
        } else if (weights != MPI_UNWEIGHTED && weights[i] < 0) {
            err = pli_fail(PLI_ERR_ARG, "weights[%d] is %d, but must be 0 or more", i, weights[i]);
        }
    }
    *n_edge_out = (int)n_edge;
    return err;
}

// From counts to starts; the sum.
static long long add_up(const int counts[], int starts[], int n)
{
    long long sum = 0;
    for (int i = 0; i < n; i++) {
        starts[i] = (int)sum;
        sum += counts[i];
    }
    return sum;
}

// Sort the ends by the process that gets them, in the order the edges were named.
static bool sort_words(struct spread *s, int n_rank, int n, const int sources[],
                       const int degrees[], const int destinations[], const int weights[],
                       int n_edge)
{
    for (int i = 0, e = 0; i < n; i++) {
        for (int k = 0; k < degrees[i]; k++, e++) {
            s->counts[sources[i]] += INTS;
            s->counts[destinations[e]] += INTS;
        }
    }
    s->n_out = add_up(s->counts, s->starts, n_rank);
    s->out = malloc(((size_t)n_edge * 2 + 1) * sizeof *s->out);
    int *next = calloc((size_t)n_rank, sizeof *next);
    bool is_there = s->out != NULL && next != NULL;
    for (int i = 0, e = 0; is_there && i < n; i++) {
        for (int k = 0; k < degrees[i]; k++, e++) {
            int from = sources[i], to = destinations[e];
            int w = weights != MPI_UNWEIGHTED ? weights[e] : 0;
            s->out[s->starts[from] / INTS + next[from]++] = (struct edge_end){ 0, to, w };
            s->out[s->starts[to] / INTS + next[to]++] = (struct edge_end){ 1, from, w };
        }
    }
    free(next);
    return is_there;
}

static enum pli_err exchange(struct spread *s, struct pli_comm *comm)
{
    struct pli_datatype *type = pli_handle_get(MPI_INT, PLI_KIND_DATATYPE);
    enum pli_err err = pli_coll_alltoall(s->counts, 1, type, s->in_counts, 1, type, comm);
    if (err != PLI_OK) {
        return err;
    }
    s->n_in = add_up(s->in_counts, s->in_starts, comm->size);
    s->in = s->n_in <= INT_MAX ? malloc((size_t)(s->n_in + 1) * sizeof(int)) : NULL;
    if (s->in == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for the neighbours of a graph's node");
    }
    struct pli_ints counts = { s->counts, false }, starts = { s->starts, false };
    struct pli_ints in_counts = { s->in_counts, false }, in_starts = { s->in_starts, false };
    return pli_coll_alltoallv(s->out, counts, starts, type, s->in, in_counts, in_starts, type,
                              comm);
}

static enum pli_err gather_topo(const struct spread *s, bool is_weighted, struct pli_topo **out)
{
    int n = (int)(s->n_in / INTS), n_in = 0;
    for (int i = 0; i < n; i++) {
        n_in += s->in[i].is_in;
    }
    struct pli_topo *t;
    enum pli_err err = pli_dist_graph_topo(n_in, n - n_in, is_weighted, &t);
    if (err != PLI_OK) {
        return err;
    }
    for (int i = 0, at_in = 0, at_out = 0; i < n; i++) {
        const struct edge_end *w = &s->in[i];
        int *peer = w->is_in ? &t->in[at_in] : &t->out[at_out];
        *peer = w->peer;
        if (is_weighted) {
            *(w->is_in ? &t->in_weights[at_in] : &t->out_weights[at_out]) = w->weight;
        }
        at_in += w->is_in;
        at_out += !w->is_in;
    }
    *out = t;
    return PLI_OK;
}

enum pli_err pli_dist_graph_create(struct pli_comm *comm, int n, const int sources[],
                                   const int degrees[], const int destinations[],
                                   const int weights[], struct pli_info *info, int reorder,
                                   struct pli_comm **out)
{
    int n_edge;
    struct spread s = { 0 };
    struct pli_topo *t;
    enum pli_err err = check(comm, n, sources, degrees, destinations, weights, &n_edge);
    if (err != PLI_OK) {
        return err;
    }
    size_t n_rank = (size_t)comm->size;
    s.counts = calloc(n_rank * 4, sizeof *s.counts);
    s.starts = s.counts + n_rank;
    s.in_counts = s.starts + n_rank;
    s.in_starts = s.in_counts + n_rank;
    if (s.counts == NULL ||
        !sort_words(&s, comm->size, n, sources, degrees, destinations, weights, n_edge)) {
        err = pli_fail(PLI_ERR_NOMEM, "no memory for %d edges of a graph", n_edge);
    }
    if (err == PLI_OK) {
        err = exchange(&s, comm);
    }
    if (err == PLI_OK) {
        err = gather_topo(&s, weights != MPI_UNWEIGHTED, &t);
    }
    free(s.counts);
    free(s.out);
    free(s.in);
    return err == PLI_OK ? pli_dist_make(comm, t, reorder, info, out) : err;
}
