// SPDX-License-Identifier: BSD-3-Clause
// What mpiexec of a job on several hosts knows of the hosts, and how it tells them something.
#ifndef PLI_LAUNCHER_HEAD_H
#define PLI_LAUNCHER_HEAD_H

#include "launcher/hosts/daemon_auth.h"
#include "launcher/hosts/daemon_spec.h"
#include "launcher/hosts/dlink.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pli_host_table;
struct pli_job;
struct pli_output_lines;
struct pli_proc_task;

// One host, as seen from here.
struct pli_head_side {
    struct pli_dlink link; // of those that we started ourselves
    bool is_up, is_lost, is_shown;
    bool is_stuck;   // by its last word
    uint32_t n_over; // tasks
    uint32_t round;
    uint64_t mark;
    int64_t balance; // messages its ranks sent to other hosts less those they got from there
};

// pli_launcher.head, in the role of that name.
struct pli_head {
    struct pli_daemon_spec spec;        // what daemons are told
    struct pli_daemon_auth_place place; // where they call
    struct pli_head_side *sides;        // by host
    struct pli_host_table *rolls;       // by host, what they have said of themselves
    char **sites;                       // by row, where a rank waits; NULL: not known
    uint32_t n_up, this_round;
    bool is_started, is_leaving;
    void (*on_shown)(void);
    struct pli_pack ended; // tasks that not all hosts know of
    struct pli_timer ended_timer, show_timer, leave_timer;
    // What is done with frames of a host of the job, and when it is lost.
    void (*hear)(struct pli_dlink *l, const struct pli_dframe *f);
    void (*lost)(struct pli_dlink *l, const char *why);
};

// A word to a host, or to PLI_DLINK_ALL.
void pli_head_send(uint32_t host, uint16_t kind, uint16_t flag, uint32_t a, const void *data,
                   size_t len);

// A word for the agent of a host.
void pli_head_tell_agent(uint32_t host, int word, const void *data, size_t len);

// Send a signal to all tasks but one (NULL: to all); flags: PLI_SIGNAL_.
void pli_head_signal(struct pli_job *job, int sig, const struct pli_proc_task *but, uint16_t flags);

// Input for a task; none: its end.
void pli_head_input(const struct pli_proc_task *task, const void *data, size_t len);
// So many bytes of a task's output have been printed: its host may send as many again.
void pli_head_took(struct pli_output_lines *s, size_t n);

// A task that came later is about to be started on its host.
void pli_head_add(struct pli_proc_task *task);

// The link to a host, and what daemons are reached with and have said.
struct pli_head_means {
    const struct pli_daemon_spec *spec;
    const struct pli_daemon_auth_place *place;
    struct pli_host_table *rolls; // by host
    bool is_started;
};
struct pli_dlink *pli_head_side(uint32_t host, struct pli_head_means *out);

// The host behind the last one has said hello, over its link, and is one of the job from now on.
void pli_head_admit(void);

#endif
