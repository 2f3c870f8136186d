// SPDX-License-Identifier: BSD-3-Clause
// Checkpoints of a job on several hosts: what mpiexec and its daemons tell each other, and that all
// of them see the same directory.
#ifndef PLI_LAUNCHER_CKPT_HOSTS_H
#define PLI_LAUNCHER_CKPT_HOSTS_H

#include <stdbool.h>
#include <stdint.h>

struct pli_job;
struct pli_unpack;

// In mpiexec. Leave a mark in the directory, by which daemons know it; false with a message.
bool pli_ckpt_hosts_mark(struct pli_job *job);
bool pli_ckpt_hosts_mark_dir(struct pli_job *job); // only the directory
void pli_ckpt_hosts_unmark(void);
// All daemons are there, and no rank has been started.
void pli_ckpt_hosts_begin(struct pli_job *job);
// The part of the node memory that is about checkpoints has changed: do what the role does then;
// and send it to all daemons.
void pli_ckpt_hosts_tell(struct pli_job *job);
void pli_ckpt_hosts_send(struct pli_job *job);

// In a daemon. Ends with a message when the directory is not the one that mpiexec has.
void pli_ckpt_hosts_check(const struct pli_job *job, uint64_t job_id);
void pli_ckpt_hosts_hear(struct pli_job *job, struct pli_unpack *from);

#endif
