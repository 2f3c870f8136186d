// SPDX-License-Identifier: BSD-3-Clause
// Starts processes of a running job on the host of a daemon, as spawn_head.h orders.
#ifndef PLI_LAUNCHER_SPAWN_DAEMON_H
#define PLI_LAUNCHER_SPAWN_DAEMON_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct pli_dframe;
struct pli_job;
struct pli_proc_task;

// Do what a frame of kind PLI_DLINK_EXPECT, GO or DROP says, and tell mpiexec what became of it.
void pli_spawn_daemon_coming(struct pli_job *job, const struct pli_dframe *f);
void pli_spawn_daemon_go(struct pli_job *job, const struct pli_dframe *f);
void pli_spawn_daemon_drop(struct pli_job *job, const struct pli_dframe *f);

// A clone of a rank of `from` has come, see pli_spawn_clone. False: it is not expected.
bool pli_spawn_daemon_clone(struct pli_proc_task *from, uint32_t row, pid_t pid, const int fds[4]);
// The world they came for counts: all are there.
void pli_spawn_daemon_commit(void);

struct pli_spawn_daemon_order;

// Processes that will be started here: pli_launcher.spawn_daemon.
struct pli_spawn_daemon_state {
    struct pli_spawn_daemon_order *orders; // processes that mpiexec has announced
};

#endif
