// SPDX-License-Identifier: BSD-3-Clause
// Marks of communicators in the node memory: that one was revoked, and where its members agree.
#ifndef PLI_FT_REVOKE_TABLE_H
#define PLI_FT_REVOKE_TABLE_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct pli_failure_mark;
struct pli_failure_agreement;
struct pli_comm;

// The mark of a communicator of mine; it is made where there is none. Fails with a sentence: some
// members are not in this job, or there is no room. Context: no lock held.
enum pli_err pli_revoke_table_make(const struct pli_comm *c, struct pli_failure_mark **out);
// All members' operations fail from now on; those of other hosts hear of it soon.
enum pli_err pli_revoke_table_revoke(const struct pli_comm *c);
bool pli_revoke_table_is_revoked(const struct pli_comm *c);
// Vote in an agreement; is_making: on the members of a new communicator. The launcher, which counts
// the votes of members on several hosts, is told. Context: lane locked.
void pli_revoke_table_vote(const struct pli_comm *c, struct pli_failure_agreement *p, uint32_t seq,
                           uint32_t value, bool is_making);
struct pli_failure_agreement *pli_revoke_table_agreement(const struct pli_failure_mark *m);

// The place among the members of an agreement of the first one of the local group, or of the other.
int pli_revoke_table_first(const struct pli_comm *c, bool is_remote);

// I have no more use for the communicator. Context: no lock held.
void pli_revoke_table_leave(struct pli_comm *c);

// This process was forked from another one, whose marks all are.
void pli_revoke_table_clone(void);

#endif
