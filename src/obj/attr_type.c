// SPDX-License-Identifier: BSD-3-Clause
// Attributes of datatypes, as the API table calls them.
#include "obj/attr_type.h"

#include "obj/attr.h"
#include "obj/datatype.h"

enum pli_err pli_attr_type_create_key(MPI_Type_copy_attr_function *copy,
                                      MPI_Type_delete_attr_function *drop, int *keyval_out,
                                      void *extra)
{
    return pli_attr_create_key(PLI_KIND_DATATYPE, (union pli_attr_copy){ .type = copy },
                               (union pli_attr_drop){ .type = drop }, extra, keyval_out);
}

enum pli_err pli_attr_type_free_key(int *keyval)
{
    return pli_attr_free_key(PLI_KIND_DATATYPE, keyval);
}

enum pli_err pli_attr_type_set(struct pli_datatype *t, int keyval, void *value)
{
    return pli_attr_set(&t->obj, keyval, value);
}

enum pli_err pli_attr_type_get(struct pli_datatype *t, int keyval, void *value_out, int *flag_out)
{
    return pli_attr_get(&t->obj, keyval, value_out, flag_out);
}

enum pli_err pli_attr_type_delete(struct pli_datatype *t, int keyval)
{
    return pli_attr_delete(&t->obj, keyval);
}
