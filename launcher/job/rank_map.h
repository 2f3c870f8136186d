// SPDX-License-Identifier: BSD-3-Clause
// Decides which task goes to which host, and which process gets which row there.
#ifndef PLI_LAUNCHER_RANK_MAP_H
#define PLI_LAUNCHER_RANK_MAP_H

#include <stdbool.h>
#include <stdint.h>

struct pli_host;
struct pli_job;
struct pli_proc_task;

// Give every task its host. Hosts without a task are dropped; when all is on this machine there are
// no hosts at all, and nothing needs to be reached.
void pli_rank_map_tasks(struct pli_job *job);

// How many of n_rank ranks each host takes in one round: its slots, or its part of what is left.
void pli_rank_map_shares(const struct pli_host *hosts, uint32_t n_host, uint32_t n_rank,
                         uint32_t *share);
// Put a task on a host.
void pli_rank_map_put(struct pli_job *job, struct pli_proc_task *t, uint32_t h);

// Make job->procs of all tasks of the job: the rows of a host in the order of ranks.
void pli_rank_map_number(struct pli_job *job);

// Hosts for n processes that are started later: hosts_io[at] and those after it. `at` others of the
// same request have theirs already. They go to those with most room for their slots; may: by host,
// whether it is allowed, NULL: all are. False: they take no more.
bool pli_rank_map_more(const struct pli_job *job, uint32_t *hosts_io, uint32_t at, uint32_t n,
                       const bool *may);

// Hosts for n clones, in hosts_io where their parents are: those that are wanted, in turn; without
// any, the parent's host while it has a free slot, or none of the list has any, then the one with
// most free slots. Whether one goes to another host than its parent's.
bool pli_rank_map_clones(const struct pli_job *job, uint32_t *hosts_io, uint32_t n,
                         const uint32_t *wanted, uint32_t n_wanted);

#endif
