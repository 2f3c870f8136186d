// SPDX-License-Identifier: BSD-3-Clause
// Constructors for a block of an array and for a process's share of a distributed array. Both
// are put together from simpler types, one dimension after the other, fastest first.
#include "obj/datatype_priv.h"
#include "obj/type_blocks.h"
#include "obj/type_calls.h"

// Replace the type under construction by the one just derived from it. A pointer to it: the call
// that derives it may be an argument beside this one, and the order of these is the compiler's.
static enum pli_err step(enum pli_err err, struct pli_datatype **at, struct pli_datatype **next)
{
    if (err == PLI_OK) {
        pli_datatype_release(*at);
        *at = *next;
    }
    return err;
}

static enum pli_err fail_order(int order)
{
    return pli_fail(PLI_ERR_ARG, "the order is %d; it must be MPI_ORDER_C or MPI_ORDER_FORTRAN",
                    order);
}

static enum pli_err fail_far(void)
{
    return pli_fail(PLI_ERR_ARG, "the array spans more bytes than a 64-bit number counts");
}

// The i-th dimension in order of speed.
static int dim_at(int i, int ndims, int order)
{
    return order == MPI_ORDER_C ? ndims - 1 - i : i;
}

// Finish the outer type around the inner one, which now belongs to it.
static enum pli_err wrap(struct pli_datatype *t, struct pli_datatype *inner,
                         struct pli_datatype **out)
{
    t->recipe->inner = inner;
    return pli_type_blocks_complete(t, out);
}

static enum pli_err check_subarray(int ndims, struct pli_ints sizes, struct pli_ints subsizes,
                                   struct pli_ints starts, int order)
{
    if (ndims < 1) {
        return pli_fail(PLI_ERR_ARG, "an array of %d dimensions has no blocks", ndims);
    }
    if (sizes.data == NULL || subsizes.data == NULL || starts.data == NULL) {
        return pli_fail(PLI_ERR_ARG, "sizes, subsizes or starts is a null pointer");
    }
    for (int i = 0; i < ndims; i++) {
        long long size = pli_ints_at(sizes, i), sub = pli_ints_at(subsizes, i);
        long long start = pli_ints_at(starts, i);
        if (size < 1 || sub < 1 || sub > size || start < 0 || start > size - sub) {
            return pli_fail(PLI_ERR_ARG,
                            "in dimension %d, %lld elements from %lld on are not a block of an "
                            "array of %lld",
                            i, sub, start, size);
        }
    }
    if (order != MPI_ORDER_C && order != MPI_ORDER_FORTRAN) {
        return fail_order(order);
    }
    return PLI_OK;
}

static enum pli_err build_subarray(int ndims, struct pli_ints sizes, struct pli_ints subsizes,
                                   struct pli_ints starts, int order, struct pli_datatype *old,
                                   struct pli_datatype **out)
{
    struct pli_datatype *at = pli_datatype_retain(old), *next = NULL;
    MPI_Count stride = old->extent, first = 0, part;
    enum pli_err err = PLI_OK;
    for (int i = 0; i < ndims && err == PLI_OK; i++) {
        int d = dim_at(i, ndims, order);
        err = pli_type_hvector_large(pli_ints_at(subsizes, d), 1, stride, at, &next);
        err = step(err, &at, &next);
        if (__builtin_mul_overflow(pli_ints_at(starts, d), stride, &part) ||
            __builtin_add_overflow(first, part, &first) ||
            __builtin_mul_overflow(stride, pli_ints_at(sizes, d), &stride)) {
            err = err == PLI_OK ? fail_far() : err;
        }
    }
    if (err == PLI_OK) {
        struct pli_ints place = { &first, true };
        err = step(pli_type_hindexed_block_large(1, 1, place, at, &next), &at, &next);
    }
    if (err == PLI_OK) {
        err = step(pli_type_resized_large(at, 0, stride, &next), &at, &next);
    }
    if (err != PLI_OK) {
        pli_datatype_release(at);
        return err;
    }
    *out = at;
    return PLI_OK;
}

enum pli_err pli_type_subarray(int ndims, struct pli_ints sizes, struct pli_ints subsizes,
                               struct pli_ints starts, int order, struct pli_datatype *old,
                               struct pli_datatype **out)
{
    bool is_large = sizes.is_wide;
    struct pli_datatype *inner;
    enum pli_err err = check_subarray(ndims, sizes, subsizes, starts, order);
    if (err == PLI_OK) {
        err = build_subarray(ndims, sizes, subsizes, starts, order, old, &inner);
    }
    if (err != PLI_OK) {
        return err;
    }
    MPI_Count n = 3 * (MPI_Count)ndims;
    struct pli_datatype *t = pli_datatype_create(MPI_COMBINER_SUBARRAY, is_large,
                                                 is_large ? 2 : n + 2, 0, is_large ? n : 0, 1);
    if (t == NULL) {
        pli_datatype_release(inner);
        return PLI_ERR_NOMEM;
    }
    pli_datatype_keep(t, 0, old);
    struct pli_type_recipe *r = t->recipe;
    r->ints[0] = ndims;
    r->ints[r->n_int - 1] = order;
    struct pli_ints lists[] = { sizes, subsizes, starts };
    for (MPI_Count i = 0; i < n; i++) {
        MPI_Count v = pli_ints_at(lists[i / ndims], i % ndims);
        if (is_large) {
            r->counts[i] = v;
        } else {
            r->ints[1 + i] = (int)v;
        }
    }
    return wrap(t, inner, out);
}

// One dimension of a distributed array: blocks of `block` elements dealt out to `n_proc`
// processes in turn, of which this is number `me`.
struct deal {
    MPI_Count size, block;
    int n_proc, me;
};

static enum pli_err check_dim(int i, MPI_Count size, int distrib, int darg, int n_proc,
                              struct deal *out)
{
    if (size < 1 || n_proc < 1) {
        return pli_fail(PLI_ERR_ARG,
                        "dimension %d has %lld elements and %d processes; both must "
                        "be at least 1",
                        i, (long long)size, n_proc);
    }
    if (darg != MPI_DISTRIBUTE_DFLT_DARG && darg < 1 && distrib != MPI_DISTRIBUTE_NONE) {
        return pli_fail(PLI_ERR_ARG, "the distribution argument of dimension %d is %d", i, darg);
    }
    *out = (struct deal){ .size = size, .n_proc = n_proc };
    switch (distrib) {
    case MPI_DISTRIBUTE_NONE:
        out->block = size;
        if (n_proc != 1) {
            return pli_fail(PLI_ERR_ARG, "dimension %d is not distributed and yet has %d processes",
                            i, n_proc);
        }
        return PLI_OK;
    case MPI_DISTRIBUTE_BLOCK:
        out->block = darg == MPI_DISTRIBUTE_DFLT_DARG ? (size - 1) / n_proc + 1 : darg;
        if ((size - 1) / out->block >= n_proc) {
            return pli_fail(PLI_ERR_ARG,
                            "blocks of %lld for %d processes do not cover the %lld elements of "
                            "dimension %d",
                            (long long)out->block, n_proc, (long long)size, i);
        }
        return PLI_OK;
    case MPI_DISTRIBUTE_CYCLIC:
        out->block = darg == MPI_DISTRIBUTE_DFLT_DARG ? 1 : darg;
        return PLI_OK;
    default:
        return pli_fail(PLI_ERR_ARG, "the distribution of dimension %d is %d, which is none", i,
                        distrib);
    }
}

// The rows of this process in one dimension, with the extent of the whole dimension.
static enum pli_err deal_out(const struct deal *d, struct pli_datatype **at)
{
    MPI_Count extent = (*at)->extent, whole, step_bytes = 0;
    MPI_Count blocks = (d->size - 1) / d->block + 1; // the last may be short
    MPI_Count mine = d->me < blocks ? (blocks - 1 - d->me) / d->n_proc + 1 : 0;
    MPI_Count last = d->me + (mine - 1) * d->n_proc;
    MPI_Count tail = mine > 0 && last == blocks - 1 ? d->size - last * d->block : 0;
    MPI_Count full = tail > 0 ? mine - 1 : mine;
    if (__builtin_mul_overflow(d->size, extent, &whole) ||
        (full > 1 && __builtin_mul_overflow(extent, d->n_proc * d->block, &step_bytes))) {
        return fail_far();
    }
    struct pli_datatype *rows = NULL, *rest = NULL, *both = NULL, *next = NULL;
    enum pli_err err = pli_type_hvector_large(full, d->block, step_bytes, *at, &rows);
    if (err == PLI_OK) {
        err = pli_type_contiguous_large(tail, *at, &rest);
    }
    if (err == PLI_OK) {
        MPI_Count lens[] = { 1, 1 };
        MPI_Count places[] = { mine > 0 ? d->me * d->block * extent : 0,
                               tail > 0 ? last * d->block * extent : 0 };
        MPI_Datatype types[] = { pli_handle_of(rows, PLI_KIND_DATATYPE),
                                 pli_handle_of(rest, PLI_KIND_DATATYPE) };
        err = pli_type_struct(2, (struct pli_ints){ lens, true }, (struct pli_ints){ places, true },
                              types, &both);
    }
    if (err == PLI_OK) {
        err = step(pli_type_resized_large(both, 0, whole, &next), at, &next);
    }
    pli_datatype_release(rows);
    pli_datatype_release(rest);
    pli_datatype_release(both);
    return err;
}

static enum pli_err build_darray(int size, int rank, int ndims, struct pli_ints gsizes,
                                 const int distribs[], const int dargs[], const int psizes[],
                                 int order, struct pli_datatype *old, struct pli_datatype **out)
{
    struct pli_datatype *at = pli_datatype_retain(old);
    enum pli_err err = PLI_OK;
    for (int i = 0; i < ndims && err == PLI_OK; i++) {
        int d = dim_at(i, ndims, order);
        struct deal deal = { 0 };
        err = check_dim(d, pli_ints_at(gsizes, d), distribs[d], dargs[d], psizes[d], &deal);
        if (err == PLI_OK) {
            // Processes are numbered with the last dimension fastest, whatever the order.
            int below = size;
            for (int j = 0; j <= d; j++) {
                below /= psizes[j];
            }
            deal.me = rank / below % psizes[d];
            err = deal_out(&deal, &at);
        }
    }
    if (err != PLI_OK) {
        pli_datatype_release(at);
        return err;
    }
    *out = at;
    return PLI_OK;
}

static enum pli_err check_darray(int size, int rank, int ndims, struct pli_ints gsizes,
                                 const int distribs[], const int dargs[], const int psizes[],
                                 int order)
{
    if (ndims < 1) {
        return pli_fail(PLI_ERR_ARG, "an array of %d dimensions cannot be distributed", ndims);
    }
    if (gsizes.data == NULL || distribs == NULL || dargs == NULL || psizes == NULL) {
        return pli_fail(PLI_ERR_ARG, "an array argument is a null pointer");
    }
    if (size < 1 || rank < 0 || rank >= size) {
        return pli_fail(PLI_ERR_ARG, "rank %d is not one of %d processes", rank, size);
    }
    MPI_Count grid = 1;
    for (int i = 0; i < ndims; i++) {
        if (psizes[i] < 1 || (grid *= psizes[i]) > size) {
            grid = 0;
            break;
        }
    }
    if (grid != size) {
        return pli_fail(PLI_ERR_ARG, "the process grid does not have %d places", size);
    }
    return order == MPI_ORDER_C || order == MPI_ORDER_FORTRAN ? PLI_OK : fail_order(order);
}

enum pli_err pli_type_darray(int size, int rank, int ndims, struct pli_ints gsizes,
                             const int distribs[], const int dargs[], const int psizes[], int order,
                             struct pli_datatype *old, struct pli_datatype **out)
{
    bool is_large = gsizes.is_wide;
    struct pli_datatype *inner;
    enum pli_err err = check_darray(size, rank, ndims, gsizes, distribs, dargs, psizes, order);
    if (err == PLI_OK) {
        err = build_darray(size, rank, ndims, gsizes, distribs, dargs, psizes, order, old, &inner);
    }
    if (err != PLI_OK) {
        return err;
    }
    MPI_Count n = 4 + (is_large ? 3 : 4) * (MPI_Count)ndims;
    struct pli_datatype *t =
        pli_datatype_create(MPI_COMBINER_DARRAY, is_large, n, 0, is_large ? ndims : 0, 1);
    if (t == NULL) {
        pli_datatype_release(inner);
        return PLI_ERR_NOMEM;
    }
    pli_datatype_keep(t, 0, old);
    int *to = t->recipe->ints;
    *to++ = size;
    *to++ = rank;
    *to++ = ndims;
    for (int i = 0; i < ndims; i++) {
        if (is_large) {
            t->recipe->counts[i] = pli_ints_at(gsizes, i);
        } else {
            *to++ = (int)pli_ints_at(gsizes, i);
        }
    }
    const int *lists[] = { distribs, dargs, psizes };
    for (int i = 0; i < 3 * ndims; i++) {
        *to++ = lists[i / ndims][i % ndims];
    }
    *to = order;
    return wrap(t, inner, out);
}
