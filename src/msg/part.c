// SPDX-License-Identifier: BSD-3-Clause
// Partitioned communication over ordinary messages: at its making the send announces how it will
// cut the data, then every part is a message of its own, received in its place.
#include "msg/part.h"

#include "msg/external32.h"
#include "msg/endpoint.h"
#include "msg/lane.h"
#include "msg/p2p.h"
#include "msg/progress.h"
#include "msg/request.h"
#include "obj/comm.h"
#include "obj/cursor.h"
#include "obj/datatype.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

// What the sender says once, on the set-up channel under the user's tag.
struct plan {
    int32_t first_tag; // part i is sent with tag first_tag + i on the channel for parts
    int32_t n_part;
    uint64_t bytes; // of a part
};
_Static_assert(sizeof(struct plan) == 16, "sent to other processes");

struct part {
    struct pli_poller poller;
    struct pli_task task; // receiver: begin the round, once the announcement is here
    struct pli_request *self;
    struct pli_request *setup; // the announcement, until it is over
    struct plan *told;         // what it carries; goes with it
    struct plan plan;          // of the sender; the receiver's copy after the set-up
    int n_part;                // as this side cuts the data
    int peer;
    bool has_plan;
    bool is_begun;            // receiver: the parts of this round are posted
    bool has_asked;           // receiver: the task is on its way
    bool is_listed;           // the poller is in the lane
    _Atomic int n_ready;      // parts marked ready in this round
    struct pli_request **req; // one per part of the sender's cut, NULL: not begun
    unsigned char *stage;     // receiver: where parts land that begin inside an element
};

static _Atomic uint32_t next_tag;

static int take_tags(int n)
{
    uint32_t first = atomic_fetch_add_explicit(&next_tag, (uint32_t)n, memory_order_relaxed);
    return (int)(first % (uint32_t)(PLI_TAG_UB - n));
}

static bool all_done(struct pli_request **req, int n)
{
    for (int i = 0; i < n; i++) {
        if (req[i] != NULL && !pli_request_is_done(req[i])) {
            return false;
        }
    }
    return true;
}

// The round is over when every part was begun and is done. Context: lane locked.
static int poll_part(struct pli_poller *p)
{
    struct part *part = PLI_CONTAINER(p, struct part, poller);
    struct pli_request *r = part->self;
    bool is_send = (r->flags & PLI_REQ_SEND) != 0;
    if (pli_request_is_done(r)) {
        return 0;
    }
    if (is_send ? atomic_load_explicit(&part->n_ready, memory_order_acquire) < part->n_part
                : !part->is_begun) {
        if (!is_send && part->setup != NULL && !part->has_asked &&
            pli_request_is_done(part->setup)) {
            part->has_asked = true;
            pli_lane_defer(r->lane, &part->task);
            return 1;
        }
        return 0;
    }
    if (part->req != NULL && !all_done(part->req, part->plan.n_part)) {
        return 0;
    }
    pli_list_remove(&p->link);
    part->is_listed = false;
    enum pli_err err = PLI_OK;
    for (int i = 0; part->req != NULL && i < part->plan.n_part; i++) {
        if (part->req[i] != NULL && part->req[i]->err != PLI_OK) {
            err = (enum pli_err)part->req[i]->err;
        }
    }
    r->source = part->peer;
    r->tag = r->item.tag;
    pli_request_complete(r, err);
    return 1;
}

// End the messages of the last round.
static void end_round(struct part *part)
{
    for (int i = 0; part->req != NULL && i < part->plan.n_part; i++) {
        if (part->req[i] != NULL) {
            pli_request_destroy(part->req[i]);
            part->req[i] = NULL;
        }
    }
}

// Parts that begin inside an element were received aside: put them in place now.
static void unstage(struct pli_request *r, struct part *part)
{
    if (part->stage != NULL) {
        struct pli_cursor c;
        pli_cursor_init(&c, r->buf, r->count * part->n_part, r->type);
        pli_cursor_unpack(&c, part->stage, part->plan.bytes * (size_t)part->plan.n_part);
    }
}

// The two sides have different amounts of data. [MPI-5.0 4.2]
static enum pli_err explain_sizes(const struct pli_request *r, const struct part *part)
{
    uint64_t sent = part->plan.bytes * (uint64_t)part->plan.n_part;
    uint64_t mine = part->n_part > 0 ? r->size / (uint64_t)part->n_part : 0;
    return pli_fail(PLI_ERR_TRUNC,
                    "rank %d sends %d partitions of %llu bytes, %llu in all, with tag %d on %s; "
                    "this receive has room for %d of %llu bytes, %llu in all. The numbers of "
                    "partitions may differ, but not what they hold together",
                    part->peer, part->plan.n_part, (unsigned long long)part->plan.bytes,
                    (unsigned long long)sent, r->item.tag, pli_comm_say(r->comm), part->n_part,
                    (unsigned long long)mine, (unsigned long long)r->size);
}

static enum pli_err finish(struct pli_request *r, MPI_Status *status)
{
    struct part *part = r->ext;
    bool is_too_long = r->err == PLI_ERR_TRUNC && (r->flags & PLI_REQ_SEND) == 0;
    if (part->peer != MPI_PROC_NULL) {
        if ((r->flags & PLI_REQ_SEND) == 0) {
            unstage(r, part);
        }
        end_round(part);
    }
    void *keep = r->ext;
    r->bytes = part->peer == MPI_PROC_NULL ? 0 : r->size;
    enum pli_err err = pli_request_plain_finish(r, status);
    r->ext = keep;
    return is_too_long ? explain_sizes(r, part) : err;
}

static void clean(struct pli_request *r)
{
    struct part *part = r->ext;
    if (part == NULL) {
        return;
    }
    if (part->setup != NULL) {
        pli_request_forget(part->setup); // a receive keeps its match: the next one has another
    }
    end_round(part);
    free(part->req);
    free(part->stage);
    free(part);
}

static void list(struct pli_request *r, struct part *part)
{
    pli_lock_take(&r->lane->lock);
    if (!part->is_listed) {
        part->is_listed = true;
        pli_list_push(&r->lane->pollers, &part->poller.link);
    }
    pli_lock_drop(&r->lane->lock);
}

static enum pli_err start_send(struct pli_request *r)
{
    struct part *part = r->ext;
    r->err = PLI_OK;
    if (part->peer == MPI_PROC_NULL) {
        return PLI_OK;
    }
    atomic_store_explicit(&part->n_ready, 0, memory_order_relaxed);
    atomic_store_explicit(&r->is_done, 0, memory_order_relaxed);
    list(r, part);
    return PLI_OK;
}

// Begin to receive one part of the sender's cut.
static enum pli_err receive_part(struct pli_request *r, struct part *part, int i)
{
    uint64_t offset = part->plan.bytes * (uint64_t)i;
    uint64_t size = (uint64_t)r->type->size;
    int tag = part->plan.first_tag + i;
    if (part->stage != NULL) {
        return pli_p2p_irecv_on(part->stage + offset, (MPI_Count)part->plan.bytes,
                                pli_datatype_basic(MPI_BYTE), part->peer, tag, r->comm,
                                PLI_CHAN_PART, &part->req[i]);
    }
    MPI_Count first = size > 0 ? (MPI_Count)(offset / size) : 0;
    MPI_Count n = size > 0 ? (MPI_Count)(part->plan.bytes / size) : 0;
    return pli_p2p_irecv_on((char *)r->buf + first * r->type->extent, n, r->type, part->peer, tag,
                            r->comm, PLI_CHAN_PART, &part->req[i]);
}

// The announcement is here: see whether the two sides agree, and make room.
static enum pli_err accept_plan(struct pli_request *r, struct part *part)
{
    bool is_gone;
    part->plan = *part->told;
    uint64_t total = part->plan.bytes * (uint64_t)part->plan.n_part;
    enum pli_err err = pli_request_report(part->setup, MPI_STATUS_IGNORE, &is_gone);
    part->setup = NULL;
    if (err != PLI_OK) {
        return err;
    }
    if (total > r->size) {
        return explain_sizes(r, part);
    }
    part->req = calloc((size_t)part->plan.n_part + 1, sizeof *part->req);
    bool is_cut = r->type->size > 0 && part->plan.bytes % (uint64_t)r->type->size != 0;
    part->stage = is_cut ? malloc(total) : NULL;
    if (part->req == NULL || (is_cut && part->stage == NULL)) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for a partitioned receive");
    }
    part->has_plan = true;
    return PLI_OK;
}

// Post the parts of a round.
static enum pli_err begin_round(struct pli_request *r, struct part *part)
{
    enum pli_err err = part->has_plan ? PLI_OK : accept_plan(r, part);
    for (int i = 0; i < part->plan.n_part && err == PLI_OK; i++) {
        err = receive_part(r, part, i);
    }
    pli_lock_take(&r->lane->lock);
    part->is_begun = err == PLI_OK;
    pli_lock_drop(&r->lane->lock);
    return err;
}

// The announcement came while a round was waiting for it.
static void run_begin(struct pli_task *t)
{
    struct part *part = PLI_CONTAINER(t, struct part, task);
    struct pli_request *r = part->self;
    enum pli_err err = begin_round(r, part);
    if (err != PLI_OK) {
        pli_lock_take(&r->lane->lock);
        pli_list_remove(&part->poller.link);
        part->is_listed = false;
        pli_request_complete(r, err);
        pli_lock_drop(&r->lane->lock);
    }
}

static enum pli_err start_recv(struct pli_request *r)
{
    struct part *part = r->ext;
    r->err = PLI_OK;
    if (part->peer == MPI_PROC_NULL) {
        return PLI_OK;
    }
    part->is_begun = false;
    atomic_store_explicit(&r->is_done, 0, memory_order_relaxed);
    if (part->has_plan || pli_request_is_done(part->setup)) {
        enum pli_err err = begin_round(r, part);
        if (err != PLI_OK) {
            return err;
        }
    }
    list(r, part);
    return PLI_OK;
}

static const struct pli_request_ops psend_ops = {
    .name = "partitioned send",
    .start = start_send,
    .cancel = pli_request_no_cancel,
    .finish = finish,
    .clean = clean,
};

static const struct pli_request_ops precv_ops = {
    .name = "partitioned receive",
    .start = start_recv,
    .cancel = pli_request_no_cancel,
    .finish = finish,
    .clean = clean,
};

static enum pli_err make(const void *buf, int n_part, MPI_Count count, struct pli_datatype *type,
                         int peer, int tag, struct pli_comm *comm, int flags,
                         struct pli_request **out)
{
    if (n_part < 0) {
        return pli_fail(PLI_ERR_ARG, "argument partitions is %d; it must not be negative", n_part);
    }
    struct part *part = calloc(1, sizeof *part);
    if (part == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for a partitioned request");
    }
    struct pli_lane *lane = comm->ep->lane;
    pli_lock_take(&lane->lock);
    struct pli_request *r = pli_request_create(lane);
    pli_lock_drop(&lane->lock);
    if (r == NULL) {
        free(part);
        return pli_fail(PLI_ERR_NOMEM, "no memory for a partitioned request");
    }
    part->self = r;
    part->poller.poll = poll_part;
    part->task.run = run_begin;
    pli_list_init(&part->poller.link);
    part->n_part = n_part;
    part->peer = peer;
    r->ops = flags & PLI_REQ_SEND ? &psend_ops : &precv_ops;
    r->flags = (uint16_t)(PLI_REQ_PERSISTENT | flags);
    r->comm = pli_comm_retain(comm);
    r->type = pli_datatype_retain(type);
    r->buf = (void *)(uintptr_t)buf;
    r->count = count;
    r->size = (uint64_t)count * (uint64_t)type->size * (uint64_t)n_part;
    r->source = peer;
    r->item.tag = r->tag = tag;
    r->ext = part;
    atomic_store_explicit(&r->is_done, 1, memory_order_relaxed);
    *out = r;
    return PLI_OK;
}

// The announcement is on its way, or cannot be, and the request goes.
static enum pli_err settle(struct part *part, enum pli_err err)
{
    if (err != PLI_OK) {
        if (part->setup == NULL) {
            free(part->told);
        }
        pli_request_destroy(part->self);
    }
    return err;
}

enum pli_err pli_part_psend_init(const void *buf, int n_part, MPI_Count count,
                                 struct pli_datatype *type, int dest, int tag,
                                 struct pli_comm *comm, struct pli_info *info,
                                 struct pli_request **out)
{
    (void)info;
    if (dest >= 0 && pli_external32_is_used(comm, dest)) {
        return pli_comm_refuse_span(comm, "partitioned communication");
    }
    enum pli_err err = make(buf, n_part, count, type, dest, tag, comm, PLI_REQ_SEND, out);
    if (err != PLI_OK || dest == MPI_PROC_NULL) {
        return err;
    }
    struct part *part = (*out)->ext;
    part->plan = (struct plan){ take_tags(n_part), n_part, (uint64_t)count * (uint64_t)type->size };
    part->req = calloc((size_t)n_part + 1, sizeof *part->req);
    part->told = malloc(sizeof *part->told);
    if (part->req == NULL || part->told == NULL) {
        err = pli_fail(PLI_ERR_NOMEM, "no memory for a partitioned send");
    } else {
        *part->told = part->plan;
        err = pli_p2p_isend_on(part->told, sizeof *part->told, pli_datatype_basic(MPI_BYTE), dest,
                               tag, comm, PLI_CHAN_SETUP, PLI_REQ_OWNS_BUFFER, &part->setup);
    }
    return settle(part, err);
}

enum pli_err pli_part_precv_init(void *buf, int n_part, MPI_Count count, struct pli_datatype *type,
                                 int source, int tag, struct pli_comm *comm, struct pli_info *info,
                                 struct pli_request **out)
{
    (void)info;
    if (source >= 0 && pli_external32_is_used(comm, source)) {
        return pli_comm_refuse_span(comm, "partitioned communication");
    }
    enum pli_err err = make(buf, n_part, count, type, source, tag, comm, 0, out);
    if (err != PLI_OK || source == MPI_PROC_NULL) {
        return err;
    }
    struct part *part = (*out)->ext;
    part->told = calloc(1, sizeof *part->told);
    err = part->told == NULL
              ? pli_fail(PLI_ERR_NOMEM, "no memory for a partitioned receive")
              : pli_p2p_irecv_on(part->told, sizeof *part->told, pli_datatype_basic(MPI_BYTE),
                                 source, tag, comm, PLI_CHAN_SETUP, &part->setup);
    if (err == PLI_OK) {
        pli_lock_take(&part->setup->lane->lock);
        part->setup->flags |= PLI_REQ_OWNS_BUFFER;
        pli_lock_drop(&part->setup->lane->lock);
    }
    return settle(part, err);
}

static enum pli_err check(const struct pli_request *r, bool wants_send, int part)
{
    const struct pli_request_ops *want = wants_send ? &psend_ops : &precv_ops;
    if (r->ops != want) {
        return pli_fail(PLI_ERR_REQUEST, "a %s request is not a %s", r->ops->name, want->name);
    }
    if ((r->flags & PLI_REQ_ACTIVE) == 0 && wants_send) {
        return pli_fail(PLI_ERR_REQUEST, "the partitioned send was not started");
    }
    int n = ((const struct part *)r->ext)->n_part;
    if (part < 0 || part >= n) {
        return pli_fail(PLI_ERR_ARG, "partition %d is out of range: the request has %d, 0 to %d",
                        part, n, n - 1);
    }
    return PLI_OK;
}

enum pli_err pli_part_pready(int i, struct pli_request *r)
{
    enum pli_err err = check(r, true, i);
    struct part *part = r->ext;
    if (err != PLI_OK || part->peer == MPI_PROC_NULL) {
        return err;
    }
    const char *from = (const char *)r->buf + (MPI_Count)i * r->count * r->type->extent;
    err = pli_p2p_isend_on(from, r->count, r->type, part->peer, part->plan.first_tag + i, r->comm,
                           PLI_CHAN_PART, 0, &part->req[i]);
    atomic_fetch_add_explicit(&part->n_ready, 1, memory_order_release);
    return err;
}

enum pli_err pli_part_pready_range(int low, int high, struct pli_request *r)
{
    enum pli_err err = PLI_OK;
    for (int i = low; i <= high && err == PLI_OK; i++) {
        err = pli_part_pready(i, r);
    }
    return err;
}

enum pli_err pli_part_pready_list(int n, const int parts[], struct pli_request *r)
{
    enum pli_err err = PLI_OK;
    for (int i = 0; i < n && err == PLI_OK; i++) {
        err = pli_part_pready(parts[i], r);
    }
    return err;
}

// Whether part k of the sender's cut has bytes of partition i. Parts without bytes are where they
// would be if all had as many.
static bool overlaps(const struct pli_request *r, const struct part *part, int k, int i)
{
    uint64_t mine = r->size / (uint64_t)part->n_part, theirs = part->plan.bytes;
    if (mine == 0 || theirs == 0) {
        mine = (uint64_t)part->plan.n_part;
        theirs = (uint64_t)part->n_part;
    }
    return theirs * (uint64_t)k < mine * ((uint64_t)i + 1) &&
           theirs * ((uint64_t)k + 1) > mine * (uint64_t)i;
}

enum pli_err pli_part_parrived(struct pli_request *r, int i, int *flag)
{
    enum pli_err err = check(r, false, i);
    struct part *part = r->ext;
    if (err != PLI_OK) {
        return err;
    }
    *flag = 1;
    if ((r->flags & PLI_REQ_ACTIVE) == 0 || part->peer == MPI_PROC_NULL) {
        return PLI_OK; // an inactive request has all its parts
    }
    pli_progress_test(r->lane);
    if (!part->is_begun) {
        *flag = 0;
        return PLI_OK;
    }
    for (int k = 0; k < part->plan.n_part; k++) {
        if (overlaps(r, part, k, i) && part->req[k] != NULL && !pli_request_is_done(part->req[k])) {
            *flag = 0;
        }
    }
    if (*flag && part->stage != NULL) {
        unstage(r, part); // what has arrived must be where the user looks
    }
    return PLI_OK;
}
