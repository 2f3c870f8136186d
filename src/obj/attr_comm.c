// SPDX-License-Identifier: BSD-3-Clause
// Attributes of communicators, as the API table calls them.
#include "obj/attr.h"
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
    return pli_attr_set(&c->obj, keyval, value);
}

enum pli_err pli_attr_comm_get(struct pli_comm *c, int keyval, void *value_out, int *flag_out)
{
    return pli_attr_get(&c->obj, keyval, value_out, flag_out);
}

enum pli_err pli_attr_comm_delete(struct pli_comm *c, int keyval)
{
    return pli_attr_delete(&c->obj, keyval);
}
