// SPDX-License-Identifier: BSD-3-Clause
// Orders to the mpiexec of a job, and its answers.
#ifndef PLI_MPICTL_ORDER_H
#define PLI_MPICTL_ORDER_H

#include "boot/launcher_wire.h"

#include <stdbool.h>
#include <stdint.h>

extern long pli_order_timeout; // seconds that an order waits while the job is busy with another

// A connection to the mpiexec of a job; -1: it does not listen.
int pli_order_dial(long pid);

// Ask over a connection, and close it. False: mpiexec has ended.
bool pli_order_talk(int fd, enum pli_ask_kind kind, const void *body, uint32_t len,
                    struct pli_answer *answer);

// Ask a job. While it is busy with a resize, a checkpoint or a move, the order waits, which a
// terminal shows. Ends mpictl where there is no job that could answer.
void pli_order_ask(long pid, enum pli_ask_kind kind, const void *body, uint32_t len,
                   struct pli_answer *answer);

#endif
