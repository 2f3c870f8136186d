// SPDX-License-Identifier: BSD-3-Clause
// Messages that came before their receive: their memory, and how much of it a lane has.
#include "msg/unexpected.h"

#include "base/conf.h"
#include "base/log.h"
#include "msg/endpoint.h"
#include "msg/lane.h"
#include "msg/msg_wire.h"
#include "msg/statistics_hooks.h"
#include "net/net.h"

#include <stdlib.h>
#include <string.h>

// Past the limit the senders are told to ask first; their data then stays with them.
void pli_unexpected_hold(struct pli_lane *lane, size_t more)
{
    lane->held += more;
    if (__builtin_expect(lane->statistics != NULL, 0)) {
        pli_statistics_hooks->held(lane);
    }
    if (lane->held > (size_t)pli_conf.unexpected_max && !lane->is_full) {
        lane->is_full = true;
        atomic_store_explicit(&lane->shm.box->is_full, 1, memory_order_relaxed);
        lane->net->ops->hold(lane->net, true);
    }
}

static void unhold(struct pli_lane *lane, size_t less)
{
    lane->held -= less;
    if (lane->is_full && lane->held < (size_t)pli_conf.unexpected_max / 2) {
        lane->is_full = false;
        atomic_store_explicit(&lane->shm.box->is_full, 0, memory_order_relaxed);
        lane->net->ops->hold(lane->net, false);
    }
}

struct pli_unexpected *pli_unexpected_create(struct pli_endpoint *ep, size_t data)
{
    struct pli_unexpected *p = malloc(sizeof *p + data);
    if (p == NULL) {
        // The bytes are neither here nor there any more: going on would lose a message silently.
        pli_log(PLI_ERROR, "no memory to keep an unexpected message of %zu bytes", data);
        abort();
    }
    memset(p, 0, sizeof *p);
    p->ep = ep;
    return p;
}

void pli_unexpected_destroy(struct pli_unexpected *p)
{
    if (p != NULL && p->kind != PLI_MSG_RTS && p->local == NULL) {
        unhold(p->ep->lane, p->size + sizeof *p);
    }
    free(p);
}

void pli_unexpected_keep(struct pli_unexpected *p)
{
    if (!pli_match_keep(&p->ep->match, &p->item)) {
        pli_log(PLI_ERROR, "no memory to keep an unexpected message");
        abort();
    }
    if (__builtin_expect(p->ep->lane->statistics != NULL, 0)) {
        pli_statistics_hooks->kept(p);
    }
    pli_lane_wake(p->ep->lane); // a probe of another thread may sleep for it
}

struct pli_unexpected *pli_unexpected_of(struct pli_endpoint *ep, struct pli_conn *from,
                                         const struct pli_shm_cell *cell, size_t data)
{
    struct pli_unexpected *p = pli_unexpected_create(ep, data);
    p->item.context = cell->context;
    p->item.source = cell->src_rank;
    p->item.tag = cell->tag;
    p->conn = from;
    p->size = cell->size;
    p->kind = cell->kind;
    p->form = cell->form;
    p->remote = cell->word[0];
    return p;
}

void pli_unexpected_fill(struct pli_unexpected *p, const void *data, struct pli_shm_block *block)
{
    memcpy(p->data, data, p->size);
    if (block != NULL) {
        pli_shm_block_done(block);
    }
}
