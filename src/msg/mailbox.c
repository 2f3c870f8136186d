// SPDX-License-Identifier: BSD-3-Clause
// The transport of processes whose mailbox this process can write to, because both map the memory
// of one job or of two jobs on this host that have met.
#include "msg/mailbox.h"

#include "base/list.h"
#include "boot/boot.h"
#include "msg/eager.h"
#include "msg/failure_hooks.h"
#include "msg/lane.h"
#include "msg/request.h"
#include "msg/rndv.h"
#include "net/net.h"
#include "net/shm/other_job.h"

#include <stdlib.h>

// A process of another job, by the memory of that.
static enum pli_err connect_other_job(struct pli_conn *c, uint64_t proc)
{
    const struct pli_other_job *o = pli_other_job_find(pli_node_job_of(proc));
    uint32_t row = o != NULL ? pli_node_row_of(&o->node, (uint32_t)proc) : UINT32_MAX;
    if (row == UINT32_MAX) {
        return PLI_ERR_UNSUPPORTED;
    }
    c->as = o->mine << PLI_OTHER_JOB_INDEX | (uint32_t)c->lane->proc;
    c->mark = (uint64_t)o->mine << PLI_OTHER_JOB_SHIFT;
    pli_shm_peer_init(&c->shm, &o->node, row, c->peer_lane);
    c->shm.claim = &c->lane->shm.box->far_claim;
    c->shm.place = &c->lane->shm.box->far_place;
    c->shm.place_job = (uint64_t)o->number << PLI_SHM_PLACE_JOB;
    return PLI_OK;
}

static enum pli_err connect(struct pli_conn *c, uint64_t proc)
{
    struct pli_boot *boot = pli_proc.boot;
    uint32_t row;
    if (pli_node_job_of(proc) != boot->job) {
        return connect_other_job(c, proc);
    }
    if (!pli_boot_shares(boot, proc, &row)) {
        return PLI_ERR_UNSUPPORTED;
    }
    pli_shm_peer_init(&c->shm, &boot->node, row, c->peer_lane);
    if (pli_request_may_be_withdrawn) {
        c->shm.claim = &boot->node.rows[boot->row].claims[c->lane->index];
    }
    return PLI_OK;
}

static bool disconnect(struct pli_conn *c)
{
    (void)c;
    return true; // the other side knows nothing of it
}

// A send that has not left is simply dropped; one that was offered is asked back.
static void cancel(struct pli_request *r)
{
    if (pli_list_has(&r->conn->pending, &r->link)) {
        pli_list_remove(&r->link);
        r->state |= PLI_REQ_CANCELLED;
        pli_request_complete(r, PLI_OK);
    } else {
        pli_rndv_unsend(r);
    }
}

static enum pli_err fate(const struct pli_conn *c, bool has_died, bool is_send)
{
    (void)c;
    (void)is_send;
    return has_died ? PLI_ERR_PROC_FAILED : PLI_OK;
}

static int peer_of(const struct pli_request *r)
{
    return r->flags & PLI_REQ_SEND ? r->source : r->item.source;
}

// Take out of a list what can never complete. Those whose address the other side knows stay in
// memory for ever: it may still name them, and one that died may have done so in what is not read
// yet.
static void fail_list(struct pli_list *list, bool is_known, bool is_dead)
{
    struct pli_list *at = list->next;
    while (at != list) {
        struct pli_request *r = PLI_CONTAINER(at, struct pli_request, link);
        enum pli_err err =
            is_dead ? PLI_ERR_PROC_FAILED : pli_failure_hooks->judge(r->lane, r, peer_of(r));
        at = at->next;
        if (err == PLI_OK) {
            continue;
        }
        if (is_known && !is_dead &&
            (err == PLI_ERR_WORLD_RESIZED || pli_lane_is_within(r->lane, r->conn))) {
            // What was not found yet is asked back: nothing may be lost or doubled, and a thread of
            // this very process may be copying it. What was found is completed.
            if ((r->flags & PLI_REQ_SEND) != 0 && (r->state & PLI_REQ_CANCELLING) == 0) {
                r->err = (int16_t)err;
                pli_rndv_unsend(r);
            }
            continue;
        }
        pli_list_remove(&r->link);
        r->state &= (uint16_t)~PLI_REQ_OPEN;
        r->state |= is_known ? PLI_REQ_WITHDRAWN : 0;
        pli_rndv_drop_cursor(r);
        pli_request_complete(r, err);
    }
}

static void drop_notes(struct pli_conn *c)
{
    while (!pli_list_is_empty(&c->notes)) {
        struct pli_list *n = c->notes.next;
        pli_list_remove(n);
        free(n);
    }
}

// Nothing is sent there any more: every send fails in `start`.
static void fail_all(struct pli_conn *c)
{
    c->is_dead = true;
    drop_notes(c);
    fail_list(&c->pending, false, true);
    fail_list(&c->open, true, true);
    pli_lane_disable_fastpath(c);
    if (!pli_list_is_empty(&c->stalled)) {
        pli_list_remove(&c->stalled);
    }
}

static void fail(struct pli_conn *c, bool has_died)
{
    if (has_died) {
        fail_all(c);
        return;
    }
    fail_list(&c->pending, false, false);
    fail_list(&c->open, true, false);
    if (!pli_list_is_empty(&c->stalled) && pli_list_is_empty(&c->pending) &&
        pli_list_is_empty(&c->notes)) {
        pli_list_remove(&c->stalled);
    }
}

const struct pli_net_ops pli_mailbox_ops = {
    .name = "shared memory",
    .open = pli_net_no_open, // msg/lane.c has the mailbox itself
    .leave = pli_net_no_leave,
    .finalize = pli_net_no_finalize,
    .close = pli_net_no_close,
    .connect = connect,
    .disconnect = disconnect,
    .start = pli_eager_queue,
    .retry = pli_eager_retry,
    .cancel = cancel,
    .note = pli_eager_note,
    .accept = pli_rndv_accept_near,
    .take = pli_net_no_take,
    .cell = pli_net_no_cell,
    .fate = fate,
    .fail = fail,
};
