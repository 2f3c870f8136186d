// SPDX-License-Identifier: BSD-3-Clause
// Sends and receives a small message in one cell, where no other message waits. Returns false in
// all other cases, which are left to the general code.
#ifndef PLI_MSG_FASTPATH_H
#define PLI_MSG_FASTPATH_H

#include "base/copy.h"
#include "msg/deliver.h"
#include "msg/endpoint.h"
#include "msg/lane.h"
#include "msg/packed.h"
#include "msg/progress.h"
#include "msg/statistics_hooks.h"
#include "msg/msg_wire.h"
#include "net/net.h"
#include "net/shm/other_job.h"
#include "obj/comm.h"
#include "obj/datatype.h"
#include "obj/status.h"

// Messages below this size may take the shortest way.
static inline uint64_t pli_fastpath_end(const struct pli_lane *lane, enum pli_chan chan)
{
    return chan == PLI_CHAN_COLL ? lane->coll_fast_end : lane->fast_end;
}

// Send size bytes that are in one piece, inline or through one block. Context: lane locked.
// bench: lat size=8, lat size=1024.
static inline bool pli_fastpath_send(struct pli_lane *lane, struct pli_comm *comm, const void *data,
                                     uint64_t size, struct pli_id to, int tag, uint64_t context,
                                     const struct pli_datatype *type)
{
    struct pli_conn *c = pli_lane_conn(lane, to);
    if (c == NULL || !pli_list_is_empty(&c->pending) ||
        atomic_load_explicit(&c->shm.box->is_full, memory_order_relaxed) != 0) {
        return false;
    }
    struct pli_shm_block *block = NULL;
    if (size > PLI_SHM_CELLS_MAX) {
        block = pli_shm_block_take(&lane->shm, size);
        if (block == NULL) {
            return false;
        }
        memcpy(pli_shm_block_data(block), data, size);
    }
    uint64_t pos;
    struct pli_shm_cell *cell =
        pli_shm_claim_row(&c->shm, block != NULL ? 1 : pli_shm_n_cell(size), &pos);
    if (cell == NULL) {
        if (block != NULL) {
            pli_shm_block_done(block);
        }
        return false;
    }
    cell->kind = PLI_MSG_EAGER;
    if (pli_packed_has_form(context)) {
        cell->form = type->form;
    }
    cell->flags = block != NULL ? PLI_MSG_HAS_BLOCK : 0;
    cell->src_lane = (uint8_t)lane->index;
    cell->src_proc = c->as;
    cell->dst_ep = to.ep;
    cell->context = context;
    cell->src_rank = comm->rank;
    cell->tag = tag;
    cell->size = size;
    if (block != NULL) {
        cell->word[0] = pli_shm_block_offset(&lane->shm, block) | c->mark;
    } else if (size <= PLI_SHM_INLINE) {
        pli_copy_small(cell->bytes, data, size);
    } else {
        cell->flags = PLI_MSG_HAS_ROW;
        memcpy(cell->bytes, data, PLI_SHM_INLINE);
        pli_shm_fill_row(&c->shm, pos, data, size);
    }
    pli_shm_publish(&c->shm, cell, pos);
    pli_shm_count_sent(&lane->shm, size);
    if (block != NULL) {
        pli_shm_block_warm(&lane->shm, size);
    }
    return true;
}

// Whether the next cell is the message wanted, and all of it is here.
static inline bool pli_fastpath_fits(const struct pli_shm_cell *cell, const struct pli_endpoint *ep,
                                     uint64_t room, int source, int tag, uint64_t context)
{
    return cell->kind == PLI_MSG_EAGER && cell->dst_ep == ep->id.ep && cell->context == context &&
           cell->size <= room && (cell->src_rank == source || source == MPI_ANY_SOURCE) &&
           (cell->tag == tag || tag == MPI_ANY_TAG) &&
           (__builtin_expect(cell->src_proc >> PLI_OTHER_JOB_INDEX == 0, 1) ||
            !pli_other_job_is_lost(cell->src_proc));
}

enum { PLI_FASTPATH_HOLD = 32 };

// Nothing could come before the message, and the lane has nothing to push.
static inline bool pli_fastpath_is_idle(const struct pli_lane *lane, const struct pli_endpoint *ep)
{
    return !pli_match_has_unexpected(&ep->match) && !pli_match_has_posted(&ep->match) &&
           pli_list_is_empty(&lane->pollers) && pli_list_is_empty(&lane->streams) &&
           pli_list_is_empty(&lane->stalled);
}

static inline void pli_fastpath_take(struct pli_lane *lane, const struct pli_shm_cell *cell,
                                     void *data, MPI_Status *status)
{
    if (cell->flags & PLI_MSG_HAS_BLOCK) {
        struct pli_shm_block *b = pli_other_job_block(lane->shm.base, cell->word[0]);
        memcpy(data, pli_shm_block_data(b), cell->size);
        pli_shm_block_done(b);
    } else if (cell->flags & PLI_MSG_HAS_ROW) {
        pli_shm_take_row(&lane->shm, data, cell->size);
    } else {
        pli_copy_small(data, cell->bytes, cell->size);
    }
    pli_status_set_one(status, cell->src_rank, cell->tag, cell->size);
    pli_shm_count_received(&lane->shm, cell->size);
    pli_shm_next_row(&lane->shm, pli_deliver_n_cell(cell));
}

// Look at the mailbox for a while for just this message. No request, no table: allowed only while
// the endpoint has neither posted receives nor kept messages, and the lane nothing to push.
// Context: no lock held. bench: lat size=8.
static inline bool pli_fastpath_recv(struct pli_comm *comm, void *data, uint64_t room, int source,
                                     int tag, uint64_t context, MPI_Status *status)
{
    struct pli_endpoint *ep = comm->ep;
    struct pli_lane *lane = ep->lane;
    pli_lock_take(&lane->lock);
    bool is_mine = pli_fastpath_is_idle(lane, ep);
    uint32_t looks = lane->polled == NULL ? pli_progress_spins()
                                          : lane->net->ops->spins(lane->net, comm, source);
    for (uint32_t i = looks; is_mine && i > 0; i--) {
        const struct pli_shm_cell *cell = pli_shm_peek(&lane->shm);
        if (cell != NULL) {
            if (!pli_fastpath_fits(cell, ep, room, source, tag, context)) {
                break;
            }
            pli_fastpath_take(lane, cell, data, status);
            pli_lock_drop(&lane->lock);
            return true;
        }
        pli_shm_turn(&lane->shm);
        pli_cpu_relax();
        if (i % PLI_FASTPATH_HOLD ==
            0) { // others may need the lane; to lock for each look costs 10 ns
            if (pli_statistics_is_any_asked() && i < looks) {
                pli_statistics_look(PLI_FASTPATH_HOLD);
            }
            pli_shm_settle(&lane->shm);
            pli_lock_drop(&lane->lock);
            pli_lock_take(&lane->lock);
            is_mine = pli_fastpath_is_idle(lane, ep);
        }
    }
    pli_lock_drop(&lane->lock);
    return false;
}

#endif
