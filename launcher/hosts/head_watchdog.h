// SPDX-License-Identifier: BSD-3-Clause
// The files of --profile and --timeline of a job on several hosts whose mpiexec was killed:
// watchdogs outlive it. The one beside mpiexec has its listener, and those of the hosts call it.
#ifndef PLI_LAUNCHER_HEAD_WATCHDOG_H
#define PLI_LAUNCHER_HEAD_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>

struct pli_job;

// Where files are asked for: start the watchdog that writes them, before the tasks are started, and
// again when hosts have joined. False with a message.
bool pli_head_watchdog_start(struct pli_job *job);
// Tell a host, or PLI_DLINK_ALL, where to call then.
void pli_head_watchdog_tell(uint32_t host);

#endif
