// SPDX-License-Identifier: BSD-3-Clause
// Cartesian and graph topologies (distributed graphs: shim_dist.c) on communicators that span
// clients. Ranks are not reordered: those of one client are neighbours in MPI_COMM_WORLD already.
#include "shim/shim_topo.h"
#include <stdlib.h>
#include <string.h>

static const char *const no_topo = "the communicator has no such topology";

static struct shim_topo *make(int kind, int n, const int *one, int n_two, const int *two)
{
    struct shim_topo *t = malloc(sizeof *t + (size_t)(n + n_two) * sizeof t->v[0]);
    if (t != NULL) {
        *t = (struct shim_topo){ .kind = kind, .n = n, .n_two = n_two, .n_all = n + n_two };
        memcpy(t->v, one, (size_t)n * sizeof *one);
        memcpy(t->v + n, two, (size_t)n_two * sizeof *two);
    }
    return t;
}

struct shim_topo *pli_shim_topo_copy(const struct shim_topo *t)
{
    size_t size = sizeof *t + (size_t)t->n_all * sizeof t->v[0];
    struct shim_topo *c = malloc(size);
    if (c != NULL) {
        memcpy(c, t, size);
    }
    return c;
}

static int attach_native(MPI_Comm plain, const struct shim_topo *t, MPI_Comm *out)
{
    const int *one = t->v, *two = t->v + t->n, *weights = two + t->n_two;
    if (t->kind == MPI_CART) {
        return PLI_SHIM_OUTSIDE(PMPI_Cart_create(plain, t->n, one, two, 0, out));
    }
    if (t->kind == MPI_GRAPH) {
        return PLI_SHIM_OUTSIDE(PMPI_Graph_create(plain, t->n, one, two, 0, out));
    }
    return PLI_SHIM_OUTSIDE(PMPI_Dist_graph_create_adjacent(
        plain, t->n, one, t->is_weighted ? weights : MPI_UNWEIGHTED, t->n_two, two,
        t->is_weighted ? weights + t->n : MPI_UNWEIGHTED, MPI_INFO_NULL, 0, out));
}

int pli_shim_topo_attach(struct shim_span *s, int n, struct shim_topo *t, MPI_Comm *out)
{
    int rc = t == NULL ? MPI_ERR_NO_MEM : pli_shim_comm_create(s, s->world, n, out);
    struct shim_span *made =
        rc == MPI_SUCCESS && *out != MPI_COMM_NULL ? pli_shim_span_find(*out) : NULL;
    if (made != NULL) {
        made->topo = t;
        return MPI_SUCCESS;
    }
    if (rc == MPI_SUCCESS && *out != MPI_COMM_NULL) {
        MPI_Comm plain = *out;
        rc = attach_native(plain, t, out);
        (void)PMPI_Comm_free(&plain);
    }
    free(t);
    return rc;
}

PLI_SHIM_API int MPI_Cart_create(MPI_Comm comm, int ndims, const int dims[], const int periods[],
                                 int reorder, MPI_Comm *newcomm)
{
    PLI_SHIM_ENTER;
    struct shim_span *s = pli_shim_span_find(comm);
    long long n = 1;
    if (s == NULL) {
        return PLI_SHIM_OUTSIDE(PMPI_Cart_create(comm, ndims, dims, periods, reorder, newcomm));
    }
    for (int i = 0; i < ndims && n <= s->size; i++) {
        n = dims[i] <= 0 ? (long long)s->size + 1 : n * dims[i];
    }
    if (ndims < 0 || n > s->size) {
        return pli_shim_end(comm, MPI_ERR_DIMS);
    }
    return pli_shim_end(comm, pli_shim_topo_attach(
                                  s, (int)n, make(MPI_CART, ndims, dims, ndims, periods), newcomm));
}

PLI_SHIM_API int MPI_Graph_create(MPI_Comm comm, int nnodes, const int index[], const int edges[],
                                  int reorder, MPI_Comm *newcomm)
{
    PLI_SHIM_ENTER;
    struct shim_span *s = pli_shim_span_find(comm);
    if (s == NULL) {
        return PLI_SHIM_OUTSIDE(PMPI_Graph_create(comm, nnodes, index, edges, reorder, newcomm));
    }
    if (nnodes < 0 || nnodes > s->size) {
        return pli_shim_end(comm, MPI_ERR_ARG);
    }
    int n_edge = nnodes == 0 ? 0 : index[nnodes - 1];
    return pli_shim_end(
        comm,
        pli_shim_topo_attach(s, nnodes, make(MPI_GRAPH, nnodes, index, n_edge, edges), newcomm));
}

PLI_SHIM_API int MPI_Topo_test(MPI_Comm comm, int *status)
{
    PLI_SHIM_ENTER;
    struct shim_span *s = pli_shim_span_find(comm);
    if (s == NULL) {
        return PMPI_Topo_test(comm, status);
    }
    *status = s->topo == NULL ? MPI_UNDEFINED : s->topo->kind;
    return MPI_SUCCESS;
}

int pli_shim_topo_of(MPI_Comm comm, int kind, struct shim_topo **ours, struct shim_span **span)
{
    *span = pli_shim_span_find(comm);
    *ours = *span == NULL ? NULL : (*span)->topo;
    if (*span != NULL && (*ours == NULL || (*ours)->kind != kind)) {
        return pli_shim_end(comm, pli_shim_fail(MPI_ERR_TOPOLOGY, no_topo));
    }
    return MPI_SUCCESS;
}

static void coords_of(const struct shim_topo *t, int rank, int *coords)
{
    for (int i = t->n - 1; i >= 0; i--) {
        coords[i] = rank % t->v[i];
        rank /= t->v[i];
    }
}

// -1: outside.
static int rank_at(const struct shim_topo *t, const int *coords)
{
    int rank = 0;
    for (int i = 0; i < t->n; i++) {
        int dim = t->v[i], c = coords[i];
        if (t->v[t->n + i] != 0) {
            c = (c % dim + dim) % dim;
        } else if (c < 0 || c >= dim) {
            return -1;
        }
        rank = rank * dim + c;
    }
    return rank;
}

PLI_SHIM_API int MPI_Cartdim_get(MPI_Comm comm, int *ndims)
{
    PLI_SHIM_TOPO_OR(MPI_CART, PMPI_Cartdim_get(comm, ndims));
    *ndims = t->n;
    return MPI_SUCCESS;
}

PLI_SHIM_API int MPI_Cart_get(MPI_Comm comm, int maxdims, int dims[], int periods[], int coords[])
{
    PLI_SHIM_TOPO_OR(MPI_CART, PMPI_Cart_get(comm, maxdims, dims, periods, coords));
    if (maxdims < t->n) {
        return pli_shim_end(comm, MPI_ERR_ARG);
    }
    memcpy(dims, t->v, (size_t)t->n * sizeof *dims);
    memcpy(periods, t->v + t->n, (size_t)t->n * sizeof *periods);
    coords_of(t, s->rank, coords);
    return MPI_SUCCESS;
}

PLI_SHIM_API int MPI_Cart_rank(MPI_Comm comm, const int coords[], int *rank)
{
    PLI_SHIM_TOPO_OR(MPI_CART, PMPI_Cart_rank(comm, coords, rank));
    int found = rank_at(t, coords);
    if (found < 0) {
        return pli_shim_end(comm, MPI_ERR_ARG);
    }
    *rank = found;
    return MPI_SUCCESS;
}

PLI_SHIM_API int MPI_Cart_coords(MPI_Comm comm, int rank, int maxdims, int coords[])
{
    PLI_SHIM_TOPO_OR(MPI_CART, PMPI_Cart_coords(comm, rank, maxdims, coords));
    if (rank < 0 || rank >= s->size || maxdims < t->n) {
        return pli_shim_end(comm, rank < 0 || rank >= s->size ? MPI_ERR_RANK : MPI_ERR_ARG);
    }
    coords_of(t, rank, coords);
    return MPI_SUCCESS;
}

PLI_SHIM_API int MPI_Cart_shift(MPI_Comm comm, int direction, int disp, int *source, int *dest)
{
    PLI_SHIM_TOPO_OR(MPI_CART, PMPI_Cart_shift(comm, direction, disp, source, dest));
    int *at = malloc(((size_t)t->n + 1) * sizeof *at);
    if (at == NULL || direction < 0 || direction >= t->n) {
        free(at);
        return pli_shim_end(comm, at == NULL ? MPI_ERR_NO_MEM : MPI_ERR_ARG);
    }
    coords_of(t, s->rank, at);
    at[direction] += disp;
    int to = rank_at(t, at);
    at[direction] -= 2 * disp;
    int from = rank_at(t, at);
    *dest = to < 0 ? MPI_PROC_NULL : to;
    *source = from < 0 ? MPI_PROC_NULL : from;
    free(at);
    return MPI_SUCCESS;
}

PLI_SHIM_API int MPI_Cart_sub(MPI_Comm comm, const int remain[], MPI_Comm *newcomm)
{
    PLI_SHIM_TOPO_OR(MPI_CART, PLI_SHIM_OUTSIDE(PMPI_Cart_sub(comm, remain, newcomm)));
    int n = t->n, colour = 0, key = 0, kept = 0;
    int *v = malloc((3 * (size_t)n + 1) * sizeof *v);
    MPI_Comm plain;
    if (v == NULL) {
        return pli_shim_end(comm, MPI_ERR_NO_MEM);
    }
    int *at = v, *dims = v + n, *periods = v + 2 * n;
    coords_of(t, s->rank, at);
    for (int i = 0; i < n; i++) {
        if (remain[i] != 0) {
            key = key * t->v[i] + at[i];
            dims[kept] = t->v[i];
            periods[kept++] = t->v[n + i];
        } else {
            colour = colour * t->v[i] + at[i];
        }
    }
    rc = MPI_Comm_split(comm, colour, key, &plain);
    struct shim_span *made = rc == MPI_SUCCESS ? pli_shim_span_find(plain) : NULL;
    if (made != NULL) {
        made->topo = make(MPI_CART, kept, dims, kept, periods);
        rc = made->topo == NULL ? pli_shim_end(comm, MPI_ERR_NO_MEM) : MPI_SUCCESS;
        *newcomm = plain;
    } else if (rc == MPI_SUCCESS) {
        rc = PLI_SHIM_OUTSIDE(PMPI_Cart_create(plain, kept, dims, periods, 0, newcomm));
        (void)PMPI_Comm_free(&plain);
    }
    free(v);
    return rc;
}

PLI_SHIM_API int MPI_Cart_map(MPI_Comm comm, int ndims, const int dims[], const int periods[],
                              int *newrank)
{
    PLI_SHIM_ENTER;
    struct shim_span *s = pli_shim_span_find(comm);
    long long n = 1;
    if (s == NULL) {
        return PMPI_Cart_map(comm, ndims, dims, periods, newrank);
    }
    for (int i = 0; i < ndims; i++) {
        n *= dims[i];
    }
    *newrank = s->rank < n ? s->rank : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

PLI_SHIM_API int MPI_Graph_map(MPI_Comm comm, int nnodes, const int index[], const int edges[],
                               int *newrank)
{
    PLI_SHIM_ENTER;
    struct shim_span *s = pli_shim_span_find(comm);
    if (s == NULL) {
        return PMPI_Graph_map(comm, nnodes, index, edges, newrank);
    }
    *newrank = s->rank < nnodes ? s->rank : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

PLI_SHIM_API int MPI_Graphdims_get(MPI_Comm comm, int *nnodes, int *nedges)
{
    PLI_SHIM_TOPO_OR(MPI_GRAPH, PMPI_Graphdims_get(comm, nnodes, nedges));
    *nnodes = t->n;
    *nedges = t->n_two;
    return MPI_SUCCESS;
}

PLI_SHIM_API int MPI_Graph_get(MPI_Comm comm, int maxindex, int maxedges, int index[], int edges[])
{
    PLI_SHIM_TOPO_OR(MPI_GRAPH, PMPI_Graph_get(comm, maxindex, maxedges, index, edges));
    memcpy(index, t->v, (size_t)(maxindex < t->n ? maxindex : t->n) * sizeof *index);
    memcpy(edges, t->v + t->n, (size_t)(maxedges < t->n_two ? maxedges : t->n_two) * sizeof *edges);
    return MPI_SUCCESS;
}

PLI_SHIM_API int MPI_Graph_neighbors_count(MPI_Comm comm, int rank, int *count)
{
    PLI_SHIM_TOPO_OR(MPI_GRAPH, PMPI_Graph_neighbors_count(comm, rank, count));
    if (rank < 0 || rank >= s->size) {
        return pli_shim_end(comm, MPI_ERR_RANK);
    }
    *count = t->v[rank] - (rank > 0 ? t->v[rank - 1] : 0);
    return MPI_SUCCESS;
}

PLI_SHIM_API int MPI_Graph_neighbors(MPI_Comm comm, int rank, int max, int neighbors[])
{
    PLI_SHIM_TOPO_OR(MPI_GRAPH, PMPI_Graph_neighbors(comm, rank, max, neighbors));
    if (rank < 0 || rank >= s->size) {
        return pli_shim_end(comm, MPI_ERR_RANK);
    }
    int from = rank > 0 ? t->v[rank - 1] : 0, n = t->v[rank] - from;
    memcpy(neighbors, t->v + t->n + from, (size_t)(n < max ? n : max) * sizeof *neighbors);
    return MPI_SUCCESS;
}

// Twice for each dimension: the one before and the one behind.
static int cart_edges(const struct shim_span *s, struct shim_edges *e)
{
    const struct shim_topo *t = s->topo;
    int *at = malloc(((size_t)t->n + 1) * sizeof *at);
    if (at == NULL) {
        return MPI_ERR_NO_MEM;
    }
    coords_of(t, s->rank, at);
    for (int i = 0; i < 2 * t->n; i++) {
        int step = i % 2 == 0 ? -1 : 1;
        at[i / 2] += step;
        int rank = rank_at(t, at);
        e->in[i] = e->out[i] = rank < 0 ? MPI_PROC_NULL : rank;
        at[i / 2] -= step;
    }
    free(at);
    return MPI_SUCCESS;
}

int pli_shim_topo_edges(const struct shim_span *s, struct shim_edges *e)
{
    const struct shim_topo *t = s->topo;
    if (t == NULL) {
        return pli_shim_fail(MPI_ERR_TOPOLOGY, no_topo);
    }
    int from = t->kind == MPI_GRAPH && s->rank > 0 ? t->v[s->rank - 1] : 0;
    int n_graph = t->kind == MPI_GRAPH ? t->v[s->rank] - from : 0;
    bool is_dist = t->kind == MPI_DIST_GRAPH;
    *e = (struct shim_edges){ .is_cart = t->kind == MPI_CART };
    e->n_in = e->is_cart ? 2 * t->n : is_dist ? t->n : n_graph;
    e->n_out = is_dist ? t->n_two : e->n_in;
    e->in = malloc(((size_t)e->n_in + (size_t)e->n_out + 1) * sizeof *e->in);
    if (e->in == NULL) {
        return MPI_ERR_NO_MEM;
    }
    e->out = e->in + e->n_in;
    if (e->is_cart) {
        return cart_edges(s, e);
    }
    const int *in = is_dist ? t->v : t->v + t->n + from;
    const int *out = is_dist ? t->v + t->n : in;
    memcpy(e->in, in, (size_t)e->n_in * sizeof *in);
    memcpy(e->out, out, (size_t)e->n_out * sizeof *out);
    return MPI_SUCCESS;
}
