// SPDX-License-Identifier: BSD-3-Clause
// What mpiexec of a job on several hosts keeps about its hosts.
#ifndef PLI_LAUNCHER_HEAD_STATE_H
#define PLI_LAUNCHER_HEAD_STATE_H

#include "launcher/hosts/daemon_addr.h"
#include "launcher/hosts/daemon_spec.h"
#include "launcher/hosts/dlink.h"

struct pli_host_table;

// One host, as seen from here.
struct pli_head_host {
    struct pli_dlink link; // of those that we started ourselves
    bool is_up, is_lost, is_shown;
    bool is_traced;  // all that its ranks recorded is here
    bool is_stuck;   // all its ranks seem to wait, by what it last said
    bool is_sure;    // by its last answer: they have looked after the question
    uint32_t n_over; // tasks
    uint32_t round;  // the last question it has answered
    uint64_t mark;   // in that answer
    uint32_t n_poll; // ranks that poll, by it
};

// pli_launcher.head, in the role of that name.
struct pli_head {
    char **program;                   // argv, for the watchdog
    struct pli_daemon_spec spec;      // what daemons are told
    struct pli_daemon_addr place;     // where they call
    struct pli_head_host *hosts;      // by host
    struct pli_host_table *host_info; // by host, what they have said of themselves
    char **sites;                     // by row, where a rank waits; NULL: not known
    uint32_t n_up, this_round;
    bool is_started, is_leaving;
    void (*on_shown)(void);
    struct pli_pack ended; // tasks that not all hosts know of
    struct pli_timer ended_timer, show_timer, leave_timer, progress_timer;
    struct pli_timer clock_timer; // asks for the clocks of hosts while something is recorded
    uint32_t n_clock_asked;
    // What is done with frames of a host of the job, and when it is lost.
    void (*hear)(struct pli_dlink *l, const struct pli_dframe *f);
    void (*lost)(struct pli_dlink *l, const char *why);
};

#endif
