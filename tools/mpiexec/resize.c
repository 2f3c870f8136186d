// SPDX-License-Identifier: BSD-3-Clause
// One resize at a time: processes are started, all of them come to MPI_Init, and then one word is
// changed. That is the point from which the new version counts, for all at once; before it whoever
// dies leaves everything as it was. A smaller world needs nobody: the word is changed at once.
#include "resize.h"

#include "annex.h"
#include "ask.h"
#include "base/fault.h"
#include "boot/ask_wire.h"
#include "daemon.h"
#include "head.h"
#include "hosts.h"
#include "job.h"
#include "leave.h"
#include "link.h"
#include "muster.h"
#include "recruit.h"
#include "refuse.h"
#include "renewal.h"
#include "say.h"
#include "spawn.h"
#include "warden.h"
#include "world.h"

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

static struct {
    enum state state;
    uint32_t *members, n_member; // of the version that counts; NULL: as the job began
    uint32_t *next, n_next;      // of the one to come
    uint32_t first, n_new, n_ready;
    void *token;    // who waits, NULL: nobody
    bool is_fork;   // the new ones are forked from the old ones
    bool is_agreed; // and the old ones know that all of them were
    bool is_repair; // the new one takes the place of one that died
    uint32_t n_repair;
    uint32_t asker; // row of the rank that asked for it
    char *hosts;    // where new ranks are to go, "": anywhere
} z;

static bool go(const struct pli_job *job, enum state to)
{
    if (!may_go[z.state][to]) {
        return false;
    }
    static const char *const says[] = { "over", "hosts are on their way",
                                        "new ranks are on their way" };
    static const char *const points[] = { "mpiexec_resized", "mpiexec_joining", "mpiexec_coming" };
    z.state = to;
    if (job->opt.is_verbose) {
        pli_say("resize: %s", says[to]);
    }
    pli_fault(points[to], 0);
    return true;
}

static uint32_t size_now(const struct pli_job *job)
{
    return z.members != NULL ? z.n_member : job->n_rank;
}

// Index of the i-th of the version that counts.
static uint32_t member(uint32_t i)
{
    return z.members != NULL ? z.members[i] : i;
}

// Those who are no members of the next version.
static uint32_t *find_leavers(const struct pli_job *job, uint32_t *n_out)
{
    uint32_t now = size_now(job), n = z.n_next < now ? now - z.n_next : 0;
    uint32_t *list = pli_say_need(calloc((size_t)n + 1, sizeof *list));
    for (uint32_t i = 0; i < n; i++) {
        list[i] = member(z.n_next + i);
    }
    *n_out = n;
    return list;
}

// Those who are to be told leave the version that counts now.
static void begin_renewal(const struct pli_job *job)
{
    uint32_t n = size_now(job);
    uint32_t *all = pli_say_need(malloc((n + 1) * sizeof *all));
    for (uint32_t i = 0; i < n; i++) {
        all[i] = member(i);
    }
    pli_renewal_begin(all, n);
    free(all);
}

// The next version counts from here on. With several hosts that is decided here and done by all:
// who does not hear of it has lost mpiexec, and ends.
static bool commit(struct pli_job *job, struct pli_answer *a)
{
    struct pli_pack p = { 0 };
    struct pli_world w = { .version = (uint32_t)atomic_load(&job->node.header->world) + 1,
                           .members = z.next,
                           .n_member = z.n_next };
    uint32_t *leavers = find_leavers(job, &w.n_leaver);
    w.leavers = leavers;
    bool is_good = pli_world_make(job, &w, a);
    if (is_good) {
        if (pli_job_is_head(job)) {
            pli_world_pack(&w, &p);
            pli_head_send((uint32_t)PLI_LINK_ALL, PLI_LINK_WORLD, 0, 0, p.data, p.len);
            pli_pack_fini(&p);
        }
        begin_renewal(job);
        pli_world_turn(job, &w);
        free(z.members);
        z.members = z.next;
        z.n_member = z.n_next;
        z.next = NULL;
        a->first = w.version;
        a->n = w.n_member;
    }
    if (is_good && w.n_leaver > 0) {
        pli_leave_begin(job);
    }
    free(leavers);
    return is_good;
}

// The members that stay, with room for those that come.
static bool plan(const struct pli_job *job, uint32_t n)
{
    uint32_t now = size_now(job), stay = n < now ? n : now;
    z.next = malloc(n * sizeof *z.next);
    for (uint32_t i = 0; z.next != NULL && i < stay; i++) {
        z.next[i] = member(i);
    }
    z.n_next = n;
    return z.next != NULL;
}

static void drop_plan(void)
{
    free(z.next);
    z.next = NULL;
}

// Tell who asked how it ended.
static void finish(struct pli_job *job, const struct pli_answer *a)
{
    void *token = z.token;
    go(job, S_IDLE);
    z.token = NULL;
    if (token != NULL) {
        pli_ask_answer(token, a);
    }
    pli_resize_replace(job);
}

static bool grow(struct pli_job *job, uint32_t more, void *token, struct pli_answer *a)
{
    uint32_t version = (uint32_t)atomic_load(&job->node.header->world) + 1;
    if (pli_job_is_head(job)) {
        bool *may = pli_annex_named(job, z.hosts);
        pli_muster_ranks(job, more, z.n_next - more, version, may, a);
        free(may);
    } else {
        pli_spawn_ranks(job, more, z.n_next - more, version, a);
    }
    if (a->error != 0) {
        drop_plan();
        return true;
    }
    for (uint32_t i = 0; i < more; i++) {
        z.next[z.n_next - more + i] = a->first + i;
    }
    z.first = a->first;
    z.n_new = more;
    z.n_ready = 0;
    z.token = token;
    z.is_fork = z.is_repair = false;
    go(job, S_COMING);
    return false;
}

// With --on-resize=error one version at a time: all ranks work in the one that counts.
static bool have_taken_up(const struct pli_job *job)
{
    const struct pli_node_header *h = job->node.header;
    bool has = true;
    for (uint32_t row = 0; row < pli_node_n_used(&job->node) && (h->mode & PLI_NODE_TELLS) != 0;
         row++) {
        const struct pli_node_row *r = &job->node.rows[row];
        // On other hosts it may be further than is known here.
        bool is_in = pli_job_is_head(job) ? !pli_node_has_ended(&job->node, r->index) &&
                                                atomic_load(&r->state) < PLI_NODE_FINALIZED
                                          : atomic_load(&r->state) == PLI_NODE_RUNNING;
        has = has && (!is_in || atomic_load(&r->works) == (uint32_t)atomic_load(&h->world));
    }
    return has;
}

// How many ranks a request means; 0 with a refusal.
static uint32_t goal(const struct pli_job *job, const struct pli_ask_resize *ask,
                     struct pli_answer *a)
{
    int64_t now = size_now(job), n = ask->n;
    n = ask->how == PLI_ASK_GROW ? now + n : ask->how == PLI_ASK_SHRINK ? now - n : n;
    if (job->opt.elastic_max == 0) {
        pli_refuse(a, EPERM,
                   "the job was started with a fixed size; mpiexec --elastic MIN:MAX lets it "
                   "be changed");
    } else if (n < job->opt.elastic_min || n > job->opt.elastic_max) {
        char text[160];
        snprintf(text, sizeof text, "%lld ranks are outside --elastic %u:%u; there are %lld now",
                 (long long)n, job->opt.elastic_min, job->opt.elastic_max, (long long)now);
        pli_refuse(a, ERANGE, "%s", text);
    } else if (job->n_app != 1) {
        pli_refuse(a, ENOTSUP, "a job of several programs cannot be resized");
    } else if (z.state != S_IDLE) {
        pli_refuse(a, EBUSY, "the job is being resized already");
    } else if (!have_taken_up(job)) {
        pli_refuse(a, EBUSY, "not all ranks have heard of the last resize yet; try again");
    }
    return a->error == 0 ? (uint32_t)n : 0;
}

// Names of hosts behind a request: where new ranks are to go, and who is only to join.
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
    struct pli_job *job = arg;
    struct pli_answer a = *how;
    if (a.error != 0) {
        drop_plan();
    } else if (!grow(job, z.n_next - size_now(job), z.token, &a)) {
        return;
    }
    a.first = (uint32_t)atomic_load(&job->node.header->world);
    finish(job, &a);
}

static bool grow_onto(struct pli_job *job, const char *hosts, const char *add, void *token,
                      struct pli_answer *a)
{
    char *list;
    free(z.hosts);
    z.hosts = pli_say_need(strdup(hosts));
    pli_say_need(asprintf(&list, "%s,%s", hosts, add) >= 0 ? list : NULL);
    uint32_t n_own = job->opt.is_movable ? z.n_next - size_now(job) : 0;
    enum pli_annex when = pli_annex_own(job, list, n_own, joined, job, a);
    free(list);
    if (when == PLI_ANNEX_LATER) {
        z.token = token;
        go(job, S_JOINING);
        return false;
    }
    if (a->error != 0) {
        drop_plan();
        return true;
    }
    return grow(job, z.n_next - size_now(job), token, a);
}

bool pli_resize_begin(struct pli_job *job, const void *body, size_t len, void *token,
                      struct pli_answer *a)
{
    struct pli_ask_resize ask;
    const char *hosts = "", *add = "";
    if (len < sizeof ask || !read_hosts(body, len, sizeof ask, &hosts, &add)) {
        pli_refuse(a, EINVAL, "the request is cut short");
        return true;
    }
    memcpy(&ask, body, sizeof ask);
    uint32_t n = goal(job, &ask, a), now = size_now(job);
    if (a->error != 0) {
        return true;
    }
    if (n <= now && (hosts[0] != '\0' || add[0] != '\0')) {
        pli_refuse(a, EINVAL, "hosts are named, but %u ranks are no more than the %u there are", n,
                   now);
        return true;
    }
    if (n == now) {
        a->first = (uint32_t)atomic_load(&job->node.header->world);
        a->n = n;
        return true;
    }
    if (!plan(job, n)) {
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
    return z.state == S_COMING;
}

uint32_t *pli_resize_members(uint32_t *n_out)
{
    *n_out = z.members != NULL ? z.n_member : 0;
    return z.members;
}

void pli_resize_adopt(uint32_t *members, uint32_t n)
{
    z.members = members;
    z.n_member = n;
}

void pli_resize_forget(const void *token)
{
    z.token = z.token == token ? NULL : z.token;
}

static bool is_new(const struct pli_job *job, uint32_t row)
{
    uint32_t index = job->node.rows[row].index;
    return z.state == S_COMING && index >= z.first && index - z.first < z.n_new;
}

static void undo(struct pli_job *job)
{
    if (pli_job_is_head(job)) {
        pli_muster_undo(job, z.first, z.n_new);
    } else {
        pli_spawn_undo(job, z.first, z.n_new);
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

static bool is_dead(const struct pli_job *job, uint32_t i)
{
    return pli_node_failure(&job->node, member(i)) != 0;
}

// Where the one was that died, if there is room; else where there is.
static void start_replacement(struct pli_job *job, uint32_t rank, uint32_t version,
                              struct pli_answer *a)
{
    if (!pli_job_is_head(job)) {
        pli_spawn_ranks(job, 1, rank, version, a);
        return;
    }
    const struct pli_node_proc *dead = pli_node_find(&job->node, member(rank));
    bool *may = pli_say_need(calloc(job->n_host + 1, sizeof *may));
    may[dead->host] = true;
    pli_muster_ranks(job, 1, rank, version, may, a);
    free(may);
    if (a->error != 0) {
        *a = (struct pli_answer){ 0 };
        pli_muster_ranks(job, 1, rank, version, NULL, a);
    }
}

// One at a time: whoever dies meanwhile has its turn afterwards.
void pli_resize_replace(struct pli_job *job)
{
    struct pli_answer a = { 0 };
    uint32_t n = size_now(job), i = 0;
    if (job->opt.on_failure != PLI_FAIL_RESPAWN || z.state != S_IDLE || pli_warden_is_ending()) {
        return;
    }
    while (i < n && !is_dead(job, i)) {
        i++;
    }
    if (i == n) {
        return;
    }
    uint32_t version = (uint32_t)atomic_load(&job->node.header->world) + 1;
    if (++z.n_repair > MAX_REPAIR || !plan(job, n)) {
        pli_warden_lose("too many ranks have died");
        return;
    }
    start_replacement(job, i, version, &a);
    if (a.error != 0) {
        drop_plan();
        pli_warden_lose(a.text);
        return;
    }
    z.next[i] = z.first = a.first;
    z.n_new = 1;
    z.n_ready = 0;
    z.token = NULL;
    z.is_fork = false;
    z.is_repair = true;
    go(job, S_COMING);
}

void pli_resize_ready(struct pli_job *job, uint32_t row)
{
    struct pli_answer a = { 0 };
    if (job->is_daemon) {
        pli_daemon_send(PLI_LINK_READY, 0, job->node.rows[row].index, NULL, 0);
    } else if (is_new(job, row) && ++z.n_ready == z.n_new && (!z.is_fork || z.is_agreed)) {
        conclude(job, &a);
    }
}

// The old world goes on as if nothing had been.
static void give_up(struct pli_job *job, int error, const char *why)
{
    struct pli_answer a = { 0 };
    undo(job);
    drop_plan();
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
    char text[sizeof((struct pli_answer *)0)->text];
    snprintf(text, sizeof text, "%.180s; the world stays as it was", why);
    if (z.state == S_COMING) {
        give_up(job, ECHILD, text);
    }
}

// With its host: another one is tried.
static bool is_lost(const struct pli_task *t)
{
    return pli_job_is_head(t->job) && t->job->hosts[t->host].is_lost;
}

void pli_resize_gone(struct pli_task *t)
{
    pli_leave_check(t->job);
    if (t->is_spawned && is_new(t->job, t->first)) {
        t->is_dropped = true;
        if (z.is_repair && !is_lost(t)) {
            pli_warden_lose("a process that was to take the place of a rank that died has ended "
                            "before it was in MPI_Init");
        }
        give_up(t->job, ECHILD,
                is_lost(t) ? "the host of a new rank is lost; the world stays as it was"
                : z.is_fork
                    ? "a clone ended before it was a rank; the world stays as it was"
                    : "a new rank ended before it was in MPI_Init; the world stays as it was");
    } else if (z.state == S_COMING && z.is_fork && pli_task_has(t, z.asker)) {
        give_up(t->job, ECHILD, "the rank that asked for clones has ended");
    }
}

// Whether the world can be cloned as it is.
static bool may_fork(const struct pli_job *job, const struct pli_ask_fork *ask,
                     struct pli_answer *a)
{
    char text[200];
    uint32_t now = size_now(job);
    int version = atomic_load(&job->node.header->world);
    if (z.state != S_IDLE) {
        pli_refuse(a, EBUSY, "the job is being resized already");
    } else if (!have_taken_up(job)) {
        pli_refuse(a, EBUSY, "not all ranks were told of the last resize yet");
    } else if (ask->version != (uint32_t)version) {
        snprintf(text, sizeof text,
                 "the world has become version %d, and the ranks work in version %u; take it up "
                 "(MPIX_Comm_world_at) before",
                 version, ask->version);
        pli_refuse(a, ESTALE, "%s", text);
    } else if (ask->n < 1 || ask->n > now) {
        pli_refuse(a, EINVAL, "the request makes no sense");
    } else if (job->opt.elastic_max != 0 && now + ask->n > job->opt.elastic_max) {
        snprintf(text, sizeof text, "%u ranks are outside --elastic %u:%u; there are %u now",
                 now + ask->n, job->opt.elastic_min, job->opt.elastic_max, now);
        pli_refuse(a, ERANGE, "%s", text);
    }
    return a->error == 0;
}

void pli_resize_renumber(uint32_t first)
{
    for (uint32_t i = 0; i < z.n_new; i++) {
        z.next[z.n_next - z.n_new + i] = first + i;
    }
    z.first = first;
}

bool pli_resize_fork(struct pli_job *job, const void *body, size_t len, void *token,
                     struct pli_answer *a)
{
    struct pli_ask_fork ask = { 0 };
    struct pli_muster_clones as = { 0 };
    const char *names = "", *add = "";
    bool is_done = true;
    if (len < sizeof ask || !read_hosts(body, len, sizeof ask, &names, &add)) {
        pli_refuse(a, EINVAL, "the request is cut short");
        return true;
    }
    memcpy(&ask, body, sizeof ask);
    uint32_t now = size_now(job);
    if (!may_fork(job, &ask, a) || !pli_muster_find(job, names, add, &as, a)) {
        return true;
    }
    if (!plan(job, now + ask.n)) {
        pli_refuse(a, ENOMEM, "mpiexec has no memory for it");
        return true;
    }
    if (pli_job_is_head(job)) {
        as.rank = now;
        as.version = ask.version + 1;
        is_done = pli_muster_clones(job, z.next, ask.n, &as, token, a);
    } else {
        pli_spawn_reserve(job, z.next, ask.n, now, ask.version + 1, a);
    }
    free(as.hosts);
    if (a->error != 0) {
        drop_plan();
        return true;
    }
    prctl(PR_SET_CHILD_SUBREAPER, 1); // clones are orphans by intention
    z.n_new = ask.n;
    pli_resize_renumber(a->first);
    z.n_ready = 0;
    z.token = NULL;
    z.is_fork = true;
    z.is_repair = false;
    z.is_agreed = false;
    z.asker = pli_node_row_of(&job->node, ask.asker);
    go(job, S_COMING);
    return is_done;
}

bool pli_resize_forked(struct pli_job *job, const void *body, size_t len, void *token,
                       struct pli_answer *a)
{
    struct pli_ask_forked ask = { 0 };
    memcpy(&ask, body, len < sizeof ask ? len : sizeof ask);
    if (z.state != S_COMING || !z.is_fork) {
        pli_refuse(a, ECHILD, "a clone ended before it was a rank; the world stays as it was");
        return true;
    }
    if (!ask.is_good) {
        give_up(job, ECANCELED, "");
        return true; // who asks knows why
    }
    z.is_agreed = true;
    if (z.n_ready == z.n_new) {
        conclude(job, a);
        return true;
    }
    z.token = token;
    return false;
}

bool pli_resize_clone(struct pli_task *from, uint32_t row, pid_t pid, const int fds[4])
{
    struct pli_job *job = from->job;
    if (job->is_daemon) {
        return pli_recruit_clone(from, row, pid, fds);
    }
    return row < pli_node_n_used(&job->node) && is_new(job, row) && z.is_fork &&
           pli_spawn_clone(job, from, row, pid, fds);
}
