// SPDX-License-Identifier: BSD-3-Clause
// The watchdog of a host is a daemon once more, which only knows what its ranks recorded. It calls
// by itself, whichever daemon started it, because a daemon between may be gone.
#include "launcher/hosts/daemon_watchdog.h"

#include "launcher/base/launcher.h"
#include "launcher/hosts/daemon_auth.h"
#include "launcher/hosts/daemon_state.h"
#include "launcher/hosts/trace_collect.h"
#include "launcher/job/job.h"
#include "launcher/observe/trace_memory.h"
#include "launcher/ranks/watchdog.h"

enum { SERVE_MS = 90000 };

static void hear_up(struct pli_dlink *l, const struct pli_dframe *f)
{
    (void)l;
    if (f->kind == PLI_DLINK_QUIT) {
        pli_launcher.daemon->is_leaving = true;
    } else {
        pli_trace_collect_asked(f);
    }
}

static void lost_up(struct pli_dlink *l, const char *why)
{
    (void)l;
    (void)why;
    pli_launcher.daemon->is_leaving = true;
}

static bool has_left(void)
{
    return pli_launcher.daemon->is_leaving;
}

static void serve(const struct pli_job *job)
{
    struct pli_daemon *daemon = pli_launcher.daemon;
    struct pli_daemon_handshake_keys keys;
    char why[1024];
    int fd = pli_daemon_auth_call(&daemon->rescue, daemon->spec.secret, job->here, &keys, why,
                                  sizeof why);
    if (fd >= 0 && pli_loop_begin_anew()) {
        daemon->is_leaving = false;
        daemon->up = (struct pli_dlink){ .hear = hear_up, .lost = lost_up };
        pli_dlink_open(&daemon->up, fd, &keys);
        pli_loop_until(has_left, SERVE_MS);
        pli_dlink_close(&daemon->up);
    }
}

bool pli_daemon_watchdog_told(const struct pli_dframe *f)
{
    struct pli_unpack u = { f->data, (const unsigned char *)f->data + f->len, false };
    if (f->kind == PLI_DLINK_RESCUE) {
        pli_daemon_addr_unpack(&pli_launcher.daemon->rescue, &u);
    }
    return f->kind == PLI_DLINK_RESCUE;
}

const struct pli_watchdog_after *pli_daemon_watchdog_after(void)
{
    static struct pli_watchdog_after after = { .fn = serve, .n_fd = 1 };
    after.fds[0] = pli_launcher.trace_memory->started.fd;
    bool is_on = pli_launcher.trace_memory->started.header != NULL;
    return is_on && pli_launcher.daemon->rescue.n_addr > 0 ? &after : NULL;
}
