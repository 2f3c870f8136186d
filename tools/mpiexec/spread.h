// SPDX-License-Identifier: BSD-3-Clause
// Which task goes to which host, and who is in which row there.
#ifndef PLI_MPIEXEC_SPREAD_H
#define PLI_MPIEXEC_SPREAD_H

struct pli_job;

// Give every task its host. Hosts without a task are dropped; when all is on this machine there are
// no hosts at all, and nothing needs to be reached.
void pli_spread_tasks(struct pli_job *job);

// Make job->procs of all tasks of the job: the rows of a host in the order of ranks.
void pli_spread_number(struct pli_job *job);

#endif
