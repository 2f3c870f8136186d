// SPDX-License-Identifier: BSD-3-Clause
// The socket through which mpictl talks to a running mpiexec.
#ifndef PLI_LAUNCHER_CONTROL_H
#define PLI_LAUNCHER_CONTROL_H

#include <stdbool.h>

struct pli_job;

// Listen; only the user who started the job is heard. False with a message.
bool pli_control_open(struct pli_job *job);

#endif
