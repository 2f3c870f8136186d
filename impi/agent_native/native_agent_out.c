// SPDX-License-Identifier: BSD-3-Clause
// Outgoing messages of the ranks. Small ones are copied, so that a rank gets its blocks back at
// once; large ones are sent from the gateway's memory while the rank writes them.
#include "impi/agent_native/native_agent_priv.h"

#include "impi/agent_native/native_agent_cid.h"
#include "msg/msg_wire.h"

#include <stdlib.h>
#include <string.h>

enum { RING = 1 << 20 }; // bytes of a large message at a time, so that they stay in a core's cache

#define MAX_HELD ((uint64_t)64 << 20) // above this, ranks must ask before they send

static void hold(struct pli_native_agent *a, int64_t more)
{
    a->held += (uint64_t)more;
    int is_full = a->held > (more > 0 ? MAX_HELD : MAX_HELD / 2);
    if (atomic_load_explicit(&a->shm.box->is_full, memory_order_relaxed) != is_full) {
        atomic_store_explicit(&a->shm.box->is_full, is_full, memory_order_relaxed);
    }
}

static void destroy(struct pli_native_agent *a, struct pli_native_agent_out *o)
{
    if (o->data != NULL) {
        hold(a, -(int64_t)o->size);
        free(o->data);
    }
    if (o->slot != 0) {
        pli_impi_heap_give(&a->heap, o->slot);
    }
    if (o->id != 0) {
        pli_impi_idmap_remove(&a->out_by_id, o->id);
    }
    if (o->req != 0) {
        pli_impi_idmap_remove(&a->out_by_req, o->req);
    }
    pli_list_remove(&o->link);
    free(o);
}

static void settle(struct pli_native_agent *a, struct pli_native_agent_out *o)
{
    if (o->is_sent && (!o->awaits || o->is_matched) && !o->is_cancelling) {
        destroy(a, o);
    }
}

static void notify_rank(struct pli_native_agent *a, const struct pli_native_agent_out *o, int kind,
                        uint64_t w1, uint64_t w2, uint64_t size)
{
    struct pli_shm_cell cell = { .kind = (uint8_t)kind, .src_proc = o->dst, .size = size };
    cell.word[0] = o->request;
    cell.word[1] = w1;
    cell.word[2] = w2;
    pli_native_agent_box_post(a, o->row, o->lane, &cell);
}

// How much of a large message is in memory at a time, 0: all of it. `each`: bytes of an element, no
// element may be split.
static uint64_t ring_for(const struct pli_native_agent *a, uint64_t size, uint64_t each)
{
    uint64_t datalen = a->gateway->datalen;
    uint64_t ring = RING > 2 * datalen ? RING / datalen * datalen : 2 * datalen;
    return each > 0 && datalen % each == 0 && ring < size ? ring : 0;
}

static const void *make_room(struct pli_native_agent *a, struct pli_native_agent_out *o,
                             uint64_t each)
{
    o->ring = ring_for(a, o->size, each);
    o->slot = pli_impi_heap_take(&a->heap, sizeof(struct pli_gateway_slot) +
                                               (o->ring != 0 ? o->ring : o->size));
    if (o->slot == 0) {
        return NULL;
    }
    struct pli_gateway_slot *slot = (struct pli_gateway_slot *)(a->node->base + o->slot);
    slot->ring = o->ring;
    atomic_store_explicit(&slot->gone, 0, memory_order_relaxed);
    return slot + 1;
}

// The data of a small message, copied; of a large one, room for it.
static const void *place(struct pli_native_agent *a, struct pli_native_agent_out *o,
                         const struct pli_shm_cell *cell)
{
    if (cell->kind == PLI_MSG_GATEWAY_OFFER) {
        return make_room(a, o, cell->word[1]);
    }
    o->data = malloc(o->size > 0 ? o->size : 1);
    struct pli_shm_block *block = NULL;
    const void *from = cell->bytes + sizeof cell->word[0];
    if (cell->flags & PLI_MSG_HAS_BLOCK) {
        block = (struct pli_shm_block *)(a->node->base + cell->word[1]);
        from = pli_shm_block_data(block);
    }
    if (o->data != NULL) {
        memcpy(o->data, from, o->size);
        hold(a, (int64_t)o->size);
    }
    if (block != NULL) {
        pli_shm_block_done(block);
    }
    return o->data;
}

static bool enter(struct pli_native_agent *a, struct pli_native_agent_out *o)
{
    return pli_impi_idmap_add(&a->out_by_req, o->req, o) == PLI_IMPI_OK &&
           (o->id == 0 || pli_impi_idmap_add(&a->out_by_id, o->id, o) == PLI_IMPI_OK);
}

void pli_native_agent_out_send(struct pli_native_agent *a, const struct pli_shm_cell *cell)
{
    struct pli_native_agent_out *o = calloc(1, sizeof *o);
    bool is_offer = cell->kind == PLI_MSG_GATEWAY_OFFER;
    bool is_sync = (cell->flags & PLI_MSG_IS_SYNC) != 0;
    uint32_t datalen = a->gateway->datalen;
    if (o == NULL) {
        pli_native_agent_fail(a, "no memory for a message");
        return;
    }
    *o = (struct pli_native_agent_out){ .request = cell->word[0],
                                        .row = cell->src_proc - a->first,
                                        .lane = cell->src_lane,
                                        .src = cell->src_proc,
                                        .dst = cell->dst_ep,
                                        .size = cell->size,
                                        .awaits = is_sync || cell->size > datalen,
                                        .tells = is_sync || (is_offer && cell->size > datalen) };
    o->id = is_offer ? a->next_id++ : 0;
    pli_list_push(&a->outs, &o->link);
    const void *data = place(a, o, cell);
    struct pli_impi_send s = { .env = { .src = o->src,
                                        .dst = o->dst,
                                        .cid = pli_native_agent_cid_out(cell->context),
                                        .lsrank = cell->src_rank,
                                        .tag = cell->tag },
                               .data = data,
                               .len = o->size,
                               .ready = is_offer ? 0 : o->size,
                               .ring = o->ring,
                               .is_sync = is_sync };
    if (data == NULL) {
        pli_native_agent_fail(a, "no room for a message of %llu bytes from rank %u to rank %u",
                              (unsigned long long)o->size, o->src, o->dst);
        return;
    }
    enum pli_impi_err err = pli_impi_engine_send(a->engine, &s, &o->req);
    if (err != PLI_IMPI_OK || !enter(a, o)) {
        pli_native_agent_fail(a, "a message from rank %u to rank %u cannot be sent: %s", o->src,
                              o->dst,
                              err == PLI_IMPI_ERR_CLOSED ? "the other side has finalized MPI"
                                                         : pli_impi_err_text(err));
        return;
    }
    if (is_offer) {
        notify_rank(a, o, PLI_MSG_GATEWAY_ROOM, o->id, o->slot,
                    o->size < datalen ? o->size : datalen);
    }
}

void pli_native_agent_out_more(struct pli_native_agent *a, const struct pli_shm_cell *cell)
{
    struct pli_native_agent_out *o = pli_impi_idmap_find(&a->out_by_id, cell->word[0]);
    if (o != NULL) {
        o->ready = cell->word[1] < o->size ? cell->word[1] : o->size;
        pli_impi_engine_more(a->engine, o->req, o->ready);
    }
}

// A part of a ring is free again: wake the rank, which sleeps when the ring is full.
void pli_native_agent_out_left(void *arg, uint64_t req, uint64_t upto)
{
    struct pli_native_agent *a = arg;
    struct pli_native_agent_out *o = pli_impi_idmap_find(&a->out_by_req, req);
    if (o == NULL) {
        return;
    }
    struct pli_gateway_slot *slot = (struct pli_gateway_slot *)(a->node->base + o->slot);
    atomic_store_explicit(&slot->gone, upto, memory_order_release);
    if (o->ready < o->size && o->ready - upto <= o->ring / 2) {
        notify_rank(a, o, PLI_MSG_GATEWAY_GONE, 0, 0, 0);
    }
}

void pli_native_agent_out_cancel(struct pli_native_agent *a, const struct pli_shm_cell *cell)
{
    uint32_t row = cell->src_proc - a->first;
    struct pli_native_agent_out *o = NULL;
    for (struct pli_list *i = a->outs.next; i != &a->outs && o == NULL; i = i->next) {
        struct pli_native_agent_out *it = PLI_CONTAINER(i, struct pli_native_agent_out, link);
        o = it->row == row && it->request == cell->word[0] && (it->tells || it->id != 0) ? it : o;
    }
    if (o == NULL) { // completed already; its rank waits for an answer all the same
        struct pli_native_agent_out gone = { .request = cell->word[0],
                                             .row = row,
                                             .lane = cell->src_lane };
        notify_rank(a, &gone, PLI_MSG_GATEWAY_CANCELLED, 0, 0, 0);
        return;
    }
    struct pli_impi_cancel c = { o->src, o->dst, o->req };
    enum pli_impi_cancel_result result = PLI_IMPI_CANCEL_LATE;
    if (pli_impi_engine_cancel(a->engine, &c, &result) != PLI_IMPI_OK ||
        result == PLI_IMPI_CANCEL_LATE) {
        notify_rank(a, o, PLI_MSG_GATEWAY_CANCELLED, 0, 0, 0);
    } else if (result == PLI_IMPI_CANCEL_DONE) {
        notify_rank(a, o, PLI_MSG_GATEWAY_CANCELLED, 1, 0, 0);
        destroy(a, o);
    } else {
        o->is_cancelling = true;
    }
}

void pli_native_agent_out_sent(void *arg, uint64_t req, enum pli_impi_err err)
{
    struct pli_native_agent *a = arg;
    struct pli_native_agent_out *o = pli_impi_idmap_find(&a->out_by_req, req);
    if (o == NULL) {
        return;
    }
    o->is_sent = true;
    if (err != PLI_IMPI_OK) { // the failure is reported when the connection ends
        o->is_matched = true;
        o->is_cancelling = false;
    }
    settle(a, o);
}

void pli_native_agent_out_matched(void *arg, uint64_t req)
{
    struct pli_native_agent *a = arg;
    struct pli_native_agent_out *o = pli_impi_idmap_find(&a->out_by_req, req);
    if (o == NULL) {
        return;
    }
    o->is_matched = true;
    if (o->tells) {
        notify_rank(a, o, PLI_MSG_GATEWAY_MATCHED, 0, 0, 0);
    }
    settle(a, o);
}

void pli_native_agent_out_cancelled(void *arg, uint64_t req, bool yes)
{
    struct pli_native_agent *a = arg;
    struct pli_native_agent_out *o = pli_impi_idmap_find(&a->out_by_req, req);
    if (o == NULL) {
        return;
    }
    o->is_cancelling = false;
    notify_rank(a, o, PLI_MSG_GATEWAY_CANCELLED, yes, 0, 0);
    if (yes) {
        destroy(a, o);
    } else {
        settle(a, o);
    }
}
