// SPDX-License-Identifier: BSD-3-Clause
// Whether an access may be made, and where it leads.
#ifndef PLI_RMA_RMA_TARGET_H
#define PLI_RMA_RMA_TARGET_H

#include "base/err.h"
#include "obj/datatype.h"
#include "rma/win.h"

struct pli_rma_target {
    struct pli_win_peer *peer; // NULL: MPI_PROC_NULL
    int rank;
    int64_t at; // place of (count, type): from the start of its memory, or an address
    MPI_Count count;
    struct pli_datatype *type;
    size_t bytes;
};

// The member, its epoch and the range of what is accessed are right, or a sentence says what is
// not.
enum pli_err pli_rma_target_find(struct pli_win *w, int rank, MPI_Aint disp, MPI_Count count,
                                 struct pli_datatype *type, struct pli_rma_target *out);

// Where it is here; the peer is near.
static inline char *pli_rma_target_here(const struct pli_rma_target *t)
{
    return (char *)(t->peer->base + (uintptr_t)t->at);
}

// Whether a member can be accessed: PLI_ERR_PROC_FAILED, it died.
enum pli_err pli_rma_target_alive(const struct pli_win *w, int rank);
// The same of all members.
enum pli_err pli_rma_target_all_alive(const struct pli_win *w);

// No epoch is open, or the sentence that says which: `what` cannot be done then.
enum pli_err pli_rma_target_no_epoch(const struct pli_win *w, const char *what);
// An assertion has no other bits than these.
enum pli_err pli_rma_target_check_assert(int assert, int allowed);

#endif
