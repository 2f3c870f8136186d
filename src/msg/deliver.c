// SPDX-License-Identifier: BSD-3-Clause
// Brings messages that arrive to their receives, or keeps them until these are posted.
#include "msg/deliver.h"

#include "base/copy.h"
#include "base/log.h"
#include "msg/endpoint.h"
#include "msg/lane.h"
#include "msg/local.h"
#include "msg/message_log.h"
#include "msg/msg_wire.h"
#include "msg/packed.h"
#include "msg/request.h"
#include "msg/rndv.h"
#include "msg/unexpected.h"
#include "net/net.h"
#include "net/shm/other_job.h"
#include "obj/cursor.h"
#include "obj/datatype.h"

#include <stdlib.h>
#include <string.h>

// Not inlined: the call is the last thing that a small message does. bench: rate.
__attribute__((noinline)) void pli_deliver_deliver(struct pli_request *recv, const void *data,
                                                   uint64_t size)
{
    uint64_t n = size < recv->size ? size : recv->size;
    recv->bytes = size;
    if (recv->type->is_dense && n <= 32) {
        pli_copy_small((char *)recv->buf + recv->type->true_lb, data, n);
    } else if (recv->type->is_dense) {
        memcpy((char *)recv->buf + recv->type->true_lb, data, n);
    } else if (n > 0) {
        struct pli_cursor c;
        pli_cursor_init(&c, recv->buf, recv->count, recv->type);
        pli_cursor_unpack(&c, data, n);
    }
    pli_request_complete(recv, size > recv->size ? PLI_ERR_TRUNC : PLI_OK);
}

__attribute__((noinline)) void pli_deliver_take(struct pli_request *recv, const void *data,
                                                uint64_t size, uint8_t form)
{
    if (pli_packed_differs(recv, form)) {
        pli_packed_take(recv, data, size, form);
    } else {
        pli_deliver_deliver(recv, data, size);
    }
}

bool pli_deliver_fits(const struct pli_request *recv, uint8_t form)
{
    return !pli_packed_differs(recv, form);
}

void pli_deliver_offer(struct pli_request *recv, struct pli_conn *from, uint64_t sender_req,
                       uint64_t size, uint64_t address, uint32_t n_piece, uint8_t form)
{
    if (pli_packed_differs(recv, form)) {
        pli_packed_accept(recv, from, sender_req, size, address, n_piece, form);
    } else {
        pli_rndv_accept(recv, from, sender_req, size, address, n_piece);
    }
}

static struct pli_conn *sender_of(struct pli_lane *lane, const struct pli_shm_cell *cell)
{
    uint64_t proc = pli_other_job_proc(lane->proc, cell->src_proc);
    return pli_lane_conn(lane, (struct pli_id){ proc, cell->src_lane });
}

// Where the data of an eager message is; *block_out is to be given back after use.
static const void *data_of(struct pli_lane *lane, const struct pli_shm_cell *cell,
                           struct pli_shm_block **block_out)
{
    const unsigned char *data = cell->bytes;
    if (cell->kind == PLI_MSG_SYNC) {
        data += sizeof cell->word[0];
    }
    *block_out = NULL;
    if (cell->flags & PLI_MSG_HAS_BLOCK) {
        uint64_t offset;
        memcpy(&offset, data, sizeof offset);
        *block_out = pli_other_job_block(lane->shm.base, offset);
        data = pli_shm_block_data(*block_out);
    }
    return data;
}

// No receive waits for it: keep it.
static void keep(struct pli_lane *lane, struct pli_endpoint *ep, const struct pli_shm_cell *cell)
{
    bool has_data = cell->kind != PLI_MSG_RTS;
    struct pli_unexpected *p =
        pli_unexpected_of(ep, sender_of(lane, cell), cell, has_data ? cell->size : 0);
    if (has_data) {
        struct pli_shm_block *block;
        const void *data = data_of(lane, cell, &block);
        if (cell->flags & PLI_MSG_HAS_ROW) {
            pli_shm_take_row(&lane->shm, p->data, cell->size);
        } else {
            pli_unexpected_fill(p, data, block);
        }
        pli_unexpected_hold(lane, cell->size + sizeof *p);
    } else {
        p->address = cell->word[1];
        p->n_piece = (uint32_t)cell->word[2];
    }
    pli_unexpected_keep(p);
}

// Its data is in several cells.
__attribute__((noinline)) static void deliver_row(struct pli_lane *lane, struct pli_request *recv,
                                                  const struct pli_shm_cell *cell)
{
    unsigned char data[PLI_SHM_CELLS_MAX];
    pli_shm_take_row(&lane->shm, data, cell->size);
    if (pli_packed_has_form(cell->context)) {
        pli_deliver_take(recv, data, cell->size, cell->form);
    } else {
        pli_deliver_deliver(recv, data, cell->size);
    }
}

void pli_deliver_cell(struct pli_lane *lane, const struct pli_shm_cell *cell)
{
    struct pli_endpoint *ep = pli_lane_ep(lane, cell->dst_ep);
    if (__builtin_expect(ep == NULL, 0)) {
        struct pli_shm_block *block = NULL;
        if (cell->kind != PLI_MSG_RTS) {
            data_of(lane, cell, &block);
        }
        if (block != NULL) {
            pli_shm_block_done(block);
        }
        pli_log(PLI_DEBUG, "dropped a message for endpoint %u, which is gone", cell->dst_ep);
        return;
    }
    struct pli_match_item *item =
        pli_match_arrive(&ep->match, cell->context, cell->src_rank, cell->tag);
    if (item == NULL) {
        keep(lane, ep, cell);
        return;
    }
    struct pli_request *recv = PLI_CONTAINER(item, struct pli_request, item);
    recv->state &= (uint16_t)~PLI_REQ_POSTED;
    recv->source = cell->src_rank;
    recv->tag = cell->tag;
    if (cell->kind == PLI_MSG_RTS) {
        pli_deliver_offer(recv, sender_of(lane, cell), cell->word[0], cell->size, cell->word[1],
                          (uint32_t)cell->word[2], cell->form);
        return;
    }
    if (cell->kind == PLI_MSG_SYNC && cell->word[0] != 0) {
        pli_lane_note(sender_of(lane, cell), PLI_MSG_ACK, cell->word[0], 0, 0);
    }
    if (cell->flags & PLI_MSG_HAS_ROW) {
        deliver_row(lane, recv, cell);
        return;
    }
    struct pli_shm_block *block;
    const void *data = data_of(lane, cell, &block);
    if (pli_packed_has_form(cell->context)) {
        pli_deliver_take(recv, data, cell->size, cell->form);
    } else {
        pli_deliver_deliver(recv, data, cell->size);
    }
    if (block != NULL) {
        pli_shm_block_done(block);
    }
}

void pli_deliver_unexpected(struct pli_request *recv, struct pli_unexpected *p)
{
    recv->source = p->item.source;
    recv->tag = p->item.tag;
    if (__builtin_expect(pli_message_log_is_on, 0) && p->local == NULL && p->conn != NULL &&
        !pli_lane_is_within(recv->lane, p->conn)) {
        pli_message_log_match(recv, p->conn, p->form, p->log_number);
    }
    if (p->local != NULL) {
        pli_local_accept(recv, p);
    } else if (p->kind == PLI_MSG_RTS) {
        struct pli_lane *lane = recv->lane;
        lane->is_posting = (recv->flags & (PLI_REQ_BLOCKING | PLI_REQ_STACK)) == 0;
        pli_deliver_offer(recv, p->conn, p->remote, p->size, p->address, p->n_piece, p->form);
        lane->is_posting = false;
    } else if (p->kind > PLI_MSG_RTS) {
        p->conn->ops->take(recv, p);
    } else {
        if (p->kind == PLI_MSG_SYNC && p->remote != 0) {
            pli_lane_note(p->conn, PLI_MSG_ACK, p->remote, 0, 0);
        }
        pli_deliver_take(recv, p->data, p->size, p->form);
    }
    pli_unexpected_destroy(p);
}
