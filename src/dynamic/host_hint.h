// SPDX-License-Identifier: BSD-3-Clause
// The hints that say on which hosts new processes are started.
#ifndef PLI_DYNAMIC_HOST_HINT_H
#define PLI_DYNAMIC_HOST_HINT_H

#include "base/err.h"
#include "boot/launcher_wire.h"

struct pli_info;
struct pli_lane;
struct pli_spawn_buf;

// Append two strings: the hosts of the hint `host` and those of `add-host`, empty without the hint.
// Names of this host are replaced by the one that the job knows.
void pli_host_hint_put(struct pli_spawn_buf *t, struct pli_info *info);

// Ask the launcher for a world of this size; the hints say where new ranks go. Otherwise as
// pli_launcher_call.
enum pli_err pli_host_hint_resize(struct pli_lane *lane, int size, struct pli_info *info,
                                  struct pli_answer *answer);

#endif
