// SPDX-License-Identifier: BSD-3-Clause
// Writes why a host could not be reached.
#ifndef PLI_LAUNCHER_SSH_ERROR_H
#define PLI_LAUNCHER_SSH_ERROR_H

#include <stddef.h>

// One sentence or a few. host: NULL when srun was to start all; tool: what reaches the host; agent:
// the program to run there; status: as wait gives it, -1: still running; said: its last output.
void pli_ssh_error_write(const char *host, const char *tool, const char *agent, int status,
                         const char *said, char *to, size_t cap);

#endif
