// SPDX-License-Identifier: BSD-3-Clause
// Requests to the mpiexec of a job, and its answers.
#ifndef PLI_MPICTL_CTL_REQUEST_H
#define PLI_MPICTL_CTL_REQUEST_H

#include "boot/launcher_wire.h"

#include <stdbool.h>
#include <stdint.h>

// Seconds that a request waits while the job is busy with another.
extern long pli_ctl_request_timeout;

// A connection to the mpiexec of a job; -1: it does not listen.
int pli_ctl_request_connect(long pid);

// Ask over a connection, and close it. False: mpiexec has ended.
bool pli_ctl_request_exchange(int fd, enum pli_ask_kind kind, const void *body, uint32_t len,
                              struct pli_answer *answer);

// Ask a job. While it is busy with a resize, a checkpoint or a move, the request waits, which a
// terminal shows. Ends mpictl where there is no job that could answer.
void pli_ctl_request_send(long pid, enum pli_ask_kind kind, const void *body, uint32_t len,
                          struct pli_answer *answer);

#endif
