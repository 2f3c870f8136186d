// SPDX-License-Identifier: BSD-3-Clause
// Attributes of windows. [MPI-5.0 7.7.3, 12.2.6]
#ifndef PLI_RMA_WIN_ATTR_H
#define PLI_RMA_WIN_ATTR_H

#include "base/err.h"

#include <mpi.h>

struct pli_win;

enum pli_err pli_win_attr_create_key(MPI_Win_copy_attr_function *copy,
                                     MPI_Win_delete_attr_function *drop, int *keyval_out,
                                     void *extra);
enum pli_err pli_win_attr_free_key(int *keyval);
enum pli_err pli_win_attr_set(struct pli_win *w, int keyval, void *value);
enum pli_err pli_win_attr_get(struct pli_win *w, int keyval, void *value_out, int *flag_out);
enum pli_err pli_win_attr_delete(struct pli_win *w, int keyval);

#endif
