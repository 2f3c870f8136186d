// SPDX-License-Identifier: BSD-3-Clause
// Decides where new processes go, and sees to it that all of an order are started, or none.
#include "launcher/hosts/spawn_head.h"

#include "launcher/base/launcher.h"
#include "launcher/base/pack.h"
#include "launcher/job/role.h"
#include "launcher/job/host_names.h"
#include "launcher/hosts/host_join.h"
#include "launcher/ranks/rank_request.h"
#include "boot/launcher_wire.h"
#include "launcher/job/programs.h"
#include "launcher/hosts/head.h"
#include "launcher/job/hosts.h"
#include "launcher/job/job.h"
#include "launcher/hosts/dlink_frame.h"
#include "launcher/base/refuse.h"
#include "launcher/ranks/resize.h"
#include "launcher/job/rank_rows.h"
#include "launcher/base/say.h"
#include "launcher/ranks/spawn.h"
#include "launcher/job/rank_map.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum state { S_KNOWING, S_STARTING };

// Processes on their way.
struct pli_spawn_head_order {
    struct pli_spawn_head_order *next;
    struct pli_job *job;
    struct pli_programs_list list;
    uint32_t *hosts; // of each process
    uint32_t id, first;
    uint32_t n_wait; // hosts that have not answered
    enum state state;
    void *token;             // the request that waits, NULL: none
    const uint32_t *parents; // of clones, which come by themselves; NULL: they are started
    bool is_our_choice;      // the request does not say where the clones go
    bool is_refused;         // and it was a bad one
    char *body;              // the request, of one that waits
    size_t len;
};

static bool announce(struct pli_spawn_head_order *o, const char *body, size_t len,
                     struct pli_answer *a);

static void destroy(struct pli_spawn_head_order *o)
{
    pli_programs_list_fini(&o->list);
    free(o->hosts);
    free(o->body);
    free(o);
}

static void unlist(const struct pli_spawn_head_order *o)
{
    struct pli_spawn_head_state *self = pli_launcher.spawn_head;
    struct pli_spawn_head_order **at = &self->orders;
    while (*at != o) {
        at = &(*at)->next;
    }
    *at = o->next;
}

// The order is done: answer the request.
static void finish(struct pli_spawn_head_order *o, const struct pli_answer *a)
{
    unlist(o);
    if (o->token != NULL) {
        pli_rank_request_answer(o->token, a);
    }
    if (o->list.version > 0 && a->error != 0) {
        pli_resize_fail(o->job, a->text);
    }
    destroy(o);
}

static void send_drop(uint32_t id, enum state state, uint32_t first, uint32_t n)
{
    struct pli_pack p = { 0 };
    pli_pack_u32(&p, first);
    pli_pack_u32(&p, n);
    pli_head_send((uint32_t)PLI_DLINK_ALL, PLI_DLINK_DROP, state == S_STARTING, id, p.data, p.len);
    pli_pack_fini(&p);
}

// Cancel all processes of the order.
static void undo(struct pli_spawn_head_order *o)
{
    send_drop(o->id, o->state, o->first, o->list.n_all);
    for (uint32_t i = 0; i < o->list.n_all && o->state == S_KNOWING; i++) {
        pli_rank_rows_cancel(o->job, pli_rank_rows_at(o->job, o->first + i));
    }
}

// One host cannot start its processes, so none is started.
static void take_back(struct pli_spawn_head_order *o, const char *why)
{
    struct pli_answer a = { 0 };
    undo(o);
    pli_refuse(&a, ECHILD, "%s", why);
    finish(o, &a);
}

void pli_spawn_head_undo(struct pli_job *job, uint32_t first, uint32_t n)
{
    struct pli_spawn_head_state *self = pli_launcher.spawn_head;
    struct pli_spawn_head_order *o = self->orders;
    for (struct pli_proc_task *t = job->spawned; t != NULL; t = t->next) {
        t->is_dropped = t->is_dropped || t->number - first < n; // how it ends may be told later
    }
    while (o != NULL && o->first != first) {
        o = o->next;
    }
    if (o == NULL) { // all were started
        send_drop(0, S_STARTING, first, n);
        return;
    }
    undo(o);
    unlist(o);
    destroy(o);
}

static uint32_t count_hosts(const struct pli_spawn_head_order *o)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < o->list.n_all; i++) {
        bool is_new = true;
        for (uint32_t k = 0; k < i; k++) {
            is_new = is_new && o->hosts[k] != o->hosts[i];
        }
        n += is_new;
    }
    return n;
}

// All hosts know of all processes: a process that calls another one is known there.
static void start(struct pli_spawn_head_order *o)
{
    struct pli_job *job = o->job;
    uint32_t index = o->first;
    o->state = S_STARTING;
    o->n_wait = count_hosts(o);
    for (uint32_t i = 0; i < o->list.ask.n_part; i++) {
        for (uint32_t k = 0; k < o->list.programs[i]->app.n_rank; k++, index++) {
            struct pli_proc_task *t = pli_say_need(
                pli_programs_task(job, o->list.programs[i], pli_rank_rows_at(job, index)));
            t->host = o->hosts[index - o->first];
            pli_head_add(t);
        }
    }
    pli_head_send((uint32_t)PLI_DLINK_ALL, PLI_DLINK_START_LATER, 0, o->id, NULL, 0);
}

// All hosts know of all clones: they may come. Their output will.
static void await(struct pli_spawn_head_order *o)
{
    struct pli_answer a = { .first = o->first, .n = o->list.n_all };
    for (uint32_t i = 0; i < o->list.n_all; i++) {
        struct pli_proc_task *t = pli_say_need(
            pli_programs_task(o->job, o->list.programs[0], pli_rank_rows_at(o->job, o->first + i)));
        t->host = o->hosts[i];
        pli_head_add(t);
    }
    finish(o, &a);
}

static uint32_t host_of(const struct pli_job *job, uint32_t index)
{
    const struct pli_proc_task *t = pli_job_next(job, NULL);
    uint32_t row = pli_node_row_of(&job->node, index);
    while (t != NULL && !pli_task_has(t, row)) {
        t = pli_job_next(job, t);
    }
    return t != NULL ? t->host : 0;
}

// No host that has a free slot can take them: they are where their parents are.
static void stay(struct pli_spawn_head_order *o)
{
    struct pli_spawn_head_state *self = pli_launcher.spawn_head;
    struct pli_answer a = { 0 };
    undo(o);
    unlist(o);
    o->is_our_choice = o->is_refused = false;
    for (uint32_t i = 0; i < o->list.n_all; i++) {
        o->hosts[i] = host_of(o->job, o->parents[i]);
    }
    if (announce(o, NULL, 0, &a)) {
        pli_resize_renumber(o->first);
    } else {
        o->next = self->orders;
        self->orders = o;
        finish(o, &a);
    }
}

void pli_spawn_head_hear(uint16_t kind, uint32_t id, const char *why, size_t len)
{
    struct pli_spawn_head_state *self = pli_launcher.spawn_head;
    struct pli_spawn_head_order *o = self->orders;
    while (o != NULL && o->id != id) {
        o = o->next;
    }
    if (o == NULL || (kind == PLI_DLINK_KNOWN) != (o->state == S_KNOWING)) {
        return; // it was taken back
    }
    if (o->is_our_choice && (len > 0 || o->is_refused)) {
        if (len > 0 && !o->is_refused && o->job->opt.is_verbose) {
            pli_say("clones stay where they are made: %.*s", (int)len, why);
        }
        o->is_refused = true;
        if (--o->n_wait == 0) {
            stay(o);
        }
    } else if (len > 0) {
        char text[240];
        snprintf(text, sizeof text, "%.*s", (int)(len < sizeof text ? len : sizeof text), why);
        take_back(o, text);
    } else if (--o->n_wait == 0 && kind == PLI_DLINK_KNOWN) {
        o->parents != NULL ? await(o) : start(o);
    } else if (o->n_wait == 0) {
        struct pli_answer a = { .first = o->first, .n = o->list.n_all };
        finish(o, &a);
    }
}

// A host is ready for a clone: its parent's host learns of it.
static void tell_parent_host(const struct pli_job *job, const struct pli_dframe *f)
{
    struct pli_spawn_head_state *self = pli_launcher.spawn_head;
    const struct pli_spawn_head_order *o = self->orders;
    while (o != NULL && (o->parents == NULL || f->a - o->first >= o->list.n_all)) {
        o = o->next;
    }
    if (o != NULL) {
        pli_head_send(host_of(job, o->parents[f->a - o->first]), PLI_DLINK_SEND_CLONE, 0, f->a,
                      f->data, f->len);
    }
}

void pli_spawn_head_hear_clone(struct pli_job *job, uint32_t host, const struct pli_dframe *f)
{
    char why[240];
    if (f->kind == PLI_DLINK_CLONE_READY) {
        tell_parent_host(job, f);
        return;
    }
    const struct pli_proc_task *t =
        f->kind == PLI_DLINK_CLONE_SENT ? pli_job_find_task(job, f->a) : NULL;
    if (t == NULL || t->is_dropped) {
        return;
    }
    if (f->flag == 0) {
        pli_head_send(t->host, PLI_DLINK_RESTORE_CLONE, 0, f->a, f->data, f->len);
        return;
    }
    snprintf(why, sizeof why, "host %.40s: %.*s", job->hosts[host].name,
             (int)(f->len < 190 ? f->len : 190), (const char *)f->data);
    pli_resize_fail(job, why);
}

void pli_spawn_head_lost(const char *name)
{
    struct pli_spawn_head_state *self = pli_launcher.spawn_head;
    char why[160];
    snprintf(why, sizeof why, "host %.64s was lost before all processes were started", name);
    uint32_t last = self->n_order; // what fails may be tried again, elsewhere
    struct pli_spawn_head_order *o = self->orders;
    while (o != NULL) {
        bool is_old = o->id <= last;
        if (is_old) {
            take_back(o, why);
        }
        o = is_old ? self->orders : o->next;
    }
}

void pli_spawn_head_forget(const void *token)
{
    struct pli_spawn_head_state *self = pli_launcher.spawn_head;
    for (struct pli_spawn_head_order *o = self->orders; o != NULL; o = o->next) {
        o->token = o->token == token ? NULL : o->token;
    }
    if (self->waiting != NULL && self->waiting->token == token) {
        self->waiting->token = NULL;
    }
}

void pli_spawn_head_ready(struct pli_job *job, uint32_t index)
{
    uint32_t row = pli_node_row_of(&job->node, index);
    if (row != UINT32_MAX) {
        pli_resize_ready(job, row);
    }
}

bool pli_spawn_head_is_new(uint32_t index)
{
    struct pli_spawn_head_state *self = pli_launcher.spawn_head;
    const struct pli_spawn_head_order *o = self->orders;
    while (o != NULL && index - o->first >= o->list.n_all) {
        o = o->next;
    }
    return o != NULL;
}

// Where the processes go: to the hosts that have most room.
static bool place(struct pli_spawn_head_order *o, struct pli_answer *a)
{
    uint32_t at = 0;
    o->hosts = pli_say_need(calloc((size_t)o->list.n_all + 1, sizeof *o->hosts));
    for (uint32_t i = 0; i < o->list.ask.n_part && a->error == 0; i++) {
        const struct pli_programs *c = o->list.programs[i];
        a->part = i;
        if (!pli_rank_map_more(o->job, o->hosts, at, c->app.n_rank, c->may)) {
            pli_refuse(a, ENOSPC,
                       c->may != NULL
                           ? "the host takes no more processes: see max_slots in the list "
                             "of hosts, or it is lost"
                           : "the hosts take no more processes: see max_slots in the "
                             "list of hosts");
        }
        at += c->app.n_rank;
    }
    return a->error == 0;
}

// Tell all hosts which processes will be started. `body`: the request, with the programs; none for
// new ranks.
static bool announce(struct pli_spawn_head_order *o, const char *body, size_t len,
                     struct pli_answer *a)
{
    struct pli_spawn_head_state *self = pli_launcher.spawn_head;
    struct pli_pack p = { 0 };
    if (!pli_rank_rows_check(o->job, o->list.n_all, a) || (o->hosts == NULL && !place(o, a)) ||
        !pli_rank_rows_take(o->job, o->list.n_all, &o->first, a)) {
        return false;
    }
    if (o->parents != NULL) {
        pli_spawn_expect(o->job, o->first, o->parents, o->list.n_all, o->hosts, &o->list);
    } else {
        pli_spawn_fill(o->job, &o->list, o->first, o->hosts);
    }
    o->id = ++self->n_order;
    o->n_wait = pli_hosts_n_left(o->job);
    o->next = self->orders;
    self->orders = o;
    pli_pack_u32(&p, o->first);
    pli_pack_u32(&p, o->list.n_all);
    for (uint32_t i = 0; i < o->list.n_all; i++) {
        pli_pack_u32(&p, o->hosts[i]);
    }
    pli_pack_u32(&p, o->list.rank);
    pli_pack_u32(&p, o->list.version);
    pli_pack_bytes(&p, body, len);
    for (uint32_t i = 0; i < o->list.n_all && o->parents != NULL; i++) {
        uint32_t row = pli_node_row_of(&o->job->node, o->parents[i]);
        pli_pack_u32(&p, o->parents[i]);
        pli_pack_u32(&p, row != UINT32_MAX ? o->job->node.rows[row].app : 0);
    }
    enum pli_coming what = o->parents != NULL    ? PLI_COMING_CLONES
                           : o->list.version > 0 ? PLI_COMING_RANKS
                                                 : PLI_COMING_SPAWNED;
    pli_head_send((uint32_t)PLI_DLINK_ALL, PLI_DLINK_EXPECT, (uint16_t)what, o->id, p.data, p.len);
    pli_pack_fini(&p);
    return true;
}

// The hosts that all parts name; of the heap.
static char *list_hosts(const struct pli_spawn_head_order *o)
{
    struct pli_pack p = { 0 };
    for (uint32_t i = 0; i < o->list.ask.n_part; i++) {
        const struct pli_programs *c = o->list.programs[i];
        pli_pack_bytes(&p, c->hosts, strlen(c->hosts));
        pli_pack_bytes(&p, ",", 1);
        pli_pack_bytes(&p, c->add, strlen(c->add));
        pli_pack_bytes(&p, ",", 1);
    }
    pli_pack_bytes(&p, "", 1);
    return (char *)p.data;
}

// All hosts are there that the request names.
static bool go_on(struct pli_spawn_head_order *o, const char *body, size_t len,
                  struct pli_answer *a)
{
    for (uint32_t i = 0; i < o->list.ask.n_part; i++) {
        struct pli_programs *c = o->list.programs[i];
        c->may = pli_host_names_named(o->job, c->hosts);
    }
    return announce(o, body, len, a);
}

static void joined(void *arg, const struct pli_answer *how)
{
    struct pli_spawn_head_state *self = pli_launcher.spawn_head;
    struct pli_spawn_head_order *o = arg;
    struct pli_answer a = *how;
    self->waiting = NULL;
    if (a.error == 0 && o->token != NULL && go_on(o, o->body, o->len, &a)) {
        return;
    }
    if (o->token != NULL) {
        pli_rank_request_answer(o->token, &a);
    }
    destroy(o);
}

bool pli_spawn_head_spawn(struct pli_job *job, const char *body, size_t len, void *token,
                          struct pli_answer *a)
{
    struct pli_spawn_head_state *self = pli_launcher.spawn_head;
    struct pli_spawn_head_order *o = pli_say_need(calloc(1, sizeof *o));
    o->job = job;
    o->token = token;
    if (!pli_programs_read(job, body, len, &o->list, a) || !pli_host_join_may_grow(a)) {
        destroy(o);
        return true;
    }
    char *list = list_hosts(o);
    enum pli_host_join when = pli_host_join_ask(job, list, joined, o, a);
    free(list);
    if (when == PLI_HOST_JOIN_LATER) {
        o->body = pli_say_need(malloc(len + 1));
        memcpy(o->body, body, len);
        o->len = len;
        self->waiting = o;
        return false;
    }
    if (a->error != 0 || !go_on(o, body, len, a)) {
        destroy(o);
        return true;
    }
    return false;
}

void pli_spawn_head_ranks(struct pli_job *job, uint32_t n, uint32_t rank, uint32_t version,
                          const bool *may, struct pli_answer *a)
{
    struct pli_spawn_head_order *o = pli_say_need(calloc(1, sizeof *o));
    o->job = job;
    if (!pli_programs_ranks(job, n, rank, version, &o->list)) {
        pli_refuse(a, ENOMEM, "mpiexec has no memory for it");
    } else if (may != NULL) {
        o->list.programs[0]->may = pli_say_need(calloc(job->n_host + 1, sizeof *may));
        memcpy(o->list.programs[0]->may, may, job->n_host * sizeof *may);
    }
    if (a->error != 0 || !pli_host_join_may_grow(a) || !announce(o, NULL, 0, a)) {
        destroy(o);
        return;
    }
    a->first = o->first;
    a->n = n;
}

bool pli_spawn_head_clones(struct pli_job *job, const struct pli_role_clones *c, void *token,
                           struct pli_answer *a)
{
    uint32_t n_host = 0, *hosts = NULL;
    if (c->add[0] != '\0') {
        pli_refuse(a, ENOTSUP, "clones go to hosts of the job, for which hint add-host is not");
    } else if (c->names[0] != '\0') {
        hosts = pli_host_names_list(job, c->names, &n_host, a);
    }
    if (a->error != 0) {
        return true;
    }
    struct pli_spawn_head_order *o = pli_say_need(calloc(1, sizeof *o));
    o->job = job;
    o->token = token;
    o->parents = c->parents;
    o->hosts = pli_say_need(calloc((size_t)c->n + 1, sizeof *o->hosts));
    for (uint32_t i = 0; i < c->n; i++) {
        o->hosts[i] = host_of(job, c->parents[i]);
    }
    o->is_our_choice = pli_rank_map_clones(job, o->hosts, c->n, hosts, n_host) && n_host == 0;
    free(hosts);
    if (!pli_programs_ranks(job, c->n, c->rank, c->version, &o->list)) {
        pli_refuse(a, ENOMEM, "mpiexec has no memory for it");
    }
    if (a->error != 0 || !pli_host_join_may_grow(a) || !announce(o, NULL, 0, a)) {
        destroy(o);
        return true;
    }
    a->first = o->first;
    return false;
}

void pli_spawn_head_successor(struct pli_job *job, uint32_t rank, uint32_t dead, uint32_t version,
                              struct pli_answer *a)
{
    const struct pli_node_proc *p = pli_node_find(&job->node, dead);
    bool *may = pli_say_need(calloc(job->n_host + 1, sizeof *may));
    may[p->host] = true;
    pli_spawn_head_ranks(job, 1, rank, version, may, a);
    free(may);
    if (a->error != 0) {
        *a = (struct pli_answer){ 0 };
        pli_spawn_head_ranks(job, 1, rank, version, NULL, a);
    }
}
