// SPDX-License-Identifier: BSD-3-Clause
// Incoming messages. The smallest go to the rank in a cell, small ones in a block of the agent that
// the rank releases, larger ones in the gateway's memory, where the rest is received once the rank
// has matched the message.
#include "impi/agent_native/native_agent_priv.h"

#include "impi/agent_native/native_agent_cid.h"
#include "msg/msg_wire.h"

#include <stdlib.h>
#include <string.h>

enum { INLINE = 8 };

static char *heap_base(const struct pli_native_agent *a)
{
    return a->node->base + a->gateway->heap;
}

static bool is_in_heap(const struct pli_native_agent *a, const void *p)
{
    return (const char *)p >= heap_base(a) &&
           (const char *)p < heap_base(a) + a->gateway->heap_size;
}

static bool is_in_block(const struct pli_native_agent *a, const void *p)
{
    const char *box = (const char *)a->shm.box;
    return (const char *)p >= box && (const char *)p < box + PLI_NODE_LANE;
}

void *pli_native_agent_in_room(void *arg, const struct pli_impi_arrival *m)
{
    struct pli_native_agent *a = arg;
    bool is_whole = m->len == m->msglen;
    if (is_whole && m->len <= INLINE) {
        return malloc(INLINE);
    }
    struct pli_shm_block *block =
        is_whole && m->len <= PLI_SHM_BLOCK_MAX ? pli_shm_block_take(&a->shm, m->len) : NULL;
    if (block != NULL) {
        return pli_shm_block_data(block);
    }
    uint64_t slot = m->msglen < a->gateway->heap_size
                        ? pli_impi_heap_take(&a->heap, sizeof(struct pli_gateway_slot) + m->msglen)
                        : 0;
    return slot != 0 ? a->node->base + slot + sizeof(struct pli_gateway_slot) : NULL;
}

static void give_back(struct pli_native_agent *a, void *room)
{
    if (is_in_block(a, room)) {
        pli_shm_block_done((struct pli_shm_block *)room - 1);
    } else if (is_in_heap(a, room)) {
        uint64_t at = (uint64_t)((char *)room - a->node->base);
        pli_impi_heap_give(&a->heap, at - sizeof(struct pli_gateway_slot));
    } else {
        free(room);
    }
}

void pli_native_agent_in_dropped(void *arg, void *room)
{
    give_back(arg, room);
}

static void destroy(struct pli_native_agent *a, struct pli_native_agent_in *in)
{
    if (in->slot != 0) {
        pli_impi_heap_give(&a->heap, in->slot);
    }
    pli_impi_idmap_remove(&a->in_by_id, in->id);
    if (in->handle != 0) {
        pli_impi_idmap_remove(&a->in_by_handle, in->handle);
    }
    free(in);
}

// A message that is not complete yet, or whose sender still waits for an answer.
static struct pli_native_agent_in *remember(struct pli_native_agent *a,
                                            const struct pli_impi_arrival *m, uint64_t slot)
{
    struct pli_native_agent_in *in = calloc(1, sizeof *in);
    if (in == NULL) {
        return NULL;
    }
    *in = (struct pli_native_agent_in){ .id = a->next_id++,
                                        .handle = m->handle,
                                        .slot = slot,
                                        .row = m->env.dst - a->first,
                                        .dst = m->env.dst,
                                        .size = m->msglen,
                                        .here = m->len };
    if (pli_impi_idmap_add(&a->in_by_id, in->id, in) != PLI_IMPI_OK ||
        (in->handle != 0 && pli_impi_idmap_add(&a->in_by_handle, in->handle, in) != PLI_IMPI_OK)) {
        return NULL; // the agent has failed and is about to end
    }
    return in;
}

void pli_native_agent_in_arrived(void *arg, const struct pli_impi_arrival *m, void *room)
{
    struct pli_native_agent *a = arg;
    if (m->msglen == 0 && pli_native_agent_clock_arrived(a, &m->env)) {
        return;
    }
    struct pli_shm_cell cell = { .kind = PLI_MSG_GATEWAY_MSG,
                                 .src_proc = m->env.src,
                                 .context = pli_native_agent_cid_in(m->env.cid),
                                 .src_rank = m->env.lsrank,
                                 .tag = m->env.tag,
                                 .size = m->msglen };
    bool is_heap = room != NULL && is_in_heap(a, room);
    uint64_t slot =
        is_heap ? (uint64_t)((char *)room - a->node->base) - sizeof(struct pli_gateway_slot) : 0;
    struct pli_native_agent_in *in = NULL;
    if (is_heap || m->handle != 0) {
        in = remember(a, m, slot);
        if (in == NULL) {
            pli_native_agent_fail(a, "no memory for a message");
            return;
        }
        cell.word[0] = in->id;
    }
    cell.word[1] = m->srqid;
    if (is_heap) {
        cell.kind = PLI_MSG_GATEWAY_HEAP;
        cell.word[1] = slot;
        *(struct pli_gateway_slot *)(a->node->base + slot) = (struct pli_gateway_slot){
            .id = in->id, .srqid = m->srqid, .size = m->msglen, .here = m->len
        };
    } else if (room != NULL && is_in_block(a, room)) {
        cell.flags = PLI_MSG_HAS_BLOCK;
        cell.word[2] = pli_shm_block_offset(&a->shm, (struct pli_shm_block *)room - 1);
    } else if (room != NULL) {
        memcpy(&cell.word[2], room, m->len);
        free(room);
    }
    pli_native_agent_box_post(a, m->env.dst - a->first, 0, &cell);
}

void pli_native_agent_in_part(void *arg, uint64_t handle, uint64_t offset, uint32_t len)
{
    struct pli_native_agent *a = arg;
    struct pli_native_agent_in *in = pli_impi_idmap_find(&a->in_by_handle, handle);
    if (in == NULL) {
        return;
    }
    struct pli_shm_cell cell = { .kind = PLI_MSG_GATEWAY_PART };
    cell.word[0] = in->request;
    cell.word[1] = offset + len;
    pli_native_agent_box_post(a, in->row, in->lane, &cell);
}

void pli_native_agent_in_received(void *arg, uint64_t handle, enum pli_impi_err err)
{
    struct pli_native_agent *a = arg;
    struct pli_native_agent_in *in = pli_impi_idmap_find(&a->in_by_handle, handle);
    if (in != NULL) {
        pli_impi_idmap_remove(&a->in_by_handle, handle);
        in->handle = 0;
    }
    if (err != PLI_IMPI_OK) {
        pli_native_agent_fail(a, "a message for rank %u will never be complete: %s",
                              in != NULL ? in->dst : 0, pli_impi_err_text(err));
    }
}

// The rank has matched the message.
void pli_native_agent_in_accept(struct pli_native_agent *a, const struct pli_shm_cell *cell)
{
    struct pli_native_agent_in *in = pli_impi_idmap_find(&a->in_by_id, cell->word[0]);
    if (in == NULL) {
        return;
    }
    in->request = cell->word[1];
    in->lane = cell->src_lane;
    bool is_whole = in->here == in->size;
    if (in->handle != 0) {
        void *base =
            in->slot != 0 ? a->node->base + in->slot + sizeof(struct pli_gateway_slot) : NULL;
        uint64_t handle = in->handle;
        if (is_whole) {
            pli_impi_idmap_remove(&a->in_by_handle, handle);
            in->handle = 0;
        }
        enum pli_impi_err err = pli_impi_engine_accept(a->engine, handle, base, in->size);
        if (err != PLI_IMPI_OK) {
            pli_native_agent_fail(a, "a message for rank %u cannot be received: %s", in->dst,
                                  pli_impi_err_text(err));
            return;
        }
    }
    if (is_whole && in->slot == 0) {
        destroy(a, in);
    }
}

void pli_native_agent_in_done(struct pli_native_agent *a, const struct pli_shm_cell *cell)
{
    struct pli_native_agent_in *in = pli_impi_idmap_find(&a->in_by_id, cell->word[0]);
    if (in != NULL) {
        destroy(a, in);
    }
}

void pli_native_agent_in_cancel_asked(void *arg, const struct pli_impi_cancel *c)
{
    struct pli_native_agent *a = arg;
    struct pli_shm_cell cell = { .kind = PLI_MSG_GATEWAY_UNSEND };
    cell.word[0] = c->srqid;
    cell.word[1] = c->src;
    pli_native_agent_box_post(a, c->dst - a->first, 0, &cell);
}

void pli_native_agent_in_unsent(struct pli_native_agent *a, const struct pli_shm_cell *cell)
{
    bool yes = (cell->word[2] & 1) != 0;
    struct pli_native_agent_in *in = yes ? pli_impi_idmap_find(&a->in_by_id, cell->word[1]) : NULL;
    struct pli_impi_cancel c = { (uint32_t)(cell->word[2] >> 1), cell->src_proc, cell->word[0] };
    enum pli_impi_err err = pli_impi_engine_answer(a->engine, &c, in != NULL ? in->handle : 0, yes);
    if (err != PLI_IMPI_OK) {
        pli_native_agent_fail(a, "a cancellation cannot be answered: %s", pli_impi_err_text(err));
    }
    if (in != NULL) {
        destroy(a, in);
    }
}
