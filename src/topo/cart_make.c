// SPDX-License-Identifier: BSD-3-Clause
// Makes communicators for grids and for slices of them. No slice needs more than the agreement of
// its own members on a context: its members follow by arithmetic.
#include "topo/cart_make.h"

#include "comm/comm_make.h"
#include "comm/locality.h"
#include "obj/comm.h"
#include "obj/group_build.h"
#include "topo/cart.h"
#include "topo/remap.h"
#include "topo/topo.h"

#include <stdlib.h>

// Judge a grid; *n_out is how many processes it has.
static enum pli_err check_grid(const struct pli_comm *comm, int n_dim, const int dims[],
                               const int periods[], int *n_out)
{
    enum pli_err err = pli_topo_check_parent(comm);
    if (err == PLI_OK && n_dim < 0) {
        err = pli_fail(PLI_ERR_DIMS, "argument ndims is %d, but must be 0 or more", n_dim);
    }
    if (err == PLI_OK) {
        err = pli_topo_check_array("dims", dims, n_dim);
    }
    if (err == PLI_OK) {
        err = pli_topo_check_array("periods", periods, n_dim);
    }
    long long n = 1;
    for (int i = 0; err == PLI_OK && i < n_dim; i++) {
        if (dims[i] <= 0) {
            return pli_fail(PLI_ERR_DIMS, "dims[%d] is %d, but must be 1 or more", i, dims[i]);
        }
        n *= dims[i];
        if (n > comm->size) {
            return pli_fail(PLI_ERR_DIMS,
                            "the grid needs %lld processes or more, but %s has only %d", n,
                            pli_comm_say(comm), comm->size);
        }
    }
    *n_out = (int)n;
    return err;
}

// at_out[r]: the parent's rank that becomes rank r of the grid.
static enum pli_err reorder_grid(struct pli_comm *comm, int n, int n_dim, const int dims[],
                                 const int periods[], int at_out[])
{
    struct pli_locality *places;
    enum pli_err err = pli_locality_compare(comm, &places);
    if (err != PLI_OK) {
        return err;
    }
    int *rank = NULL;
    if (pli_remap_matters(places, n)) {
        rank = malloc((size_t)n * sizeof *rank);
        err = rank != NULL ? pli_remap_cart(places, n_dim, dims, periods, rank)
                           : pli_fail(PLI_ERR_NOMEM, "no memory to place a grid of %d", n);
    }
    for (int i = 0; err == PLI_OK && rank != NULL && i < n; i++) {
        at_out[rank[i]] = i;
    }
    free(rank);
    free(places);
    return err;
}

static enum pli_err grid_group(struct pli_comm *comm, int n, int n_dim, const int dims[],
                               const int periods[], int reorder, struct pli_group **out)
{
    struct pli_group_build b;
    pli_group_build_init(&b);
    if (!reorder || n == 1 || comm->is_span) { // other MPIs do not say where they run
        pli_group_build_add_part(&b, comm->group, 0, 1, n);
        return pli_group_build_finish(&b, comm->group->session, comm->group->me, out);
    }
    int *at = malloc((size_t)n * sizeof *at);
    if (at == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory to place a grid of %d", n);
    }
    for (int i = 0; i < n; i++) {
        at[i] = i;
    }
    enum pli_err err = reorder_grid(comm, n, n_dim, dims, periods, at);
    for (int i = 0; err == PLI_OK && i < n; i++) {
        pli_group_build_add_id(&b, pli_group_at(comm->group, at[i]));
    }
    free(at);
    return err == PLI_OK ? pli_group_build_finish(&b, comm->group->session, comm->group->me, out)
                         : err;
}

// The communicator for a group that is a grid, for its members.
static enum pli_err make(struct pli_comm *comm, struct pli_group *group, int n_dim,
                         const int dims[], const int periods[], struct pli_comm **out)
{
    struct pli_comm *c = NULL;
    enum pli_err err = pli_comm_make_all(comm, group, &c);
    if (err != PLI_OK || c == NULL) {
        return err;
    }
    err = pli_cart_topo(n_dim, dims, periods, c->rank, &c->topo);
    if (err != PLI_OK) {
        pli_comm_release(c);
        return err;
    }
    *out = c;
    return PLI_OK;
}

enum pli_err pli_cart_make_create(struct pli_comm *comm, int n_dim, const int dims[],
                                  const int periods[], int reorder, struct pli_comm **out)
{
    int n;
    struct pli_group *group;
    enum pli_err err = check_grid(comm, n_dim, dims, periods, &n);
    if (err == PLI_OK) {
        err = grid_group(comm, n, n_dim, dims, periods, reorder, &group);
    }
    if (err == PLI_OK) {
        err = make(comm, group, n_dim, dims, periods, out);
        pli_group_release(group);
    }
    return err;
}

// The ranks of the caller's slice, in order: all coordinates of the dimensions that remain.
static void add_slice(const struct pli_comm *comm, const int remain[], struct pli_group_build *b)
{
    const struct pli_topo *t = comm->topo;
    int n = 1, first = 0;
    for (int i = 0; i < t->n_dim; i++) {
        n *= remain[i] ? t->dims[i] : 1;
        first = first * t->dims[i] + (remain[i] ? 0 : t->coords[i]);
    }
    for (int k = 0; k < n; k++) {
        int rest = k, stride = 1, rank = first;
        for (int i = t->n_dim - 1; i >= 0; i--) {
            if (remain[i]) {
                rank += rest % t->dims[i] * stride;
                rest /= t->dims[i];
            }
            stride *= t->dims[i];
        }
        pli_group_build_add_id(b, pli_group_at(comm->group, rank));
    }
}

enum pli_err pli_cart_make_sub(struct pli_comm *comm, const int remain[], struct pli_comm **out)
{
    const struct pli_topo *t;
    enum pli_err err = pli_topo_get(comm, MPI_CART, &t);
    if (err == PLI_OK) {
        err = pli_topo_check_array("remain_dims", remain, t->n_dim);
    }
    if (err != PLI_OK) {
        return err;
    }
    int *dims = malloc(((size_t)t->n_dim * 2 + 1) * sizeof *dims);
    if (dims == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for %d dimensions", t->n_dim);
    }
    int *periods = dims + t->n_dim, n_dim = 0;
    for (int i = 0; i < t->n_dim; i++) {
        if (remain[i]) {
            dims[n_dim] = t->dims[i];
            periods[n_dim++] = t->periods[i];
        }
    }
    struct pli_group_build b;
    struct pli_group *group;
    pli_group_build_init(&b);
    add_slice(comm, remain, &b);
    err = pli_group_build_finish(&b, comm->group->session, comm->group->me, &group);
    if (err == PLI_OK) {
        err = make(comm, group, n_dim, dims, periods, out);
        pli_group_release(group);
    }
    free(dims);
    return err;
}

// Local, so it cannot ask others where they run; all it may say is which processes take part.
enum pli_err pli_cart_make_map(struct pli_comm *comm, int n_dim, const int dims[],
                               const int periods[], int *rank_out)
{
    int n;
    enum pli_err err = check_grid(comm, n_dim, dims, periods, &n);
    if (err == PLI_OK) {
        *rank_out = comm->rank < n ? comm->rank : MPI_UNDEFINED;
    }
    return err;
}
