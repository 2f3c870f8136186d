// SPDX-License-Identifier: BSD-3-Clause
// What the watchdogs say to each other is what mpiexec and its daemons say at the end of a job: the
// clocks are asked for, and then what was recorded. Each host calls by itself, whichever daemon
// started it, because a daemon between may be gone.
#include "launcher/hosts/head_watchdog.h"

#include "launcher/base/launcher.h"
#include "launcher/base/loop.h"
#include "launcher/base/say.h"
#include "launcher/hosts/daemon_auth.h"
#include "launcher/hosts/head.h"
#include "launcher/hosts/head_state.h"
#include "launcher/hosts/trace_collect.h"
#include "launcher/job/job.h"
#include "launcher/ranks/watchdog.h"

#include <stdlib.h>
#include <unistd.h>

enum { CALL_MS = 20000 }; // until all hosts have called: each kills its ranks first

static void wake(struct pli_timer *t)
{
    (void)t;
}

static void hear_host(struct pli_dlink *l, const struct pli_dframe *f)
{
    if (f->host == l->host) {
        pli_trace_collect_told(pli_launcher.job, l->host, f);
    }
}

static void host_lost(struct pli_dlink *l, const char *why)
{
    (void)why;
    pli_launcher.head->hosts[l->host].is_lost = true;
}

static void came(int fd, uint32_t host, const struct pli_daemon_handshake_keys *keys)
{
    struct pli_head *head = pli_launcher.head;
    if (host >= pli_launcher.job->n_host || head->hosts[host].is_up) {
        close(fd);
        return;
    }
    struct pli_head_host *side = &head->hosts[host];
    side->link = (struct pli_dlink){ .host = host, .hear = hear_host, .lost = host_lost };
    side->is_up = true;
    head->n_up++;
    pli_dlink_open(&side->link, fd, keys);
}

static bool are_all_here(void)
{
    return pli_launcher.head->n_up == pli_launcher.job->n_host;
}

// As mpiexec was when the tasks were started, with a link to every host.
static void become_head(const struct pli_job *job)
{
    const struct pli_head *was = pli_launcher.head;
    struct pli_head *head = pli_say_need(calloc(1, sizeof *head));
    head->spec = was->spec;
    head->spec.tree.fan = head->spec.tree.n = job->n_host;
    head->leave_timer.fire = wake;
    head->is_started = true;
    head->hosts = pli_say_need(calloc(job->n_host, sizeof *head->hosts));
    for (uint32_t h = 0; h < job->n_host; h++) {
        head->hosts[h].link.watch.fd = -1;
        head->hosts[h].is_up = head->hosts[h].is_lost = was->hosts[h].is_lost;
        head->n_up += head->hosts[h].is_lost;
    }
    pli_launcher.head = head;
}

static void collect(const struct pli_job *job)
{
    pli_trace_collect_killed();
    become_head(job);
    if (pli_loop_begin_anew() && pli_daemon_auth_inherit(came)) {
        pli_loop_until(are_all_here, CALL_MS);
        pli_trace_collect_write(job);
    }
}

bool pli_head_watchdog_start(struct pli_job *job)
{
    struct pli_watchdog_after after = { .fn = collect, .has_no_ranks = true };
    after.n_fd = pli_trace_collect_keep(job, after.fds);
    if (after.n_fd == 0) {
        return true;
    }
    pli_watchdog_stop();
    after.fds[after.n_fd++] = pli_launcher.daemon_auth->listener.fd;
    return pli_watchdog_start(job, pli_launcher.head->program, &after);
}

void pli_head_watchdog_tell(uint32_t host)
{
    struct pli_pack p = { 0 };
    if (pli_launcher.watchdog->pid > 0) {
        pli_daemon_addr_pack(pli_head_addr(), &p);
        pli_head_send(host, PLI_DLINK_RESCUE, 0, 0, p.data, p.len);
        pli_pack_fini(&p);
    }
}
