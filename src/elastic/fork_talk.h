// SPDX-License-Identifier: BSD-3-Clause
// How the ranks of a world talk about a fork.
#ifndef PLI_ELASTIC_FORK_TALK_H
#define PLI_ELASTIC_FORK_TALK_H

#include "base/err.h"
#include "boot/ask_wire.h"

#include <stddef.h>

struct pli_comm;

// Whether all ranks have come this far and mean the same m; else the reason of the first that has
// not, at all of them.
enum pli_err pli_fork_talk_agree(struct pli_comm *world, int m, enum pli_err mine);

// Rank 0 asks the launcher; all get the answer.
enum pli_err pli_fork_talk_ask(struct pli_comm *world, enum pli_ask_kind kind, const void *body,
                               size_t len, struct pli_answer *answer);

#endif
