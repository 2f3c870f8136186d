// SPDX-License-Identifier: BSD-3-Clause
// Asking the launcher for something.
#ifndef PLI_DYNAMIC_LAUNCHER_CALL_H
#define PLI_DYNAMIC_LAUNCHER_CALL_H

#include "base/err.h"
#include "boot/launcher_wire.h"

#include <stddef.h>

struct pli_lane;

// Send a request and wait for the answer; messages of the lane are handled meanwhile, where the
// answer may take its time: NULL is for others. Only trouble
// on the way is an error here: what the launcher thinks of the request is in the answer.
// Context: any thread, no lock held.
enum pli_err pli_launcher_call(struct pli_lane *lane, enum pli_ask_kind kind, const void *body,
                               size_t len, struct pli_answer *answer);

#endif
