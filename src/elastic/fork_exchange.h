// SPDX-License-Identifier: BSD-3-Clause
// What the ranks of a world tell each other, and ask the launcher, during a fork.
#ifndef PLI_ELASTIC_FORK_EXCHANGE_H
#define PLI_ELASTIC_FORK_EXCHANGE_H

#include "base/err.h"
#include "boot/launcher_wire.h"

#include <stddef.h>

struct pli_comm;
struct pli_info;

// Agree that all ranks succeeded so far (mine: this rank's error) and gave the same m. Otherwise
// all ranks fail with the error of the first one that did.
enum pli_err pli_fork_exchange_agree(struct pli_comm *world, int m, enum pli_err mine);

// Rank 0 asks the launcher; all get the answer.
enum pli_err pli_fork_exchange_ask(struct pli_comm *world, enum pli_ask_kind kind, const void *body,
                                   size_t len, struct pli_answer *answer);

// The same, to reserve rows for clones; the hints of rank 0's info, which may be NULL, say where.
enum pli_err pli_fork_exchange_clones(struct pli_comm *world, const struct pli_ask_fork *ask,
                                      struct pli_info *info, struct pli_answer *a);

// The process id that a clone should have because it is free on the host that the clone goes to; 0:
// the clone stays on this host. Waits until this host has been told.
enum pli_err pli_fork_exchange_pid(uint32_t index, uint32_t *out);

// Wait until this host, which may learn of it later than others, has this version of the world.
void pli_fork_exchange_wait(uint32_t version);

#endif
