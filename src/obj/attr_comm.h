// SPDX-License-Identifier: BSD-3-Clause
// Attributes of communicators, as the API table calls them, with the predefined ones.
#ifndef PLI_OBJ_ATTR_COMM_H
#define PLI_OBJ_ATTR_COMM_H

#include "base/err.h"

#include <mpi.h>

struct pli_comm;

enum pli_err pli_attr_comm_create_key(MPI_Comm_copy_attr_function *copy,
                                      MPI_Comm_delete_attr_function *drop, int *keyval_out,
                                      void *extra);
enum pli_err pli_attr_comm_free_key(int *keyval);
enum pli_err pli_attr_comm_set(struct pli_comm *c, int keyval, void *value);
enum pli_err pli_attr_comm_get(struct pli_comm *c, int keyval, void *value_out, int *flag_out);
enum pli_err pli_attr_comm_delete(struct pli_comm *c, int keyval);

#endif
