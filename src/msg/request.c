// SPDX-License-Identifier: BSD-3-Clause
// Creates, completes, reports and destroys requests.
#include "msg/request.h"

#include "msg/failure_hooks.h"
#include "msg/endpoint.h"
#include "msg/lane.h"
#include "msg/message_log.h"
#include "msg/unexpected.h"
#include "msg/statistics_hooks.h"
#include "obj/comm.h"
#include "obj/datatype.h"
#include "obj/status.h"

#include <stdlib.h>
#include <string.h>

enum { SPARE = 128 };

struct slot {
    struct pli_obj obj;
    struct pli_obj *next; // while free, as the handle pool links it
};

struct pli_request *pli_request_create(struct pli_lane *lane)
{
    struct pli_handle_pool *pool = &lane->requests;
    if (__builtin_expect(pool->free == NULL, 0) && !pli_handle_pool_grow(pool)) {
        return NULL;
    }
    struct slot *s = (struct slot *)pool->free;
    pool->free = s->next;
    struct pli_request *r = (struct pli_request *)s;
    // Field by field: clearing all three lines costs a message 3 % (bench rate).
    atomic_store_explicit(&r->obj.kind, PLI_KIND_REQUEST, memory_order_relaxed);
    atomic_store_explicit(&r->is_done, 0, memory_order_relaxed);
    r->flags = 0;
    r->state = 0;
    r->err = PLI_OK;
    r->ops = NULL;
    r->lane = lane;
    r->comm = NULL;
    r->buf = NULL;
    r->count = 0;
    r->type = NULL;
    r->size = 0;
    r->conn = NULL;
    r->cursor = NULL;
    r->bytes = 0;
    return r;
}

bool pli_request_may_be_withdrawn;

void pli_request_list(struct pli_request *r)
{
    pli_list_push(&r->conn->open, &r->link);
    r->state |= PLI_REQ_OPEN;
}

void pli_request_unlist(struct pli_request *r)
{
    pli_list_remove(&r->link);
    r->state &= (uint16_t)~PLI_REQ_OPEN;
}

void pli_request_hold(struct pli_comm *c)
{
    if (c->n_spare > 0) {
        c->n_spare--;
    } else {
        pli_comm_retain(c);
    }
}

// Whether the reference is kept for another request. Context: lane locked.
static bool keep(struct pli_comm *c, const struct pli_lane *lane)
{
    if (!pli_lock_threads || c == NULL || c->ep->lane != lane || c->is_freed || c->n_spare < 0 ||
        c->n_spare >= SPARE) {
        return false;
    }
    c->n_spare++;
    return true;
}

void pli_request_destroy(struct pli_request *r)
{
    if (r == NULL) {
        return;
    }
    if (r->ops != NULL && r->ops->clean != pli_request_plain_clean) {
        r->ops->clean(r);
    }
    if (r->flags & PLI_REQ_OWNS_BUFFER) {
        free(r->buf);
    }
    if (__builtin_expect(r->state & PLI_REQ_FREED, 0) && r->comm != NULL) {
        atomic_fetch_sub_explicit(&r->comm->n_left, 1, memory_order_release);
    }
    if (r->type != NULL && r->type->obj.value == 0) { // predefined ones are not counted
        pli_datatype_release(r->type);
    }
    struct pli_lane *lane = r->lane;
    struct pli_comm *comm = r->comm;
    struct slot *s = (struct slot *)r;
    bool is_withdrawn = (r->state & PLI_REQ_WITHDRAWN) != 0;
    pli_lock_take(&lane->lock);
    if (keep(comm, lane)) {
        comm = NULL;
    }
    atomic_store_explicit(&s->obj.kind, PLI_KIND_NONE, memory_order_relaxed);
    if (__builtin_expect(is_withdrawn, 0)) {
        lane->requests.n_slot--; // never to be used again
    } else {
        s->next = lane->requests.free;
        lane->requests.free = &s->obj;
    }
    pli_lock_drop(&lane->lock);
    pli_comm_release(comm);
}

void pli_request_reap(struct pli_lane *lane)
{
    pli_lock_take(&lane->lock);
    struct pli_request *r = lane->dead;
    lane->dead = NULL;
    pli_lock_drop(&lane->lock);
    while (r != NULL) {
        struct pli_request *next = (struct pli_request *)r->link.next;
        pli_request_destroy(r);
        r = next;
    }
}

void pli_request_forget(struct pli_request *r)
{
    pli_lock_take(&r->lane->lock);
    bool is_over = pli_request_is_done(r);
    r->state |= PLI_REQ_FREED;
    if (r->comm != NULL) {
        atomic_fetch_add_explicit(&r->comm->n_left, 1, memory_order_relaxed);
    }
    pli_lock_drop(&r->lane->lock);
    if (is_over) {
        pli_request_destroy(r);
    }
}

// A receive that got a message is about to be complete.
static inline void count_received(struct pli_lane *lane, const struct pli_request *r)
{
    if ((r->flags & PLI_REQ_SEND) == 0 && r->ops->has_peer && r->source >= 0 && r->err == PLI_OK) {
        pli_shm_count_received(&lane->shm, r->bytes);
    }
}

void pli_request_complete(struct pli_request *r, enum pli_err err)
{
    struct pli_lane *lane = r->lane;
    r->err = (int16_t)err;
    count_received(lane, r);
    if (__builtin_expect(lane->statistics != NULL, 0)) {
        pli_statistics_hooks->done(r);
    }
    if (__builtin_expect(r->state & (PLI_REQ_FREED | PLI_REQ_LOGGED), 0)) {
        if ((r->state & PLI_REQ_LOGGED) != 0) {
            pli_message_log_end(r, err);
        }
        if ((r->state & PLI_REQ_FREED) != 0) {
            r->link.next = (struct pli_list *)lane->dead;
            lane->dead = r; // what it holds may need the lock we have
            return;
        }
    }
    if (r->flags & PLI_REQ_CHILD) {
        struct pli_request_child *c = (struct pli_request_child *)r;
        atomic_store_explicit(&r->is_done, 1, memory_order_release);
        c->done(c);
        return;
    }
    atomic_store_explicit(&r->is_done, 1, memory_order_release);
    pli_lane_wake(lane); // another thread may sleep for this one
}

// The sentence for a failed operation.
static enum pli_err explain(const struct pli_request *r)
{
    const char *name = r->comm != NULL && r->comm->name[0] ? r->comm->name : "a communicator";
    if (r->err == PLI_ERR_TRUNC) {
        return pli_fail(PLI_ERR_TRUNC,
                        "message truncated: %llu bytes from rank %d with tag %d on %s do not fit "
                        "a receive of %llu bytes",
                        (unsigned long long)r->bytes, r->source, r->tag, name,
                        (unsigned long long)r->size);
    }
    if (pli_err_is_news((enum pli_err)r->err) && r->comm != NULL) {
        return pli_failure_hooks->explain((enum pli_err)r->err, r->ops->name, r->comm);
    }
    if (r->err == PLI_ERR_CONVERSION) {
        return pli_fail(
            PLI_ERR_CONVERSION,
            "%s on %s: a value does not fit external32, in which a long has 4 bytes, and "
            "not all clients of the IMPI job, or not its server, know of longs of 8",
            r->ops->name, name);
    }
    if (r->err == PLI_ERR_TYPE && (r->flags & PLI_REQ_SEND) == 0) {
        return pli_fail(
            PLI_ERR_TYPE,
            "a message from rank %d with tag %d on %s has elements of several types and "
            "is received as MPI_PACKED, which cannot be converted inside one client of an "
            "IMPI job; receive it with its datatype, or send it as MPI_PACKED",
            r->source, r->tag, name);
    }
    return r->err == PLI_OK ? PLI_OK
                            : pli_fail((enum pli_err)r->err, "%s on %s failed: %s", r->ops->name,
                                       name, pli_err_text(r->err));
}

enum pli_err pli_request_plain_finish(struct pli_request *r, MPI_Status *status)
{
    if (status != MPI_STATUS_IGNORE) {
        bool is_cancelled = (r->state & PLI_REQ_CANCELLED) != 0;
        if (r->flags & (PLI_REQ_SEND | PLI_REQ_NO_STATUS)) {
            pli_status_set_empty(status);
        } else {
            uint64_t n = r->bytes < r->size ? r->bytes : r->size;
            uint64_t mark = r->state & PLI_REQ_EXTERNAL ? PLI_STATUS_EXTERNAL : 0;
            pli_status_set_one(status, r->source, r->tag, n | mark);
        }
        pli_status_set_cancelled(status, is_cancelled);
    }
    return explain(r);
}

enum pli_err pli_request_report(struct pli_request *r, MPI_Status *status, bool *is_gone_out)
{
    enum pli_err err = r->ops->finish(r, status);
    *is_gone_out = (r->flags & PLI_REQ_PERSISTENT) == 0;
    if (*is_gone_out) {
        pli_request_destroy(r);
    } else {
        r->flags &= (uint16_t)~PLI_REQ_ACTIVE;
        r->state &= PLI_REQ_WITHDRAWN;
    }
    return err;
}

enum pli_err pli_request_no_start(struct pli_request *r)
{
    return pli_fail(PLI_ERR_REQUEST, "a %s request that is not persistent cannot be started",
                    r->ops->name);
}

enum pli_err pli_request_no_cancel(struct pli_request *r)
{
    return pli_fail(PLI_ERR_REQUEST, "a %s request cannot be cancelled", r->ops->name);
}

void pli_request_plain_clean(struct pli_request *r)
{
    (void)r;
}
