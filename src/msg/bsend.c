// SPDX-License-Identifier: BSD-3-Clause
// Buffered sends. The data is copied into a piece of the attached buffer (or memory of ours when
// buffering is automatic) and sent from there by an ordinary request, kept until it is done.
#include "msg/bsend.h"

#include "msg/external32.h"
#include "base/list.h"
#include "msg/endpoint.h"
#include "msg/lane.h"
#include "msg/packed.h"
#include "msg/p2p.h"
#include "msg/progress.h"
#include "msg/request.h"
#include "obj/comm.h"
#include "obj/cursor.h"
#include "obj/datatype.h"
#include "obj/type_pack.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

// A piece of the buffer in use, in order of address.
struct piece {
    struct pli_list link;
    char *start;
    size_t len;
    struct pli_request *req;
    uint64_t serial; // which send of this buffer
    int n_waiter;    // threads that look at req without the guard: it must stay
};

struct pli_bsend {
    pthread_mutex_t guard;
    char *buffer;
    MPI_Count size;
    bool is_automatic;
    struct pli_list pieces; // guarded by guard
    uint64_t n_send;        // sends so far; guarded by guard
};

static struct pli_bsend *of_process;
static pthread_mutex_t attach_guard = PTHREAD_MUTEX_INITIALIZER;

struct pli_bsend **(*pli_bsend_of_session)(struct pli_comm *comm);

enum pli_err pli_bsend_attach_at(struct pli_bsend **at, void *buffer, MPI_Count size)
{
    bool is_automatic = buffer == MPI_BUFFER_AUTOMATIC;
    if (!is_automatic && buffer == NULL && size > 0) {
        return pli_fail(PLI_ERR_BUFFER, "the buffer to attach is NULL");
    }
    struct pli_bsend *b = calloc(1, sizeof *b);
    if (b == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory to attach a buffer");
    }
    b->buffer = buffer;
    b->size = is_automatic ? 0 : size;
    b->is_automatic = is_automatic;
    pli_list_init(&b->pieces);
    pthread_mutex_init(&b->guard, NULL);
    pthread_mutex_lock(&attach_guard);
    bool is_taken = *at != NULL;
    if (!is_taken) {
        *at = b;
    }
    pthread_mutex_unlock(&attach_guard);
    if (is_taken) {
        pthread_mutex_destroy(&b->guard);
        free(b);
        return pli_fail(PLI_ERR_BUFFER, "a buffer is attached already; detach it first");
    }
    return PLI_OK;
}

static void discard(struct pli_bsend *b, struct piece *p)
{
    pli_list_remove(&p->link);
    if (b->is_automatic) {
        free(p->start);
    }
    free(p);
}

static void drop(struct pli_bsend *b, struct piece *p)
{
    bool is_gone;
    pli_request_report(p->req, MPI_STATUS_IGNORE, &is_gone);
    discard(b, p);
}

// Give back the pieces whose send is over. Context: guard held.
static void sweep(struct pli_bsend *b)
{
    struct pli_list *at = b->pieces.next;
    while (at != &b->pieces) {
        struct piece *p = PLI_CONTAINER(at, struct piece, link);
        at = at->next;
        if (p->n_waiter == 0 && pli_request_is_done(p->req)) {
            drop(b, p);
        }
    }
}

// A piece of one of the first n sends that is not over, or NULL. Context: guard held.
static struct piece *unsent(struct pli_bsend *b, uint64_t n)
{
    for (struct pli_list *i = b->pieces.next; i != &b->pieces; i = i->next) {
        struct piece *p = PLI_CONTAINER(i, struct piece, link);
        if (p->serial < n && !pli_request_is_done(p->req)) {
            return p;
        }
    }
    return NULL;
}

// Wait until every send begun so far is over. The guard is free meanwhile: the receive that ends
// such a send may come only after another thread of ours has sent from the same buffer.
static void drain(struct pli_bsend *b)
{
    pthread_mutex_lock(&b->guard);
    uint64_t n = b->n_send;
    struct piece *p;
    while ((p = unsent(b, n)) != NULL) {
        p->n_waiter++;
        pthread_mutex_unlock(&b->guard);
        pli_progress_wait(p->req);
        pthread_mutex_lock(&b->guard);
        p->n_waiter--;
    }
    sweep(b);
    pthread_mutex_unlock(&b->guard);
}

enum pli_err pli_bsend_detach_at(struct pli_bsend **at, void *buffer_out, MPI_Count *size_out)
{
    pthread_mutex_lock(&attach_guard);
    struct pli_bsend *b = *at;
    *at = NULL;
    pthread_mutex_unlock(&attach_guard);
    if (b == NULL) { // no buffer: as if an empty one were attached
        void *none = NULL;
        memcpy(buffer_out, &none, sizeof none);
        *size_out = 0;
        return PLI_OK;
    }
    drain(b);
    void *buffer = b->buffer;
    memcpy(buffer_out, &buffer, sizeof buffer);
    *size_out = b->size;
    pthread_mutex_destroy(&b->guard);
    free(b);
    return PLI_OK;
}

enum pli_err pli_bsend_flush_at(struct pli_bsend **at)
{
    struct pli_bsend *b = *at;
    if (b != NULL) {
        drain(b);
    }
    return PLI_OK;
}

// The buffer that a send on this communicator uses. [MPI-5.0 3.6]
static struct pli_bsend *buffer_of(struct pli_comm *comm)
{
    if (comm->buffer != NULL) {
        return comm->buffer;
    }
    struct pli_bsend **session =
        pli_bsend_of_session != NULL && comm->session != NULL ? pli_bsend_of_session(comm) : NULL;
    if (session != NULL && *session != NULL) {
        return *session;
    }
    return comm->ep->buffer != NULL ? comm->ep->buffer : of_process;
}

// A free piece of len bytes, entered in its place; NULL: no room. Context: guard held.
static struct piece *place(struct pli_bsend *b, size_t len)
{
    struct piece *p = malloc(sizeof *p);
    if (p == NULL) {
        return NULL;
    }
    p->len = len;
    p->n_waiter = 0;
    struct pli_list *before = &b->pieces;
    if (b->is_automatic) {
        p->start = malloc(len);
    } else {
        char *at = b->buffer, *end = b->buffer + b->size;
        for (before = b->pieces.next; before != &b->pieces; before = before->next) {
            struct piece *next = PLI_CONTAINER(before, struct piece, link);
            if ((size_t)(next->start - at) >= len) {
                break;
            }
            at = next->start + next->len;
        }
        bool has_room = before != &b->pieces || (size_t)(end - at) >= len;
        p->start = has_room ? at : NULL;
    }
    if (p->start == NULL) {
        free(p);
        return NULL;
    }
    p->link.next = before;
    p->link.prev = before->prev;
    before->prev->next = &p->link;
    before->prev = &p->link;
    return p;
}

static enum pli_err copy_and_send(struct pli_bsend *b, const void *buf, MPI_Count count,
                                  struct pli_datatype *type, int dest, int tag,
                                  struct pli_comm *comm)
{
    bool is_far = pli_external32_is_used(comm, dest); // a receiver that wants it as external32
    size_t bytes = (size_t)count * (size_t)(is_far ? pli_type_external_each(type) : type->size);
    // The standard lets a user count on MPI_BSEND_OVERHEAD and the packed data, no more.
    struct piece *p = place(b, bytes + MPI_BSEND_OVERHEAD);
    if (p == NULL) {
        pthread_mutex_unlock(&b->guard); // others may go on while we look for finished sends
        pli_progress_once(comm->ep->lane);
        pthread_mutex_lock(&b->guard);
        sweep(b);
        p = place(b, bytes + MPI_BSEND_OVERHEAD);
    }
    if (p == NULL) {
        return pli_fail(PLI_ERR_BUFFER,
                        "the attached buffer of %lld bytes has no room for %zu bytes of data and "
                        "MPI_BSEND_OVERHEAD (%d)",
                        (long long)b->size, bytes, MPI_BSEND_OVERHEAD);
    }
    enum pli_err err = PLI_OK;
    if (is_far) {
        err = pli_type_external_put(buf, count, type, p->start);
    } else {
        struct pli_cursor c;
        pli_cursor_init(&c, buf, count, type);
        pli_cursor_pack(&c, p->start, bytes);
    }
    if (err == PLI_OK) {
        MPI_Count n = (MPI_Count)bytes;
        struct pli_datatype *as = pli_packed_copy_type(type, comm, is_far, &n);
        err = pli_p2p_isend_on(p->start, n, as, dest, tag, comm, PLI_CHAN_P2P, 0, &p->req);
    }
    if (err != PLI_OK) {
        discard(b, p);
        return err;
    }
    p->serial = b->n_send++;
    return PLI_OK;
}

enum pli_err pli_bsend_send(const void *buf, MPI_Count count, struct pli_datatype *type, int dest,
                            int tag, struct pli_comm *comm)
{
    if (dest == MPI_PROC_NULL) {
        return PLI_OK;
    }
    struct pli_bsend *b = buffer_of(comm);
    if (b == NULL) {
        return pli_fail(PLI_ERR_BUFFER,
                        "no buffer is attached; call MPI_Buffer_attach (MPI_BUFFER_AUTOMATIC "
                        "needs no memory of yours)");
    }
    pthread_mutex_lock(&b->guard);
    sweep(b);
    enum pli_err err = copy_and_send(b, buf, count, type, dest, tag, comm);
    pthread_mutex_unlock(&b->guard);
    return err;
}

enum pli_err pli_bsend_isend(const void *buf, MPI_Count count, struct pli_datatype *type, int dest,
                             int tag, struct pli_comm *comm, struct pli_request **out)
{
    enum pli_err err = pli_bsend_send(buf, count, type, dest, tag, comm);
    return err == PLI_OK ? pli_p2p_nothing(comm, PLI_REQ_SEND, out) : err;
}

static enum pli_err start(struct pli_request *r)
{
    return pli_bsend_send(r->buf, r->count, r->type, r->source, r->item.tag, r->comm);
}

static enum pli_err cancel_nothing(struct pli_request *r)
{
    (void)r; // buffered data counts as sent
    return PLI_OK;
}

static const struct pli_request_ops bsend_ops = {
    .name = "buffered send",
    .start = start,
    .cancel = cancel_nothing,
    .finish = pli_request_plain_finish,
    .clean = pli_request_plain_clean,
};

enum pli_err pli_bsend_init(const void *buf, MPI_Count count, struct pli_datatype *type, int dest,
                            int tag, struct pli_comm *comm, struct pli_request **out)
{
    enum pli_err err = pli_p2p_send_init(buf, count, type, dest, tag, comm, out);
    if (err == PLI_OK) {
        (*out)->ops = &bsend_ops;
    }
    return err;
}

// The endpoint that had the buffer ends.
static void end_buffer(struct pli_bsend *b)
{
    if (b != NULL) {
        drain(b);
        pthread_mutex_destroy(&b->guard);
        free(b);
    }
}

// What the calling thread means when it names no object: the endpoint it is attached to, if it is,
// for then that is its process. The reference is to be given back.
static struct pli_bsend **own(struct pli_endpoint **ep_out)
{
    *ep_out = pli_endpoint_mine();
    if (*ep_out != NULL) {
        (*ep_out)->end_buffer = end_buffer;
    }
    return *ep_out != NULL ? &(*ep_out)->buffer : &of_process;
}

enum pli_err pli_bsend_attach(void *buffer, MPI_Count size)
{
    struct pli_endpoint *ep;
    enum pli_err err = pli_bsend_attach_at(own(&ep), buffer, size);
    pli_endpoint_release(ep);
    return err;
}

enum pli_err pli_bsend_detach(void *buffer_out, MPI_Count *size_out)
{
    struct pli_endpoint *ep;
    enum pli_err err = pli_bsend_detach_at(own(&ep), buffer_out, size_out);
    pli_endpoint_release(ep);
    return err;
}

enum pli_err pli_bsend_flush(void)
{
    struct pli_endpoint *ep;
    enum pli_err err = pli_bsend_flush_at(own(&ep));
    pli_endpoint_release(ep);
    return err;
}

enum pli_err pli_bsend_iflush(struct pli_request **out)
{
    struct pli_endpoint *ep;
    enum pli_err err = pli_bsend_iflush_at(own(&ep), out);
    pli_endpoint_release(ep);
    return err;
}

enum pli_err pli_bsend_comm_attach(struct pli_comm *comm, void *buffer, MPI_Count size)
{
    return pli_bsend_attach_at(&comm->buffer, buffer, size);
}

enum pli_err pli_bsend_comm_detach(struct pli_comm *comm, void *buffer_out, MPI_Count *size_out)
{
    return pli_bsend_detach_at(&comm->buffer, buffer_out, size_out);
}

enum pli_err pli_bsend_comm_flush(struct pli_comm *comm)
{
    return pli_bsend_flush_at(&comm->buffer);
}

enum pli_err pli_bsend_comm_iflush(struct pli_comm *comm, struct pli_request **out)
{
    return pli_bsend_iflush_at(&comm->buffer, out);
}

// A flush under way: over when the sends that were there at its start are.
struct flush {
    struct pli_poller poller;
    struct pli_request *self;
    struct pli_bsend **at;
    uint64_t n; // sends begun before it
};

static int poll_flush(struct pli_poller *p)
{
    struct flush *f = PLI_CONTAINER(p, struct flush, poller);
    struct pli_bsend *b = *f->at;
    if (b != NULL) {
        if (pthread_mutex_trylock(&b->guard) != 0) {
            return 0;
        }
        bool is_over = unsent(b, f->n) == NULL;
        pthread_mutex_unlock(&b->guard);
        if (!is_over) {
            return 0;
        }
    }
    pli_list_remove(&p->link);
    pli_request_complete(f->self, PLI_OK);
    return 1;
}

static void clean_flush(struct pli_request *r)
{
    free(r->ext);
}

static const struct pli_request_ops flush_ops = {
    .name = "buffer flush",
    .start = pli_request_no_start,
    .cancel = pli_request_no_cancel,
    .finish = pli_request_plain_finish,
    .clean = clean_flush,
};

enum pli_err pli_bsend_iflush_at(struct pli_bsend **at, struct pli_request **out)
{
    struct pli_lane *lane = pli_proc.lanes[0];
    if (lane == NULL) {
        return pli_fail(PLI_ERR_OTHER, "MPI is not initialised");
    }
    uint64_t n = 0;
    if (*at != NULL) {
        pthread_mutex_lock(&(*at)->guard);
        n = (*at)->n_send;
        pthread_mutex_unlock(&(*at)->guard);
    }
    struct flush *f = malloc(sizeof *f);
    pli_lock_take(&lane->lock);
    struct pli_request *r = f != NULL ? pli_request_create(lane) : NULL;
    if (r != NULL) {
        *f = (struct flush){ { .poll = poll_flush }, r, at, n };
        r->ops = &flush_ops;
        r->flags = PLI_REQ_NO_STATUS;
        r->ext = f;
        pli_list_push(&lane->pollers, &f->poller.link);
    }
    pli_lock_drop(&lane->lock);
    if (r == NULL) {
        free(f);
        return pli_fail(PLI_ERR_NOMEM, "no memory for a request");
    }
    *out = r;
    return PLI_OK;
}
