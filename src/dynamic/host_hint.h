// SPDX-License-Identifier: BSD-3-Clause
// Hints that say on which hosts new processes are to be.
#ifndef PLI_DYNAMIC_HOST_HINT_H
#define PLI_DYNAMIC_HOST_HINT_H

#include "base/err.h"
#include "boot/launcher_wire.h"

struct pli_info;
struct pli_lane;
struct pli_spawn_text;

// Put two strings: the hosts of the hint `host`, and those of `add-host`; empty without a hint.
// Names of this host become that by which the job knows it.
void pli_host_hint_put(struct pli_spawn_text *t, struct pli_info *info);

// Ask for a world of this size, new ranks of which go by these hints; as pli_launcher_call.
enum pli_err pli_host_hint_resize(struct pli_lane *lane, int size, struct pli_info *info,
                                  struct pli_answer *answer);

#endif
