// SPDX-License-Identifier: BSD-3-Clause
// Agreement among the surviving members of a communicator: each member writes a vote. If all are on
// one host, the first member that sees the votes of all survivors writes the result: the number of
// the last failure that counts (failures are numbered). Every member computes the rest from the
// votes, which all can read. If they are on several hosts, the launcher counts the votes and writes
// the result for all hosts.
#include "comm/agree.h"

#include "boot/boot.h"
#include "boot/failure_wire.h"
#include "comm/comm_make.h"
#include "ft/agree_count.h"
#include "ft/failure.h"
#include "ft/revoke_table.h"
#include "msg/endpoint.h"
#include "msg/lane.h"
#include "msg/progress.h"
#include "msg/request.h"
#include "obj/comm.h"
#include "obj/group_build.h"
#include "obj/status.h"

#include <stdlib.h>

enum { SEQ_SHIFT = 32 };

// One agreement under way: polled until it is decided, then a task, because making a communicator
// takes locks.
struct op {
    struct pli_poller poller;
    struct pli_task task;
    struct pli_request *request;
    struct pli_comm *comm;
    struct pli_failure_agreement *agreement;
    uint32_t seq;
    uint32_t value;
    uint32_t seen; // the count of news when the votes were last counted
    bool has_voted;
    int *flag;             // of an agreement on a flag
    MPI_Comm *handle;      // of a shrink without waiting
    struct pli_comm **out; // of one with
};

static _Atomic uint64_t *result_of(const struct op *o)
{
    return &o->agreement->results[o->seq % PLI_FAILURE_AHEAD];
}

// Write the result if all votes are there.
static void decide(const struct op *o)
{
    const struct pli_node *node = &pli_boot.node;
    uint32_t n_failed = atomic_load_explicit(&node->header->n_failed, memory_order_acquire);
    uint64_t before = atomic_load_explicit(result_of(o), memory_order_acquire);
    if (o->agreement->is_wide || !pli_agree_count_is_full(node, o->agreement, o->seq, n_failed)) {
        return; // the votes of other hosts are not in this memory: the launcher counts them
    }
    uint64_t result = (uint64_t)o->seq << SEQ_SHIFT | n_failed;
    if (before >> SEQ_SHIFT < o->seq &&
        atomic_compare_exchange_strong(result_of(o), &before, result)) {
        pli_shm_wake_node(node);
    }
}

// Context: lane locked, as for all pollers. Results are taken in order: a member that votes in the
// n-th agreement no longer needs the result of the (n - PLI_FAILURE_AHEAD)-th.
static int poll(struct pli_poller *p)
{
    struct op *o = PLI_CONTAINER(p, struct op, poller);
    uint32_t news = atomic_load_explicit(pli_failure_news, memory_order_acquire);
    bool is_first = !o->has_voted && o->seq <= o->comm->n_agreed + PLI_FAILURE_AHEAD;
    if (is_first) {
        pli_revoke_table_vote(o->comm, o->agreement, o->seq, o->value, o->flag == NULL);
        o->has_voted = true;
    }
    if (o->has_voted && (is_first || news != o->seen)) {
        o->seen = news; // the last member to vote decides, or one that learns of a failure
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

// Which of the two groups of an intercommunicator is the local one.
static int mine(const struct pli_comm *c)
{
    return pli_revoke_table_first(c, false) > 0;
}

// The survivors of a group.
static enum pli_err survivors(const struct op *o, const struct pli_group *g, uint32_t n_failed,
                              struct pli_group **out)
{
    struct pli_group_build b;
    pli_group_build_init(&b);
    for (int i = 0; i < g->size; i++) {
        struct pli_id id = pli_group_at(g, i);
        if (!pli_agree_count_is_out(&pli_boot.node, id.proc, n_failed)) {
            pli_group_build_add_id(&b, id);
        }
    }
    return pli_group_build_finish(&b, o->comm->group->session, o->comm->group->me, out);
}

// Both groups use the context of the first.
static enum pli_err shrink_inter(const struct op *o, uint32_t n_failed, struct pli_group *group,
                                 const struct pli_failure_outcome *is, struct pli_comm **out)
{
    struct pli_comm *c = o->comm;
    struct pli_group *remote = NULL;
    enum pli_err err = survivors(o, c->remote, n_failed, &remote);
    if (err == PLI_OK && remote->size > 0) {
        err =
            pli_comm_make_inter(c, group, remote, is->context[0][0], is->context[mine(c)][1], out);
    }
    pli_group_release(remote);
    return err;
}

// A member that failed since then is a member of the new communicator, which gets the news.
static enum pli_err shrink(const struct op *o, uint32_t n_failed,
                           const struct pli_failure_outcome *is, struct pli_comm **out)
{
    struct pli_comm *c = o->comm;
    struct pli_group *group;
    enum pli_err err = survivors(o, c->group, n_failed, &group);
    if (err != PLI_OK) {
        return err;
    }
    err = c->is_inter ? shrink_inter(o, n_failed, group, is, out)
                      : pli_comm_make_child(c, group, NULL, is->context[0][0], out);
    pli_group_release(group);
    return err;
}

static enum pli_err apply_result(const struct op *o, uint32_t n_failed)
{
    const struct pli_comm *c = o->comm;
    struct pli_comm *made = NULL;
    struct pli_failure_outcome is =
        o->agreement->is_wide
            ? o->agreement->outcomes[o->seq % PLI_FAILURE_AHEAD]
            : pli_agree_count_count(&pli_boot.node, o->agreement, o->seq, n_failed);
    if (o->flag != NULL) {
        *o->flag = (int)is.flags[c->is_inter ? !mine(c) : 0];
        return is.is_known ? PLI_OK : PLI_ERR_PROC_FAILED;
    }
    enum pli_err err = shrink(o, n_failed, &is, &made);
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
    enum pli_err err = apply_result(o, (uint32_t)result);
    pli_lock_take(&lane->lock);
    o->comm->n_agreed++;
    pli_request_complete(o->request, err);
    pli_lock_drop(&lane->lock);
}

static enum pli_err finish(struct pli_request *r, MPI_Status *status)
{
    pli_status_set_empty(status);
    if (r->err == PLI_ERR_PROC_FAILED) {
        pli_failure_look(r->lane); // another thread may have read the news first
        return pli_failure_explain(PLI_ERR_PROC_FAILED, r->ops->name, r->comm);
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
    struct pli_failure_mark *m;
    enum pli_err err = c->is_span ? pli_comm_refuse_span(c, "agreement among survivors")
                                  : pli_revoke_table_make(c, &m);
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
    o->agreement = pli_revoke_table_agreement(m);
    o->seq = ++c->n_agreement;
    pli_request_hold(c);
    r->comm = c;
    r->ops = like.flag != NULL ? &agree_ops : &shrink_ops;
    r->flags |= PLI_REQ_NO_STATUS;
    r->ext = o;
    pli_list_push(&lane->pollers, &o->poller.link);
    pli_lock_drop(&lane->lock);
    pli_progress_once(lane); // vote now: the others should not wait for the next call
    *out = r;
    return PLI_OK;
}

// Start an agreement and wait for it.
static enum pli_err run_op(struct pli_comm *c, struct op like, const char *call)
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

enum pli_err pli_agree_agree(struct pli_comm *comm, int *flag)
{
    return run_op(comm, (struct op){ .flag = flag, .value = (uint32_t)*flag }, "MPIX_Comm_agree");
}

enum pli_err pli_agree_meet(struct pli_comm *comm, const char *call)
{
    int flag = 1;
    enum pli_err err = run_op(comm, (struct op){ .flag = &flag, .value = 1 }, call);
    if (err == PLI_ERR_PROC_FAILED) { // failed members are not waited for
        pli_fail_take(NULL);
        return PLI_OK;
    }
    return err;
}

enum pli_err pli_agree_shrink(struct pli_comm *comm, struct pli_comm **out)
{
    return pli_agree_shrink_in(comm, "MPIX_Comm_shrink", out);
}

enum pli_err pli_agree_shrink_in(struct pli_comm *comm, const char *call, struct pli_comm **out)
{
    return run_op(comm, (struct op){ .out = out }, call);
}

enum pli_err pli_agree_iagree(struct pli_comm *comm, int *flag, struct pli_request **request_out)
{
    return begin(comm, (struct op){ .flag = flag, .value = (uint32_t)*flag }, request_out);
}

enum pli_err pli_agree_ishrink(struct pli_comm *comm, MPI_Comm *out,
                               struct pli_request **request_out)
{
    return begin(comm, (struct op){ .handle = out }, request_out);
}
