// SPDX-License-Identifier: BSD-3-Clause
// Graphs given whole: node i's neighbours are edges[index[i-1]] to edges[index[i]-1].
#include "topo/graph.h"

#include "comm/comm_make.h"
#include "comm/locality.h"
#include "obj/comm.h"
#include "obj/group_build.h"
#include "topo/remap.h"
#include "topo/topo.h"

#include <stdlib.h>
#include <string.h>

static enum pli_err check_graph(const struct pli_comm *comm, int n_node, const int index[],
                                const int edges[])
{
    enum pli_err err = pli_topo_check_parent(comm);
    if (err == PLI_OK && (n_node < 0 || n_node > comm->size)) {
        err = n_node < 0
                  ? pli_fail(PLI_ERR_ARG, "argument nnodes is %d, but must be 0 or more", n_node)
                  : pli_fail(PLI_ERR_ARG, "the graph has %d nodes, but %s has only %d ranks",
                             n_node, pli_comm_say(comm), comm->size);
    }
    if (err == PLI_OK) {
        err = pli_topo_check_array("index", index, n_node);
    }
    for (int i = 0; err == PLI_OK && i < n_node; i++) {
        int before = i > 0 ? index[i - 1] : 0;
        if (index[i] < before) {
            err = pli_fail(PLI_ERR_ARG, "index[%d] is %d, less than the %d before it", i, index[i],
                           before);
        }
    }
    int n_edge = err == PLI_OK && n_node > 0 ? index[n_node - 1] : 0;
    if (err == PLI_OK) {
        err = pli_topo_check_array("edges", edges, n_edge);
    }
    for (int i = 0; err == PLI_OK && i < n_edge; i++) {
        if (edges[i] < 0 || edges[i] >= n_node) {
            err = pli_fail(PLI_ERR_ARG, "edges[%d] is %d, but the graph's nodes are 0 to %d", i,
                           edges[i], n_node - 1);
        }
    }
    return err;
}

// The processes in the order of the graph's nodes.
static enum pli_err graph_group(struct pli_comm *comm, const struct pli_remap_graph *g, int reorder,
                                struct pli_group **out)
{
    struct pli_group_build b;
    struct pli_locality *places = NULL;
    pli_group_build_init(&b);
    enum pli_err err =
        reorder && g->n > 1 && !comm->is_span ? pli_locality_compare(comm, &places) : PLI_OK;
    if (err != PLI_OK) {
        return err;
    }
    if (places == NULL || !pli_remap_matters(places, g->n)) {
        free(places);
        pli_group_build_add_part(&b, comm->group, 0, 1, g->n);
        return pli_group_build_finish(&b, comm->group->session, comm->group->me, out);
    }
    int *rank = malloc((size_t)g->n * 2 * sizeof *rank);
    err = rank != NULL ? pli_remap_graph(places, g, rank)
                       : pli_fail(PLI_ERR_NOMEM, "no memory to place a graph of %d", g->n);
    for (int i = 0; err == PLI_OK && i < g->n; i++) {
        rank[g->n + rank[i]] = i;
    }
    for (int i = 0; err == PLI_OK && i < g->n; i++) {
        pli_group_build_add_id(&b, pli_group_at(comm->group, rank[g->n + i]));
    }
    free(rank);
    free(places);
    return err == PLI_OK ? pli_group_build_finish(&b, comm->group->session, comm->group->me, out)
                         : err;
}

static enum pli_err make_topo(const struct pli_remap_graph *g, int rank, struct pli_topo **out)
{
    int n_edge = g->index[g->n - 1];
    struct pli_topo *t;
    enum pli_err err = pli_topo_create(MPI_GRAPH, (size_t)g->n + (size_t)n_edge, &t);
    if (err != PLI_OK) {
        return err;
    }
    t->n_node = g->n;
    t->n_edge = n_edge;
    t->index = t->data;
    t->edges = t->data + g->n;
    memcpy(t->index, g->index, (size_t)g->n * sizeof(int));
    if (n_edge > 0) {
        memcpy(t->edges, g->edges, (size_t)n_edge * sizeof(int));
    }
    int from = rank > 0 ? t->index[rank - 1] : 0;
    t->in = t->out = t->edges + from;
    t->n_in = t->n_out = t->index[rank] - from;
    *out = t;
    return PLI_OK;
}

enum pli_err pli_graph_create(struct pli_comm *comm, int n_node, const int index[],
                              const int edges[], int reorder, struct pli_comm **out)
{
    enum pli_err err = check_graph(comm, n_node, index, edges);
    if (err != PLI_OK || n_node == 0) {
        return err;
    }
    struct pli_remap_graph g = { n_node, index, edges };
    struct pli_group *group;
    err = graph_group(comm, &g, reorder, &group);
    if (err != PLI_OK) {
        return err;
    }
    struct pli_comm *c = NULL;
    err = pli_comm_make_all(comm, group, &c);
    if (err == PLI_OK && c != NULL) {
        err = make_topo(&g, c->rank, &c->topo);
    }
    pli_group_release(group);
    if (err != PLI_OK) {
        pli_comm_release(c);
        return err;
    }
    *out = c;
    return PLI_OK;
}

// Local, as pli_cart_make_map.
enum pli_err pli_graph_map(struct pli_comm *comm, int n_node, const int index[], const int edges[],
                           int *rank_out)
{
    enum pli_err err = check_graph(comm, n_node, index, edges);
    if (err == PLI_OK) {
        *rank_out = comm->rank < n_node ? comm->rank : MPI_UNDEFINED;
    }
    return err;
}

enum pli_err pli_graph_dims(struct pli_comm *comm, int *n_node_out, int *n_edge_out)
{
    const struct pli_topo *t;
    enum pli_err err = pli_topo_get(comm, MPI_GRAPH, &t);
    if (err == PLI_OK) {
        *n_node_out = t->n_node;
        *n_edge_out = t->n_edge;
    }
    return err;
}

enum pli_err pli_graph_get(struct pli_comm *comm, int max_index, int max_edges, int index[],
                           int edges[])
{
    const struct pli_topo *t;
    enum pli_err err = pli_topo_get(comm, MPI_GRAPH, &t);
    if (err != PLI_OK) {
        return err;
    }
    if (max_index < t->n_node || max_edges < t->n_edge) {
        return pli_fail(PLI_ERR_ARG,
                        "there is room for %d nodes and %d edges, but the graph has %d and %d",
                        max_index, max_edges, t->n_node, t->n_edge);
    }
    err = pli_topo_check_array("index", index, t->n_node);
    if (err == PLI_OK) {
        err = pli_topo_check_array("edges", edges, t->n_edge);
    }
    if (err == PLI_OK) {
        memcpy(index, t->index, (size_t)t->n_node * sizeof(int));
    }
    if (err == PLI_OK && t->n_edge > 0) {
        memcpy(edges, t->edges, (size_t)t->n_edge * sizeof(int));
    }
    return err;
}

// Where the neighbours of a rank begin, and how many there are.
static enum pli_err find(struct pli_comm *comm, int rank, const int **first_out, int *n_out)
{
    const struct pli_topo *t;
    enum pli_err err = pli_topo_get(comm, MPI_GRAPH, &t);
    if (err != PLI_OK) {
        return err;
    }
    if (rank < 0 || rank >= t->n_node) {
        return pli_fail(PLI_ERR_RANK, "argument rank is %d, but %s has %d ranks", rank,
                        pli_comm_say(comm), t->n_node);
    }
    int from = rank > 0 ? t->index[rank - 1] : 0;
    *first_out = t->edges + from;
    *n_out = t->index[rank] - from;
    return PLI_OK;
}

enum pli_err pli_graph_n_neighbor(struct pli_comm *comm, int rank, int *n_out)
{
    const int *first = NULL;
    int n = 0;
    enum pli_err err = find(comm, rank, &first, &n);
    if (err == PLI_OK) {
        *n_out = n;
    }
    return err;
}

enum pli_err pli_graph_neighbors(struct pli_comm *comm, int rank, int max, int neighbors[])
{
    const int *first = NULL;
    int n = 0;
    enum pli_err err = find(comm, rank, &first, &n);
    if (err != PLI_OK) {
        return err;
    }
    if (max < n) {
        return pli_fail(PLI_ERR_ARG, "argument maxneighbors is %d, but rank %d has %d neighbours",
                        max, rank, n);
    }
    err = pli_topo_check_array("neighbors", neighbors, n);
    if (err == PLI_OK && n > 0) {
        memcpy(neighbors, first, (size_t)n * sizeof(int));
    }
    return err;
}
