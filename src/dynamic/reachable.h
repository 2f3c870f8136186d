// SPDX-License-Identifier: BSD-3-Clause
// Whether the processes of two jobs can reach each other, and whether one has ended.
#ifndef PLI_DYNAMIC_REACHABLE_H
#define PLI_DYNAMIC_REACHABLE_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct pli_comm;

// Jobs that were started separately can connect only if all ranks that take part are on one host.
// Fails if `proc`, a process or the number of a job, is of another job and the members of comm are
// on several hosts.
enum pli_err pli_reachable_check(const struct pli_comm *comm, uint64_t proc);
// Fails if a port on a host of this name cannot be reached.
enum pli_err pli_reachable_check_host(const char *host);
// The error for a job that IMPI has joined to this one.
enum pli_err pli_reachable_refuse_joined(void);

// Whether a process of this job, or of a job that this one is connected to, has ended.
bool pli_reachable_has_ended(uint64_t proc);

#endif
