// SPDX-License-Identifier: BSD-3-Clause
// Attributes of communicators, as the API table calls them.
#include "obj/attr_comm.h"

#include "obj/attr.h"
#include "obj/attr_fixed.h"
#include "obj/comm.h"

enum pli_err pli_attr_comm_create_key(MPI_Comm_copy_attr_function *copy,
                                      MPI_Comm_delete_attr_function *drop, int *keyval_out,
                                      void *extra)
{
    return pli_attr_create_key(PLI_KIND_COMM, (union pli_attr_copy){ .comm = copy },
                               (union pli_attr_drop){ .comm = drop }, extra, keyval_out);
}

enum pli_err pli_attr_comm_free_key(int *keyval)
{
    return pli_attr_free_key(PLI_KIND_COMM, keyval);
}

enum pli_err pli_attr_comm_set(struct pli_comm *c, int keyval, void *value)
{
    if (pli_attr_fixed_name(keyval) != NULL) {
        return pli_fail(PLI_ERR_KEYVAL, "%s is a predefined attribute and cannot be set",
                        pli_attr_fixed_name(keyval));
    }
    return pli_attr_set(&c->obj, keyval, value);
}

enum pli_err pli_attr_comm_get(struct pli_comm *c, int keyval, void *value_out, int *flag_out)
{
    if (pli_attr_fixed_name(keyval) != NULL) {
        pli_attr_fixed_get(c, keyval, value_out, flag_out);
        return PLI_OK;
    }
    return pli_attr_get(&c->obj, keyval, value_out, flag_out);
}

enum pli_err pli_attr_comm_delete(struct pli_comm *c, int keyval)
{
    if (pli_attr_fixed_name(keyval) != NULL) {
        return pli_fail(PLI_ERR_KEYVAL, "%s is a predefined attribute and cannot be deleted",
                        pli_attr_fixed_name(keyval));
    }
    return pli_attr_delete(&c->obj, keyval);
}
