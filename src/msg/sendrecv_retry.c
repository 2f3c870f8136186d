// SPDX-License-Identifier: BSD-3-Clause
// Keeps the half that was done until the program repeats the call, and does the other half then.
#include "msg/sendrecv_retry.h"

#include "msg/p2p.h"
#include "obj/comm.h"
#include "obj/cursor.h"
#include "obj/datatype.h"
#include "obj/status.h"

#include <pthread.h>
#include <stdlib.h>

struct half {
    struct half *next;
    uint64_t context;
    int rank, dest, sendtag, source, recvtag;
    bool is_sent; // else received
    MPI_Status status;
    size_t len;
    char data[]; // that was received
};

atomic_int pli_sendrecv_retry_n;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static struct half *halves; // guarded by guard; the oldest last

static bool is_of(const struct half *h, const struct pli_sendrecv_retry_call *c)
{
    return h->context == c->comm->context && h->rank == c->comm->rank && h->dest == c->dest &&
           h->sendtag == c->sendtag && h->source == c->source && h->recvtag == c->recvtag;
}

// The oldest that fits.
static struct half *take(const struct pli_sendrecv_retry_call *c)
{
    struct half **at = NULL, *h = NULL;
    pthread_mutex_lock(&guard);
    for (struct half **i = &halves; *i != NULL; i = &(*i)->next) {
        at = is_of(*i, c) ? i : at;
    }
    if (at != NULL) {
        h = *at;
        *at = h->next;
        atomic_fetch_sub_explicit(&pli_sendrecv_retry_n, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&guard);
    return h;
}

static enum pli_err hand_out(const struct half *h, const struct pli_sendrecv_retry_call *c,
                             MPI_Status *status)
{
    struct pli_cursor to;
    if (h->len > (uint64_t)c->n_recv * (uint64_t)c->rtype->size) {
        return pli_fail(PLI_ERR_TRUNC,
                        "a message of %zu bytes was received when the call was interrupted, and "
                        "the buffer is shorter now that it is repeated",
                        h->len);
    }
    pli_cursor_init(&to, c->recvbuf, c->n_recv, c->rtype);
    pli_cursor_unpack(&to, h->data, h->len);
    if (status != MPI_STATUS_IGNORE) {
        pli_status_set_one(status, h->status.MPI_SOURCE, h->status.MPI_TAG, h->len);
    }
    return PLI_OK;
}

bool pli_sendrecv_retry_go_on(const struct pli_sendrecv_retry_call *c, MPI_Status *status,
                              enum pli_err *err_out)
{
    struct half *h = take(c);
    if (h == NULL) {
        return false;
    }
    if (h->is_sent) {
        *err_out =
            pli_p2p_recv(c->recvbuf, c->n_recv, c->rtype, c->source, c->recvtag, c->comm, status);
    } else {
        *err_out = pli_p2p_send(c->sendbuf, c->n_send, c->stype, c->dest, c->sendtag, c->comm);
        *err_out = *err_out == PLI_OK ? hand_out(h, c, status) : *err_out;
    }
    free(h);
    return true;
}

enum pli_err pli_sendrecv_retry_note(const struct pli_sendrecv_retry_call *c,
                                     const struct pli_sendrecv_half *done, enum pli_err err)
{
    if (err != PLI_ERR_WORLD_RESIZED || done->is_sent == done->is_received) {
        return err;
    }
    size_t len = done->is_received ? (size_t)pli_status_bytes(&done->status) : 0;
    struct half *h = malloc(sizeof *h + len);
    if (h == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory to keep the %zu bytes that were received", len);
    }
    *h = (struct half){ .context = c->comm->context,
                        .rank = c->comm->rank,
                        .dest = c->dest,
                        .sendtag = c->sendtag,
                        .source = c->source,
                        .recvtag = c->recvtag,
                        .is_sent = done->is_sent,
                        .status = done->status,
                        .len = len };
    struct pli_cursor from;
    pli_cursor_init(&from, c->recvbuf, c->n_recv, c->rtype);
    pli_cursor_pack(&from, h->data, len);
    pthread_mutex_lock(&guard);
    h->next = halves;
    halves = h;
    atomic_fetch_add_explicit(&pli_sendrecv_retry_n, 1, memory_order_relaxed);
    pthread_mutex_unlock(&guard);
    return err;
}
