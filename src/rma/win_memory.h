// SPDX-License-Identifier: BSD-3-Clause
// Windows whose memory the library allocates, so that members of one host can load and store.
// [MPI-5.0 12.2.2, 12.2.3]
#ifndef PLI_RMA_WIN_MEMORY_H
#define PLI_RMA_WIN_MEMORY_H

#include "base/err.h"

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

struct pli_comm;
struct pli_info;
struct pli_win;
struct pli_win_memory;

enum pli_err pli_win_memory_allocate(MPI_Aint size, MPI_Aint unit, struct pli_info *info,
                                     struct pli_comm *comm, void *base_out, struct pli_win **out);
enum pli_err pli_win_memory_shared(MPI_Aint size, MPI_Aint unit, struct pli_info *info,
                                   struct pli_comm *comm, void *base_out, struct pli_win **out);
enum pli_err pli_win_memory_query(struct pli_win *w, int rank, MPI_Aint *size_out,
                                  MPI_Count *unit_out, void *base_out);

void pli_win_memory_give(struct pli_win_memory *m);
// Where memory is, as others of the host can be told; and where that is here: NULL, not at all.
uint64_t pli_win_memory_offset(const struct pli_win_memory *m, const void *p);
void *pli_win_memory_at(int where, uint64_t offset);

#endif
