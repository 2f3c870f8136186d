// SPDX-License-Identifier: BSD-3-Clause
// The daemons' side of a move: one gives its ranks away, the other takes them. See migrate_ranks.h.
#ifndef PLI_LAUNCHER_MIGRATE_DAEMON_H
#define PLI_LAUNCHER_MIGRATE_DAEMON_H

#include <stdbool.h>

struct pli_dframe;
struct pli_job;
struct pli_proc_task;
struct pli_unpack;

// In the daemon that gives them away: the images are to be made, and where they go follows; whether
// all the ranks wrote is on its way and the images are there (else the step is tried again); that
// all stays here; and a rank that has children, NULL: none has.
void pli_migrate_daemon_dump(struct pli_unpack *u);
bool pli_migrate_daemon_is_sent(void);
void pli_migrate_daemon_cancel(void);
const struct pli_proc_task *pli_migrate_daemon_parent(const struct pli_job *job);

// In the one that takes them: it is there, and ready for images. Does not return when it cannot.
void pli_migrate_daemon_ready(void);
void pli_migrate_daemon_take(struct pli_job *job, const struct pli_dframe *f);
void pli_migrate_daemon_restored(void); // they are there, and will be called
void pli_migrate_daemon_all_back(struct pli_job *job);
void pli_migrate_daemon_begin(struct pli_job *job, const struct pli_dframe *f); // they are ours

#endif
