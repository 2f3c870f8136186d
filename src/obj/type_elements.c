// SPDX-License-Identifier: BSD-3-Clause
// From received bytes to whole elements and to basic elements, and back. [MPI-5.0 5.1.11]
#include "obj/datatype_priv.h"
#include "obj/status.h"
#include "obj/type_blocks.h"
#include "obj/type_calls.h"
#include "obj/type_pack.h"

// A walk along the type map that spends bytes and earns elements, or the other way round.
struct walk {
    bool in_bytes;    // what is spent
    bool is_external; // those of external32
    MPI_Count left, earned;
};

static MPI_Count cost(const struct walk *w, const struct pli_datatype *t)
{
    return !w->in_bytes ? t->n_elem : w->is_external ? pli_type_external_each(t) : t->size;
}

static MPI_Count gain(const struct walk *w, const struct pli_datatype *t)
{
    return w->in_bytes ? t->n_elem : t->size;
}

static void walk_inside(struct walk *w, const struct pli_datatype *t);

// Up to n elements of t: whole ones at once, then what is left goes into the next.
static void walk_many(struct walk *w, const struct pli_datatype *t, MPI_Count n)
{
    if (t->size == 0 || w->left == 0) {
        return;
    }
    MPI_Count whole = w->left / cost(w, t);
    whole = whole < n ? whole : n;
    w->earned += whole * gain(w, t);
    w->left -= whole * cost(w, t);
    if (whole < n && w->left > 0) {
        walk_inside(w, t);
    }
}

// Less than one element of t is left. What cannot be spent stays.
static void walk_inside(struct walk *w, const struct pli_datatype *t)
{
    struct pli_type_blocks b = pli_type_blocks_of(t);
    while (b.is_loop && b.n == 1 && b.len == 1) {
        t = pli_type_blocks_at(&b, 0).child;
        b = pli_type_blocks_of(t);
    }
    if (b.n == 0 && t->family == PLI_FAMILY_PAIR) {
        MPI_Count value = pli_number_size(t->number);
        value = w->is_external ? pli_type_external_each(t) - pli_number_size(t->index) : value;
        MPI_Count price = w->in_bytes ? value : 1;
        if (w->left >= price) {
            w->left -= price;
            w->earned += w->in_bytes ? 1 : value;
        }
        return;
    }
    if (b.is_loop) {
        struct pli_type_block k = pli_type_blocks_at(&b, 0);
        walk_many(w, k.child, b.n * k.len);
        return;
    }
    for (MPI_Count i = 0; i < b.n && w->left > 0; i++) {
        struct pli_type_block k = pli_type_blocks_at(&b, i);
        walk_many(w, k.child, k.len);
    }
}

static enum pli_err check_status(const MPI_Status *status)
{
    if (pli_status_is_ignored(status)) {
        return pli_fail(PLI_ERR_ARG, "the status is MPI_STATUS_IGNORE or a null pointer");
    }
    return PLI_OK;
}

enum pli_err pli_type_get_count(const MPI_Status *status, struct pli_datatype *t, MPI_Count *out)
{
    enum pli_err err = check_status(status);
    if (err != PLI_OK) {
        return err;
    }
    MPI_Count bytes = (MPI_Count)pli_status_bytes(status);
    MPI_Count size = pli_status_is_external(status) ? pli_type_external_each(t) : t->size;
    if (size == 0) {
        *out = bytes == 0 ? 0 : MPI_UNDEFINED;
    } else {
        *out = bytes % size == 0 ? bytes / size : MPI_UNDEFINED;
    }
    return PLI_OK;
}

enum pli_err pli_type_get_elements(const MPI_Status *status, struct pli_datatype *t, MPI_Count *out)
{
    enum pli_err err = check_status(status);
    if (err != PLI_OK) {
        return err;
    }
    struct walk w = { .in_bytes = true,
                      .is_external = pli_status_is_external(status),
                      .left = (MPI_Count)pli_status_bytes(status) };
    walk_many(&w, t, INT64_MAX);
    *out = w.left == 0 ? w.earned : MPI_UNDEFINED;
    return PLI_OK;
}

enum pli_err pli_type_set_elements(MPI_Status *status, struct pli_datatype *t, MPI_Count n)
{
    enum pli_err err = check_status(status);
    MPI_Count bytes;
    if (err != PLI_OK) {
        return err;
    }
    if (n > 0 && t->size == 0) {
        return pli_fail(PLI_ERR_COUNT, "%s has no elements and cannot have %lld",
                        pli_datatype_label(t), (long long)n);
    }
    if (n > 0 && (__builtin_mul_overflow(n / t->n_elem, t->size, &bytes) ||
                  (n % t->n_elem != 0 && __builtin_add_overflow(bytes, t->size, &bytes)))) {
        return pli_fail(PLI_ERR_COUNT, "%lld elements of %s are too many bytes", (long long)n,
                        pli_datatype_label(t));
    }
    struct walk w = { .in_bytes = false, .left = n };
    walk_many(&w, t, INT64_MAX);
    pli_status_set_bytes(status, (uint64_t)w.earned);
    return PLI_OK;
}
