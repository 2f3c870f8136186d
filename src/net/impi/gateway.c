// SPDX-License-Identifier: BSD-3-Clause
// The transport to processes of other MPI jobs of an IMPI job, a rank's side of it: through the
// mailbox of the agent, in external32. Data that does not fit a block goes through the gateway's
// memory, where the agent sends it from and receives it to. [docs/design/impi.md]
#include "net/impi/gateway.h"

#include "base/list.h"
#include "base/log.h"
#include "boot/boot.h"
#include "boot/gateway_wire.h"
#include "msg/eager.h"
#include "msg/endpoint.h"
#include "msg/external32.h"
#include "msg/lane.h"
#include "msg/unexpected.h"
#include "msg/request.h"
#include "msg/statistics_hooks.h"
#include "msg/msg_wire.h"
#include "net/net.h"
#include "obj/datatype.h"

#include <stdlib.h>
#include <string.h>

enum { INLINE = 16, PIECE = 256 * 1024 };

// What a connection has besides when it goes through the agent.
struct pli_gateway_conn {
    struct pli_list wait; // sends that wait for room in the agent's mailbox, in order
};

// A send that was matched and whose data is being written, a piece at each poll.
struct stream {
    struct pli_poller poller;
    struct pli_request *send;
};

static struct pli_gateway_conn *of(const struct pli_conn *c)
{
    return c->net;
}

static struct pli_gateway_slot *slot_at(uint64_t offset)
{
    return (struct pli_gateway_slot *)(pli_boot.node.base + offset);
}

// Processes of other clients have numbers above those of this job and no place on its hosts.
static enum pli_err connect(struct pli_conn *c, uint64_t proc)
{
    const struct pli_node *node = &pli_boot.node;
    if (pli_boot.gateway == NULL || pli_node_job_of(proc) != pli_boot.job ||
        (uint32_t)proc >= pli_boot.n_world || pli_node_find(node, (uint32_t)proc) != NULL) {
        return PLI_ERR_UNSUPPORTED;
    }
    struct pli_gateway_conn *g = malloc(sizeof *g);
    if (g == NULL) {
        return PLI_ERR_NOMEM;
    }
    pli_list_init(&g->wait);
    c->net = g;
    pli_shm_peer_init(&c->shm, node, pli_node_agent(node), 0);
    pli_lane_disable_fastpath(c);
    return PLI_OK;
}

static bool disconnect(struct pli_conn *c)
{
    (void)c;
    return false; // the agent knows it until the job ends
}

static void address(struct pli_shm_cell *cell, const struct pli_request *r, int kind)
{
    cell->kind = (uint8_t)kind;
    cell->flags = r->flags & PLI_REQ_SYNC ? PLI_MSG_IS_SYNC : 0;
    cell->src_lane = (uint8_t)r->lane->index;
    cell->src_proc = (uint32_t)r->lane->proc;
    cell->dst_ep = r->conn->proc;
    cell->context = r->item.context;
    cell->src_rank = r->item.source;
    cell->tag = r->item.tag;
    cell->size = pli_external32_size(r);
    cell->word[0] = (uint64_t)(uintptr_t)r;
}

static void count(const struct pli_request *r, enum pli_stat_protocol p)
{
    pli_shm_count_sent(&r->lane->shm, r->size);
    if (r->lane->statistics != NULL) {
        pli_statistics_hooks->sent(r, p);
    }
}

// All of a small message. False: no room now.
static bool issue_whole(struct pli_request *r)
{
    uint64_t size = pli_external32_size(r), pos;
    unsigned char few[INLINE];
    struct pli_shm_block *block = NULL;
    if (size > INLINE) {
        block = pli_shm_block_take(&r->lane->shm, size);
        if (block == NULL) {
            return false;
        }
    }
    void *to = block != NULL ? pli_shm_block_data(block) : few;
    enum pli_err err = pli_type_external_put(r->buf, r->count, r->type, to);
    struct pli_shm_cell *cell = err == PLI_OK ? pli_shm_claim(&r->conn->shm, &pos) : NULL;
    if (cell == NULL) {
        if (block != NULL) {
            pli_shm_block_done(block);
        }
        if (err != PLI_OK) {
            pli_request_complete(r, err); // nothing of it was sent
        }
        return err != PLI_OK;
    }
    address(cell, r, PLI_MSG_GATEWAY_SEND);
    if (block != NULL) {
        cell->flags |= PLI_MSG_HAS_BLOCK;
        cell->word[1] = pli_shm_block_offset(&r->lane->shm, block);
    } else {
        memcpy(cell->bytes + sizeof cell->word[0], few, size);
    }
    pli_shm_publish(&r->conn->shm, cell, pos);
    count(r, PLI_STAT_EAGER);
    r->moved = size;
    if ((r->flags & PLI_REQ_SYNC) == 0) {
        pli_request_complete(r, (enum pli_err)r->err);
    }
    return true;
}

static bool issue_offer(struct pli_request *r)
{
    uint64_t pos;
    struct pli_shm_cell *cell = pli_shm_claim(&r->conn->shm, &pos);
    if (cell == NULL) {
        return false;
    }
    address(cell, r, PLI_MSG_GATEWAY_OFFER);
    cell->word[1] = (uint64_t)pli_type_external_each(r->type);
    pli_shm_publish(&r->conn->shm, cell, pos);
    count(r, PLI_STAT_RNDV);
    return true;
}

static bool issue(struct pli_request *r)
{
    bool is_full = atomic_load_explicit(&r->conn->shm.box->is_full, memory_order_relaxed) != 0;
    return pli_external32_size(r) <= PLI_SHM_BLOCK_MAX && !is_full ? issue_whole(r)
                                                                   : issue_offer(r);
}

static void start(struct pli_request *r)
{
    struct pli_conn *c = r->conn;
    r->moved = 0;
    if (!pli_type_external_fits(r->buf, r->count, r->type)) {
        if ((r->item.context & 3) != PLI_CHAN_COLL) {
            pli_request_complete(r, PLI_ERR_CONVERSION); // nothing of it is sent
            return;
        }
        r->count = 0; // the others of a collective operation wait for it, and fail as it is empty
        r->err = PLI_ERR_CONVERSION;
    }
    if (r->item.tag > pli_boot.gateway->tag_ub && (r->item.context & 3) == PLI_CHAN_P2P) {
        pli_request_complete(r, PLI_ERR_TAG);
        return;
    }
    if (pli_list_is_empty(&of(c)->wait) && issue(r)) {
        return;
    }
    if (pli_list_is_empty(&c->stalled)) {
        pli_list_push(&r->lane->stalled, &c->stalled);
    }
    pli_list_push(&of(c)->wait, &r->link);
}

static void retry(struct pli_conn *c)
{
    if (!pli_eager_retry_notes(c)) {
        return;
    }
    while (!pli_list_is_empty(&of(c)->wait)) {
        struct pli_request *r = PLI_CONTAINER(of(c)->wait.next, struct pli_request, link);
        struct pli_list *next = of(c)->wait.next;
        pli_list_remove(next); // issue may complete and destroy the request
        if (!issue(r)) {
            next->next = of(c)->wait.next; // back to the front
            next->prev = &of(c)->wait;
            of(c)->wait.next->prev = next;
            of(c)->wait.next = next;
            return;
        }
    }
    pli_list_remove(&c->stalled);
}

// Whether the agent will tell of the match: of all that it cannot send in one packet too, and of
// these even if all was written before (elements larger than a packet are written whole).
static bool awaits_match(const struct pli_request *send)
{
    return (send->flags & PLI_REQ_SYNC) != 0 ||
           pli_external32_size(send) > pli_boot.gateway->datalen;
}

// A send is over when all was written and nothing names the request any more.
static void settle(struct pli_request *send)
{
    bool is_written = send->moved >= pli_external32_size(send);
    bool is_known = !awaits_match(send) || (send->state & PLI_REQ_MATCHED) != 0;
    if (is_written && is_known && (send->state & PLI_REQ_CANCELLING) == 0) {
        pli_request_complete(send, (enum pli_err)send->err);
    }
}

// Write the stream up to `upto` bytes, or a little more, and tell the agent. Of a ring as much as
// there is room for, up to its end. False: none.
static bool write_some(struct pli_request *send, uint64_t upto)
{
    struct pli_gateway_slot *slot = slot_at(send->bytes);
    char *base = (char *)(slot + 1);
    if (slot->ring != 0) {
        uint64_t turn = send->moved - send->moved % slot->ring;
        uint64_t room = atomic_load_explicit(&slot->gone, memory_order_acquire) + slot->ring;
        room = room < turn + slot->ring ? room : turn + slot->ring;
        upto = upto < room ? upto : room;
        base -= turn;
    }
    if (upto <= send->moved) {
        return false;
    }
    enum pli_err err = pli_external32_out(send, base, upto);
    send->err = (int16_t)(send->err == PLI_OK ? err : send->err);
    pli_lane_note(send->conn, PLI_MSG_GATEWAY_MORE, send->remote, send->moved, 0);
    return true;
}

// One message to a process after the other: what was written is sent while it is in the cache.
static int write_piece(struct pli_poller *p)
{
    struct stream *s = PLI_CONTAINER(p, struct stream, poller);
    struct pli_request *send = s->send;
    for (struct pli_list *i = send->lane->pollers.next; i != &p->link; i = i->next) {
        struct pli_poller *k = PLI_CONTAINER(i, struct pli_poller, link);
        if (k->poll == write_piece &&
            PLI_CONTAINER(k, struct stream, poller)->send->conn == send->conn) {
            return 0;
        }
    }
    if (!write_some(send, send->moved + PIECE)) {
        return 0; // the agent wakes us when there is room
    }
    if (send->moved >= pli_external32_size(send)) {
        pli_list_remove(&p->link);
        free(s);
        settle(send);
    }
    return 1;
}

// The agent has room: what may go before the match is written now.
static void got_room(const struct pli_shm_cell *cell)
{
    struct pli_request *send = (struct pli_request *)(uintptr_t)cell->word[0];
    send->remote = cell->word[1];
    send->bytes = cell->word[2];
    if (cell->size > 0) {
        write_some(send, cell->size);
    }
    settle(send);
}

static void got_match(struct pli_lane *lane, struct pli_request *send)
{
    send->state |= PLI_REQ_MATCHED;
    if (send->moved >= pli_external32_size(send)) {
        settle(send);
        return;
    }
    struct stream *s = malloc(sizeof *s);
    if (s == NULL) {
        pli_log(PLI_ERROR, "no memory to go on with a message of %llu bytes",
                (unsigned long long)pli_external32_size(send));
        abort(); // its receiver has been promised the rest
    }
    *s = (struct stream){ .poller = { .poll = write_piece }, .send = send };
    pli_list_push(&lane->pollers, &s->poller.link);
}

static void got_cancelled(struct pli_request *send, bool is_cancelled)
{
    send->state &= (uint16_t)~PLI_REQ_CANCELLING;
    if (is_cancelled) {
        send->state |= PLI_REQ_CANCELLED;
        pli_request_complete(send, PLI_OK);
    } else {
        settle(send);
    }
}

static struct pli_conn *conn_of(struct pli_lane *lane, uint32_t proc)
{
    struct pli_id id = { pli_node_job_of(lane->proc) | proc, 0 };
    struct pli_conn *c = pli_lane_conn(lane, id);
    if (c == NULL) {
        pli_log(PLI_ERROR, "no memory for a connection to rank %u", proc);
        abort(); // the message is neither here nor there any more
    }
    return c;
}

// A message whose data is all here meets its receive.
static void take_whole(struct pli_request *recv, struct pli_conn *from, uint64_t id,
                       const void *data, uint64_t size)
{
    if (id != 0) { // the sender waits for the match
        pli_lane_note(from, PLI_MSG_GATEWAY_ACCEPT, id, 0, 0);
    }
    recv->moved = 0;
    pli_external32_in(recv, data, size, size);
}

// One in the gateway's memory does, as far as it is there.
static void take_heap(struct pli_request *recv, struct pli_conn *from, uint64_t offset)
{
    struct pli_gateway_slot *slot = slot_at(offset);
    recv->moved = 0;
    recv->conn = from;
    recv->remote = offset;
    pli_lane_note(from, PLI_MSG_GATEWAY_ACCEPT, slot->id, (uint64_t)(uintptr_t)recv, 0);
    uint64_t id = slot->id, here = slot->here, size = slot->size;
    if (pli_external32_in(recv, (const char *)(slot + 1), here, size)) {
        pli_lane_note(from, PLI_MSG_GATEWAY_DONE, id, 0, 0);
    }
}

static void got_part(const struct pli_shm_cell *cell)
{
    struct pli_request *recv = (struct pli_request *)(uintptr_t)cell->word[0];
    struct pli_gateway_slot *slot = slot_at(recv->remote);
    struct pli_conn *from = recv->conn;
    uint64_t id = slot->id;
    if (pli_external32_in(recv, (const char *)(slot + 1), cell->word[1], slot->size)) {
        pli_lane_note(from, PLI_MSG_GATEWAY_DONE, id, 0, 0);
    }
}

static void take(struct pli_request *recv, struct pli_unexpected *p)
{
    if (p->kind == PLI_MSG_GATEWAY_HEAP) {
        uint64_t offset;
        memcpy(&offset, p->data, sizeof offset);
        take_heap(recv, p->conn, offset);
    } else {
        take_whole(recv, p->conn, p->remote, p->data, p->size);
    }
}

// Where the data of a small message is.
static const void *data_of(struct pli_lane *lane, const struct pli_shm_cell *cell,
                           struct pli_shm_block **block_out)
{
    *block_out = NULL;
    if ((cell->flags & PLI_MSG_HAS_BLOCK) == 0) {
        return &cell->word[2];
    }
    *block_out = (struct pli_shm_block *)(uintptr_t)(lane->shm.base + cell->word[2]);
    return pli_shm_block_data(*block_out);
}

static void keep(struct pli_lane *lane, struct pli_endpoint *ep, const struct pli_shm_cell *cell)
{
    bool is_heap = cell->kind == PLI_MSG_GATEWAY_HEAP;
    struct pli_unexpected *p = pli_unexpected_of(ep, conn_of(lane, cell->src_proc), cell,
                                                 is_heap ? sizeof cell->word[1] : cell->size);
    p->is_external = true;
    p->sender = cell->src_proc;
    p->address = cell->word[1]; // the sender's number
    if (is_heap) {
        p->address = slot_at(cell->word[1])->srqid;
        memcpy(p->data, &cell->word[1], sizeof cell->word[1]);
    } else {
        struct pli_shm_block *block;
        const void *data = data_of(lane, cell, &block);
        pli_unexpected_fill(p, data, block);
    }
    pli_unexpected_hold(lane, cell->size + sizeof *p);
    pli_unexpected_keep(p);
}

static void got_message(struct pli_lane *lane, const struct pli_shm_cell *cell)
{
    struct pli_endpoint *ep = pli_lane_ep(lane, 0);
    if (ep == NULL) {
        return; // MPI is over here: the agent is told so
    }
    struct pli_match_item *item =
        pli_match_arrive(&ep->match, cell->context, cell->src_rank, cell->tag);
    if (item == NULL) {
        keep(lane, ep, cell);
        return;
    }
    struct pli_request *recv = PLI_CONTAINER(item, struct pli_request, item);
    struct pli_conn *from = conn_of(lane, cell->src_proc);
    recv->state &= (uint16_t)~PLI_REQ_POSTED;
    recv->source = cell->src_rank;
    recv->tag = cell->tag;
    if (cell->kind == PLI_MSG_GATEWAY_HEAP) {
        take_heap(recv, from, cell->word[1]);
        return;
    }
    struct pli_shm_block *block;
    const void *data = data_of(lane, cell, &block);
    take_whole(recv, from, cell->word[0], data, cell->size);
    if (block != NULL) {
        pli_shm_block_done(block);
    }
}

// The sender wants a message back: of several with its number the newest is meant.
static void got_unsend(struct pli_lane *lane, const struct pli_shm_cell *cell)
{
    uint32_t proc = (uint32_t)cell->word[1];
    struct pli_conn *from = conn_of(lane, proc);
    struct pli_endpoint *ep = pli_lane_ep(lane, 0);
    struct pli_match_item *i = ep != NULL ? ep->match.arrival.last : NULL;
    for (; i != NULL; i = i->older) {
        struct pli_unexpected *p = PLI_CONTAINER(i, struct pli_unexpected, item);
        if (p->kind >= PLI_MSG_GATEWAY_MSG && p->sender == proc && p->address == cell->word[0]) {
            uint64_t id = p->remote;
            pli_match_take(&ep->match, i);
            pli_unexpected_destroy(p);
            pli_lane_note(from, PLI_MSG_GATEWAY_UNSENT, cell->word[0], id, (uint64_t)proc << 1 | 1);
            return;
        }
    }
    pli_lane_note(from, PLI_MSG_GATEWAY_UNSENT, cell->word[0], 0, (uint64_t)proc << 1);
}

static bool hear(struct pli_lane *lane, const struct pli_shm_cell *cell)
{
    struct pli_request *send = (struct pli_request *)(uintptr_t)cell->word[0];
    switch (cell->kind) {
    case PLI_MSG_GATEWAY_MSG:
    case PLI_MSG_GATEWAY_HEAP:
        got_message(lane, cell);
        break;
    case PLI_MSG_GATEWAY_ROOM:
        got_room(cell);
        break;
    case PLI_MSG_GATEWAY_MATCHED:
        got_match(lane, send);
        break;
    case PLI_MSG_GATEWAY_GONE:
        break; // it has woken us; what may be written is, in this poll
    case PLI_MSG_GATEWAY_CANCELLED:
        got_cancelled(send, cell->word[1] != 0);
        break;
    case PLI_MSG_GATEWAY_PART:
        got_part(cell);
        break;
    case PLI_MSG_GATEWAY_UNSEND:
        got_unsend(lane, cell);
        break;
    default:
        return false;
    }
    return true;
}

// Tell the agent that this process has finalized.
static void finalize(void)
{
    if (pli_boot.gateway == NULL) {
        return;
    }
    struct pli_lane *lane = pli_proc.lanes[0];
    const struct pli_gateway *g = pli_boot.gateway;
    uint32_t far = g->clients[g->client].first > 0 ? 0 : g->clients[g->client].n; // any of them
    if (far >= pli_boot.n_world) {
        return; // no other process takes part
    }
    pli_lock_take(&lane->lock);
    pli_lane_note(conn_of(lane, far), PLI_MSG_GATEWAY_BYE, 0, 0, 0);
    pli_lock_drop(&lane->lock);
}

static void cancel(struct pli_request *r)
{
    if (pli_list_has(&of(r->conn)->wait, &r->link)) {
        pli_list_remove(&r->link);
        r->state |= PLI_REQ_CANCELLED;
        pli_request_complete(r, PLI_OK);
    } else {
        r->state |= PLI_REQ_CANCELLING;
        pli_lane_note(r->conn, PLI_MSG_GATEWAY_CANCEL, (uint64_t)(uintptr_t)r, 0, 0);
    }
}

// The launcher of this job says nothing of processes of others.
static enum pli_err fate(const struct pli_conn *c, bool has_died, bool is_send)
{
    (void)c;
    (void)has_died;
    (void)is_send;
    return PLI_OK;
}

const struct pli_net_ops pli_gateway_ops = {
    .name = "impi",
    .open = pli_net_no_open, // the agent's mailbox is in the memory of the job
    .leave = pli_net_no_leave,
    .finalize = finalize,
    .close = pli_net_no_close,
    .connect = connect,
    .disconnect = disconnect,
    .start = start,
    .retry = retry,
    .cancel = cancel,
    .note = pli_eager_note,
    .accept = pli_net_no_accept, // the agent offers in its own way
    .take = take,
    .cell = hear,
    .fate = fate,
    .fail = pli_net_no_fail,
};
