// SPDX-License-Identifier: BSD-3-Clause
// Parking: all threads of the process stand still inside a signal handler, and the process holds
// nothing that ties it to others: no shared memory, no socket. So it can be dumped, wherever it
// was. Called back, it maps the node memory where it was before and goes on as if nothing had been.
#ifndef PLI_CKPT_FREEZE_H
#define PLI_CKPT_FREEZE_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct pli_boot;
struct pli_node;

// Be ready to be parked. fd is the node memory, *ctl the control socket: closed while parked,
// another one afterwards. Context: start-up only.
enum pli_err pli_freeze_open(struct pli_boot *boot, int fd, int *ctl);

// Between the two this process has a connection to the launcher and cannot be dumped; a checkpoint
// waits. Context: any thread.
void pli_freeze_hold(void);
void pli_freeze_let(void);

// This process can never be dumped; why, in words that stay.
void pli_freeze_forbid(const char *why);

// Whether this process may be parked.
bool pli_freeze_is_open(void);

// Asked before: whether the process has nothing that cannot be given up in a signal handler; else
// it sees to that, and is asked again 20 ms later. Async-signal-safe. Context: start-up only, one
// function.
void pli_freeze_on_ask(bool (*fn)(void));

// Called when all threads stand still, and once more after the return, before they go on: for what
// the kernel knew of the process and does not any more. Async-signal-safe. Context: start-up only,
// one function.
void pli_freeze_on_move(void (*fn)(bool is_leaving));

// For a process that goes to another host as an image, because it wants to (native/travel.c).
// Give up the node memory, wherever it is mapped; false: nothing was changed. Context: the only
// thread.
bool pli_freeze_unmap(const struct pli_node *node);

// What it finds there.
struct pli_freeze_place {
    uint32_t row;
    int ctl, door;
};
// Wait at the rope, be dumped and restored, and get the memory of the host it is on then. Does not
// return when the launcher is gone.
enum pli_err pli_freeze_land(int rope, struct pli_node *node_out, struct pli_freeze_place *out);

// Ask the launcher for a checkpoint; the node memory says when it is over. False: it is gone.
// Context: any thread.
bool pli_freeze_ask(void);

#endif
