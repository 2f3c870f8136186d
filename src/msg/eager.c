// SPDX-License-Identifier: BSD-3-Clause
// Sends the first cell of a message: all of the data when it is small, else the offer of it.
#include "msg/eager.h"

#include "base/clock.h"
#include "base/conf.h"
#include "base/copy.h"
#include "msg/lane.h"
#include "msg/msg_wire.h"
#include "msg/cma.h"
#include "msg/packed.h"
#include "msg/request.h"
#include "msg/statistics_hooks.h"
#include "net/net.h"
#include "obj/comm.h"
#include "obj/cursor.h"
#include "obj/datatype.h"

#include <stdlib.h>

enum { LATE_NS = 1000000000 };

// An answer that waits for room in a mailbox.
struct note {
    struct pli_list link;
    int kind;
    uint64_t word[3];
};

// Copy `len` bytes of the request's stream, all of it, to memory.
static void pack_all(const struct pli_request *r, void *to)
{
    if (r->type->is_dense) {
        memcpy(to, (const char *)r->buf + r->type->true_lb, r->size);
    } else {
        struct pli_cursor c;
        pli_cursor_init(&c, r->buf, r->count, r->type);
        pli_cursor_pack(&c, to, r->size);
    }
}

static void address(struct pli_shm_cell *cell, const struct pli_request *r, int kind)
{
    cell->kind = (uint8_t)kind;
    cell->flags = 0;
    cell->src_lane = (uint8_t)r->lane->index;
    cell->src_proc = r->conn->as;
    cell->dst_ep = (uint32_t)r->remote; // until the receiver answers
    cell->context = r->item.context;
    cell->src_rank = r->item.source;
    cell->tag = r->item.tag;
    cell->size = r->size;
}

// The data in several cells; the first of them is at pos.
__attribute__((noinline)) static void fill_row(const struct pli_request *r,
                                               struct pli_shm_cell *cell, uint64_t pos)
{
    unsigned char packed[PLI_SHM_CELLS_MAX];
    const void *data = (const char *)r->buf + r->type->true_lb;
    if (!r->type->is_dense) {
        pack_all(r, packed);
        data = packed;
    }
    cell->flags = PLI_MSG_HAS_ROW;
    memcpy(cell->bytes, data, PLI_SHM_INLINE);
    pli_shm_fill_row(&r->conn->shm, pos, data, r->size);
}

// Send small data without asking. False: no room now. is_long: the cell has a word before the data,
// which is 0 or names the request to acknowledge.
static inline __attribute__((always_inline)) bool issue_small(struct pli_request *r, bool is_long)
{
    size_t inline_max = is_long ? PLI_MSG_SYNC_INLINE : PLI_SHM_CELLS_MAX;
    struct pli_shm_block *block = NULL;
    if (r->size > inline_max) {
        block = pli_shm_block_take(&r->lane->shm, r->size);
        if (block == NULL) {
            return false;
        }
        pack_all(r, pli_shm_block_data(block));
    }
    uint64_t pos;
    uint32_t n_cell = is_long || block != NULL ? 1 : pli_shm_n_cell(r->size);
    struct pli_shm_cell *cell = pli_shm_claim_row(&r->conn->shm, n_cell, &pos);
    if (cell == NULL) {
        if (block != NULL) {
            pli_shm_block_done(block);
        }
        return false;
    }
    address(cell, r, is_long ? PLI_MSG_SYNC : PLI_MSG_EAGER);
    unsigned char *data = cell->bytes;
    if (is_long) {
        cell->word[0] = (r->flags & PLI_REQ_SYNC) != 0 ? (uint64_t)(uintptr_t)r : 0;
        data += sizeof cell->word[0];
    }
    if (pli_packed_has_form(r->item.context)) {
        cell->form = r->type->form;
    }
    if (block != NULL) {
        uint64_t offset = pli_shm_block_offset(&r->lane->shm, block) | r->conn->mark;
        cell->flags = PLI_MSG_HAS_BLOCK;
        memcpy(data, &offset, sizeof offset);
    } else if (n_cell > 1) {
        fill_row(r, cell, pos);
    } else if (r->type->is_dense) {
        pli_copy_small(data, (const char *)r->buf + r->type->true_lb, r->size);
    } else if (r->size > 0) {
        pack_all(r, data);
    }
    pli_shm_publish(&r->conn->shm, cell, pos);
    return true;
}

static inline void count(const struct pli_request *r, enum pli_stat_protocol p)
{
    pli_shm_count_sent(&r->lane->shm, r->size);
    if (__builtin_expect(r->lane->statistics != NULL, 0)) {
        pli_statistics_hooks->sent(r, p);
    }
}

// The same for a message that is acknowledged, or that may have to be converted: it is of a kind
// that the shortest way of a receive does not look for.
__attribute__((noinline)) static bool issue_long(struct pli_request *r)
{
    if (!issue_small(r, true)) {
        return false;
    }
    count(r, PLI_STAT_EAGER);
    if ((r->flags & PLI_REQ_SYNC) == 0) {
        pli_request_complete(r, PLI_OK);
    } else {
        pli_request_track(r);
    }
    return true;
}

static bool issue_eager(struct pli_request *r)
{
    if ((r->flags & PLI_REQ_SYNC) != 0 ||
        pli_packed_is_external(r->type, r->comm, r->item.context)) {
        return issue_long(r);
    }
    if (!issue_small(r, false)) {
        return false;
    }
    count(r, PLI_STAT_EAGER);
    pli_request_complete(r, PLI_OK);
    return true;
}

// Offer the data; the receiver will ask for it.
static bool issue_offer(struct pli_request *r)
{
    uint64_t pos;
    struct pli_shm_cell *cell = pli_shm_claim(&r->conn->shm, &pos);
    if (cell == NULL) {
        return false;
    }
    address(cell, r, PLI_MSG_RTS);
    cell->form = r->type->form;
    cell->word[0] = (uint64_t)(uintptr_t)r;
    pli_cma_offer(r, cell);
    pli_shm_publish(&r->conn->shm, cell, pos);
    pli_request_track(r);
    count(r, PLI_STAT_RNDV);
    return true;
}

// Small data goes out unasked, as soon as there is room; programs rely on that. Only where the
// receiver holds too much already is small data offered and waits for its receive.
static bool is_unasked(const struct pli_request *r)
{
    uint64_t most = pli_eager_max((enum pli_chan)(r->item.context & 3));
    return r->size <= most && r->size <= PLI_SHM_BLOCK_MAX &&
           atomic_load_explicit(&r->conn->shm.box->is_full, memory_order_relaxed) == 0;
}

static void end_copy(struct pli_request *c)
{
    pli_lock_take(&c->lane->lock);
    c->lane->n_copy--;
    pli_lock_drop(&c->lane->lock);
}

static const struct pli_request_ops copy_ops = {
    .name = "send",
    .has_peer = true,
    .start = pli_request_no_start,
    .cancel = pli_request_no_cancel,
    .finish = pli_request_plain_finish,
    .clean = end_copy,
};

// A send of a copy of the data, as if the program had freed it; NULL: no memory.
__attribute__((cold)) static struct pli_request *copy_of(const struct pli_request *r)
{
    void *data = malloc(r->size);
    struct pli_request *c = data != NULL ? pli_request_create(r->lane) : NULL;
    if (c == NULL) {
        free(data);
        return NULL;
    }
    pack_all(r, data);
    c->ops = &copy_ops;
    c->lane->n_copy++;
    c->flags = PLI_REQ_SEND | PLI_REQ_OWNS_BUFFER | PLI_REQ_LATE;
    c->state = PLI_REQ_FREED;
    pli_request_hold(r->comm);
    c->comm = r->comm;
    atomic_fetch_add_explicit(&c->comm->n_left, 1, memory_order_relaxed);
    c->buf = data;
    c->count = (MPI_Count)r->size;
    c->type = pli_packed_copy_type(r->type, r->comm, false, &c->count);
    c->size = r->size;
    c->item = r->item;
    c->conn = r->conn;
    c->remote = r->remote;
    c->moved = 0;
    c->source = r->source;
    c->tag = r->tag;
    return c;
}

// Others have kept our blocks for so long that they cannot be expected back soon: offer a copy of
// small data, with which the send is done, for it must not wait for its receive. Where it is
// acknowledged, or there is no memory, the data itself is offered. A receiver that has not emptied
// its own mailbox is not sent one: it holds blocks itself, is only slow, and will give them back
// when it looks.
__attribute__((cold)) static bool issue_late(struct pli_request *r)
{
    bool may_end = is_unasked(r) && (r->flags & PLI_REQ_SYNC) == 0 && r->comm != NULL &&
                   r->size > 0 && !pli_packed_is_external(r->type, r->comm, r->item.context);
    struct pli_request *c = may_end ? copy_of(r) : NULL;
    if (c == NULL) {
        return issue_offer(r);
    }
    bool is_sent = issue_offer(c);
    if (is_sent && (c->state & PLI_REQ_OPEN) == 0) {
        pli_request_list(c); // for pli_lane_has_unsent
    }
    pli_request_complete(is_sent ? r : c, PLI_OK);
    return is_sent;
}

// The process that was cloned goes on sending what is in these copies. The end of a communicator
// is its matter, too, where nothing else has it any more.
static void drop_copies(struct pli_list *list)
{
    struct pli_list *at = list->next;
    while (at != list) {
        struct pli_request *r = PLI_CONTAINER(at, struct pli_request, link);
        at = at->next;
        if ((r->flags & PLI_REQ_LATE) == 0) {
            continue;
        }
        pli_list_remove(&r->link);
        r->state &= (uint16_t)~PLI_REQ_OPEN;
        pli_cma_offer_end(r);
        if (r->comm->is_freed) {
            r->comm = NULL;
        }
        pli_request_complete(r, PLI_OK);
    }
}

void pli_eager_drop_copies(struct pli_lane *lane)
{
    drop_copies(&lane->streams);
    for (uint32_t b = 0; b < lane->n_bucket; b++) {
        for (struct pli_conn *c = lane->conns[b]; c != NULL; c = c->next) {
            drop_copies(&c->open);
        }
    }
}

static bool issue(struct pli_request *r)
{
    return is_unasked(r) ? issue_eager(r) : issue_offer(r);
}

static void queue(struct pli_request *r)
{
    struct pli_conn *c = r->conn;
    if (r->lane->statistics != NULL) {
        pli_statistics_hooks->stalled(r->lane);
    }
    if (pli_list_is_empty(&c->stalled)) {
        pli_list_push(&r->lane->stalled, &c->stalled);
        pli_lane_wake(
            r->lane); // a thread that sleeps there must try again; this one may not poll again
    }
    pli_list_push(&c->pending, &r->link);
}

void pli_eager_start(struct pli_request *r)
{
    struct pli_conn *c = r->conn;
    if (!pli_list_is_empty(&c->pending)) {
        c->ops->start(r); // others wait, or the transport has its own way
    } else if (!issue(r)) {
        c->stalled_ns = pli_clock_ns();
        queue(r);
    }
}

void pli_eager_queue(struct pli_request *r)
{
    if (r->conn->is_dead) {
        pli_request_complete(r, PLI_ERR_PROC_FAILED);
    } else {
        queue(r);
    }
}

static bool issue_note(struct pli_conn *c, int kind, const uint64_t word[3])
{
    uint64_t pos;
    struct pli_shm_cell *cell = pli_shm_claim(&c->shm, &pos);
    if (cell == NULL) {
        return false;
    }
    cell->kind = (uint8_t)kind;
    cell->flags = 0;
    cell->src_lane = (uint8_t)c->lane->index;
    cell->src_proc = c->as;
    cell->size = 0;
    memcpy(cell->word, word, sizeof cell->word);
    pli_shm_publish(&c->shm, cell, pos);
    return true;
}

void pli_eager_note(struct pli_conn *c, int kind, const uint64_t word[3])
{
    if (issue_note(c, kind, word) || c->is_dead) {
        return;
    }
    struct note *n = malloc(sizeof *n);
    if (n == NULL) {
        abort(); // an answer that cannot be kept would leave the other side waiting for ever
    }
    n->kind = kind;
    memcpy(n->word, word, sizeof n->word);
    if (pli_list_is_empty(&c->stalled)) {
        pli_list_push(&c->lane->stalled, &c->stalled);
        pli_lane_wake(c->lane);
    }
    pli_list_push(&c->notes, &n->link);
}

bool pli_eager_retry_notes(struct pli_conn *c)
{
    while (!pli_list_is_empty(&c->notes)) {
        struct note *n = PLI_CONTAINER(c->notes.next, struct note, link);
        if (!issue_note(c, n->kind, n->word)) {
            return false;
        }
        pli_list_remove(&n->link);
        free(n);
    }
    return true;
}

void pli_eager_retry(struct pli_conn *c)
{
    if (!pli_eager_retry_notes(c)) {
        return;
    }
    bool is_late = !pli_list_is_empty(&c->pending) && pli_clock_ns() - c->stalled_ns > LATE_NS &&
                   pli_shm_is_drained(&c->shm);
    while (!pli_list_is_empty(&c->pending)) {
        struct pli_request *r = PLI_CONTAINER(c->pending.next, struct pli_request, link);
        struct pli_list *next = c->pending.next;
        pli_list_remove(next); // issue may complete and destroy the request
        bool is_issued = issue(r);
        is_late = is_late && !is_issued; // there is room again
        if (!is_issued && !(is_late && issue_late(r))) {
            next->next = c->pending.next; // back to the front
            next->prev = &c->pending;
            c->pending.next->prev = next;
            c->pending.next = next;
            return;
        }
        c->stalled_ns = pli_clock_ns();
    }
    pli_list_remove(&c->stalled);
}
