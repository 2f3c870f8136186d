// SPDX-License-Identifier: BSD-3-Clause
// Everybody leaves a vote. Whoever sees that all who live have come writes the result: up to which
// death members are left out. The first one to do so decides, and it does not matter who. All the
// rest follows from the votes of the others, which everybody reads; deaths are numbered.
#include "comm/pact.h"

#include "boot/alarm_wire.h"
#include "boot/boot.h"
#include "comm/comm_make.h"
#include "core/alarm.h"
#include "core/ep.h"
#include "core/lane.h"
#include "core/mark.h"
#include "core/process.h"
#include "core/progress.h"
#include "core/request.h"
#include "obj/comm.h"
#include "obj/group_build.h"
#include "obj/status.h"

#include <stdlib.h>

enum { SEQ_SHIFT = 32 };

// One agreement under way: polled until it is decided, then a task, because to make a communicator
// takes locks.
struct op {
    struct pli_poller poller;
    struct pli_task task;
    struct pli_request *request;
    struct pli_comm *comm;
    struct pli_alarm_pact *pact;
    uint32_t seq;
    uint32_t value;
    uint32_t seen; // of the news, when the votes were last counted
    bool has_voted;
    int *flag;             // of an agreement on a flag
    MPI_Comm *handle;      // of a shrink without waiting
    struct pli_comm **out; // of one with
};

static struct pli_alarm_vote *vote_of(const struct op *o, int place)
{
    return &o->pact->members[place].votes[o->seq % PLI_ALARM_N_VOTE];
}

static _Atomic uint64_t *result_of(const struct op *o)
{
    return &o->pact->results[o->seq % PLI_ALARM_AHEAD];
}

static bool is_dead(const struct op *o, int place, uint32_t n_failed)
{
    uint32_t at = pli_alarm_failed_at(o->pact->members[place].proc);
    return at != 0 && at <= n_failed;
}

// Decide if all votes are there.
static void decide(const struct op *o)
{
    uint32_t n_failed = atomic_load_explicit(&pli_boot.node.header->n_failed, memory_order_acquire);
    uint64_t before = atomic_load_explicit(result_of(o), memory_order_acquire);
    for (int i = 0; i < (int)o->pact->n_member; i++) {
        if (!is_dead(o, i, n_failed) &&
            atomic_load_explicit(&vote_of(o, i)->seq, memory_order_seq_cst) < o->seq) {
            return;
        }
    }
    uint64_t result = (uint64_t)o->seq << SEQ_SHIFT | n_failed;
    if (before >> SEQ_SHIFT < o->seq &&
        atomic_compare_exchange_strong(result_of(o), &before, result)) {
        pli_shm_wake_node(&pli_boot.node);
    }
}

static void vote(struct op *o)
{
    const struct pli_comm *c = o->comm;
    struct pli_alarm_vote *v = vote_of(o, pli_mark_first(c, false) + c->rank);
    uint32_t n_acked = (uint32_t)atomic_load_explicit(&c->n_acked, memory_order_relaxed);
    atomic_store_explicit(&v->value, o->value, memory_order_relaxed);
    atomic_store_explicit(&v->n_acked, n_acked, memory_order_relaxed);
    for (int i = 0; i < 2 && o->flag == NULL; i++) {
        atomic_store_explicit(&v->context[i], pli_process_context(), memory_order_relaxed);
    }
    atomic_store_explicit(&v->seq, o->seq, memory_order_seq_cst);
    o->has_voted = true;
}

// Context: lane locked, as of all pollers. Results are taken in order: who votes for the n-th has
// no more use for what was there for the n-th but PLI_ALARM_AHEAD.
static int poll(struct pli_poller *p)
{
    struct op *o = PLI_CONTAINER(p, struct op, poller);
    uint32_t news = atomic_load_explicit(pli_alarm_news, memory_order_acquire);
    bool is_first = !o->has_voted && o->seq <= o->comm->n_agreed + PLI_ALARM_AHEAD;
    if (is_first) {
        vote(o);
    }
    if (o->has_voted && (is_first || news != o->seen)) {
        o->seen = news; // the last one to come decides, or who hears of a death
        decide(o);
    }
    if (o->comm->n_agreed + 1 != o->seq ||
        atomic_load_explicit(result_of(o), memory_order_acquire) >> SEQ_SHIFT < o->seq) {
        return is_first ? 1 : 0;
    }
    pli_list_remove(&o->poller.link);
    pli_lane_defer(o->request->lane, &o->task);
    return 1;
}

// The bitwise and of the flags of those who count: all of them, or the other group.
static uint32_t count_flags(const struct op *o, uint32_t n_failed)
{
    const struct pli_comm *c = o->comm;
    int first = pli_mark_first(c, c->is_inter);
    uint32_t value = UINT32_MAX;
    for (int i = first; i < first + c->n_peer; i++) {
        if (!is_dead(o, i, n_failed)) {
            value &= atomic_load_explicit(&vote_of(o, i)->value, memory_order_relaxed);
        }
    }
    return value;
}

// Whether all who live have acknowledged all who died.
static bool is_known(const struct op *o, uint32_t n_failed)
{
    uint32_t n_dead = 0, least = UINT32_MAX, most = 0;
    for (int i = 0; i < (int)o->pact->n_member; i++) {
        uint32_t acked = atomic_load_explicit(&vote_of(o, i)->n_acked, memory_order_relaxed);
        if (is_dead(o, i, n_failed)) {
            n_dead++;
            continue;
        }
        least = acked < least ? acked : least;
        most = acked > most ? acked : most;
    }
    return least == n_dead && most == n_dead;
}

// Those of a group who live, and the contexts that the first of them made.
static enum pli_err survivors(const struct op *o, const struct pli_group *g, int first,
                              uint32_t n_failed, uint64_t contexts[2], struct pli_group **out)
{
    struct pli_group_build b;
    contexts[0] = contexts[1] = 0;
    pli_group_build_init(&b);
    for (int i = 0; i < g->size; i++) {
        if (is_dead(o, first + i, n_failed)) {
            continue;
        }
        for (int k = 0; k < 2 && contexts[k] == 0; k++) {
            contexts[k] =
                atomic_load_explicit(&vote_of(o, first + i)->context[k], memory_order_relaxed);
        }
        pli_group_build_add_id(&b, pli_group_at(g, i));
    }
    return pli_group_build_finish(&b, o->comm->group->session, o->comm->group->me, out);
}

static enum pli_err shrink_inter(const struct op *o, uint32_t n_failed, struct pli_group *group,
                                 const uint64_t mine[2], struct pli_comm **out)
{
    struct pli_comm *c = o->comm;
    struct pli_group *remote = NULL;
    uint64_t theirs[2];
    int there = pli_mark_first(c, true);
    enum pli_err err = survivors(o, c->remote, there, n_failed, theirs, &remote);
    if (err == PLI_OK && remote->size > 0) {
        err = pli_comm_make_inter(c, group, remote, there > 0 ? mine[0] : theirs[0], mine[1], out);
    }
    pli_group_release(remote);
    return err;
}

// Who died since is a member that will be told of.
static enum pli_err shrink(const struct op *o, uint32_t n_failed, struct pli_comm **out)
{
    struct pli_comm *c = o->comm;
    struct pli_group *group;
    uint64_t contexts[2];
    enum pli_err err = survivors(o, c->group, pli_mark_first(c, false), n_failed, contexts, &group);
    if (err != PLI_OK) {
        return err;
    }
    err = c->is_inter ? shrink_inter(o, n_failed, group, contexts, out)
                      : pli_comm_make_child(c, group, NULL, contexts[0], out);
    pli_group_release(group);
    return err;
}

static enum pli_err settle(const struct op *o, uint32_t n_failed)
{
    struct pli_comm *made = NULL;
    if (o->flag != NULL) {
        *o->flag = (int)count_flags(o, n_failed);
        return is_known(o, n_failed) ? PLI_OK : PLI_ERR_PROC_FAILED;
    }
    enum pli_err err = shrink(o, n_failed, &made);
    if (err == PLI_OK && o->out != NULL) {
        *o->out = made;
    } else if (err == PLI_OK) {
        *o->handle = pli_handle_of(made, PLI_KIND_COMM);
    }
    return err;
}

static void run(struct pli_task *t)
{
    struct op *o = PLI_CONTAINER(t, struct op, task);
    struct pli_lane *lane = o->request->lane;
    uint64_t result = atomic_load_explicit(result_of(o), memory_order_acquire);
    enum pli_err err = settle(o, (uint32_t)result);
    pli_lock_take(&lane->lock);
    o->comm->n_agreed++;
    pli_request_complete(o->request, err);
    pli_lock_drop(&lane->lock);
}

static enum pli_err finish(struct pli_request *r, MPI_Status *status)
{
    pli_status_set_empty(status);
    if (r->err == PLI_ERR_PROC_FAILED) {
        pli_alarm_look(r->lane); // somebody else may have been the first to hear
        return pli_alarm_explain(PLI_ERR_PROC_FAILED, r->ops->name, r->comm);
    }
    return r->err == PLI_OK ? PLI_OK
                            : pli_fail((enum pli_err)r->err, "%s on %s failed: %s", r->ops->name,
                                       pli_comm_say(r->comm), pli_err_text(r->err));
}

static void clean(struct pli_request *r)
{
    free(r->ext);
}

static const struct pli_request_ops agree_ops = {
    .name = "agreement",
    .start = pli_request_no_start,
    .cancel = pli_request_no_cancel,
    .finish = finish,
    .clean = clean,
};

static const struct pli_request_ops shrink_ops = {
    .name = "shrink",
    .start = pli_request_no_start,
    .cancel = pli_request_no_cancel,
    .finish = finish,
    .clean = clean,
};

static enum pli_err begin(struct pli_comm *c, struct op like, struct pli_request **out)
{
    struct pli_lane *lane = c->ep->lane;
    struct pli_alarm_mark *m;
    enum pli_err err =
        c->is_span ? pli_comm_refuse_span(c, "agreement among survivors") : pli_mark_make(c, &m);
    if (err != PLI_OK) {
        return err;
    }
    struct op *o = malloc(sizeof *o);
    pli_lock_take(&lane->lock);
    struct pli_request *r = o != NULL ? pli_request_create(lane) : NULL;
    if (r == NULL) {
        pli_lock_drop(&lane->lock);
        free(o);
        return pli_fail(PLI_ERR_NOMEM, "no memory for an agreement");
    }
    *o = like;
    o->poller.poll = poll;
    o->task.run = run;
    o->request = r;
    o->comm = c;
    o->pact = pli_mark_pact(m);
    o->seq = ++c->n_pact;
    pli_request_hold(c);
    r->comm = c;
    r->ops = like.flag != NULL ? &agree_ops : &shrink_ops;
    r->flags |= PLI_REQ_NO_STATUS;
    r->ext = o;
    pli_list_push(&lane->pollers, &o->poller.link);
    pli_lock_drop(&lane->lock);
    pli_progress_once(lane); // the others should not wait for our next call
    *out = r;
    return PLI_OK;
}

// Begin and wait.
static enum pli_err carry_out(struct pli_comm *c, struct op like, const char *call)
{
    struct pli_request *r;
    bool is_gone;
    enum pli_err err = begin(c, like, &r);
    if (err != PLI_OK) {
        return err;
    }
    struct pli_waiter w = { .lane = c->ep->lane, .comm = c, .call = call };
    while (!pli_request_is_done(r)) {
        pli_progress_step(&w);
    }
    pli_progress_end(&w);
    return pli_request_report(r, MPI_STATUS_IGNORE, &is_gone);
}

enum pli_err pli_pact_agree(struct pli_comm *comm, int *flag)
{
    return carry_out(comm, (struct op){ .flag = flag, .value = (uint32_t)*flag },
                     "MPIX_Comm_agree");
}

enum pli_err pli_pact_shrink(struct pli_comm *comm, struct pli_comm **out)
{
    return carry_out(comm, (struct op){ .out = out }, "MPIX_Comm_shrink");
}

enum pli_err pli_pact_iagree(struct pli_comm *comm, int *flag, struct pli_request **request_out)
{
    return begin(comm, (struct op){ .flag = flag, .value = (uint32_t)*flag }, request_out);
}

enum pli_err pli_pact_ishrink(struct pli_comm *comm, MPI_Comm *out,
                              struct pli_request **request_out)
{
    return begin(comm, (struct op){ .handle = out }, request_out);
}
