// SPDX-License-Identifier: BSD-3-Clause
// Queries about datatypes, and MPI_Type_free.
#include "obj/attr.h"
#include "obj/datatype_priv.h"
#include "obj/handle_predefined.h"
#include "obj/type_calls.h"

#include <stdlib.h>
#include <string.h>

enum pli_err pli_type_commit(struct pli_datatype *t)
{
    t->is_committed = true; // the plan was made with the type
    return PLI_OK;
}

enum pli_err pli_type_free(struct pli_datatype *t)
{
    if (pli_datatype_is_predefined(t)) {
        return pli_fail(PLI_ERR_TYPE, "%s is predefined and cannot be freed",
                        pli_datatype_label(t));
    }
    enum pli_err err = pli_attr_delete_all(&t->obj);
    if (err == PLI_OK) {
        pli_datatype_release(t);
    }
    return err;
}

enum pli_err pli_type_size(struct pli_datatype *t, MPI_Count *out)
{
    *out = t->size;
    return PLI_OK;
}

enum pli_err pli_type_extent(struct pli_datatype *t, MPI_Count *lb, MPI_Count *extent)
{
    *lb = t->lb;
    *extent = t->extent;
    return PLI_OK;
}

enum pli_err pli_type_true_extent(struct pli_datatype *t, MPI_Count *lb, MPI_Count *extent)
{
    *lb = t->true_lb;
    *extent = t->true_extent;
    return PLI_OK;
}

enum pli_err pli_type_get_name(MPI_Datatype handle, char *name, int *len)
{
    const struct pli_datatype *t = pli_handle_get(handle, PLI_KIND_DATATYPE);
    if (t == NULL && handle != MPI_DATATYPE_NULL) {
        return pli_fail(PLI_ERR_TYPE, "the datatype %s", pli_handle_why(handle, PLI_KIND_DATATYPE));
    }
    const char *from = t == NULL ? "MPI_DATATYPE_NULL" : t->name != NULL ? t->name : "";
    *len = (int)strlen(from);
    memcpy(name, from, (size_t)*len + 1);
    return PLI_OK;
}

enum pli_err pli_type_set_name(struct pli_datatype *t, const char *name)
{
    if (name == NULL) {
        return pli_fail(PLI_ERR_ARG, "the name is a null pointer");
    }
    char *copy = strndup(name, MPI_MAX_OBJECT_NAME - 1);
    if (copy == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for a name");
    }
    pli_datatype_rename(t, copy);
    return PLI_OK;
}

enum pli_err pli_type_envelope_large(struct pli_datatype *t, MPI_Count *n_int, MPI_Count *n_addr,
                                     MPI_Count *n_count, MPI_Count *n_type, int *combiner)
{
    const struct pli_type_recipe *r = t->recipe;
    *n_int = r != NULL ? r->n_int : 0;
    *n_addr = r != NULL ? r->n_addr : 0;
    *n_count = r != NULL ? r->n_count : 0;
    *n_type = r != NULL ? r->n_type : 0;
    *combiner = r != NULL ? r->combiner : MPI_COMBINER_NAMED;
    return PLI_OK;
}

static enum pli_err check_small(const struct pli_datatype *t)
{
    if (t->recipe != NULL && t->recipe->n_count > 0) {
        return pli_fail(PLI_ERR_TYPE, "%s was made by a large-count function; ask with the _c form",
                        pli_datatype_label(t));
    }
    return PLI_OK;
}

enum pli_err pli_type_envelope(struct pli_datatype *t, MPI_Count *n_int, MPI_Count *n_addr,
                               MPI_Count *n_type, int *combiner)
{
    MPI_Count n_count;
    enum pli_err err = check_small(t);
    return err == PLI_OK ? pli_type_envelope_large(t, n_int, n_addr, &n_count, n_type, combiner)
                         : err;
}

static enum pli_err check_room(const char *what, MPI_Count max, MPI_Count n, const void *array)
{
    if (max < n) {
        return pli_fail(PLI_ERR_ARG, "there is room for %lld %s and there are %lld", (long long)max,
                        what, (long long)n);
    }
    if (n > 0 && array == NULL) {
        return pli_fail(PLI_ERR_ARG, "the array for %s is a null pointer", what);
    }
    return PLI_OK;
}

enum pli_err pli_type_contents_large(struct pli_datatype *t, MPI_Count max_int, MPI_Count max_addr,
                                     MPI_Count max_count, MPI_Count max_type, int ints[],
                                     MPI_Aint addrs[], MPI_Count counts[], MPI_Datatype types[])
{
    const struct pli_type_recipe *r = t->recipe;
    if (r == NULL) {
        return pli_fail(PLI_ERR_TYPE, "%s is predefined and has no contents",
                        pli_datatype_label(t));
    }
    enum pli_err err = check_room("integers", max_int, r->n_int, ints);
    if (err == PLI_OK) {
        err = check_room("addresses", max_addr, r->n_addr, addrs);
    }
    if (err == PLI_OK) {
        err = check_room("large counts", max_count, r->n_count, counts);
    }
    if (err == PLI_OK) {
        err = check_room("datatypes", max_type, r->n_type, types);
    }
    if (err != PLI_OK) {
        return err;
    }
    for (MPI_Count i = 0; i < r->n_int; i++) {
        ints[i] = r->ints[i];
    }
    for (MPI_Count i = 0; i < r->n_addr; i++) {
        addrs[i] = r->addrs[i];
    }
    for (MPI_Count i = 0; i < r->n_count; i++) {
        counts[i] = r->counts[i];
    }
    for (MPI_Count i = 0; i < r->n_type; i++) {
        // Types made on request live until the end; all others the user must free.
        struct pli_datatype *of = r->types[i];
        types[i] =
            pli_handle_of(of->is_permanent ? of : pli_datatype_retain(of), PLI_KIND_DATATYPE);
    }
    return PLI_OK;
}

enum pli_err pli_type_contents(struct pli_datatype *t, MPI_Count max_int, MPI_Count max_addr,
                               MPI_Count max_type, int ints[], MPI_Aint addrs[],
                               MPI_Datatype types[])
{
    enum pli_err err = check_small(t);
    return err == PLI_OK ? pli_type_contents_large(t, max_int, max_addr, 0, max_type, ints, addrs,
                                                   NULL, types)
                         : err;
}

enum pli_err pli_type_address(const void *location, MPI_Aint *out)
{
    *out = (MPI_Aint)(uintptr_t)location;
    return PLI_OK;
}

// Addresses wrap: their sum and difference are those of unsigned numbers. [MPI-5.0 5.1.5]
MPI_Aint pli_type_aint_add(MPI_Aint base, MPI_Aint disp)
{
    return (MPI_Aint)((uintptr_t)base + (uintptr_t)disp);
}

MPI_Aint pli_type_aint_diff(MPI_Aint a, MPI_Aint b)
{
    return (MPI_Aint)((uintptr_t)a - (uintptr_t)b);
}
