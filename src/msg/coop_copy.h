// SPDX-License-Identifier: BSD-3-Clause
// Large messages between threads of one process: both threads copy.
#ifndef PLI_MSG_COOP_COPY_H
#define PLI_MSG_COOP_COPY_H

#include <stdbool.h>

struct pli_conn;
struct pli_lane;
struct pli_request;
struct pli_shm_cell;

// Whether it is worth while to ask the sender's thread for help.
bool pli_coop_copy_is_worth(const struct pli_request *send, const struct pli_request *recv);

// Copy all of the message with whatever help the sender gives, and see to it that both requests
// end. False: no memory, nothing was begun. Context: receiver's lane locked.
bool pli_coop_copy_copy(const struct pli_request *send, struct pli_request *recv,
                        struct pli_conn *from);

// The receiver asks for help. Context: sender's lane locked.
void pli_coop_copy_help(struct pli_lane *lane, const struct pli_shm_cell *cell);

#endif
