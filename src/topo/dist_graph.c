// SPDX-License-Identifier: BSD-3-Clause
// Questions about distributed graphs, and those whose processes give their own neighbours.
#include "topo/dist_graph.h"

#include "obj/comm.h"
#include "topo/dist_make.h"
#include "topo/topo.h"

#include <string.h>

enum pli_err pli_dist_graph_topo(int n_in, int n_out, bool is_weighted, struct pli_topo **out)
{
    size_t n = (size_t)n_in + (size_t)n_out;
    struct pli_topo *t;
    enum pli_err err = pli_topo_create(MPI_DIST_GRAPH, n * (is_weighted ? 2 : 1), &t);
    if (err != PLI_OK) {
        return err;
    }
    t->n_in = n_in;
    t->n_out = n_out;
    t->in = t->data;
    t->out = t->data + n_in;
    t->is_weighted = is_weighted;
    if (is_weighted) {
        t->in_weights = t->data + n;
        t->out_weights = t->in_weights + n_in;
    }
    *out = t;
    return PLI_OK;
}

// One direction of the arguments of create_adjacent.
static enum pli_err check_side(const struct pli_comm *comm, int n, const int peers[],
                               const int weights[], const char *n_name, const char *peers_name,
                               const char *weights_name)
{
    if (n < 0) {
        return pli_fail(PLI_ERR_ARG, "argument %s is %d, but must be 0 or more", n_name, n);
    }
    enum pli_err err = pli_topo_check_array(peers_name, peers, n);
    if (err == PLI_OK && weights != MPI_UNWEIGHTED) {
        err = pli_topo_check_array(weights_name, weights, n);
    }
    if (err == PLI_OK && n > 0 && weights == MPI_WEIGHTS_EMPTY) {
        err = pli_fail(PLI_ERR_ARG, "argument %s is MPI_WEIGHTS_EMPTY, but there are %d edges",
                       weights_name, n);
    }
    for (int i = 0; err == PLI_OK && i < n; i++) {
        if (peers[i] < 0 || peers[i] >= comm->size) {
            err = pli_fail(PLI_ERR_RANK, "%s[%d] is %d, but %s has %d ranks", peers_name, i,
                           peers[i], pli_comm_say(comm), comm->size);
        }
        if (err == PLI_OK && weights != MPI_UNWEIGHTED && weights[i] < 0) {
            err = pli_fail(PLI_ERR_ARG, "%s[%d] is %d, but must be 0 or more", weights_name, i,
                           weights[i]);
        }
    }
    return err;
}

static void fill(int to[], const int from[], int n)
{
    if (n > 0) {
        memcpy(to, from, (size_t)n * sizeof to[0]);
    }
}

enum pli_err pli_dist_graph_create_adjacent(struct pli_comm *comm, int n_in, const int sources[],
                                            const int source_weights[], int n_out,
                                            const int destinations[], const int dest_weights[],
                                            struct pli_info *info, int reorder,
                                            struct pli_comm **out)
{
    struct pli_topo *t;
    enum pli_err err = pli_topo_check_parent(comm);
    if (err == PLI_OK) {
        err =
            check_side(comm, n_in, sources, source_weights, "indegree", "sources", "sourceweights");
    }
    if (err == PLI_OK) {
        err = check_side(comm, n_out, destinations, dest_weights, "outdegree", "destinations",
                         "destweights");
    }
    if (err == PLI_OK && (source_weights == MPI_UNWEIGHTED) != (dest_weights == MPI_UNWEIGHTED)) {
        err = pli_fail(PLI_ERR_ARG, "one of sourceweights and destweights is MPI_UNWEIGHTED, but "
                                    "the other is not");
    }
    bool is_weighted = source_weights != MPI_UNWEIGHTED;
    if (err == PLI_OK) {
        err = pli_dist_graph_topo(n_in, n_out, is_weighted, &t);
    }
    if (err != PLI_OK) {
        return err;
    }
    fill(t->in, sources, n_in);
    fill(t->out, destinations, n_out);
    if (is_weighted) {
        fill(t->in_weights, source_weights, n_in);
        fill(t->out_weights, dest_weights, n_out);
    }
    return pli_dist_make(comm, t, reorder, info, out);
}

enum pli_err pli_dist_graph_n_neighbor(struct pli_comm *comm, int *n_in_out, int *n_out_out,
                                       int *weighted_out)
{
    const struct pli_topo *t;
    enum pli_err err = pli_topo_get(comm, MPI_DIST_GRAPH, &t);
    if (err == PLI_OK) {
        *n_in_out = t->n_in;
        *n_out_out = t->n_out;
        *weighted_out = t->is_weighted;
    }
    return err;
}

// Give back one direction, as much as there is room for; weights only where there are some and they
// are wanted.
static enum pli_err give(const char *name, const int from[], const int weights[], int n, int max,
                         int to[], int to_weights[])
{
    n = n < max ? n : max;
    enum pli_err err = pli_topo_check_array(name, to, n);
    if (err != PLI_OK) {
        return err;
    }
    fill(to, from, n);
    if (weights != NULL && to_weights != NULL && to_weights != MPI_UNWEIGHTED &&
        to_weights != MPI_WEIGHTS_EMPTY) {
        fill(to_weights, weights, n);
    }
    return PLI_OK;
}

enum pli_err pli_dist_graph_neighbors(struct pli_comm *comm, int max_in, int sources[],
                                      int source_weights[], int max_out, int destinations[],
                                      int dest_weights[])
{
    const struct pli_topo *t;
    enum pli_err err = pli_topo_get(comm, MPI_DIST_GRAPH, &t);
    if (err == PLI_OK) {
        err = give("sources", t->in, t->in_weights, t->n_in, max_in, sources, source_weights);
    }
    if (err == PLI_OK) {
        err = give("destinations", t->out, t->out_weights, t->n_out, max_out, destinations,
                   dest_weights);
    }
    return err;
}
