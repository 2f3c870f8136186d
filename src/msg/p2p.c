// SPDX-License-Identifier: BSD-3-Clause
// Sends and receives, blocking, nonblocking and persistent.
#include "msg/p2p.h"

#include "msg/deliver.h"
#include "msg/eager.h"
#include "msg/endpoint.h"
#include "msg/external32.h"
#include "msg/failure_hooks.h"
#include "msg/fastpath.h"
#include "msg/lane.h"
#include "msg/local.h"
#include "msg/packed.h"
#include "msg/probe.h"
#include "msg/progress.h"
#include "msg/request.h"
#include "msg/statistics_hooks.h"
#include "msg/unexpected.h"
#include "net/net.h"
#include "obj/comm_hint.h"
#include "obj/datatype.h"
#include "obj/status.h"

#include <stdlib.h>

static const struct pli_request_ops send_ops, recv_ops; // below

static enum pli_err no_memory(void)
{
    return pli_fail(PLI_ERR_NOMEM, "no memory for a request");
}

static bool is_null_buffer(const void *buf, MPI_Count count, const struct pli_datatype *type)
{
    return __builtin_expect(buf == NULL, 0) && count > 0 && type->size > 0 && type->true_lb == 0 &&
           type->obj.value != 0;
}

static enum pli_err null_buffer(MPI_Count count)
{
    return pli_fail(PLI_ERR_BUFFER, "the buffer is NULL but holds %lld elements", (long long)count);
}

// What a send and a receive have in common.
static inline void fill(struct pli_request *r, const void *buf, MPI_Count count,
                        struct pli_datatype *type, int tag, struct pli_comm *comm, int chan)
{
    r->buf = (void *)(uintptr_t)buf;
    r->count = count;
    r->type = type;
    r->size = (uint64_t)count * (uint64_t)type->size;
    r->comm = comm;
    r->lane = comm->ep->lane;
    r->cursor = NULL;
    r->err = PLI_OK;
    r->state = 0;
    r->item.context = comm->context | (uint64_t)chan;
    r->item.tag = tag;
    atomic_store_explicit(&r->is_done, 0, memory_order_relaxed);
}

// An operation that can never complete ends at once. Context: lane locked.
__attribute__((cold)) static bool is_doomed(struct pli_request *r, int peer)
{
    enum pli_err err = pli_failure_hooks->judge(r->lane, r, peer);
    if (err != PLI_OK) {
        r->source = peer;
        r->tag = r->item.tag;
        pli_request_complete(r, err);
    }
    return err != PLI_OK;
}

// Put the send on its way. Context: lane locked; it is unlocked on return.
static inline enum pli_err start_send(struct pli_request *r, int dest)
{
    struct pli_comm *comm = r->comm;
    struct pli_lane *lane = r->lane;
    struct pli_id id = pli_group_at(comm->remote, dest);
    r->item.source = comm->rank;
    r->source = dest;
    if (__builtin_expect(lane->n_dead != 0, 0) && is_doomed(r, dest)) {
        pli_lock_drop(&lane->lock);
        return PLI_OK;
    }
    if (pli_lane_is_own(lane, id)) {
        r->conn = NULL;
        struct pli_endpoint *to = pli_lane_ep(lane, id.ep);
        pli_lock_drop(&lane->lock);
        return to != NULL ? pli_local_start(r, to)
                          : pli_fail(PLI_ERR_RANK, "rank %d is an endpoint that is gone", dest);
    }
    r->remote = id.ep;
    r->conn = pli_lane_conn(lane, id);
    if (__builtin_expect(r->conn == NULL, 0)) {
        pli_lock_drop(&lane->lock);
        return pli_fail(PLI_ERR_RANK, "rank %d cannot be reached from this process", dest);
    }
    pli_eager_start(r);
    pli_lock_drop(&lane->lock);
    return PLI_OK;
}

// Find the message or leave the receive behind. Context: lane locked.
static inline enum pli_err start_recv(struct pli_request *r, int source)
{
    struct pli_match *m = &r->comm->ep->match;
    r->item.source = source;
    r->bytes = 0;
    // What came from processes that live is not delivered where all fails: it may have been
    // withdrawn.
    if (__builtin_expect(r->lane->n_dead != 0, 0) && is_doomed(r, MPI_PROC_NULL)) {
        return PLI_OK;
    }
    if (pli_match_has_unexpected(m)) {
        struct pli_match_item *i = pli_match_find(m, r->item.context, source, r->item.tag);
        if (i != NULL) {
            pli_match_take(m, i);
            pli_deliver_unexpected(r, PLI_CONTAINER(i, struct pli_unexpected, item));
            return PLI_OK;
        }
    }
    if (__builtin_expect(r->lane->n_dead != 0, 0) && is_doomed(r, source)) {
        return PLI_OK;
    }
    r->state |= PLI_REQ_POSTED;
    bool is_first = pli_comm_hint_is_unordered(r->comm);
    if (!pli_match_post(m, &r->item, is_first)) {
        return no_memory();
    }
    if (__builtin_expect(r->lane->statistics != NULL, 0)) {
        pli_statistics_hooks->posted(r->comm->ep);
    }
    return PLI_OK;
}

// Where operations may be withdrawn, the other side may name them longer than the call lasts: they
// are not on the stack.
static enum pli_err send_kept(const void *buf, MPI_Count count, struct pli_datatype *type, int dest,
                              int tag, struct pli_comm *comm, enum pli_chan chan, int flags)
{
    struct pli_request *r = NULL;
    bool is_gone;
    flags |= PLI_REQ_BLOCKING;
    enum pli_err err = pli_p2p_isend_on(buf, count, type, dest, tag, comm, chan, flags, &r);
    if (err != PLI_OK) {
        return err;
    }
    pli_progress_wait(r);
    return pli_request_report(r, MPI_STATUS_IGNORE, &is_gone);
}

static enum pli_err begin_recv(void *buf, MPI_Count count, struct pli_datatype *type, int source,
                               int tag, struct pli_comm *comm, enum pli_chan chan, int flags,
                               struct pli_request **out);

static enum pli_err recv_kept(void *buf, MPI_Count count, struct pli_datatype *type, int source,
                              int tag, struct pli_comm *comm, enum pli_chan chan,
                              MPI_Status *status)
{
    struct pli_request *r = NULL;
    bool is_gone;
    enum pli_err err = begin_recv(buf, count, type, source, tag, comm, chan, PLI_REQ_BLOCKING, &r);
    if (err != PLI_OK) {
        return err;
    }
    pli_progress_wait(r);
    return pli_request_report(r, status, &is_gone);
}

enum pli_err pli_p2p_send_on(const void *buf, MPI_Count count, struct pli_datatype *type, int dest,
                             int tag, struct pli_comm *comm, enum pli_chan chan, int flags)
{
    if (dest == MPI_PROC_NULL) {
        return PLI_OK;
    }
    if (is_null_buffer(buf, count, type)) {
        return null_buffer(count);
    }
    struct pli_lane *lane = comm->ep->lane;
    uint64_t size = (uint64_t)count * (uint64_t)type->size;
    uint64_t context = comm->context | (uint64_t)chan;
    pli_lock_take(&lane->lock);
    if (size < pli_fastpath_end(lane, chan) && type->is_dense && flags == 0 &&
        !pli_packed_is_external(type, comm, context)) {
        struct pli_id to = pli_group_at(comm->remote, dest);
        if (!pli_lane_is_own(lane, to) &&
            pli_fastpath_send(lane, comm, (const char *)buf + type->true_lb, size, to, tag, context,
                              type)) {
            pli_lock_drop(&lane->lock);
            return PLI_OK;
        }
    }
    if (__builtin_expect(pli_request_may_be_withdrawn, 0)) {
        pli_lock_drop(&lane->lock);
        return send_kept(buf, count, type, dest, tag, comm, chan, flags);
    }
    struct pli_request r;
    fill(&r, buf, count, type, tag, comm, chan);
    r.flags = (uint16_t)(PLI_REQ_STACK | PLI_REQ_SEND | flags);
    r.ops = &send_ops;
    enum pli_err err = start_send(&r, dest);
    if (err == PLI_OK && !pli_request_is_done(&r)) {
        pli_progress_wait(&r);
    }
    return err != PLI_OK || r.err == PLI_OK ? err : pli_request_plain_finish(&r, MPI_STATUS_IGNORE);
}

enum pli_err pli_p2p_recv_on(void *buf, MPI_Count count, struct pli_datatype *type, int source,
                             int tag, struct pli_comm *comm, enum pli_chan chan, MPI_Status *status)
{
    if (source == MPI_PROC_NULL) {
        if (status != MPI_STATUS_IGNORE) {
            int error = status->MPI_ERROR;
            pli_status_set_proc_null(status);
            status->MPI_ERROR = error;
        }
        return PLI_OK;
    }
    if (is_null_buffer(buf, count, type)) {
        return null_buffer(count);
    }
    uint64_t room = (uint64_t)count * (uint64_t)type->size;
    uint64_t context = comm->context | (uint64_t)chan;
    if (room <= PLI_SHM_BLOCK_MAX && type->is_dense && !pli_external32_is_used(comm, source) &&
        !pli_packed_is_external(type, comm, context) &&
        pli_fastpath_recv(comm, (char *)buf + type->true_lb, room, source, tag, context, status)) {
        return PLI_OK;
    }
    if (__builtin_expect(pli_request_may_be_withdrawn, 0)) {
        return recv_kept(buf, count, type, source, tag, comm, chan, status);
    }
    struct pli_request r;
    fill(&r, buf, count, type, tag, comm, chan);
    r.flags = PLI_REQ_STACK;
    r.ops = &recv_ops;
    pli_lock_take(&r.lane->lock);
    enum pli_err err = start_recv(&r, source);
    pli_lock_drop(&r.lane->lock);
    if (err != PLI_OK) {
        return err;
    }
    if (!pli_request_is_done(&r)) {
        pli_progress_wait(&r);
    }
    if (status != MPI_STATUS_IGNORE || r.err != PLI_OK) {
        return pli_request_plain_finish(&r, status);
    }
    return PLI_OK;
}

enum pli_err pli_p2p_begin_send(struct pli_request_child *c, const void *buf, MPI_Count count,
                                struct pli_datatype *type, int dest, int tag, struct pli_comm *comm,
                                enum pli_chan chan, uint16_t flag)
{
    if (is_null_buffer(buf, count, type)) {
        return null_buffer(count);
    }
    struct pli_request *r = &c->r;
    fill(r, buf, count, type, tag, comm, chan);
    r->flags = (uint16_t)(PLI_REQ_STACK | PLI_REQ_SEND | PLI_REQ_CHILD | flag);
    r->ops = &send_ops;
    pli_lock_take(&r->lane->lock);
    return start_send(r, dest);
}

enum pli_err pli_p2p_begin_recv(struct pli_request_child *c, void *buf, MPI_Count count,
                                struct pli_datatype *type, int source, int tag,
                                struct pli_comm *comm, enum pli_chan chan, uint16_t flag)
{
    if (is_null_buffer(buf, count, type)) {
        return null_buffer(count);
    }
    struct pli_request *r = &c->r;
    fill(r, buf, count, type, tag, comm, chan);
    r->flags = (uint16_t)(PLI_REQ_STACK | PLI_REQ_CHILD | flag);
    r->ops = &recv_ops;
    pli_lock_take(&r->lane->lock);
    enum pli_err err = start_recv(r, source);
    pli_lock_drop(&r->lane->lock);
    return err;
}

// A request from the pool that keeps its communicator and type alive. Context: lane locked.
static struct pli_request *make(const void *buf, MPI_Count count, struct pli_datatype *type,
                                int tag, struct pli_comm *comm, int chan)
{
    struct pli_request *r = pli_request_create(comm->ep->lane);
    if (r != NULL) {
        pli_request_hold(comm);
        fill(r, buf, count, pli_datatype_retain(type), tag, comm, chan);
    }
    return r;
}

enum pli_err pli_p2p_nothing(struct pli_comm *comm, int flags, struct pli_request **out)
{
    struct pli_lane *lane = comm->ep->lane;
    pli_lock_take(&lane->lock);
    struct pli_request *r = pli_request_create(lane);
    if (r != NULL) {
        r->comm = pli_comm_retain(comm);
        r->ops = flags & PLI_REQ_SEND ? &send_ops : &recv_ops;
        r->flags = (uint16_t)flags;
        r->item.source = r->source = MPI_PROC_NULL;
        r->tag = MPI_ANY_TAG;
        atomic_store_explicit(&r->is_done, 1, memory_order_relaxed);
    }
    pli_lock_drop(&lane->lock);
    *out = r;
    return r != NULL ? PLI_OK : no_memory();
}

// Send a small message that can go at once. Context: lane locked.
static inline bool send_fast(const void *buf, MPI_Count count, struct pli_datatype *type, int dest,
                             int tag, struct pli_comm *comm, enum pli_chan chan)
{
    struct pli_lane *lane = comm->ep->lane;
    uint64_t size = (uint64_t)count * (uint64_t)type->size;
    uint64_t context = comm->context | (uint64_t)chan;
    struct pli_id to = pli_group_at(comm->remote, dest);
    return size < pli_fastpath_end(lane, chan) && type->is_dense && lane->n_dead == 0 &&
           !pli_lane_is_own(lane, to) && !pli_packed_is_external(type, comm, context) &&
           pli_fastpath_send(lane, comm, (const char *)buf + type->true_lb, size, to, tag, context,
                             type);
}

// The same with a request; NULL: it cannot go at once. All that is left for the request to say is
// that it is done: it keeps neither communicator nor type. Context: lane locked.
static inline struct pli_request *send_now(const void *buf, MPI_Count count,
                                           struct pli_datatype *type, int dest, int tag,
                                           struct pli_comm *comm, enum pli_chan chan)
{
    struct pli_lane *lane = comm->ep->lane;
    if (lane->requests.free == NULL || !send_fast(buf, count, type, dest, tag, comm, chan)) {
        return NULL;
    }
    struct pli_request *r = pli_request_create(lane); // there is a free one
    r->flags = PLI_REQ_SEND;
    r->ops = &send_ops;
    r->source = dest;
    atomic_store_explicit(&r->is_done, 1, memory_order_relaxed);
    return r;
}

struct pli_request *pli_p2p_isend_now(const void *buf, MPI_Count count, struct pli_datatype *type,
                                      int dest, int tag, struct pli_comm *comm, enum pli_chan chan)
{
    struct pli_lane *lane = comm->ep->lane;
    pli_lock_take(&lane->lock);
    struct pli_request *r =
        is_null_buffer(buf, count, type) ? NULL : send_now(buf, count, type, dest, tag, comm, chan);
    pli_lock_drop(&lane->lock);
    return r;
}

bool pli_p2p_notify_now(struct pli_datatype *type, int dest, int tag, struct pli_comm *comm,
                        enum pli_chan chan)
{
    static const char nothing;
    struct pli_lane *lane = comm->ep->lane;
    pli_lock_take(&lane->lock);
    bool is_sent = send_fast(&nothing, 0, type, dest, tag, comm, chan);
    pli_lock_drop(&lane->lock);
    return is_sent;
}

enum pli_err pli_p2p_isend_on(const void *buf, MPI_Count count, struct pli_datatype *type, int dest,
                              int tag, struct pli_comm *comm, enum pli_chan chan, int flags,
                              struct pli_request **out)
{
    if (dest == MPI_PROC_NULL) {
        return pli_p2p_nothing(comm, PLI_REQ_SEND, out);
    }
    if (is_null_buffer(buf, count, type)) {
        return null_buffer(count);
    }
    struct pli_lane *lane = comm->ep->lane;
    pli_lock_take(&lane->lock);
    struct pli_request *r = flags == 0 ? send_now(buf, count, type, dest, tag, comm, chan) : NULL;
    if (r != NULL) {
        pli_lock_drop(&lane->lock);
        *out = r;
        return PLI_OK;
    }
    r = make(buf, count, type, tag, comm, chan);
    if (r == NULL) {
        pli_lock_drop(&lane->lock);
        return no_memory();
    }
    r->flags = (uint16_t)(PLI_REQ_SEND | flags);
    r->ops = &send_ops;
    *out = r;
    enum pli_err err = start_send(r, dest);
    if (err != PLI_OK) {
        pli_request_destroy(r);
    }
    return err;
}

static enum pli_err begin_recv(void *buf, MPI_Count count, struct pli_datatype *type, int source,
                               int tag, struct pli_comm *comm, enum pli_chan chan, int flags,
                               struct pli_request **out)
{
    struct pli_lane *lane = comm->ep->lane;
    pli_lock_take(&lane->lock);
    struct pli_request *r = make(buf, count, type, tag, comm, chan);
    enum pli_err err = PLI_OK;
    if (r != NULL) {
        r->ops = &recv_ops;
        r->flags = (uint16_t)flags;
        err = start_recv(r, source);
    }
    pli_lock_drop(&lane->lock);
    if (r == NULL) {
        return no_memory();
    }
    *out = r;
    if (err != PLI_OK) {
        pli_request_destroy(r);
    }
    return err;
}

enum pli_err pli_p2p_irecv_as(void *buf, MPI_Count count, struct pli_datatype *type, int source,
                              int tag, struct pli_comm *comm, enum pli_chan chan, int flags,
                              struct pli_request **out)
{
    if (source == MPI_PROC_NULL) {
        return pli_p2p_nothing(comm, 0, out);
    }
    if (is_null_buffer(buf, count, type)) {
        return null_buffer(count);
    }
    return begin_recv(buf, count, type, source, tag, comm, chan, flags, out);
}

enum pli_err pli_p2p_irecv_on(void *buf, MPI_Count count, struct pli_datatype *type, int source,
                              int tag, struct pli_comm *comm, enum pli_chan chan,
                              struct pli_request **out)
{
    return pli_p2p_irecv_as(buf, count, type, source, tag, comm, chan, 0, out);
}

enum pli_err pli_p2p_imrecv(void *buf, MPI_Count count, struct pli_datatype *type,
                            struct pli_message *message, struct pli_request **out)
{
    if (message == &pli_probe_no_proc) {
        struct pli_comm *self = pli_handle_get(MPI_COMM_SELF, PLI_KIND_COMM);
        return self != NULL ? pli_p2p_nothing(self, 0, out)
                            : pli_fail(PLI_ERR_COMM, "MPI is not initialised");
    }
    struct pli_comm *comm = message->comm;
    struct pli_lane *lane = comm->ep->lane;
    pli_lock_take(&lane->lock);
    struct pli_request *r =
        make(buf, count, type, message->unexpected->item.tag, comm, PLI_CHAN_P2P);
    if (r != NULL) {
        r->ops = &recv_ops;
        pli_deliver_unexpected(r, message->unexpected);
    }
    pli_lock_drop(&lane->lock);
    if (r == NULL) {
        return no_memory();
    }
    pli_handle_destroy(message, sizeof *message);
    pli_comm_release(comm);
    *out = r;
    return PLI_OK;
}

enum pli_err pli_p2p_send(const void *buf, MPI_Count count, struct pli_datatype *type, int dest,
                          int tag, struct pli_comm *comm)
{
    return pli_p2p_send_on(buf, count, type, dest, tag, comm, PLI_CHAN_P2P, 0);
}

enum pli_err pli_p2p_ssend(const void *buf, MPI_Count count, struct pli_datatype *type, int dest,
                           int tag, struct pli_comm *comm)
{
    return pli_p2p_send_on(buf, count, type, dest, tag, comm, PLI_CHAN_P2P, PLI_REQ_SYNC);
}

enum pli_err pli_p2p_recv(void *buf, MPI_Count count, struct pli_datatype *type, int source,
                          int tag, struct pli_comm *comm, MPI_Status *status)
{
    return pli_p2p_recv_on(buf, count, type, source, tag, comm, PLI_CHAN_P2P, status);
}

enum pli_err pli_p2p_isend(const void *buf, MPI_Count count, struct pli_datatype *type, int dest,
                           int tag, struct pli_comm *comm, struct pli_request **out)
{
    return pli_p2p_isend_on(buf, count, type, dest, tag, comm, PLI_CHAN_P2P, 0, out);
}

enum pli_err pli_p2p_issend(const void *buf, MPI_Count count, struct pli_datatype *type, int dest,
                            int tag, struct pli_comm *comm, struct pli_request **out)
{
    return pli_p2p_isend_on(buf, count, type, dest, tag, comm, PLI_CHAN_P2P, PLI_REQ_SYNC, out);
}

enum pli_err pli_p2p_irecv(void *buf, MPI_Count count, struct pli_datatype *type, int source,
                           int tag, struct pli_comm *comm, struct pli_request **out)
{
    return pli_p2p_irecv_on(buf, count, type, source, tag, comm, PLI_CHAN_P2P, out);
}

// Persistent requests keep the peer's rank as the user gave it: a send, which receives nothing, in
// `source`; a receive in the item to be matched.
static enum pli_err init(const void *buf, MPI_Count count, struct pli_datatype *type, int peer,
                         int tag, struct pli_comm *comm, int flags, struct pli_request **out)
{
    if (is_null_buffer(buf, count, type)) {
        return null_buffer(count);
    }
    struct pli_lane *lane = comm->ep->lane;
    pli_lock_take(&lane->lock);
    struct pli_request *r = make(buf, count, type, tag, comm, PLI_CHAN_P2P);
    pli_lock_drop(&lane->lock);
    if (r == NULL) {
        return no_memory();
    }
    r->flags = (uint16_t)(PLI_REQ_PERSISTENT | flags);
    r->ops = flags & PLI_REQ_SEND ? &send_ops : &recv_ops;
    r->source = r->item.source = peer;
    atomic_store_explicit(&r->is_done, 1, memory_order_relaxed);
    *out = r;
    return PLI_OK;
}

enum pli_err pli_p2p_send_init(const void *buf, MPI_Count count, struct pli_datatype *type,
                               int dest, int tag, struct pli_comm *comm, struct pli_request **out)
{
    return init(buf, count, type, dest, tag, comm, PLI_REQ_SEND, out);
}

enum pli_err pli_p2p_ssend_init(const void *buf, MPI_Count count, struct pli_datatype *type,
                                int dest, int tag, struct pli_comm *comm, struct pli_request **out)
{
    return init(buf, count, type, dest, tag, comm, PLI_REQ_SEND | PLI_REQ_SYNC, out);
}

enum pli_err pli_p2p_recv_init(void *buf, MPI_Count count, struct pli_datatype *type, int source,
                               int tag, struct pli_comm *comm, struct pli_request **out)
{
    return init(buf, count, type, source, tag, comm, 0, out);
}

static enum pli_err start_again(struct pli_request *r)
{
    struct pli_lane *lane = r->lane;
    if (__builtin_expect((r->state & PLI_REQ_WITHDRAWN) != 0, 0)) {
        pli_request_complete(r, (enum pli_err)r->err); // as it ended, on what will never work again
        return PLI_OK;
    }
    int peer = r->flags & PLI_REQ_SEND ? r->source : r->item.source;
    r->err = PLI_OK;
    if (peer == MPI_PROC_NULL) {
        r->source = MPI_PROC_NULL;
        r->tag = MPI_ANY_TAG;
        r->bytes = 0;
        return PLI_OK; // done already
    }
    atomic_store_explicit(&r->is_done, 0, memory_order_relaxed);
    pli_lock_take(&lane->lock);
    if (r->flags & PLI_REQ_SEND) {
        return start_send(r, peer);
    }
    enum pli_err err = start_recv(r, peer);
    pli_lock_drop(&lane->lock);
    return err;
}

static enum pli_err cancel_recv(struct pli_request *r)
{
    pli_lock_take(&r->lane->lock);
    if (r->state & PLI_REQ_POSTED) {
        pli_match_unpost(&r->comm->ep->match, &r->item);
        r->state = (uint16_t)((r->state & ~PLI_REQ_POSTED) | PLI_REQ_CANCELLED);
        r->source = MPI_ANY_SOURCE;
        r->tag = MPI_ANY_TAG;
        pli_request_complete(r, PLI_OK);
    }
    pli_lock_drop(&r->lane->lock);
    return PLI_OK;
}

// A message still here is simply dropped; one that was offered is asked back; one whose data went
// out counts as sent. [MPI-5.0 3.8.4]
static enum pli_err cancel_send(struct pli_request *r)
{
    if (pli_request_is_done(r)) {
        return PLI_OK;
    }
    if (r->conn == NULL) {
        if (pli_local_unsend(r)) {
            pli_lock_take(&r->lane->lock);
            r->state |= PLI_REQ_CANCELLED;
            pli_request_complete(r, PLI_OK);
            pli_lock_drop(&r->lane->lock);
        }
        return PLI_OK;
    }
    pli_lock_take(&r->lane->lock);
    if (!pli_request_is_done(r) && (r->state & (PLI_REQ_CANCELLING | PLI_REQ_CANCELLED)) == 0) {
        r->conn->ops->cancel(r);
    }
    pli_lock_drop(&r->lane->lock);
    return PLI_OK;
}

static const struct pli_request_ops send_ops = {
    .name = "send",
    .has_peer = true,
    .start = start_again,
    .cancel = cancel_send,
    .finish = pli_request_plain_finish,
    .clean = pli_request_plain_clean,
};

static const struct pli_request_ops recv_ops = {
    .name = "receive",
    .has_peer = true,
    .start = start_again,
    .cancel = cancel_recv,
    .finish = pli_request_plain_finish,
    .clean = pli_request_plain_clean,
};
