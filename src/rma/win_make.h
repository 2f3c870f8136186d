// SPDX-License-Identifier: BSD-3-Clause
// Constructors of windows. [MPI-5.0 12.2]
#ifndef PLI_RMA_WIN_MAKE_H
#define PLI_RMA_WIN_MAKE_H

#include "base/err.h"
#include "rma/win_wire.h"

#include <mpi.h>
#include <stdint.h>

struct pli_comm;
struct pli_info;
struct pli_win;

// Complete a window in which base, size, unit, memory and guard are set. Collective. why: not
// PLI_OK at a member that cannot take part: all fail then. The caller destroys a window that
// failed.
enum pli_err pli_win_make(struct pli_win *w, struct pli_comm *comm, struct pli_info *info,
                          enum pli_err why);

// The steps of it. What this member tells, but for context and err.
struct pli_win_member pli_win_make_tell(const struct pli_win *w);
// Memory that is not shared has its guard apart, where other processes of the host find it. why:
// returned where it is an error.
enum pli_err pli_win_make_guard(struct pli_win *w, const struct pli_comm *comm, enum pli_err why);
// How each member is reached, by what all have told.
enum pli_err pli_win_make_connect(struct pli_win *w, const struct pli_win_member *infos);

// In clones of all members of a shared window, each of which has a copy of its memory: rank 0 gives
// its copy to the others, and returns in what memory it is; 0: they cannot share any, as they are
// on several hosts or there is no room. All use it in place of their own.
int pli_win_make_offer(struct pli_win *w, uint64_t *offset_out);
enum pli_err pli_win_make_join(struct pli_win *w, int where, uint64_t offset);

// As the API table calls them.
enum pli_err pli_win_make_create(void *base, MPI_Aint size, MPI_Aint unit, struct pli_info *info,
                                 struct pli_comm *comm, struct pli_win **out);
enum pli_err pli_win_make_dynamic(struct pli_info *info, struct pli_comm *comm,
                                  struct pli_win **out);

#endif
