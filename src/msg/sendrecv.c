// SPDX-License-Identifier: BSD-3-Clause
// MPI_Sendrecv and its relatives. The nonblocking forms are one request over two.
#include "msg/sendrecv.h"

#include "msg/eager.h"
#include "msg/external32.h"
#include "msg/endpoint.h"
#include "msg/sendrecv_retry.h"
#include "msg/lane.h"
#include "msg/packed.h"
#include "msg/p2p.h"
#include "msg/progress.h"
#include "msg/request.h"
#include "obj/comm.h"
#include "obj/cursor.h"
#include "obj/datatype.h"
#include "obj/type_pack.h"

#include <stdlib.h>

struct pair {
    struct pli_poller poller;
    struct pli_request *self, *send, *recv;
    void *copy; // of the data to send, when the buffer is the receive's too
};

// The other half failed. The buffer of this one is the caller's: it must not stay begun. Whether it
// was done all the same; the reason of the first failure stays the one that is told.
static bool give_up(struct pli_request *half, MPI_Status *status)
{
    half->ops->cancel(half);
    pli_progress_wait(half);
    bool is_done = half->err == PLI_OK && (half->state & PLI_REQ_CANCELLED) == 0, is_gone;
    if (is_done) {
        pli_request_report(half, status, &is_gone);
    } else {
        pli_request_destroy(half);
    }
    return is_done;
}

// A large message is offered before the receive begins, which may copy one that was offered to this
// rank: two ranks that exchange copy at the same time so. Not where a failure of one half must
// leave the other.
static enum pli_err offer_first(const void *sendbuf, MPI_Count n_send, struct pli_datatype *stype,
                                int dest, int sendtag, struct pli_comm *comm, enum pli_chan chan,
                                struct pli_request **out)
{
    uint64_t size = (uint64_t)(n_send * stype->size);
    bool is_worth = size > pli_eager_max(chan) && !pli_request_may_be_withdrawn;
    return is_worth ? pli_p2p_isend_on(sendbuf, n_send, stype, dest, sendtag, comm, chan,
                                       PLI_REQ_BLOCKING, out)
                    : PLI_OK;
}

// The send of an exchange, as far as it is not begun.
static enum pli_err end_send(struct pli_request *begun, const void *sendbuf, MPI_Count n_send,
                             struct pli_datatype *stype, int dest, int sendtag,
                             struct pli_comm *comm, enum pli_chan chan)
{
    bool is_gone;
    if (begun == NULL) {
        return pli_p2p_send_on(sendbuf, n_send, stype, dest, sendtag, comm, chan, 0);
    }
    pli_progress_wait(begun);
    return pli_request_report(begun, MPI_STATUS_IGNORE, &is_gone);
}

enum pli_err pli_sendrecv_on(const void *sendbuf, MPI_Count n_send, struct pli_datatype *stype,
                             int dest, int sendtag, void *recvbuf, MPI_Count n_recv,
                             struct pli_datatype *rtype, int source, int recvtag,
                             struct pli_comm *comm, enum pli_chan chan, MPI_Status *status,
                             struct pli_sendrecv_half *half)
{
    struct pli_request *recv = NULL, *begun = NULL;
    struct pli_sendrecv_half none;
    bool is_gone;
    half = half != NULL ? half : &none;
    half->is_sent = half->is_received = false;
    enum pli_err err = offer_first(sendbuf, n_send, stype, dest, sendtag, comm, chan, &begun);
    if (err != PLI_OK) {
        return err;
    }
    err = pli_p2p_irecv_as(recvbuf, n_recv, rtype, source, recvtag, comm, chan, PLI_REQ_BLOCKING,
                           &recv);
    if (err != PLI_OK) {
        if (begun != NULL) {
            give_up(begun, MPI_STATUS_IGNORE);
        }
        return err;
    }
    err = end_send(begun, sendbuf, n_send, stype, dest, sendtag, comm, chan);
    if (err == PLI_ERR_PROC_FAILED) {
        // As if each half had a thread of its own: the source may live, and wait for this receive.
        pli_progress_wait(recv);
        half->is_received = pli_request_report(recv, status, &is_gone) == PLI_OK;
        return err;
    }
    if (err != PLI_OK) {
        half->is_received = give_up(recv, &half->status);
        return err;
    }
    half->is_sent = true;
    pli_progress_wait(recv);
    return pli_request_report(recv, status, &is_gone);
}

static enum pli_err exchange(const struct pli_sendrecv_retry_call *c, MPI_Status *status)
{
    struct pli_sendrecv_half done;
    enum pli_err err;
    if (__builtin_expect(atomic_load_explicit(&pli_sendrecv_retry_n, memory_order_relaxed) != 0,
                         0) &&
        pli_sendrecv_retry_go_on(c, status, &err)) {
        return err;
    }
    err =
        pli_sendrecv_on(c->sendbuf, c->n_send, c->stype, c->dest, c->sendtag, c->recvbuf, c->n_recv,
                        c->rtype, c->source, c->recvtag, c->comm, PLI_CHAN_P2P, status, &done);
    return __builtin_expect(err == PLI_OK, 1) ? PLI_OK : pli_sendrecv_retry_note(c, &done, err);
}

enum pli_err pli_sendrecv_sendrecv(const void *sendbuf, MPI_Count n_send,
                                   struct pli_datatype *stype, int dest, int sendtag, void *recvbuf,
                                   MPI_Count n_recv, struct pli_datatype *rtype, int source,
                                   int recvtag, struct pli_comm *comm, MPI_Status *status)
{
    struct pli_sendrecv_retry_call c = { sendbuf, n_send, stype,  dest,    sendtag, recvbuf,
                                         n_recv,  rtype,  source, recvtag, comm };
    return exchange(&c, status);
}

static enum pli_err no_memory(MPI_Count len)
{
    return pli_fail(PLI_ERR_NOMEM, "no memory for a copy of the %lld bytes to send",
                    (long long)len);
}

// A packed copy of the buffer, as the destination understands it. *len_out bytes; to be freed.
static enum pli_err copy_of(const void *buf, MPI_Count count, struct pli_datatype *type,
                            const struct pli_comm *comm, int dest, MPI_Count *len_out,
                            void **copy_out)
{
    enum pli_err err = PLI_OK;
    bool is_far = dest >= 0 && pli_external32_is_used(comm, dest);
    size_t len = (size_t)count * (size_t)(is_far ? pli_type_external_each(type) : type->size);
    void *copy = malloc(len > 0 ? len : 1);
    if (copy == NULL) {
        err = no_memory((MPI_Count)len);
    } else if (is_far) {
        err = pli_type_external_put(buf, count, type, copy);
    } else {
        struct pli_cursor c;
        pli_cursor_init(&c, buf, count, type);
        pli_cursor_pack(&c, copy, len);
    }
    if (err != PLI_OK) {
        free(copy);
        return err;
    }
    *len_out = (MPI_Count)len;
    *copy_out = copy;
    return PLI_OK;
}

enum pli_err pli_sendrecv_replace(void *buf, MPI_Count count, struct pli_datatype *type, int dest,
                                  int sendtag, int source, int recvtag, struct pli_comm *comm,
                                  MPI_Status *status)
{
    MPI_Count len;
    void *copy;
    enum pli_err err = copy_of(buf, count, type, comm, dest, &len, &copy);
    if (err != PLI_OK) {
        return err;
    }
    MPI_Count n = len;
    struct pli_datatype *as =
        pli_packed_copy_type(type, comm, dest >= 0 && pli_external32_is_used(comm, dest), &n);
    struct pli_sendrecv_retry_call c = { copy,  n,    as,     dest,    sendtag, buf,
                                         count, type, source, recvtag, comm };
    err = exchange(&c, status);
    if (err == PLI_ERR_WORLD_RESIZED) { // the call is repeated with what it had
        struct pli_cursor back;
        pli_cursor_init(&back, buf, count, type);
        pli_cursor_unpack(&back, copy, (size_t)len);
    }
    free(copy);
    return err;
}

static int poll_pair(struct pli_poller *p)
{
    struct pair *pair = PLI_CONTAINER(p, struct pair, poller);
    if (!pli_request_is_done(pair->send) || !pli_request_is_done(pair->recv)) {
        return 0;
    }
    pli_list_remove(&p->link);
    const struct pli_request *failed = pair->recv->err != PLI_OK ? pair->recv : pair->send;
    pli_request_complete(pair->self, (enum pli_err)failed->err);
    return 1;
}

static enum pli_err finish(struct pli_request *r, MPI_Status *status)
{
    struct pair *pair = r->ext;
    enum pli_err err = pair->recv->ops->finish(pair->recv, status);
    return err != PLI_OK ? err : pair->send->ops->finish(pair->send, MPI_STATUS_IGNORE);
}

static void clean(struct pli_request *r)
{
    struct pair *pair = r->ext;
    if (pair != NULL) {
        pli_request_destroy(pair->send);
        pli_request_destroy(pair->recv);
        free(pair->copy);
        free(pair);
    }
}

static const struct pli_request_ops pair_ops = {
    .name = "send-receive",
    .start = pli_request_no_start,
    .cancel = pli_request_no_cancel,
    .finish = finish,
    .clean = clean,
};

// One request over the two; takes both and the copy over.
static enum pli_err join(struct pli_request *send, struct pli_request *recv, void *copy,
                         struct pli_comm *comm, struct pli_request **out)
{
    struct pli_lane *lane = comm->ep->lane;
    struct pair *pair = malloc(sizeof *pair);
    if (pair == NULL) {
        abort(); // both halves are under way in the user's buffers; there is no way back
    }
    pli_lock_take(&lane->lock);
    struct pli_request *r = pli_request_create(lane);
    if (r == NULL) {
        abort();
    }
    *pair = (struct pair){ { .poll = poll_pair }, r, send, recv, copy };
    r->ops = &pair_ops;
    r->comm = pli_comm_retain(comm);
    r->ext = pair;
    pli_list_push(&lane->pollers, &pair->poller.link);
    pli_lock_drop(&lane->lock);
    *out = r;
    return PLI_OK;
}

static enum pli_err begin(const void *sendbuf, MPI_Count n_send, struct pli_datatype *stype,
                          int dest, int sendtag, void *recvbuf, MPI_Count n_recv,
                          struct pli_datatype *rtype, int source, int recvtag,
                          struct pli_comm *comm, void *copy, struct pli_request **out)
{
    struct pli_request *send, *recv;
    enum pli_err err =
        pli_p2p_irecv_on(recvbuf, n_recv, rtype, source, recvtag, comm, PLI_CHAN_P2P, &recv);
    if (err != PLI_OK) {
        return err;
    }
    err = pli_p2p_isend_on(sendbuf, n_send, stype, dest, sendtag, comm, PLI_CHAN_P2P, 0, &send);
    if (err != PLI_OK) {
        recv->ops->cancel(recv);
        pli_request_forget(recv);
        return err;
    }
    return join(send, recv, copy, comm, out);
}

enum pli_err pli_sendrecv_isendrecv(const void *sendbuf, MPI_Count n_send,
                                    struct pli_datatype *stype, int dest, int sendtag,
                                    void *recvbuf, MPI_Count n_recv, struct pli_datatype *rtype,
                                    int source, int recvtag, struct pli_comm *comm,
                                    struct pli_request **out)
{
    return begin(sendbuf, n_send, stype, dest, sendtag, recvbuf, n_recv, rtype, source, recvtag,
                 comm, NULL, out);
}

enum pli_err pli_sendrecv_ireplace(void *buf, MPI_Count count, struct pli_datatype *type, int dest,
                                   int sendtag, int source, int recvtag, struct pli_comm *comm,
                                   struct pli_request **out)
{
    MPI_Count len;
    void *copy;
    enum pli_err err = copy_of(buf, count, type, comm, dest, &len, &copy);
    if (err != PLI_OK) {
        return err;
    }
    struct pli_datatype *as =
        pli_packed_copy_type(type, comm, dest >= 0 && pli_external32_is_used(comm, dest), &len);
    err = begin(copy, len, as, dest, sendtag, buf, count, type, source, recvtag, comm, copy, out);
    if (err != PLI_OK) {
        free(copy);
    }
    return err;
}
