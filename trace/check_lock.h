// SPDX-License-Identifier: BSD-3-Clause
// Accesses of several ranks in epochs of locks.
#ifndef PLI_TRACE_CHECK_LOCK_H
#define PLI_TRACE_CHECK_LOCK_H

#include "trace/check.h"

struct pli_check_access {
    uint64_t disp, n; // in units of the target, and bytes
    uint64_t place;
    uint32_t op;
    uint16_t kind, function;
};
// Whether two accesses to one target must not be made at the same time.
bool pli_check_access_meet(const struct pli_check_access *a, const struct pli_check_access *b,
                           uint64_t unit);

struct pli_check_locks;
// Collective over `comm`. NULL: not looked at, at no member.
struct pli_check_locks *pli_check_lock_create(MPI_Comm comm, int rank, int size);
void pli_check_lock_destroy(struct pli_check_locks *l); // collective
void pli_check_lock_set(struct pli_check_locks *l, const struct pli_check_call *call);
// An access that is about to be completed, while no other rank can know of it.
void pli_check_lock_add(struct pli_check_locks *l, int target, const struct pli_check_access *a);

#endif
