// SPDX-License-Identifier: BSD-3-Clause
// Changes the size of the world, one resize at a time: processes are started, all of them come to
// MPI_Init, and then one word is changed. From then on the new version counts, for all at once; a
// process that dies earlier leaves everything as it was. A smaller world needs no new process: the
// word is changed at once.
#include "launcher/ranks/resize.h"

#include "launcher/base/launcher.h"
#include "launcher/ranks/spawn.h"
#include "launcher/ranks/resize_notify.h"
#include "launcher/job/role.h"
#include "launcher/ranks/rank_request.h"
#include "base/fault.h"
#include "boot/launcher_wire.h"
#include "launcher/job/hosts.h"
#include "launcher/job/job.h"
#include "launcher/ranks/leave.h"
#include "launcher/job/members.h"
#include "launcher/base/refuse.h"
#include "launcher/ranks/resize_check.h"
#include "launcher/base/say.h"
#include "launcher/ranks/supervisor.h"
#include "launcher/job/world_version.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

enum state { S_IDLE, S_JOINING, S_COMING, N_STATE };
static const bool may_go[N_STATE][N_STATE] = {
    [S_IDLE] = { [S_JOINING] = true, [S_COMING] = true },
    [S_JOINING] = { [S_IDLE] = true, [S_COMING] = true }, // hosts are on their way
    [S_COMING] = { [S_IDLE] = true },
};

enum { MAX_REPAIR = 1000 }; // ranks that are replaced, lest a job dies for ever

struct pli_resize_batch {
    uint32_t first, n; // indices of processes
};

static bool go(const struct pli_job *job, enum state to)
{
    struct pli_resize_state *self = pli_launcher.resize;
    if (!may_go[self->state][to]) {
        return false;
    }
    static const char *const says[] = { "over", "hosts are on their way",
                                        "new ranks are on their way" };
    static const char *const points[] = { "mpiexec_resized", "mpiexec_joining", "mpiexec_coming" };
    self->state = to;
    if (job->opt.is_verbose) {
        pli_say("resize: %s", says[to]);
    }
    pli_fault(points[to], 0);
    return true;
}

// The ranks that are notified leave the version that counts now.
static void begin_resize_notify(const struct pli_job *job)
{
    uint32_t n = pli_members_size(job);
    uint32_t *all = pli_say_need(malloc((n + 1) * sizeof *all));
    for (uint32_t i = 0; i < n; i++) {
        all[i] = pli_members_at(i);
    }
    pli_resize_notify_begin(all, n);
    free(all);
}

// The next version counts from here on. With several hosts that is decided here and done by all: a
// host that does not get the frame has lost mpiexec, and ends.
static bool commit(struct pli_job *job, struct pli_answer *a)
{
    struct pli_world_version w = { .version = (uint32_t)atomic_load(&job->node.header->world) + 1 };
    uint32_t *leavers = pli_members_leavers(job, &w.n_leaver);
    w.members = pli_members_next(&w.n_member);
    w.leavers = leavers;
    bool is_good = pli_world_version_make(job, &w, a);
    if (is_good) {
        pli_launcher.role->announce_world(&w);
        begin_resize_notify(job);
        pli_world_version_advance(job, &w);
        pli_members_advance();
        a->first = w.version;
        a->n = w.n_member;
        pli_say_note("the world has %u ranks now, version %u", w.n_member, w.version);
    }
    if (is_good && w.n_leaver > 0) {
        pli_leave_begin(job);
    }
    free(leavers);
    return is_good;
}

static void forget_batches(void)
{
    struct pli_resize_state *self = pli_launcher.resize;
    free(self->batches);
    self->batches = NULL;
    self->n_batch = self->n_new = 0;
}

// Tell the process that asked how it ended.
static void finish(struct pli_job *job, const struct pli_answer *a)
{
    struct pli_resize_state *self = pli_launcher.resize;
    void *token = self->token;
    go(job, S_IDLE);
    forget_batches();
    self->token = NULL;
    if (token != NULL) {
        pli_rank_request_answer(token, a);
    }
    pli_resize_replace(job);
}

// New processes are on their way, for the places from `rank` on of the next version.
static void expect(uint32_t rank, uint32_t first, uint32_t n)
{
    struct pli_resize_state *self = pli_launcher.resize;
    uint32_t n_next, *next = pli_members_next(&n_next);
    self->batches =
        pli_say_need(realloc(self->batches, (self->n_batch + 1) * sizeof *self->batches));
    self->batches[self->n_batch++] = (struct pli_resize_batch){ first, n };
    self->n_new += n;
    for (uint32_t i = 0; i < n && rank + i < n_next; i++) {
        next[rank + i] = first + i;
    }
}

static void begin(struct pli_job *job, void *token, bool is_fork, bool is_repair)
{
    struct pli_resize_state *self = pli_launcher.resize;
    self->n_ready = 0;
    self->token = token;
    self->is_fork = is_fork;
    self->is_repair = is_repair;
    self->is_agreed = self->is_cause = false;
    self->why[0] = '\0';
    go(job, S_COMING);
}

static bool grow(struct pli_job *job, void *token, struct pli_answer *a)
{
    struct pli_resize_state *self = pli_launcher.resize;
    uint32_t version = (uint32_t)atomic_load(&job->node.header->world) + 1, n_next;
    pli_members_next(&n_next);
    uint32_t stay = pli_members_n_stay(), more = n_next - stay;
    pli_launcher.role->spawn_ranks(job, more, stay, version, self->hosts, a);
    if (a->error != 0) {
        pli_members_drop_plan();
        return true;
    }
    expect(stay, a->first, more);
    begin(job, token, false, false);
    return false;
}

// Names of hosts after a request: where new ranks are to go, and which hosts are only to join.
static bool read_hosts(const char *body, size_t len, size_t skip, const char **hosts,
                       const char **add)
{
    const char *at = body + skip, *end = body + len;
    if (at == end) {
        return true;
    }
    const char *zero = memchr(at, '\0', (size_t)(end - at));
    if (end[-1] != '\0' || zero == end - 1) {
        return false;
    }
    *hosts = at;
    *add = zero + 1;
    return true;
}

// All hosts are of the job, or none joined it.
static void joined(void *arg, const struct pli_answer *how)
{
    struct pli_resize_state *self = pli_launcher.resize;
    struct pli_job *job = arg;
    struct pli_answer a = *how;
    if (a.error != 0) {
        pli_members_drop_plan();
    } else if (!grow(job, self->token, &a)) {
        return;
    }
    a.first = (uint32_t)atomic_load(&job->node.header->world);
    finish(job, &a);
}

static bool grow_onto(struct pli_job *job, const char *hosts, const char *add, void *token,
                      struct pli_answer *a)
{
    struct pli_resize_state *self = pli_launcher.resize;
    char *list;
    uint32_t n_next;
    free(self->hosts);
    self->hosts = pli_say_need(strdup(hosts));
    pli_say_need(asprintf(&list, "%s,%s", hosts, add) >= 0 ? list : NULL);
    pli_members_next(&n_next);
    uint32_t n_own = job->opt.is_movable ? n_next - pli_members_n_stay() : 0;
    enum pli_host_join when = pli_launcher.role->join_hosts(job, list, n_own, joined, job, a);
    free(list);
    if (when == PLI_HOST_JOIN_LATER) {
        self->token = token;
        go(job, S_JOINING);
        return false;
    }
    if (a->error != 0) {
        pli_members_drop_plan();
        return true;
    }
    return grow(job, token, a);
}

bool pli_resize_begin(struct pli_job *job, const char *body, size_t len, void *token,
                      struct pli_answer *a)
{
    struct pli_resize_state *self = pli_launcher.resize;
    struct pli_ask_resize ask;
    const char *hosts = "", *add = "";
    if (len < sizeof ask || !read_hosts(body, len, sizeof ask, &hosts, &add)) {
        pli_refuse(a, EINVAL, "the request is cut short");
        return true;
    }
    memcpy(&ask, body, sizeof ask);
    uint32_t n = pli_resize_check_goal(job, &ask, self->state == S_IDLE, a);
    uint32_t now = pli_members_living(job);
    if (a->error != 0) {
        return true;
    }
    if (n <= now && (hosts[0] != '\0' || add[0] != '\0')) {
        pli_refuse(a, EINVAL, "hosts are named, but %u ranks are no more than the %u there are", n,
                   now);
        return true;
    }
    if (n == now && now == pli_members_size(job)) {
        a->first = (uint32_t)atomic_load(&job->node.header->world);
        a->n = n;
        return true;
    }
    if (!pli_members_plan(job, n, false)) {
        pli_refuse(a, ENOMEM, "mpiexec has no memory for it");
        return true;
    }
    if (n > now) {
        return grow_onto(job, hosts, add, token, a);
    }
    commit(job, a);
    return true;
}

bool pli_resize_is_coming(void)
{
    struct pli_resize_state *self = pli_launcher.resize;
    return self->state == S_COMING;
}

void pli_resize_forget(const void *token)
{
    struct pli_resize_state *self = pli_launcher.resize;
    self->token = self->token == token ? NULL : self->token;
}

static bool is_new(const struct pli_job *job, uint32_t row)
{
    struct pli_resize_state *self = pli_launcher.resize;
    uint32_t index = job->node.rows[row].index;
    bool is = false;
    for (uint32_t i = 0; self->state == S_COMING && i < self->n_batch && !is; i++) {
        is = index >= self->batches[i].first && index - self->batches[i].first < self->batches[i].n;
    }
    return is;
}

static void undo(struct pli_job *job)
{
    struct pli_resize_state *self = pli_launcher.resize;
    for (uint32_t i = 0; i < self->n_batch; i++) {
        pli_launcher.role->spawn_undo(job, self->batches[i].first, self->batches[i].n);
    }
}

// All are there: the new version counts, or nothing has been.
static void conclude(struct pli_job *job, struct pli_answer *a)
{
    if (!commit(job, a)) {
        undo(job);
    }
    finish(job, a);
}

// Processes take the places of all ranks that have died, in the next version. False: the job is
// lost.
static bool replace_dead(struct pli_job *job)
{
    struct pli_resize_state *self = pli_launcher.resize;
    uint32_t n, *next = pli_members_next(&n), rank;
    while ((rank = pli_members_next_dead(job)) != UINT32_MAX) {
        struct pli_answer a = { 0 };
        if (++self->n_repair > MAX_REPAIR) {
            pli_supervisor_lose("too many ranks have died");
            return false;
        }
        uint32_t version = (uint32_t)atomic_load(&job->node.header->world) + 1;
        pli_launcher.role->spawn_successor(job, rank, next[rank], version, &a);
        if (a.error != 0) {
            pli_supervisor_lose(a.text);
            return false;
        }
        expect(rank, a.first, 1);
    }
    return true;
}

static bool may_replace(const struct pli_job *job)
{
    return job->opt.on_failure == PLI_FAIL_RESPAWN && !pli_supervisor_is_ending();
}

// A rank that dies while others are on their way gets a successor in the same version, so that none
// begins with a dead member that is known.
void pli_resize_replace(struct pli_job *job)
{
    struct pli_resize_state *self = pli_launcher.resize;
    if (!may_replace(job)) {
        return;
    }
    if (self->state == S_COMING && self->is_repair) {
        replace_dead(job);
        return;
    }
    uint32_t n = pli_members_size(job);
    if (self->state != S_IDLE || pli_members_living(job) == n) {
        return;
    }
    if (!pli_members_plan(job, n, true)) {
        pli_supervisor_lose("mpiexec has no memory for it");
    } else if (!replace_dead(job)) {
        undo(job);
        forget_batches();
        pli_members_drop_plan();
    } else {
        begin(job, NULL, false, true);
    }
}

// All are there, and none of them died meanwhile: in a job that replaces the dead their
// successors are waited for, in others the dead are dropped. Clones are of the world as it is.
static bool is_complete(struct pli_job *job)
{
    struct pli_resize_state *self = pli_launcher.resize;
    if (self->n_ready < self->n_new) {
        return false;
    }
    if (self->is_fork || pli_members_next_dead(job) == UINT32_MAX) {
        return true;
    }
    if (!may_replace(job)) {
        pli_members_drop_dead(job);
        return true;
    }
    return replace_dead(job) && self->n_ready == self->n_new;
}

void pli_resize_ready(struct pli_job *job, uint32_t row)
{
    struct pli_resize_state *self = pli_launcher.resize;
    struct pli_answer a = { 0 };
    if (is_new(job, row)) {
        self->n_ready++;
        if ((!self->is_fork || self->is_agreed) && is_complete(job)) {
            conclude(job, &a);
        }
    }
}

// The old world goes on as if nothing had been. Ranks that fork may ask for the reason later.
static void give_up(struct pli_job *job, int error, const char *why)
{
    struct pli_resize_state *self = pli_launcher.resize;
    struct pli_answer a = { 0 };
    if (self->is_fork && self->token == NULL) {
        snprintf(self->why, sizeof self->why, "%s", why);
    }
    undo(job);
    pli_members_drop_plan();
    pli_refuse(&a, error, "%s", why);
    a.first = (uint32_t)atomic_load(&job->node.header->world);
    finish(job, &a);
}

bool pli_resize_is_new(const struct pli_job *job, uint32_t row)
{
    return is_new(job, row);
}

void pli_resize_fail(struct pli_job *job, const char *why)
{
    struct pli_resize_state *self = pli_launcher.resize;
    char text[sizeof((struct pli_answer *)0)->text];
    snprintf(text, sizeof text, "%.180s; the world stays as it was", why);
    if (self->state == S_COMING) {
        self->is_cause = true;
        give_up(job, ECHILD, text);
    }
}

// With its host: another one is tried.
static bool is_lost(const struct pli_proc_task *t)
{
    return t->job->hosts != NULL && t->job->hosts[t->host].is_lost;
}

void pli_resize_gone(struct pli_proc_task *t)
{
    struct pli_resize_state *self = pli_launcher.resize;
    pli_leave_check();
    if (t->is_spawned && is_new(t->job, t->first)) {
        t->is_dropped = true;
        if (self->is_repair && !is_lost(t)) {
            pli_supervisor_lose(
                "a process that was to take the place of a rank that died has ended "
                "before it was in MPI_Init");
        }
        give_up(t->job, ECHILD,
                is_lost(t) ? "the host of a new rank is lost; the world stays as it was"
                : self->is_fork
                    ? "a clone ended before it was a rank; the world stays as it was"
                    : "a new rank ended before it was in MPI_Init; the world stays as it was");
    } else if (self->state == S_COMING && self->is_fork && pli_task_has(t, self->asker)) {
        give_up(t->job, ECHILD, "the rank that asked for clones has ended");
    }
}

void pli_resize_renumber(uint32_t first)
{
    struct pli_resize_state *self = pli_launcher.resize;
    uint32_t n_next, *next = pli_members_next(&n_next);
    struct pli_resize_batch *clones = &self->batches[0];
    for (uint32_t i = 0; i < clones->n; i++) {
        next[n_next - clones->n + i] = first + i;
    }
    clones->first = first;
}

bool pli_resize_fork(struct pli_job *job, const char *body, size_t len, void *token,
                     struct pli_answer *a)
{
    struct pli_resize_state *self = pli_launcher.resize;
    struct pli_ask_fork ask = { 0 };
    const char *names = "", *add = "";
    if (len < sizeof ask || !read_hosts(body, len, sizeof ask, &names, &add)) {
        pli_refuse(a, EINVAL, "the request is cut short");
        return true;
    }
    memcpy(&ask, body, sizeof ask);
    uint32_t now = pli_members_size(job), n_next;
    if (!pli_resize_check_fork(job, &ask, self->state == S_IDLE, a)) {
        return true;
    }
    if (!pli_members_plan(job, now + ask.n, true)) {
        pli_refuse(a, ENOMEM, "mpiexec has no memory for it");
        return true;
    }
    const struct pli_role_clones clones = { .parents = pli_members_next(&n_next),
                                            .n = ask.n,
                                            .rank = now,
                                            .version = ask.version + 1,
                                            .names = names,
                                            .add = add };
    bool is_done = pli_launcher.role->spawn_clones(job, &clones, token, a);
    if (a->error != 0) {
        pli_members_drop_plan();
        return true;
    }
    prctl(PR_SET_CHILD_SUBREAPER, 1); // clones are orphans by intention
    expect(now, a->first, ask.n);
    self->asker = pli_node_row_of(&job->node, ask.asker);
    begin(job, NULL, true, false);
    return is_done;
}

bool pli_resize_forked(struct pli_job *job, const char *body, size_t len, void *token,
                       struct pli_answer *a)
{
    struct pli_resize_state *self = pli_launcher.resize;
    struct pli_ask_forked ask = { 0 };
    memcpy(&ask, body, len < sizeof ask ? len : sizeof ask);
    if (self->state != S_COMING || !self->is_fork) {
        if (ask.is_good || self->is_cause) { // else the process that asks knows why
            pli_refuse(a, ECHILD, "%s",
                       self->why[0] != '\0'
                           ? self->why
                           : "a clone ended before it was a rank; the world stays as it was");
        }
        return true;
    }
    if (!ask.is_good) {
        give_up(job, ECANCELED, "");
        return true; // the process that asks knows why
    }
    self->is_agreed = true;
    if (self->n_ready == self->n_new) {
        conclude(job, a);
        return true;
    }
    self->token = token;
    return false;
}

bool pli_resize_add_clone(struct pli_proc_task *from, uint32_t row, pid_t pid, const int fds[4])
{
    struct pli_resize_state *self = pli_launcher.resize;
    struct pli_job *job = from->job;
    return row < pli_node_n_used(&job->node) && is_new(job, row) && self->is_fork &&
           pli_spawn_clone(job, from, row, pid, fds);
}
