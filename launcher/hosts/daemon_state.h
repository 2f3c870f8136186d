// SPDX-License-Identifier: BSD-3-Clause
// What a daemon keeps about itself, its connections and its ranks.
#ifndef PLI_LAUNCHER_DAEMON_STATE_H
#define PLI_LAUNCHER_DAEMON_STATE_H

#include "launcher/hosts/daemon_spec.h"
#include "launcher/hosts/dlink.h"

struct pli_rank_failure;

// What a daemon does besides that was started as a job that joins, see join_client.h.
struct pli_daemon_client {
    void (*failed)(const struct pli_rank_failure *c); // something happened to a rank here
    void (*lost)(const char *why);                    // the connection to mpiexec
    void (*step)(void);                               // after each turn of the loop
    void (*drain)(void);                              // this process ends
};

// pli_launcher.daemon, in the role of that name.
struct pli_daemon {
    struct pli_daemon_spec spec;
    int signals;             // a descriptor
    char **program;          // argv, for the watchdog
    struct pli_dlink up;     // to mpiexec, or to the daemon that started this one
    struct pli_dlink *below; // to the daemons started from here
    uint32_t n_below;
    struct pli_daemon_addr rescue; // where the watchdog calls when mpiexec was killed; or nowhere
    uint32_t *last_state;          // of each row, as told
    struct pli_timer look_timer;
    bool has_begun, is_running, is_leaving, is_bad_end, has_told_rest;
    bool is_up_lost;                        // mpiexec is gone, and has not ended the job
    bool is_stuck;                          // as told
    uint32_t round;                         // mpiexec's question that is to be answered, 0: none
    unsigned n_look;                        // at the ranks
    uint32_t n_set_change;                  // process sets looked at, see pset.h
    const struct pli_daemon_client *client; // NULL: it was not started so
};

#endif
