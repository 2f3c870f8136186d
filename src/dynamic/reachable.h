// SPDX-License-Identifier: BSD-3-Clause
// Whether two groups of processes can meet, and whether somebody is still there.
#ifndef PLI_DYNAMIC_REACHABLE_H
#define PLI_DYNAMIC_REACHABLE_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct pli_comm;
struct pli_node;

// Jobs that were started separately meet where all who take part are on one host. Whether those of
// comm are, if `proc` is a process of another job, or that job; a sentence where not.
enum pli_err pli_reachable_check(const struct pli_comm *comm, uint64_t proc);
// Whether a job on a host of this name can be met.
enum pli_err pli_reachable_check_host(const char *host);
// The sentence for a job that IMPI has joined to this one.
enum pli_err pli_reachable_refuse_joined(void);

// Whether the process that looks after a job is still there.
bool pli_reachable_has_launcher(const struct pli_node *node);
// Whether a process, of this job or of one that was met, has ended.
bool pli_reachable_is_gone(uint64_t proc);

#endif
