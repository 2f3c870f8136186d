// SPDX-License-Identifier: BSD-3-Clause
// Lets hosts join a running job, one group at a time. Their entries follow the last one of the list
// of hosts, and count when all have said hello. A daemon of an attempt that was given up may call
// later: each has a number of its own, by which it is known.
#include "launcher/hosts/host_join.h"

#include "launcher/base/launcher.h"
#include "launcher/job/host_names.h"
#include "launcher/job/ckpt_hooks.h"
#include "base/conf.h"
#include "base/fault.h"
#include "boot/launcher_wire.h"
#include "launcher/hosts/head.h"
#include "launcher/job/hosts.h"
#include "launcher/job/job.h"
#include "launcher/hosts/dlink.h"
#include "launcher/hosts/spawn_head.h"
#include "launcher/hosts/join_call.h"
#include "launcher/hosts/join_replay.h"
#include "launcher/hosts/ssh.h"
#include "launcher/hosts/head_watchdog.h"
#include "launcher/base/refuse.h"
#include "launcher/ranks/resize.h"
#include "launcher/hosts/host_table.h"
#include "launcher/base/say.h"
#include "launcher/hosts/daemon_spec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIRST_JOIN_ID = 1 << 30, AGAIN_MS = 20, HELLO_S = 60 };

static void go_on(struct pli_timer *t);
static void too_late(struct pli_timer *t);

bool pli_host_join_may_grow(struct pli_answer *a)
{
    if (!pli_head_is_started()) {
        pli_refuse(a, EAGAIN, "the job has not begun yet; try again");
    }
    return a->error == 0;
}

bool pli_host_join_is_missed(const struct pli_job *job, uint32_t host)
{
    for (const struct pli_proc_task *t = pli_job_next(job, NULL); t != NULL;
         t = pli_job_next(job, t)) {
        bool is_new =
            t->is_spawned && (pli_resize_is_new(job, t->first) || pli_spawn_head_is_new(t->number));
        if (t->host == host && !t->is_over && !t->is_dropped && !is_new) {
            return true;
        }
    }
    return false;
}

bool pli_host_join_is_on(void)
{
    struct pli_host_join_state *self = pli_launcher.host_join;
    return self->n > 0;
}

// No host is joining any more.
static void finish(const struct pli_answer *a)
{
    struct pli_host_join_state *self = pli_launcher.host_join;
    pli_host_join_fn done = self->done;
    void *arg = self->arg;
    self->join_id += self->n;
    self->n = self->n_here = 0;
    self->timer.at = self->patience.at = 0;
    pli_launcher.ckpt_hooks->unmark_dir();
    done(arg, a);
}

// All of them go again: a daemon that has called sees the end of its link, and no other is let in.
static void drop_joining(void)
{
    struct pli_host_join_state *self = pli_launcher.host_join;
    for (uint32_t i = 0; i < self->n; i++) {
        pli_dlink_close(pli_head_link(pli_launcher.job->n_host + i));
        pli_ssh_drop(pli_launcher.job->n_host + i);
    }
}

static void give_up(int error, const char *why)
{
    struct pli_answer a = { 0 };
    drop_joining();
    pli_refuse(&a, error, "%s", why);
    finish(&a);
}

static void cannot_reach(uint32_t host, const char *why)
{
    struct pli_host_join_state *self = pli_launcher.host_join;
    if (self->n > 0 && host - pli_launcher.job->n_host < self->n) {
        give_up(EHOSTUNREACH, why);
    }
}

void pli_host_join_caller_lost(uint32_t host)
{
    cannot_reach(host, "the job that wanted to join has ended");
}

static void too_late(struct pli_timer *t)
{
    (void)t;
    give_up(ETIMEDOUT, "not all hosts that were to join have answered for a minute");
}

static void lost(struct pli_dlink *l, const char *why)
{
    struct pli_host_join_state *self = pli_launcher.host_join;
    char text[1200];
    snprintf(text, sizeof text, "host %.64s is lost: %s", pli_launcher.job->hosts[l->host].name,
             why);
    give_up(EHOSTDOWN, self->said[0] != '\0' ? self->said : text);
}

// The addresses of all hosts, and what has become of the job.
static void introduce(uint32_t host, const struct pli_host_table *host_info)
{
    struct pli_pack places = { 0 }, past = { 0 };
    for (uint32_t h = 0; h < pli_launcher.job->n_host; h++) {
        pli_host_table_pack_place(&host_info[h], &places);
    }
    pli_pack_u32(&places, 0); // process sets come with the rest
    pli_head_watchdog_tell(host);
    pli_head_send(host, PLI_DLINK_START, 0, 0, places.data, places.len);
    pli_join_replay_pack(pli_launcher.job, &past);
    pli_head_send(host, PLI_DLINK_REPLAY, 0, 0, past.data, past.len);
    pli_pack_fini(&places);
    pli_pack_fini(&past);
}

// From here on they are hosts as all others.
static void commit(void)
{
    struct pli_host_join_state *self = pli_launcher.host_join;
    struct pli_answer a = { 0 };
    struct pli_job *job = pli_launcher.job;
    uint32_t first = job->n_host;
    pli_fault("mpiexec_join", 0);
    for (uint32_t i = 0; i < self->n; i++) {
        struct pli_pack p = { 0 };
        pli_pack_text(&p, job->hosts[first + i].name);
        pli_host_table_pack_place(&pli_head_host_info()[first + i], &p);
        pli_head_send((uint32_t)PLI_DLINK_ALL, PLI_DLINK_ADDRESS, 0, first + i, p.data, p.len);
        pli_pack_fini(&p);
    }
    for (uint32_t i = 0; i < self->n; i++) {
        pli_head_admit();
    }
    (void)pli_head_watchdog_start(job); // where it cannot be, it has said so, and the job goes on
    for (uint32_t i = 0; i < self->n; i++) {
        introduce(first + i, pli_head_host_info());
        if (job->opt.is_verbose) {
            pli_say("host %s has joined the job", job->hosts[first + i].name);
        }
    }
    pli_launcher.ckpt_hooks->hosts_begin(job);
    pli_fault("mpiexec_joined", 0);
    finish(&a);
}

static void go_on(struct pli_timer *t)
{
    if (pli_launcher.ckpt_hooks->is_stopping()) { // a checkpoint is of the hosts that it began with
        pli_loop_timer(t, (uint64_t)AGAIN_MS * PLI_MS);
    } else {
        commit();
    }
}

static void hear_hello(const struct pli_dlink *l, struct pli_unpack *u)
{
    struct pli_host_join_state *self = pli_launcher.host_join;
    struct pli_answer a = { 0 };
    struct pli_host_table *info = &pli_head_host_info()[l->host];
    *info = (struct pli_host_table){ 0 };
    if (!pli_host_table_unpack(pli_launcher.job, u, info)) {
        pli_refuse(&a, EPROTO, "host %.64s sent something that makes no sense",
                   pli_launcher.job->hosts[l->host].name);
    }
    if (a.error != 0) {
        give_up(a.error, a.text);
    } else if (++self->n_here == self->n) {
        pli_loop_timer(&self->timer, 0);
    }
}

// A frame of a daemon whose host has not joined yet.
static void hear(struct pli_dlink *l, const struct pli_dframe *f)
{
    struct pli_host_join_state *self = pli_launcher.host_join;
    struct pli_unpack u = { f->data, (const unsigned char *)f->data + f->len, false };
    if (f->kind == PLI_DLINK_SAY && self->said[0] == '\0') {
        pli_say_bare(f->data, f->len, self->said, sizeof self->said);
    } else if (f->kind == PLI_DLINK_FAILED) {
        pli_dlink_close(l);
        lost(l, "its daemon cannot go on");
    } else if (f->kind == PLI_DLINK_HELLO) {
        hear_hello(l, &u);
    }
}

bool pli_host_join_came(int fd, uint32_t join_id, const struct pli_daemon_handshake_keys *keys)
{
    struct pli_host_join_state *self = pli_launcher.host_join;
    uint32_t i = join_id - self->join_id;
    if (join_id < FIRST_JOIN_ID) {
        return false;
    }
    struct pli_dlink *l = i < self->n ? pli_head_link(pli_launcher.job->n_host + i) : NULL;
    if (l == NULL || l->watch.fd >= 0) {
        close(fd);
        return true;
    }
    l->host = pli_launcher.job->n_host + i;
    l->hear = hear;
    l->lost = lost;
    pli_dlink_open(l, fd, keys);
    pli_ssh_came(l->host);
    return true;
}

// A job that joins has a program and an environment of its own; of ours it learns the settings,
// which are the same for all.
static bool give_caller(struct pli_join_call *call, struct pli_daemon_spec *spec,
                        const struct pli_job *as, uint32_t host)
{
    struct pli_app *app = &as->apps[0], all = *app; // a job of several programs is not resized
    app->env = pli_say_need(calloc((size_t)all.env_own + 1, sizeof *app->env));
    app->env_said = pli_say_need(calloc((size_t)all.env_own + 1, sizeof *app->env_said));
    app->env_own = 0;
    for (int i = 0; i < all.env_own; i++) {
        if (strncmp(all.env[i], "PLIANT_", 7) == 0) {
            app->env[app->env_own++] = all.env[i];
        }
    }
    pli_daemon_spec_make(spec, as);
    free(app->env);
    free(app->env_said);
    *app = all;
    return pli_join_call_give(call, spec, host);
}

static bool start_one(uint32_t i)
{
    struct pli_host_join_state *self = pli_launcher.host_join;
    uint32_t host = pli_launcher.job->n_host + i;
    struct pli_job as = *pli_launcher.job;
    struct pli_daemon_spec spec = *pli_head_spec();
    struct pli_join_call *call = pli_join_call_find(pli_launcher.job->hosts[host].name);
    as.n_host = pli_launcher.job->n_host + self->n;
    as.n_task = pli_launcher.job->n_first;
    as.opt.restart = NULL;
    as.opt.is_joining = true;
    spec.body = (struct pli_pack){ 0 };
    spec.join_id = self->join_id + i;
    bool is_begun;
    if (call != NULL) {
        is_begun = give_caller(call, &spec, &as, host);
    } else {
        pli_daemon_spec_make(&spec, &as);
        is_begun =
            pli_ssh_one(&spec, host, &pli_launcher.job->hosts[host], pli_head_addr(), cannot_reach);
    }
    pli_pack_fini(&spec.body);
    return is_begun;
}

// Whether the job as a whole can do it.
static void check_job(const struct pli_job *job, const char *list, struct pli_answer *a)
{
    struct pli_host_join_state *self = pli_launcher.host_join;
    const char *why = NULL;
    if (!pli_head_is_started()) {
        pli_refuse(a, EAGAIN, "the job has not begun yet; try again");
    } else if (self->n > 0 || pli_launcher.ckpt_hooks->is_moving()) {
        pli_refuse(a, EBUSY,
                   self->n > 0 ? "other hosts are about to join; try again"
                               : "ranks are being moved; try again");
    } else if (pli_head_spec()->launcher == NULL && !job->opt.is_open_world) {
        why = "its hosts were reached with srun, which starts no daemon later; mpiexec --launcher "
              "ssh lets others join";
    } else if (job->opt.impi_server != NULL) {
        why = "it is part of an IMPI job";
    } else if (strcmp(pli_conf.net, "shm") == 0) {
        why = "PLIANT_NET=shm is for jobs on one host; leave it out, or say shm+tcp";
    }
    if (why != NULL) {
        pli_refuse(a, ENOTSUP, "%.64s cannot join the job: %s", list, why);
    }
}

// Add the hosts of the list that are not of the job after those that are. Returns how many.
static uint32_t list_new(struct pli_job *job, const char *list, uint32_t n_start,
                         struct pli_answer *a)
{
    char name[256];
    struct pli_host as;
    uint32_t n = 0;
    while (a->error == 0 && pli_host_names_next(&list, name, sizeof name, &as, a)) {
        uint32_t h = 0;
        while (h < job->n_host + n && !pli_host_names_is(&job->hosts[h], name)) {
            h++;
        }
        if (h < job->n_host) {
            continue;
        }
        if (h == n_start + PLI_NODE_N_LATE) {
            pli_refuse(a, ENOSPC, "%d hosts have joined the job, and there is room for no more",
                       PLI_NODE_N_LATE);
        } else if (h == job->n_host + n) {
            as.name = pli_say_need(strdup(name));
            as.is_local = pli_hosts_is_this(name);
            job->hosts[h] = as;
            n++;
        } else {
            job->hosts[h].slots += as.slots;
        }
    }
    return n;
}

// The host that has the fewest ranks under its name, of those that may have more, which is the
// first of its name.
static uint32_t least_loaded(const struct pli_job *job, uint32_t n_host, const bool *may)
{
    uint32_t best = UINT32_MAX, best_load = 0;
    for (uint32_t h = 0; h < n_host; h++) {
        uint32_t load = 0;
        for (uint32_t k = 0; k < n_host; k++) {
            bool is_same = strcmp(job->hosts[k].name, job->hosts[h].name) == 0;
            load += is_same && !job->hosts[k].is_lost ? job->hosts[k].n_rank : 0;
            load += is_same && k >= job->n_host; // one will be there
        }
        bool may_be = !job->hosts[h].is_lost && (may == NULL || h >= job->n_host || may[h]);
        if (may_be && (best == UINT32_MAX || load < best_load)) {
            best = h;
            best_load = load;
        }
    }
    return best;
}

// Note more places on hosts that are there, or are about to be, until n have no rank. Returns how
// many are noted, with those that were.
static uint32_t list_own(struct pli_job *job, const char *list, uint32_t n, uint32_t n_start,
                         uint32_t n_new, struct pli_answer *a)
{
    bool *may = pli_host_names_named(job, list);
    uint32_t n_free = n_new;
    for (uint32_t h = 0; h < job->n_host; h++) {
        const struct pli_host *host = &job->hosts[h];
        n_free += !host->is_lost && host->n_rank == 0 && (may == NULL || may[h]);
    }
    for (; n_free < n && a->error == 0; n_free++) {
        uint32_t at = job->n_host + n_new, h = least_loaded(job, at, may);
        if (h == UINT32_MAX) {
            pli_refuse(a, EHOSTDOWN, "no host of the job is left");
        } else if (at == n_start + PLI_NODE_N_LATE) {
            pli_refuse(a, ENOSPC, "%d daemons have come to the job, and there is room for no more",
                       PLI_NODE_N_LATE);
        } else {
            job->hosts[at] = (struct pli_host){ .name = job->hosts[h].name,
                                                .is_local = job->hosts[h].is_local,
                                                .slots = 1 };
            n_new++;
        }
    }
    free(may);
    return n_new;
}

static void start_all(struct pli_job *job, uint32_t n, struct pli_answer *a)
{
    struct pli_host_join_state *self = pli_launcher.host_join;
    char *here = getcwd(NULL, 0);
    bool is_good =
        here != NULL && (job->opt.ckpt_dir == NULL || pli_launcher.ckpt_hooks->mark_dir(job));
    free(here);
    self->n = n;
    self->n_here = 0;
    self->said[0] = '\0';
    for (uint32_t i = 0; i < n && is_good; i++) {
        is_good = start_one(i);
    }
    if (!is_good) {
        pli_refuse(a, errno, "no daemon can be started for host %.64s: %s",
                   job->hosts[job->n_host].name, strerror(errno));
        drop_joining();
        pli_launcher.ckpt_hooks->unmark_dir();
        self->join_id += self->n;
        self->n = 0;
    }
}

// Whether all that the list names are of the job.
static bool are_there(const struct pli_job *job, const char *list, struct pli_answer *a)
{
    char name[256];
    struct pli_host as;
    uint32_t h = 0;
    while (pli_host_names_next(&list, name, sizeof name, &as, a)) {
        for (h = 0; h < job->n_host && !pli_host_names_is(&job->hosts[h], name); h++) {
        }
        if (h == job->n_host) {
            return false;
        }
    }
    return true;
}

enum pli_host_join pli_host_join_ask(struct pli_job *job, const char *list, pli_host_join_fn done,
                                     void *arg, struct pli_answer *a)
{
    return pli_host_join_own(job, list, 0, done, arg, a);
}

enum pli_host_join pli_host_join_own(struct pli_job *job, const char *list, uint32_t n_own,
                                     pli_host_join_fn done, void *arg, struct pli_answer *a)
{
    struct pli_host_join_state *self = pli_launcher.host_join;
    uint32_t n = 0;
    if ((n_own == 0 && are_there(job, list, a)) || a->error != 0) {
        return PLI_HOST_JOIN_DONE;
    }
    check_job(job, list, a);
    if (a->error == 0) {
        n = list_new(job, list, pli_head_n_first(), a);
    }
    if (a->error == 0 && n_own > 0) {
        n = list_own(job, list, n_own, pli_head_n_first(), n, a);
    }
    if (a->error == 0 && n > 0) {
        start_all(job, n, a);
    }
    if (a->error != 0 || n == 0) {
        return PLI_HOST_JOIN_DONE;
    }
    self->done = done;
    self->arg = arg;
    pli_loop_timer(&self->patience, (uint64_t)HELLO_S * 1000 * PLI_MS);
    return PLI_HOST_JOIN_LATER;
}

void pli_host_join_end(void)
{
    struct pli_host_join_state *self = pli_launcher.host_join;
    if (self->n > 0) {
        drop_joining();
        self->n = 0;
        self->timer.at = self->patience.at = 0;
        pli_launcher.ckpt_hooks->unmark_dir();
    }
}

void pli_host_join_init(void)
{
    struct pli_host_join_state *self = pli_launcher.host_join;
    self->join_id = FIRST_JOIN_ID;
    self->timer.fire = go_on;
    self->patience.fire = too_late;
}
