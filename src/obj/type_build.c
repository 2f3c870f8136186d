// SPDX-License-Identifier: BSD-3-Clause
// Constructors with a fixed number of arguments.
#include "obj/attr.h"
#include "obj/datatype_priv.h"
#include "obj/type_blocks.h"
#include "obj/type_calls.h"

// A recipe of n integers, or counts in the large form, perhaps an address, and one type.
static enum pli_err make(int combiner, bool is_large, int n, const MPI_Count numbers[], int n_addr,
                         struct pli_datatype *old, struct pli_datatype **out)
{
    struct pli_datatype *t = pli_datatype_create(combiner, is_large, is_large ? 0 : n - n_addr,
                                                 is_large ? 0 : n_addr, is_large ? n : 0, 1);
    if (t == NULL) {
        return PLI_ERR_NOMEM;
    }
    pli_datatype_keep(t, 0, old);
    for (int i = 0; i < n; i++) {
        if (is_large) {
            t->recipe->counts[i] = numbers[i];
        } else if (i < n - n_addr) {
            t->recipe->ints[i] = (int)numbers[i];
        } else {
            t->recipe->addrs[i - (n - n_addr)] = numbers[i];
        }
    }
    *out = t;
    return PLI_OK;
}

static enum pli_err make_finished(int combiner, bool is_large, int n, const MPI_Count numbers[],
                                  int n_addr, struct pli_datatype *old, struct pli_datatype **out)
{
    struct pli_datatype *t;
    enum pli_err err = make(combiner, is_large, n, numbers, n_addr, old, &t);
    return err == PLI_OK ? pli_type_blocks_complete(t, out) : err;
}

enum pli_err pli_type_contiguous(MPI_Count count, struct pli_datatype *old,
                                 struct pli_datatype **out)
{
    return make_finished(MPI_COMBINER_CONTIGUOUS, false, 1, &count, 0, old, out);
}

enum pli_err pli_type_contiguous_large(MPI_Count count, struct pli_datatype *old,
                                       struct pli_datatype **out)
{
    return make_finished(MPI_COMBINER_CONTIGUOUS, true, 1, &count, 0, old, out);
}

static enum pli_err make_vector(bool is_large, MPI_Count count, MPI_Count len, MPI_Count stride,
                                struct pli_datatype *old, struct pli_datatype **out)
{
    MPI_Count bytes;
    if (count > 1 && __builtin_mul_overflow(stride, old->extent, &bytes)) {
        return pli_fail(PLI_ERR_ARG, "a stride of %lld elements of %lld bytes is too far",
                        (long long)stride, (long long)old->extent);
    }
    MPI_Count numbers[] = { count, len, stride };
    return make_finished(MPI_COMBINER_VECTOR, is_large, 3, numbers, 0, old, out);
}

enum pli_err pli_type_vector(MPI_Count count, MPI_Count len, MPI_Count stride,
                             struct pli_datatype *old, struct pli_datatype **out)
{
    return make_vector(false, count, len, stride, old, out);
}

enum pli_err pli_type_vector_large(MPI_Count count, MPI_Count len, MPI_Count stride,
                                   struct pli_datatype *old, struct pli_datatype **out)
{
    return make_vector(true, count, len, stride, old, out);
}

enum pli_err pli_type_hvector(MPI_Count count, MPI_Count len, MPI_Count stride,
                              struct pli_datatype *old, struct pli_datatype **out)
{
    MPI_Count numbers[] = { count, len, stride };
    return make_finished(MPI_COMBINER_HVECTOR, false, 3, numbers, 1, old, out);
}

enum pli_err pli_type_hvector_large(MPI_Count count, MPI_Count len, MPI_Count stride,
                                    struct pli_datatype *old, struct pli_datatype **out)
{
    MPI_Count numbers[] = { count, len, stride };
    return make_finished(MPI_COMBINER_HVECTOR, true, 3, numbers, 0, old, out);
}

static enum pli_err make_resized(bool is_large, struct pli_datatype *old, MPI_Count lb,
                                 MPI_Count extent, struct pli_datatype **out)
{
    MPI_Count numbers[] = { lb, extent }, ub;
    if (__builtin_add_overflow(lb, extent, &ub)) {
        return pli_fail(PLI_ERR_ARG, "an extent of %lld from %lld ends beyond what a number counts",
                        (long long)extent, (long long)lb);
    }
    struct pli_datatype *t;
    enum pli_err err =
        make_finished(MPI_COMBINER_RESIZED, is_large, 2, numbers, is_large ? 0 : 2, old, &t);
    if (err != PLI_OK) {
        return err;
    }
    t->lb = lb;
    t->extent = extent;
    t->has_lb = t->has_ub = true;
    t->is_dense = t->is_run && t->size == extent;
    *out = t;
    return PLI_OK;
}

enum pli_err pli_type_resized(struct pli_datatype *old, MPI_Count lb, MPI_Count extent,
                              struct pli_datatype **out)
{
    return make_resized(false, old, lb, extent, out);
}

enum pli_err pli_type_resized_large(struct pli_datatype *old, MPI_Count lb, MPI_Count extent,
                                    struct pli_datatype **out)
{
    return make_resized(true, old, lb, extent, out);
}

enum pli_err pli_type_dup(struct pli_datatype *old, struct pli_datatype **out)
{
    struct pli_datatype *t;
    enum pli_err err = make_finished(MPI_COMBINER_DUP, false, 0, NULL, 0, old, &t);
    if (err != PLI_OK) {
        return err;
    }
    // Set bounds stay set; a pair keeps the padding that its alignment gave it.
    t->lb = old->lb;
    t->extent = old->extent;
    t->is_dense = old->is_dense;
    t->is_committed = old->is_committed;
    err = pli_attr_copy_all(&old->obj, &t->obj);
    if (err != PLI_OK) {
        pli_datatype_release(t);
        return err;
    }
    *out = t;
    return PLI_OK;
}
