// SPDX-License-Identifier: BSD-3-Clause
// mpiexec's side of a job on several hosts: the daemons, and what they tell.
#ifndef PLI_LAUNCHER_HEAD_H
#define PLI_LAUNCHER_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pli_daemon_auth_place;
struct pli_job;
struct pli_dlink;
struct pli_host_table;
struct pli_daemon_spec;
struct pli_proc_task;

// Start the daemons; when all have called, the tasks are started. False with a message.
bool pli_head_begin(struct pli_job *job);

// All daemons and, in an IMPI job, all agents are there: start the tasks.
void pli_head_start(void);
// A word for the agent of a host.
void pli_head_tell_agent(uint32_t host, int word, const void *data, size_t len);

// Send a signal to all tasks but one (NULL: to all).
enum { PLI_HEAD_RANKS = 1, PLI_HEAD_ENDING = 2 }; // not to helpers of scripts; the job ends for it
void pli_head_signal(int sig, const struct pli_proc_task *but, uint16_t flags);

// Input for a task; none: its end.
void pli_head_input(const struct pli_proc_task *task, const void *data, size_t len);

// Whether every rank that is left on any host sleeps inside MPI, as far as is known, with a mark
// that changes when one wakes. Asks the hosts anew when they all seem to.
bool pli_head_is_stuck(uint64_t *mark_out);

// Get what all ranks wait for into job->node, then call `done`.
void pli_head_show(void (*done)(void));
bool pli_head_is_showing(void);          // somebody waits for that
const char *pli_head_site(uint32_t row); // where its rank waits, "": not known

// A word to a host, or to PLI_DLINK_ALL.
void pli_head_send(uint32_t host, uint16_t kind, uint16_t flag, uint32_t a, const void *data,
                   size_t len);

// A task that came later is about to be started on its host.
void pli_head_add(struct pli_proc_task *task);

// The link to a host, and what daemons are reached with and have said; for migrate_ranks.c and
// host_join.c.
struct pli_head_means {
    const struct pli_daemon_spec *spec;
    const struct pli_daemon_auth_place *place;
    struct pli_host_table *rolls; // by host
    bool is_started;
};
struct pli_dlink *pli_head_side(uint32_t host, struct pli_head_means *out);

// The host behind the last one has said hello, over its link, and is one of the job from now on.
void pli_head_admit(void);

// All is over: the daemons leave. is_bad: they look for what is left of the job first.
void pli_head_finish(bool is_bad);

#endif
