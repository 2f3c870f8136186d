// SPDX-License-Identifier: BSD-3-Clause
// Images of a job on several hosts are in the hands of its daemons: what mpiexec knew of the job
// when they were made, it learns from them.
#ifndef PLI_LAUNCHER_RESTART_HOSTS_H
#define PLI_LAUNCHER_RESTART_HOSTS_H

#include <stdint.h>

struct pli_job;
struct pli_pack;
struct pli_unpack;

// In a daemon, once its ranks are restored.
void pli_restart_hosts_pack(struct pli_job *job, struct pli_pack *to);
// In mpiexec: what a host has packed; and when all have.
void pli_restart_hosts_take(struct pli_job *job, uint32_t host, struct pli_unpack *from);
void pli_restart_hosts_done(struct pli_job *job);

#endif
