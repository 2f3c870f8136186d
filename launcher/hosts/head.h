// SPDX-License-Identifier: BSD-3-Clause
// What mpiexec of a job on several hosts knows of the hosts, and how it tells them something.
#ifndef PLI_LAUNCHER_HEAD_H
#define PLI_LAUNCHER_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pli_daemon_addr;
struct pli_daemon_spec;
struct pli_dlink;
struct pli_host_table;
struct pli_job;
struct pli_output_lines;
struct pli_proc_task;

// Send a frame to a host, or to PLI_DLINK_ALL.
void pli_head_send(uint32_t host, uint16_t kind, uint16_t flag, uint32_t a, const void *data,
                   size_t len);

// Send a message to the agent of a host.
void pli_head_tell_agent(uint32_t host, int word, const void *data, size_t len);

// Send a signal to all tasks but one (NULL: to all); flags: PLI_SIGNAL_.
void pli_head_signal(struct pli_job *job, int sig, const struct pli_proc_task *but, uint16_t flags);

// Input for a task; none: its end.
void pli_head_input(const struct pli_proc_task *task, const void *data, size_t len);
// So many bytes of a task's output have been printed: its host may send as many again.
void pli_head_credit(struct pli_output_lines *s, size_t n);

// A task is about to be started on its host, after the start of the job.
void pli_head_add(struct pli_proc_task *task);

// The connection to a host.
struct pli_dlink *pli_head_link(uint32_t host);
// What daemons are told before they call back, and the addresses that they call.
const struct pli_daemon_spec *pli_head_spec(void);
const struct pli_daemon_addr *pli_head_addr(void);
// What the daemon of each host has said about its host.
struct pli_host_table *pli_head_host_info(void);
// How many hosts the job began with; those that joined later follow them in the list of hosts.
uint32_t pli_head_n_first(void);
bool pli_head_is_started(void); // the tasks were started on all hosts
// The host after the last one has said hello, over its link, and is one of the job from now on.
void pli_head_admit(void);

#endif
