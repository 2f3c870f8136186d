// SPDX-License-Identifier: BSD-3-Clause
// Constructors with lists of blocks.
#include "obj/datatype_priv.h"
#include "obj/handle_predefined.h"
#include "obj/type_blocks.h"
#include "obj/type_calls.h"

static enum pli_err check_list(MPI_Count count, struct pli_ints list, const char *what)
{
    if (count > (MPI_Count)1 << 48) {
        return pli_fail(PLI_ERR_NOMEM, "a list of %lld %s does not fit into memory",
                        (long long)count, what);
    }
    if (count > 0 && list.data == NULL) {
        return pli_fail(PLI_ERR_ARG, "the array of %s is a null pointer", what);
    }
    return PLI_OK;
}

static enum pli_err check_lens(MPI_Count count, struct pli_ints lens)
{
    enum pli_err err = check_list(count, lens, "block lengths");
    for (MPI_Count i = 0; i < count && err == PLI_OK; i++) {
        if (pli_ints_at(lens, i) < 0) {
            err = pli_fail(PLI_ERR_ARG, "block length %lld is %lld; it may not be negative",
                           (long long)i, (long long)pli_ints_at(lens, i));
        }
    }
    return err;
}

// Write the recipe: head numbers, then the lists. In the plain form displacements in bytes are
// addresses and all else is an integer; in the large form everything is a count.
static void fill(struct pli_type_recipe *r, int n_head, const MPI_Count head[], MPI_Count count,
                 struct pli_ints lens, struct pli_ints displs)
{
    MPI_Count at = 0;
    for (int i = 0; i < n_head; i++, at++) {
        if (r->is_large) {
            r->counts[at] = head[i];
        } else {
            r->ints[at] = (int)head[i];
        }
    }
    for (MPI_Count i = 0; i < count && lens.data != NULL; i++, at++) {
        if (r->is_large) {
            r->counts[at] = pli_ints_at(lens, i);
        } else {
            r->ints[at] = (int)pli_ints_at(lens, i);
        }
    }
    for (MPI_Count i = 0; i < count; i++, at++) {
        if (r->is_large) {
            r->counts[at] = pli_ints_at(displs, i);
        } else if (r->n_addr > 0) {
            r->addrs[i] = pli_ints_at(displs, i);
        } else {
            r->ints[at] = (int)pli_ints_at(displs, i);
        }
    }
}

// With lens: one length per block; without: `len` for all.
static enum pli_err make(int combiner, bool is_large, MPI_Count count, struct pli_ints lens,
                         MPI_Count len, struct pli_ints displs, struct pli_datatype *old,
                         struct pli_datatype **out)
{
    bool has_lens = combiner == MPI_COMBINER_INDEXED || combiner == MPI_COMBINER_HINDEXED;
    bool in_bytes = combiner == MPI_COMBINER_HINDEXED || combiner == MPI_COMBINER_HINDEXED_BLOCK;
    enum pli_err err = has_lens ? check_lens(count, lens) : PLI_OK;
    if (err == PLI_OK) {
        err = check_list(count, displs, "displacements");
    }
    if (err != PLI_OK) {
        return err;
    }
    MPI_Count head[] = { count, len }, n_head = has_lens ? 1 : 2;
    MPI_Count total = n_head + (has_lens ? 2 : 1) * count;
    MPI_Count n_addr = in_bytes && !is_large ? count : 0;
    struct pli_datatype *t = pli_datatype_create(combiner, is_large, is_large ? 0 : total - n_addr,
                                                 n_addr, is_large ? total : 0, 1);
    if (t == NULL) {
        return PLI_ERR_NOMEM;
    }
    pli_datatype_keep(t, 0, old);
    fill(t->recipe, (int)n_head, head, count, has_lens ? lens : (struct pli_ints){ 0 }, displs);
    return pli_type_blocks_complete(t, out);
}

enum pli_err pli_type_indexed(MPI_Count count, struct pli_ints lens, struct pli_ints displs,
                              struct pli_datatype *old, struct pli_datatype **out)
{
    return make(MPI_COMBINER_INDEXED, lens.is_wide, count, lens, 0, displs, old, out);
}

enum pli_err pli_type_hindexed(MPI_Count count, struct pli_ints lens, struct pli_ints displs,
                               struct pli_datatype *old, struct pli_datatype **out)
{
    return make(MPI_COMBINER_HINDEXED, lens.is_wide, count, lens, 0, displs, old, out);
}

enum pli_err pli_type_indexed_block(MPI_Count count, MPI_Count len, struct pli_ints displs,
                                    struct pli_datatype *old, struct pli_datatype **out)
{
    struct pli_ints none = { 0 };
    return make(MPI_COMBINER_INDEXED_BLOCK, displs.is_wide, count, none, len, displs, old, out);
}

enum pli_err pli_type_hindexed_block(MPI_Count count, MPI_Count len, struct pli_ints displs,
                                     struct pli_datatype *old, struct pli_datatype **out)
{
    struct pli_ints none = { 0 };
    return make(MPI_COMBINER_HINDEXED_BLOCK, false, count, none, len, displs, old, out);
}

enum pli_err pli_type_hindexed_block_large(MPI_Count count, MPI_Count len, struct pli_ints displs,
                                           struct pli_datatype *old, struct pli_datatype **out)
{
    struct pli_ints none = { 0 };
    return make(MPI_COMBINER_HINDEXED_BLOCK, true, count, none, len, displs, old, out);
}

enum pli_err pli_type_struct(MPI_Count count, struct pli_ints lens, struct pli_ints displs,
                             const MPI_Datatype types[], struct pli_datatype **out)
{
    enum pli_err err = check_lens(count, lens);
    if (err == PLI_OK) {
        err = check_list(count, displs, "displacements");
    }
    if (err == PLI_OK && count > 0 && types == NULL) {
        err = pli_fail(PLI_ERR_ARG, "the array of datatypes is a null pointer");
    }
    for (MPI_Count i = 0; i < count && err == PLI_OK; i++) {
        if (pli_handle_get(types[i], PLI_KIND_DATATYPE) == NULL) {
            err = pli_fail(PLI_ERR_TYPE, "datatype %lld of the array %s", (long long)i,
                           pli_handle_why(types[i], PLI_KIND_DATATYPE));
        }
    }
    if (err != PLI_OK) {
        return err;
    }
    bool is_large = lens.is_wide;
    struct pli_datatype *t =
        pli_datatype_create(MPI_COMBINER_STRUCT, is_large, is_large ? 0 : count + 1,
                            is_large ? 0 : count, is_large ? 2 * count + 1 : 0, count);
    if (t == NULL) {
        return PLI_ERR_NOMEM;
    }
    for (MPI_Count i = 0; i < count; i++) {
        pli_datatype_keep(t, i, pli_handle_get(types[i], PLI_KIND_DATATYPE));
    }
    fill(t->recipe, 1, &count, count, lens, displs);
    return pli_type_blocks_complete(t, out);
}
