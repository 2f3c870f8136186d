// SPDX-License-Identifier: BSD-3-Clause
// Counts which spawned processes other worlds still refer to: a spawned process that has ended
// gives its memory back when no process of another world has a communicator with it any more.
#ifndef PLI_OBJ_COMM_HOLD_H
#define PLI_OBJ_COMM_HOLD_H

struct pli_comm;

// Count the communicator at its spawned members of other worlds; note when it has members of other
// jobs. Local. Context: the communicator is complete and no other thread knows it.
void pli_comm_hold(struct pli_comm *c);
void pli_comm_hold_end(struct pli_comm *c);

#endif
