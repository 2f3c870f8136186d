// SPDX-License-Identifier: BSD-3-Clause
// What a daemon knows of itself, and how it tells mpiexec what happens on its host.
#ifndef PLI_LAUNCHER_DAEMON_H
#define PLI_LAUNCHER_DAEMON_H

#include "launcher/hosts/daemon_auth.h"
#include "launcher/hosts/daemon_spec.h"
#include "launcher/hosts/dlink.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pli_case;

// pli_launcher.daemon, in the role of that name.
struct pli_daemon {
    struct pli_daemon_spec spec;
    int signals;             // a descriptor
    char **program;          // argv, for the watchdog
    struct pli_dlink up;     // to mpiexec, or to the daemon that started this one
    struct pli_dlink *below; // to the daemons started from here
    uint32_t n_below;
    uint32_t *last_state; // of each row, as told
    struct pli_timer look_timer;
    bool has_begun, is_running, is_leaving, is_bad_end, has_told_rest;
    bool is_stuck;   // as told
    uint64_t mark;   // as told
    unsigned n_look; // at the ranks
    uint32_t n_set;  // process sets looked at
    pli_daemon_auth_came_fn came;
};

// Tell mpiexec.
void pli_daemon_send(uint16_t kind, uint16_t flag, uint32_t a, const void *data, size_t len);
// Tell what is new about the ranks here, and what they have made.
void pli_daemon_look(void);
// Something happened to a rank here.
void pli_daemon_report(const struct pli_case *c);
// Listen for images of ranks: see pli_image_transfer_open.
bool pli_daemon_dock(struct pli_daemon_auth_place *out, char *why);

#endif
