// SPDX-License-Identifier: BSD-3-Clause
// Windows whose memory the library allocates, so that members of one host can load and store.
// [MPI-5.0 12.2.2, 12.2.3]
#ifndef PLI_RMA_WIN_ALLOC_H
#define PLI_RMA_WIN_ALLOC_H

#include "base/err.h"

#include <mpi.h>

struct pli_comm;
struct pli_info;
struct pli_win;

enum pli_err pli_win_alloc(MPI_Aint size, MPI_Aint unit, struct pli_info *info,
                           struct pli_comm *comm, void *base_out, struct pli_win **out);
enum pli_err pli_win_alloc_shared(MPI_Aint size, MPI_Aint unit, struct pli_info *info,
                                  struct pli_comm *comm, void *base_out, struct pli_win **out);
enum pli_err pli_win_alloc_query(struct pli_win *w, int rank, MPI_Aint *size_out,
                                 MPI_Count *unit_out, void *base_out);

#endif
