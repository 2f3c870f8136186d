// SPDX-License-Identifier: BSD-3-Clause
// How the ranks of a world talk about a fork.
#ifndef PLI_ELASTIC_FORK_EXCHANGE_H
#define PLI_ELASTIC_FORK_EXCHANGE_H

#include "base/err.h"
#include "boot/launcher_wire.h"

#include <stddef.h>

struct pli_comm;
struct pli_info;

// Whether all ranks have come this far and mean the same m; else the reason of the first that has
// not, at all of them.
enum pli_err pli_fork_exchange_agree(struct pli_comm *world, int m, enum pli_err mine);

// Rank 0 asks the launcher; all get the answer.
enum pli_err pli_fork_exchange_ask(struct pli_comm *world, enum pli_ask_kind kind, const void *body,
                                   size_t len, struct pli_answer *answer);

// The same, for clones; the hints of rank 0's info, which may be NULL, say where.
enum pli_err pli_fork_exchange_clones(struct pli_comm *world, const struct pli_ask_fork *ask,
                                      struct pli_info *info, struct pli_answer *a);

// The process number that a clone should have because it is free where the clone goes; 0: the clone
// stays here. Waits until this host has heard of it.
enum pli_err pli_fork_exchange_number(uint32_t index, uint32_t *out);

#endif
