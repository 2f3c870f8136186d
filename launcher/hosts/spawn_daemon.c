// SPDX-License-Identifier: BSD-3-Clause
// Notes which processes will be started, and starts those of this host.
#include "launcher/hosts/spawn_daemon.h"

#include "launcher/base/launcher.h"
#include "launcher/base/pack.h"
#include "launcher/job/ckpt_hooks.h"
#include "base/fault.h"
#include "boot/launcher_wire.h"
#include "launcher/job/programs.h"
#include "launcher/hosts/daemon.h"
#include "launcher/job/hosts.h"
#include "launcher/job/job.h"
#include "launcher/hosts/dlink_frame.h"
#include "launcher/base/refuse.h"
#include "launcher/job/rank_rows.h"
#include "launcher/base/say.h"
#include "launcher/ranks/spawn.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

struct pli_spawn_daemon_order {
    struct pli_spawn_daemon_order *next;
    struct pli_programs_list list;
    uint32_t id, first, n_mine;
    bool is_clones; // they come by themselves
};

static void forget(uint32_t id)
{
    struct pli_spawn_daemon_state *self = pli_launcher.spawn_daemon;
    struct pli_spawn_daemon_order **at = &self->orders;
    while (*at != NULL && (*at)->id != id) {
        at = &(*at)->next;
    }
    if (*at != NULL) {
        struct pli_spawn_daemon_order *o = *at;
        *at = o->next;
        pli_programs_list_fini(&o->list);
        free(o);
    }
}

static void tell(uint16_t kind, uint32_t id, const struct pli_job *job, const struct pli_answer *a)
{
    char text[320] = "";
    if (a->error != 0) {
        snprintf(text, sizeof text, "host %s: %s", job->hosts[job->here].name, a->text);
    }
    pli_daemon_send(kind, 0, id, text, strlen(text));
}

// Whether a program can be run here.
static void check(const struct pli_app *app, struct pli_answer *a)
{
    struct stat st;
    if (app->wdir != NULL && (stat(app->wdir, &st) != 0 || !S_ISDIR(st.st_mode))) {
        pli_refuse(a, ENOENT, "cannot run %s in %s: there is no such directory", app->path,
                   app->wdir);
    } else if (stat(app->path, &st) != 0) {
        pli_refuse(a, errno, "cannot run %s: %s", app->path,
                   errno == ENOENT ? "there is no such file" : strerror(errno));
    } else if (!S_ISREG(st.st_mode) || access(app->path, X_OK) != 0) {
        pli_refuse(a, EACCES, "cannot run %s: it is no file that may be executed", app->path);
    }
}

static void note(struct pli_job *job, struct pli_spawn_daemon_order *o, const uint32_t *hosts,
                 struct pli_answer *a)
{
    pli_spawn_fill(job, &o->list, o->first, hosts);
    const uint32_t *host = hosts;
    for (uint32_t i = 0; i < o->list.ask.n_part; i++) {
        uint32_t n = 0;
        for (uint32_t k = 0; k < o->list.programs[i]->app.n_rank; k++) {
            n += *host++ == job->here;
        }
        if (n > 0 && a->error == 0 && !o->list.programs[i]->is_borrowed) {
            check(&o->list.programs[i]->app, a);
        }
        o->n_mine += n;
    }
}

static bool has_task(const struct pli_job *job, uint32_t number)
{
    const struct pli_proc_task *t = job->spawned;
    while (t != NULL && t->number != number) {
        t = t->next;
    }
    return t != NULL;
}

// Clones that go to another host leave this one, come here, or neither.
static void expect_far(struct pli_job *job, uint32_t index, uint32_t parent, uint32_t host,
                       struct pli_answer *a)
{
    const struct pli_node_proc *p = pli_node_find(&job->node, parent);
    if (p == NULL || p->host == host || a->error != 0) {
        return;
    }
    if (p->host == job->here) {
        pli_launcher.ckpt_hooks->expect_outgoing(job, index, a);
    } else if (host == job->here) {
        pli_launcher.ckpt_hooks->expect_incoming(job, index, a);
    }
}

static void expect(struct pli_job *job, const struct pli_spawn_daemon_order *o,
                   struct pli_unpack *u, const uint32_t *hosts, struct pli_answer *a)
{
    uint32_t n = o->list.n_all;
    uint32_t *parents = pli_say_need(calloc((size_t)n + 1, sizeof *parents));
    uint32_t *apps = pli_say_need(calloc((size_t)n + 1, sizeof *apps));
    for (uint32_t i = 0; i < n; i++) {
        parents[i] = pli_unpack_u32(u);
        apps[i] = pli_unpack_u32(u);
    }
    pli_spawn_expect(job, o->first, parents, n, hosts, &o->list);
    for (uint32_t i = 0; i < n; i++) {
        job->node.rows[pli_rank_rows_at(job, o->first + i)].app = apps[i];
        expect_far(job, o->first + i, parents[i], hosts[i], a);
    }
    free(parents);
    free(apps);
    prctl(PR_SET_CHILD_SUBREAPER, 1); // clones are orphans by intention
}

bool pli_spawn_daemon_clone(struct pli_proc_task *from, uint32_t row, pid_t pid, const int fds[4])
{
    struct pli_spawn_daemon_state *self = pli_launcher.spawn_daemon;
    const struct pli_job *job = from->job;
    const struct pli_spawn_daemon_order *o = self->orders;
    uint32_t index = row < pli_node_n_used(&job->node) ? job->node.rows[row].index : UINT32_MAX;
    while (o != NULL && !(o->is_clones && index - o->first < o->list.n_all)) {
        o = o->next;
    }
    return o != NULL && !has_task(job, index) && pli_spawn_clone(from->job, from, row, pid, fds);
}

void pli_spawn_daemon_coming(struct pli_job *job, const struct pli_dframe *f)
{
    struct pli_spawn_daemon_state *self = pli_launcher.spawn_daemon;
    struct pli_unpack u = { f->data, (const unsigned char *)f->data + f->len, false };
    struct pli_answer a = { 0 };
    pli_fault("daemon_coming", job->here);
    struct pli_spawn_daemon_order *o = pli_say_need(calloc(1, sizeof *o));
    o->id = f->a;
    o->first = pli_unpack_u32(&u);
    uint32_t n = pli_unpack_count(&u, 4);
    uint32_t *hosts = pli_say_need(calloc((size_t)n + 1, sizeof *hosts));
    for (uint32_t i = 0; i < n; i++) {
        hosts[i] = pli_unpack_u32(&u);
        u.is_bad |= hosts[i] >= job->n_host;
    }
    uint32_t rank = pli_unpack_u32(&u), version = pli_unpack_u32(&u);
    o->next = self->orders;
    self->orders = o;
    bool is_read =
        f->flag != PLI_COMING_SPAWNED
            ? pli_programs_ranks(job, n, rank, version, &o->list)
            : pli_programs_read(job, (const char *)u.at, (size_t)(u.end - u.at), &o->list, &a);
    if (a.error == 0 && (!is_read || u.is_bad || o->list.n_all != n)) {
        pli_refuse(&a, EINVAL, "mpiexec sent something that makes no sense");
    }
    o->is_clones = f->flag == PLI_COMING_CLONES;
    if (a.error == 0 && o->is_clones) {
        expect(job, o, &u, hosts, &a);
    } else if (a.error == 0) {
        note(job, o, hosts, &a);
    }
    free(hosts);
    tell(PLI_DLINK_KNOWN, f->a, job, &a);
}

// Those of this host that are not there are over.
static void tell_missing(const struct pli_job *job, const struct pli_spawn_daemon_order *o)
{
    for (uint32_t i = 0; i < o->list.n_all; i++) {
        const struct pli_node_proc *p = pli_node_find(&job->node, o->first + i);
        if (p != NULL && p->host == job->here && !has_task(job, o->first + i)) {
            pli_daemon_send(PLI_DLINK_OUT, STDOUT_FILENO, o->first + i, NULL, 0);
            pli_daemon_send(PLI_DLINK_OUT, STDERR_FILENO, o->first + i, NULL, 0);
            pli_daemon_send(PLI_DLINK_OVER, 0, o->first + i, NULL, 0);
        }
    }
}

void pli_spawn_daemon_go(struct pli_job *job, const struct pli_dframe *f)
{
    struct pli_spawn_daemon_state *self = pli_launcher.spawn_daemon;
    struct pli_spawn_daemon_order *o = self->orders;
    struct pli_answer a = { 0 };
    while (o != NULL && o->id != f->a) {
        o = o->next;
    }
    if (o == NULL) {
        return;
    }
    if (!pli_spawn_start(job, &o->list, o->first, &a)) {
        tell_missing(job, o);
    }
    pli_fault("daemon_begun", job->here);
    if (o->n_mine > 0) {
        tell(PLI_DLINK_BEGUN, f->a, job, &a);
    }
    forget(f->a);
}

void pli_spawn_daemon_drop(struct pli_job *job, const struct pli_dframe *f)
{
    struct pli_spawn_daemon_state *self = pli_launcher.spawn_daemon;
    struct pli_unpack u = { f->data, (const unsigned char *)f->data + f->len, false };
    uint32_t first = pli_unpack_u32(&u), n = pli_unpack_u32(&u), id = f->a;
    for (const struct pli_spawn_daemon_order *o = self->orders; o != NULL && f->flag != 0;
         o = o->next) {
        if (o->is_clones && o->first == first) {
            tell_missing(job, o);
            id = o->id;
        }
    }
    forget(id);
    pli_launcher.ckpt_hooks->drop_clones(first, n);
    if (f->flag != 0) {
        pli_spawn_drop(job, first, n); // their ends are told as any other
        return;
    }
    for (uint32_t i = 0; i < n && !u.is_bad; i++) {
        if (pli_node_find(&job->node, first + i) != NULL) {
            pli_rank_rows_cancel(job, pli_rank_rows_at(job, first + i));
        }
    }
}

void pli_spawn_daemon_commit(void)
{
    struct pli_spawn_daemon_state *self = pli_launcher.spawn_daemon;
    const struct pli_spawn_daemon_order *o = self->orders;
    pli_launcher.ckpt_hooks->commit_clones();
    while (o != NULL) {
        const struct pli_spawn_daemon_order *next = o->next;
        if (o->is_clones) {
            forget(o->id);
        }
        o = next;
    }
}
