// SPDX-License-Identifier: BSD-3-Clause
// Creates and destroys communicators, and keeps the list of all.
#include "obj/comm.h"
#include "base/cpu.h"

#include "obj/attr.h"
#include "obj/comm_hold.h"
#include "obj/errhandler.h"
#include "obj/handle_predefined.h"
#include "obj/info.h"
#include "obj/session_comms.h"
#include "obj/impi_span.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { N_END = 8 };
static pli_comm_end_fn ends[N_END];
static pli_comm_end_fn begin; // NULL: no room asked for it
static int n_end;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static struct pli_list all = { &all, &all };      // guarded by guard
const struct pli_list *const pli_comm_all = &all; // for debuggers

PLI_START void pli_comm_init(void)
{
    pli_errhandler_keep(PLI_KIND_COMM, offsetof(struct pli_comm, errhandler));
    pli_attr_keep(PLI_KIND_COMM, offsetof(struct pli_comm, attrs));
}

enum pli_err pli_comm_set_errhandler(struct pli_comm *c, struct pli_errhandler *e)
{
    return pli_errhandler_set(&c->obj, e);
}

enum pli_err pli_comm_get_errhandler(struct pli_comm *c, struct pli_errhandler **out)
{
    return pli_errhandler_get(&c->obj, out);
}

void pli_comm_each(void (*fn)(struct pli_comm *c, void *arg), void *arg)
{
    struct pli_list *at = all.next;
    while (at != &all) {
        struct pli_comm *c = PLI_CONTAINER(at, struct pli_comm, all);
        at = at->next;
        fn(c, arg);
    }
}

void pli_comm_visit(void (*fn)(struct pli_comm *c, void *arg), void *arg)
{
    pthread_mutex_lock(&guard);
    pli_comm_each(fn, arg);
    pthread_mutex_unlock(&guard);
}

void pli_comm_adopt(struct pli_comm *inter, struct pli_comm *local)
{
    pthread_mutex_lock(&guard);
    local->is_freed = true;
    local->outer = inter;
    inter->local = local;
    pthread_mutex_unlock(&guard);
}

void pli_comm_bar(struct pli_comm *c)
{
    uint16_t kind = PLI_KIND_COMM;
    atomic_compare_exchange_strong(&c->obj.kind, &kind, PLI_KIND_BARRED);
}

void pli_comm_unbar(struct pli_comm *c)
{
    uint16_t kind = PLI_KIND_BARRED;
    atomic_compare_exchange_strong(&c->obj.kind, &kind, PLI_KIND_COMM);
}

void pli_comm_abandon(struct pli_comm *c, enum pli_err err)
{
    atomic_store_explicit(&c->stop_err, err, memory_order_relaxed);
    pli_comm_bar(c);
}

struct pli_comm *pli_comm_any(MPI_Comm h)
{
    struct pli_comm *c = pli_handle_get(h, PLI_KIND_COMM);
    return c != NULL ? c : pli_handle_get(h, PLI_KIND_BARRED);
}

void pli_comm_lose(struct pli_comm *c)
{
    pli_list_remove(&c->all);
    pli_session_comms_remove(c->session, c);
    c->session = NULL;
    if (c->obj.value != 0) {
        pli_handle_predefine(NULL, PLI_KIND_COMM, c->obj.value);
        c->obj.value = 0;
    }
    atomic_store_explicit(&c->obj.kind, PLI_KIND_LOST, memory_order_relaxed);
}

PLI_START void pli_comm_on_end(pli_comm_end_fn fn)
{
    for (int i = 0; i < n_end; i++) {
        if (ends[i] == fn) {
            return;
        }
    }
    if (n_end == N_END) {
        abort(); // more rooms than N_END: a mistake of ours that any run shows
    }
    ends[n_end++] = fn;
}

void pli_comm_on_begin(pli_comm_end_fn fn)
{
    begin = fn;
}

static void destroy(struct pli_comm *c)
{
    pthread_mutex_lock(&guard);
    pli_list_remove(&c->all);
    if (c->local != NULL) {
        c->local->outer = NULL;
    }
    pthread_mutex_unlock(&guard);
    for (int i = 0; i < n_end; i++) {
        ends[i](c);
    }
    pli_session_comms_remove(c->session, c);
    pli_impi_span_end(c);
    pli_comm_hold_end(c);
    pli_comm_release(c->local);
    if (c->remote != c->group) {
        pli_group_release(c->remote);
    }
    pli_group_release(c->group);
    pli_errhandler_release(c->errhandler);
    pli_info_release(c->info);
    pli_attr_forget_all(&c->obj);
    if (c->obj.value != 0) {
        pli_handle_predefine(NULL, PLI_KIND_COMM, c->obj.value);
        c->obj.value = 0;
    }
    atomic_store_explicit(&c->obj.kind, PLI_KIND_COMM, memory_order_relaxed); // it may be barred
    pli_handle_destroy(c, sizeof *c);
}

enum pli_err pli_comm_create(struct pli_endpoint *ep, struct pli_id me, struct pli_group *group,
                             struct pli_group *remote, uint64_t context, struct pli_comm **out)
{
    int rank = pli_group_rank_of(group, me);
    if (rank < 0) {
        return pli_fail(PLI_ERR_GROUP, "the calling process is not a member of the group");
    }
    struct pli_comm *c = pli_handle_create(PLI_KIND_COMM, sizeof *c);
    if (c == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for a communicator");
    }
    pthread_mutex_lock(&guard);
    pli_list_push(&all, &c->all);
    pthread_mutex_unlock(&guard);
    c->rank = rank;
    c->size = group->size;
    c->n_peer = remote != NULL ? remote->size : group->size;
    c->is_inter = remote != NULL;
    c->is_span = pli_impi_span_has_far(group) || (remote != NULL && pli_impi_span_has_far(remote));
    c->context = context;
    c->session = group->session;
    c->errhandler = pli_errhandler_retain(pli_errhandler_initial());
    enum pli_err err = pli_group_dup(group, me, &c->group);
    c->remote = c->group;
    if (err == PLI_OK && remote != NULL) {
        c->remote = NULL;
        err = pli_group_dup(remote, me, &c->remote);
    }
    if (err != PLI_OK) {
        pli_comm_release(c);
        return err;
    }
    pli_session_comms_add(c->session, c);
    pli_comm_hold(c);
    c->ep = ep; // last: on failure the endpoint stays the caller's
    if (begin != NULL) {
        begin(c);
    }
    *out = c;
    return PLI_OK;
}

struct pli_comm *pli_comm_retain(struct pli_comm *c)
{
    return pli_handle_retain(c);
}

void pli_comm_release(struct pli_comm *c)
{
    if (c != NULL && pli_handle_release(c) && c->obj.kind != PLI_KIND_LOST) {
        destroy(c);
    }
}

enum pli_err pli_comm_set_name(struct pli_comm *c, const char *name)
{
    if (name == NULL) {
        return pli_fail(PLI_ERR_ARG, "argument comm_name is NULL");
    }
    snprintf(c->name, sizeof c->name, "%s", name);
    return PLI_OK;
}

const char *pli_comm_say(const struct pli_comm *c)
{
    static _Thread_local char text[MPI_MAX_OBJECT_NAME + 64];
    bool is_endpoint = c->group != NULL && c->group->me.ep != 0;
    if (c->name[0] == '\0' && !is_endpoint) {
        return "the communicator";
    }
    int n = c->name[0] == '\0' ? snprintf(text, sizeof text, "the communicator")
                               : snprintf(text, sizeof text, "communicator %s", c->name);
    if (is_endpoint) { // of several ranks in this process
        snprintf(text + n, sizeof text - (size_t)n, " (endpoint rank %d)", c->rank);
    }
    return text;
}

enum pli_err pli_comm_refuse_span(const struct pli_comm *c, const char *what)
{
    return pli_fail(PLI_ERR_COMM,
                    "%s has ranks of another MPI job, joined by IMPI, which cannot carry %s; use a "
                    "communicator of one job (MPI_Comm_split by IMPI_CLIENT_COLOR)",
                    pli_comm_say(c), what);
}
