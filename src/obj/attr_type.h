// SPDX-License-Identifier: BSD-3-Clause
// Attributes of datatypes, as the API table calls them.
#ifndef PLI_OBJ_ATTR_TYPE_H
#define PLI_OBJ_ATTR_TYPE_H

#include "base/err.h"

#include <mpi.h>

struct pli_datatype;

enum pli_err pli_attr_type_create_key(MPI_Type_copy_attr_function *copy,
                                      MPI_Type_delete_attr_function *drop, int *keyval_out,
                                      void *extra);
enum pli_err pli_attr_type_free_key(int *keyval);
enum pli_err pli_attr_type_set(struct pli_datatype *t, int keyval, void *value);
enum pli_err pli_attr_type_get(struct pli_datatype *t, int keyval, void *value_out, int *flag_out);
enum pli_err pli_attr_type_delete(struct pli_datatype *t, int keyval);

#endif
