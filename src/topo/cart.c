// SPDX-License-Identifier: BSD-3-Clause
// Arithmetic on grids: the last coordinate runs fastest.
#include "topo/cart.h"

#include "obj/comm.h"
#include "topo/topo.h"

#include <string.h>

enum pli_err pli_cart_n_dim(struct pli_comm *comm, int *n_dim_out)
{
    const struct pli_topo *t;
    enum pli_err err = pli_topo_get(comm, MPI_CART, &t);
    if (err == PLI_OK) {
        *n_dim_out = t->n_dim;
    }
    return err;
}

static void coords_of(const struct pli_topo *t, int rank, int coords[])
{
    for (int i = t->n_dim - 1; i >= 0; i--) {
        coords[i] = rank % t->dims[i];
        rank /= t->dims[i];
    }
}

// The caller's place must be large enough for every dimension.
static enum pli_err check_room(const struct pli_topo *t, int max)
{
    return max >= t->n_dim
               ? PLI_OK
               : pli_fail(PLI_ERR_ARG, "argument maxdims is %d, but the grid has %d dimensions",
                          max, t->n_dim);
}

enum pli_err pli_cart_get(struct pli_comm *comm, int max, int dims[], int periods[], int coords[])
{
    const struct pli_topo *t;
    enum pli_err err = pli_topo_get(comm, MPI_CART, &t);
    if (err == PLI_OK) {
        err = check_room(t, max);
    }
    if (err != PLI_OK) {
        return err;
    }
    const struct {
        const char *name;
        int *to;
        const int *from;
    } arrays[] = { { "dims", dims, t->dims },
                   { "periods", periods, t->periods },
                   { "coords", coords, t->coords } };
    for (int i = 0; err == PLI_OK && i < 3; i++) {
        err = pli_topo_check_array(arrays[i].name, arrays[i].to, t->n_dim);
    }
    for (int i = 0; err == PLI_OK && i < 3 && t->n_dim > 0; i++) {
        memcpy(arrays[i].to, arrays[i].from, (size_t)t->n_dim * sizeof(int));
    }
    return err;
}

enum pli_err pli_cart_rank(struct pli_comm *comm, const int coords[], int *rank_out)
{
    const struct pli_topo *t;
    enum pli_err err = pli_topo_get(comm, MPI_CART, &t);
    if (err == PLI_OK) {
        err = pli_topo_check_array("coords", coords, t->n_dim);
    }
    if (err != PLI_OK) {
        return err;
    }
    int rank = 0;
    for (int i = 0; i < t->n_dim; i++) {
        int at = coords[i];
        if ((at < 0 || at >= t->dims[i]) && !t->periods[i]) {
            return pli_fail(PLI_ERR_ARG,
                            "coords[%d] is %d, but dimension %d is not periodic and goes from 0 "
                            "to %d",
                            i, at, i, t->dims[i] - 1);
        }
        at %= t->dims[i];
        rank = rank * t->dims[i] + (at < 0 ? at + t->dims[i] : at);
    }
    *rank_out = rank;
    return PLI_OK;
}

enum pli_err pli_cart_coords(struct pli_comm *comm, int rank, int max, int coords[])
{
    const struct pli_topo *t;
    enum pli_err err = pli_topo_get(comm, MPI_CART, &t);
    if (err == PLI_OK) {
        err = check_room(t, max);
    }
    if (err == PLI_OK) {
        err = pli_topo_check_array("coords", coords, t->n_dim);
    }
    if (err == PLI_OK && (rank < 0 || rank >= comm->size)) {
        err = pli_fail(PLI_ERR_RANK, "argument rank is %d, but %s has %d ranks", rank,
                       pli_comm_say(comm), comm->size);
    }
    if (err == PLI_OK) {
        coords_of(t, rank, coords);
    }
    return err;
}

// The rank `disp` steps along a dimension from the caller, or MPI_PROC_NULL beyond an edge.
static int neighbor(const struct pli_topo *t, int rank, int dim, long long disp)
{
    int stride = 1, n = t->dims[dim];
    for (int i = dim + 1; i < t->n_dim; i++) {
        stride *= t->dims[i];
    }
    long long at = t->coords[dim] + disp;
    if (at < 0 || at >= n) {
        if (!t->periods[dim]) {
            return MPI_PROC_NULL;
        }
        at %= n;
        at += at < 0 ? n : 0;
    }
    return rank + ((int)at - t->coords[dim]) * stride;
}

enum pli_err pli_cart_shift(struct pli_comm *comm, int direction, int disp, int *source_out,
                            int *dest_out)
{
    const struct pli_topo *t;
    enum pli_err err = pli_topo_get(comm, MPI_CART, &t);
    if (err != PLI_OK) {
        return err;
    }
    if (direction < 0 || direction >= t->n_dim) {
        return pli_fail(PLI_ERR_DIMS, "argument direction is %d, but the grid has %d dimension%s",
                        direction, t->n_dim, t->n_dim == 1 ? "" : "s");
    }
    *source_out = neighbor(t, comm->rank, direction, -(long long)disp);
    *dest_out = neighbor(t, comm->rank, direction, disp);
    return PLI_OK;
}

enum pli_err pli_cart_topo(int n_dim, const int dims[], const int periods[], int rank,
                           struct pli_topo **out)
{
    struct pli_topo *t;
    enum pli_err err = pli_topo_create(MPI_CART, (size_t)n_dim * 5, &t);
    if (err != PLI_OK) {
        return err;
    }
    t->n_dim = n_dim;
    t->dims = t->data;
    t->periods = t->dims + n_dim;
    t->coords = t->periods + n_dim;
    t->in = t->out = t->coords + n_dim;
    t->n_in = t->n_out = 2 * n_dim;
    for (int i = 0; i < n_dim; i++) {
        t->dims[i] = dims[i];
        t->periods[i] = periods[i] != 0;
    }
    coords_of(t, rank, t->coords);
    for (int i = 0; i < n_dim; i++) {
        t->in[2 * i] = neighbor(t, rank, i, -1);
        t->in[2 * i + 1] = neighbor(t, rank, i, 1);
    }
    *out = t;
    return PLI_OK;
}
