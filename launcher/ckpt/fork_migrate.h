// SPDX-License-Identifier: BSD-3-Clause
// Clones that go to another host before they are ranks: split off where their parent is, written to
// an image there by one daemon, and restored by the other. Context: a daemon.
#ifndef PLI_LAUNCHER_FORK_MIGRATE_H
#define PLI_LAUNCHER_FORK_MIGRATE_H

#include <stdint.h>
#include <sys/types.h>

struct pli_answer;
struct pli_dframe;
struct pli_job;
struct pli_proc_task;

// A clone with this index will leave this host, or come here. What is wrong here is in `a`.
void pli_fork_migrate_expect_outgoing(struct pli_job *job, uint32_t index, struct pli_answer *a);
void pli_fork_migrate_expect_incoming(struct pli_job *job, uint32_t index, struct pli_answer *a);

// PLI_DLINK_SEND_CLONE: the other host is ready for a clone that will leave.
// PLI_DLINK_RESTORE_CLONE: the image of one is in the temporary directory. Other frames are
// ignored.
void pli_fork_migrate_hear(struct pli_job *job, const struct pli_dframe *f);
// It is there, a process of ours (number: as it knows itself); what came with PLI_CTL_FAR.
void pli_fork_migrate_depart(struct pli_proc_task *parent, uint32_t row, pid_t pid, int number,
                             const int own[4]);
void pli_fork_migrate_drop(uint32_t first, uint32_t n); // these are taken back
void pli_fork_migrate_commit(void);                     // the world they came for counts

#endif
