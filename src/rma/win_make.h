// SPDX-License-Identifier: BSD-3-Clause
// Constructors of windows. [MPI-5.0 12.2]
#ifndef PLI_RMA_WIN_MAKE_H
#define PLI_RMA_WIN_MAKE_H

#include "base/err.h"

#include <mpi.h>

struct pli_comm;
struct pli_info;
struct pli_win;

// Complete a window in which base, size, unit, memory and guard are set. Collective. why: not
// PLI_OK at a member that cannot take part: all fail then. The caller destroys a window that
// failed.
enum pli_err pli_win_make(struct pli_win *w, struct pli_comm *comm, struct pli_info *info,
                          enum pli_err why);

// As the API table calls them.
enum pli_err pli_win_make_create(void *base, MPI_Aint size, MPI_Aint unit, struct pli_info *info,
                                 struct pli_comm *comm, struct pli_win **out);
enum pli_err pli_win_make_dynamic(struct pli_info *info, struct pli_comm *comm,
                                  struct pli_win **out);

#endif
