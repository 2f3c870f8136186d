// SPDX-License-Identifier: BSD-3-Clause
// Between endpoints of one lane, or from an endpoint to itself: match on the receiver's endpoint
// and copy once, straight from the sender's buffer to the receiver's. Endpoints of different lanes
// of a process write to each other's mailboxes instead, so that their threads share no lock; large
// messages are copied once there too.
#include "msg/local.h"

#include "base/conf.h"
#include "base/log.h"
#include "msg/endpoint.h"
#include "msg/lane.h"
#include "msg/packed.h"
#include "msg/unexpected.h"
#include "msg/request.h"
#include "msg/statistics_hooks.h"
#include "msg/msg_wire.h"
#include "obj/cursor.h"
#include "obj/datatype.h"

#include <stdlib.h>
#include <string.h>

void pli_local_copy(const struct pli_request *send, struct pli_request *recv)
{
    recv->bytes = send->size;
    if (send->type->is_dense && recv->type->is_dense) {
        uint64_t n = send->size < recv->size ? send->size : recv->size;
        if (n > 0) { // buffers of nothing may be NULL
            memmove((char *)recv->buf + recv->type->true_lb,
                    (const char *)send->buf + send->type->true_lb, n);
        }
    } else {
        pli_cursor_copy(send->buf, send->count, send->type, recv->buf, recv->count, recv->type);
    }
}

// The same where one of the two is MPI_PACKED and the other is not; completes the receive.
__attribute__((cold)) static void convert(const struct pli_request *send, struct pli_request *recv)
{
    struct pli_cursor c;
    void *data = malloc(send->size > 0 ? send->size : 1);
    if (data == NULL) {
        recv->bytes = 0;
        pli_request_complete(recv, PLI_ERR_NOMEM);
        return;
    }
    pli_cursor_init(&c, send->buf, send->count, send->type);
    pli_cursor_pack(&c, data, send->size);
    pli_packed_take(recv, data, send->size, send->type->form);
    free(data);
}

static enum pli_err result_of(const struct pli_request *recv)
{
    return recv->bytes > recv->size ? PLI_ERR_TRUNC : PLI_OK;
}

// Keep an offer, or the data itself when it is small, at the receiver.
static void keep(struct pli_request *send, struct pli_endpoint *to)
{
    bool has_data = send->size <= (uint64_t)pli_conf.self_eager_max &&
                    (send->flags & PLI_REQ_SYNC) == 0 && !to->lane->is_full;
    struct pli_unexpected *p = pli_unexpected_create(to, has_data ? send->size : 0);
    p->item.context = send->item.context;
    p->item.source = send->item.source;
    p->item.tag = send->item.tag;
    p->size = send->size;
    p->form = send->type->form;
    if (has_data) {
        struct pli_cursor c;
        pli_cursor_init(&c, send->buf, send->count, send->type);
        pli_cursor_pack(&c, p->data, send->size);
        p->kind = PLI_MSG_EAGER;
        pli_unexpected_hold(to->lane, send->size + sizeof *p);
    } else {
        p->kind = PLI_MSG_RTS;
        p->local = send;
        send->remote = (uint64_t)(uintptr_t)to;
    }
    pli_unexpected_keep(p);
}

enum pli_err pli_local_start(struct pli_request *send, struct pli_endpoint *to)
{
    struct pli_lane *lane = to->lane;
    pli_lock_take(&lane->lock);
    struct pli_match_item *item =
        pli_match_arrive(&to->match, send->item.context, send->item.source, send->item.tag);
    bool is_done = true;
    struct pli_request *recv = item != NULL ? PLI_CONTAINER(item, struct pli_request, item) : NULL;
    if (recv != NULL) {
        recv->state &= (uint16_t)~PLI_REQ_POSTED;
        recv->source = send->item.source;
        recv->tag = send->item.tag;
    }
    if (recv != NULL && pli_packed_differs(recv, send->type->form)) {
        convert(send, recv);
    } else if (recv != NULL) {
        pli_lock_drop(&lane->lock); // no other thread can find the receive now
        pli_local_copy(send, recv);
        pli_lock_take(&lane->lock);
        if (lane->statistics != NULL) {
            recv->conn = NULL;
            pli_statistics_hooks->one_copy(recv);
        }
        pli_request_complete(recv, result_of(recv));
    } else {
        is_done = send->size <= (uint64_t)pli_conf.self_eager_max &&
                  (send->flags & PLI_REQ_SYNC) == 0 && !lane->is_full;
        keep(send, to);
    }
    pli_shm_count_sent(&lane->shm, send->size);
    if (lane->statistics != NULL) {
        pli_statistics_hooks->sent(send, recv == NULL && is_done ? PLI_STAT_EAGER : PLI_STAT_RNDV);
    }
    if (is_done) {
        pli_request_complete(send, PLI_OK);
    }
    pli_lock_drop(&lane->lock);
    return PLI_OK;
}

void pli_local_accept(struct pli_request *recv, struct pli_unexpected *p)
{
    struct pli_request *send = p->local;
    if (pli_packed_differs(recv, send->type->form)) {
        convert(send, recv);
    } else {
        pli_local_copy(send, recv);
        if (recv->lane->statistics != NULL) {
            recv->conn = NULL;
            pli_statistics_hooks->one_copy(recv);
        }
        pli_request_complete(recv, result_of(recv));
    }
    pli_request_complete(send, PLI_OK);
}

bool pli_local_unsend(struct pli_request *send)
{
    struct pli_endpoint *to = (struct pli_endpoint *)(uintptr_t)send->remote;
    bool is_found = false;
    pli_lock_take(&to->lane->lock);
    for (struct pli_match_item *i = to->match.arrival.first; i != NULL; i = i->later) {
        struct pli_unexpected *p = PLI_CONTAINER(i, struct pli_unexpected, item);
        if (p->local == send) {
            pli_match_take(&to->match, i);
            pli_unexpected_destroy(p);
            is_found = true;
            break;
        }
    }
    pli_lock_drop(&to->lane->lock);
    return is_found;
}
