// SPDX-License-Identifier: BSD-3-Clause
// Moves large messages: the receiver asks, the sender copies the data to its blocks while the
// receiver empties them, both cores copying at once; or it is copied once: cma.c.
#include "msg/rndv.h"

#include "base/clock.h"
#include "base/conf.h"
#include "base/log.h"
#include "msg/lane.h"
#include "net/shm/other_job.h"
#include "msg/unexpected.h"
#include "msg/request.h"
#include "msg/statistics_hooks.h"
#include "msg/coop_copy.h"
#include "msg/cma.h"
#include "msg/copy_select.h"
#include "msg/eager.h"
#include "msg/msg_wire.h"
#include "msg/endpoint.h"
#include "msg/local.h"
#include "net/net.h"
#include "obj/cursor.h"
#include "obj/datatype.h"

#include <stdlib.h>
#include <string.h>

enum { TIMED = 262144 }; // a clock is read for one piece of these

// A cursor for a transfer in pieces; dense layouts need none.
bool pli_rndv_make_cursor(struct pli_request *r)
{
    if (r->type->is_dense) {
        return true;
    }
    r->cursor = malloc(sizeof *r->cursor);
    if (r->cursor == NULL) {
        return false;
    }
    pli_cursor_init(r->cursor, r->buf, r->count, r->type);
    return true;
}

void pli_rndv_drop_cursor(struct pli_request *r)
{
    free(r->cursor);
    r->cursor = NULL;
}

void pli_rndv_end_receive(struct pli_request *recv)
{
    pli_request_untrack(recv);
    pli_rndv_drop_cursor(recv);
    if ((recv->state & PLI_REQ_COPY) != 0) {
        pli_copy_select_end(recv, pli_clock_ns());
    }
    pli_request_complete(recv, recv->bytes > recv->size ? PLI_ERR_TRUNC : PLI_OK);
}

void pli_rndv_accept(struct pli_request *recv, struct pli_conn *from, uint64_t sender_req,
                     uint64_t size, uint64_t address, uint32_t n_piece)
{
    recv->bytes = size;
    recv->moved = 0;
    recv->conn = from;
    recv->remote = sender_req;
    if (__builtin_expect(from->is_dead, 0)) {
        pli_request_complete(recv, from->ops->fate(from, true, false)); // only the offer has come
        return;
    }
    from->ops->accept(recv, from, size < recv->size ? size : recv->size, address, n_piece);
}

static void note(struct pli_conn *to, int kind, uint64_t w0, uint64_t w1, uint64_t w2)
{
    pli_eager_note(to, kind, (const uint64_t[3]){ w0, w1, w2 });
}

// The data comes through blocks of the sender.
static void accept_blocks(struct pli_request *recv, struct pli_conn *from, uint64_t want)
{
    uint64_t sender_req = recv->remote;
    if (!pli_rndv_make_cursor(recv)) {
        note(from, PLI_MSG_CTS, sender_req, 0, 0);
        pli_request_complete(recv, PLI_ERR_NOMEM);
        return;
    }
    note(from, PLI_MSG_CTS, sender_req, (uint64_t)(uintptr_t)recv, want);
    if (want > 0) {
        pli_request_track(recv);
    } else {
        pli_rndv_end_receive(recv);
    }
}

// Something is to be moved while the lane is polled.
static void add_stream(struct pli_request *r)
{
    pli_list_push(&r->lane->streams, &r->link);
    pli_lane_wake(r->lane); // a thread that sleeps there must move it; this one may not poll again
}

void pli_rndv_accept_near(struct pli_request *recv, struct pli_conn *from, uint64_t want,
                          uint64_t address, uint32_t n_piece)
{
    uint64_t sender_req = recv->remote;
    if (pli_lane_is_within(recv->lane, from)) { // one copy, any layout
        const struct pli_request *send = (const struct pli_request *)(uintptr_t)sender_req;
        if (recv->lane->statistics != NULL) {
            pli_statistics_hooks->one_copy(recv);
        }
        if (pli_coop_copy_is_worth(send, recv) && pli_coop_copy_copy(send, recv, from)) {
            return;
        }
        pli_local_copy(send, recv);
        note(from, PLI_MSG_FIN, sender_req, 0, 0);
        pli_rndv_end_receive(recv);
        return;
    }
    enum pli_cma_result result = pli_cma_accept(recv, from, want, address, n_piece);
    if (result == PLI_CMA_LATER) {
        recv->moved = address;
        add_stream(recv);
        return;
    }
    if (result != PLI_CMA_FAILED && recv->lane->statistics != NULL) {
        pli_statistics_hooks->one_copy(recv);
    }
    if (result == PLI_CMA_DONE) {
        note(from, PLI_MSG_FIN, sender_req, 0, 0);
        pli_rndv_end_receive(recv);
    } else if (result == PLI_CMA_FAILED) {
        accept_blocks(recv, from, want);
    }
}

// All of a send is over, as far as the data goes; one that is being cancelled waits for the answer.
void pli_rndv_end_send(struct pli_request *send)
{
    if (__builtin_expect((send->state & PLI_REQ_WITHDRAWN) != 0, 0)) {
        return;
    }
    pli_request_untrack(send);
    pli_rndv_drop_cursor(send);
    pli_cma_offer_end(send);
    send->state |= PLI_REQ_MATCHED;
    if ((send->state & PLI_REQ_CANCELLING) == 0) {
        pli_request_complete(send, PLI_OK);
    }
}

// The receiver wants `want` bytes of this send.
static void begin_stream(struct pli_request *send, uint64_t receiver_req, uint64_t want)
{
    if (__builtin_expect((send->state & PLI_REQ_WITHDRAWN) != 0, 0)) {
        return; // the receiver is told of the same failure
    }
    pli_request_untrack(send);
    pli_rndv_drop_cursor(send); // the list of pieces that was offered
    if (want == 0) {
        pli_rndv_end_send(send);
        return;
    }
    if (!pli_rndv_make_cursor(send)) {
        pli_log(PLI_ERROR, "no memory to send a message that was accepted");
        abort();
    }
    send->remote = receiver_req;
    send->moved = 0;
    send->bytes = want;
    add_stream(send);
}

// Whether the piece at this offset is timed for copy_select.h: one in each so many bytes.
static bool is_sample(const struct pli_lane *lane, uint64_t at)
{
    return lane->n_offer > 0 && at % TIMED == 0;
}

// Push one piece. False: no block or no room in the mailbox.
static bool push_piece(struct pli_request *send)
{
    uint64_t n = send->bytes - send->moved;
    if (n > (uint64_t)pli_conf.shm_chunk) {
        n = (uint64_t)pli_conf.shm_chunk;
    }
    if (n > PLI_SHM_BLOCK_MAX) {
        n = PLI_SHM_BLOCK_MAX;
    }
    struct pli_shm_block *block = pli_shm_block_take(&send->lane->shm, n);
    if (block == NULL) {
        return false;
    }
    if (!pli_shm_has_room(&send->conn->shm)) {
        pli_shm_block_done(block);
        return false;
    }
    // Before the place is claimed: a process that dies in between leaves a hole in the mailbox.
    if (send->cursor != NULL) {
        pli_cursor_pack(send->cursor, pli_shm_block_data(block), n);
    } else {
        bool is_timed = is_sample(send->lane, send->moved);
        uint64_t begin = is_timed ? pli_clock_ns() : 0;
        memcpy(pli_shm_block_data(block),
               (const char *)send->buf + send->type->true_lb + send->moved, n);
        if (is_timed) {
            pli_copy_select_work(send->lane, PLI_COPY_WORK_IN, send->bytes, n,
                                 pli_clock_ns() - begin);
        }
    }
    uint64_t pos;
    struct pli_shm_cell *cell = pli_shm_claim(&send->conn->shm, &pos);
    if (cell == NULL) { // others were faster
        if (send->cursor != NULL) {
            pli_cursor_seek(send->cursor, send->moved);
        }
        pli_shm_block_done(block);
        return false;
    }
    cell->kind = PLI_MSG_DATA;
    cell->flags = 0;
    cell->src_lane = (uint8_t)send->lane->index;
    cell->src_proc = send->conn->as;
    cell->size = n;
    cell->word[0] = send->remote;
    cell->word[1] = pli_shm_block_offset(&send->lane->shm, block) | send->conn->mark;
    cell->word[2] = send->moved;
    pli_shm_publish(&send->conn->shm, cell, pos);
    send->moved += n;
    return true;
}

// Read a message that was left for the time when the program waits.
static void read_late(struct pli_request *recv)
{
    uint64_t address = recv->moved;
    pli_list_remove(&recv->link);
    recv->moved = 0;
    pli_rndv_accept_near(recv, recv->conn, recv->bytes < recv->size ? recv->bytes : recv->size,
                         address, 1);
}

int pli_rndv_push(struct pli_lane *lane)
{
    int n_pushed = 0;
    struct pli_list *at = lane->streams.next;
    while (at != &lane->streams) {
        struct pli_request *send = PLI_CONTAINER(at, struct pli_request, link);
        struct pli_list *next = at->next;
        if ((send->flags & PLI_REQ_SEND) == 0) {
            read_late(send);
            return n_pushed + 1;
        }
        // A few pieces, then a look at the mailbox: the other direction wants to move as well.
        while (send->moved < send->bytes && n_pushed < 4 && push_piece(send)) {
            n_pushed++;
        }
        if (send->moved == send->bytes) {
            pli_list_remove(&send->link);
            pli_rndv_end_send(send);
        }
        if (n_pushed >= 4) {
            break;
        }
        at = next;
    }
    return n_pushed;
}

static void take_piece(struct pli_lane *lane, const struct pli_shm_cell *cell)
{
    struct pli_request *recv = (struct pli_request *)(uintptr_t)cell->word[0];
    struct pli_shm_block *block = pli_other_job_block(lane->shm.base, cell->word[1]);
    if (__builtin_expect((recv->state & PLI_REQ_WITHDRAWN) != 0, 0)) {
        pli_shm_block_done(block);
        return;
    }
    if (recv->cursor != NULL) {
        pli_cursor_unpack(recv->cursor, pli_shm_block_data(block), cell->size);
    } else {
        bool is_timed = is_sample(lane, cell->word[2]);
        uint64_t begin = is_timed ? pli_clock_ns() : 0;
        memcpy((char *)recv->buf + recv->type->true_lb + cell->word[2], pli_shm_block_data(block),
               cell->size);
        if (is_timed) {
            pli_copy_select_work(lane, PLI_COPY_WORK_OUT, recv->bytes, cell->size,
                                 pli_clock_ns() - begin);
        }
    }
    pli_shm_block_done(block);
    pli_shm_wake(recv->conn->shm.box); // it may sleep for want of blocks
    recv->moved += cell->size;
    uint64_t want = recv->bytes < recv->size ? recv->bytes : recv->size;
    if (recv->moved >= want) {
        pli_rndv_end_receive(recv);
    }
}

void pli_rndv_unsend(struct pli_request *send)
{
    send->state |= PLI_REQ_CANCELLING;
    // Once the receiver has answered, `remote` names no endpoint any more; it is too late then.
    note(send->conn, PLI_MSG_UNSEND, (uint64_t)(uintptr_t)send, (uint32_t)send->remote, 0);
}

// Only one that is kept here unmatched can be forgotten.
void pli_rndv_forget(struct pli_lane *lane, struct pli_conn *from, uint64_t remote, uint32_t ep)
{
    struct pli_endpoint *to = pli_lane_ep(lane, ep);
    for (struct pli_match_item *i = to != NULL ? to->match.arrival.first : NULL; i != NULL;
         i = i->later) {
        struct pli_unexpected *p = PLI_CONTAINER(i, struct pli_unexpected, item);
        if (p->conn == from && p->remote == remote && p->kind != PLI_MSG_EAGER) {
            pli_match_take(&to->match, i);
            pli_unexpected_destroy(p);
            pli_lane_note(from, PLI_MSG_UNSENT, remote, 1, 0);
            return;
        }
    }
    pli_lane_note(from, PLI_MSG_UNSENT, remote, 0, 0);
}

void pli_rndv_unsent(struct pli_request *send, bool is_forgotten)
{
    if (__builtin_expect((send->state & PLI_REQ_WITHDRAWN) != 0, 0)) {
        return;
    }
    send->state &= (uint16_t)~PLI_REQ_CANCELLING;
    if (is_forgotten) {
        pli_request_untrack(send);
        pli_rndv_drop_cursor(send);
        pli_cma_offer_end(send);
        send->state |= send->err == PLI_OK ? PLI_REQ_CANCELLED : 0; // else it was withdrawn
        pli_request_complete(send, (enum pli_err)send->err);
    } else if (send->state & PLI_REQ_MATCHED) {
        pli_request_complete(send, PLI_OK);
    }
}

static struct pli_conn *sender_of(struct pli_lane *lane, const struct pli_shm_cell *cell)
{
    uint64_t proc = pli_other_job_proc(lane->proc, cell->src_proc);
    return pli_lane_conn(lane, (struct pli_id){ proc, cell->src_lane });
}

// A cell of a kind that one of the transports knows.
static void hand_over(struct pli_lane *lane, const struct pli_shm_cell *cell)
{
    for (const struct pli_net_ops *const *n = pli_proc.nets; *n != NULL; n++) {
        if ((*n)->cell(lane, cell)) {
            return;
        }
    }
    pli_log(PLI_ERROR, "unknown message of kind %d from process %u", cell->kind, cell->src_proc);
}

// The receiver asks for help. The request waits for its word, which comes after this.
static void help_write(struct pli_lane *lane, struct pli_request *send, uint64_t where)
{
    uint64_t recv;
    struct pli_conn *to = send->conn;
    enum pli_cma_result result = pli_cma_help(lane, to, where, &recv);
    if (result == PLI_CMA_DONE) {
        pli_rndv_end_send(send);
    }
    if (result != PLI_CMA_UNDER_WAY) {
        note(to, PLI_MSG_WRITTEN, recv, result == PLI_CMA_DONE, 0);
    }
}

// The sender has copied the last part.
static void written(struct pli_request *recv, bool is_good)
{
    if (is_good) {
        pli_rndv_end_receive(recv);
    } else {
        accept_blocks(recv, recv->conn, recv->bytes < recv->size ? recv->bytes : recv->size);
    }
}

_Atomic(pli_rndv_ring_fn) pli_rndv_on_ring;

void pli_rndv_cell(struct pli_lane *lane, const struct pli_shm_cell *cell)
{
    struct pli_request *send = (struct pli_request *)(uintptr_t)cell->word[0];
    switch (cell->kind) {
    case PLI_MSG_DATA:
        take_piece(lane, cell);
        break;
    case PLI_MSG_CTS:
        begin_stream(send, cell->word[1], cell->word[2]);
        break;
    case PLI_MSG_FIN:
    case PLI_MSG_ACK:
        pli_rndv_end_send(send);
        break;
    case PLI_MSG_COPY_HELP:
        pli_coop_copy_help(lane, cell);
        break;
    case PLI_MSG_COPY_DONE:
        pli_rndv_end_receive((struct pli_request *)(uintptr_t)cell->word[0]);
        break;
    case PLI_MSG_HELP_WRITE:
        help_write(lane, send, cell->word[1]);
        break;
    case PLI_MSG_WRITTEN:
        written((struct pli_request *)(uintptr_t)cell->word[0], cell->word[1] != 0);
        break;
    case PLI_MSG_UNSEND:
        pli_rndv_forget(lane, sender_of(lane, cell), cell->word[0], (uint32_t)cell->word[1]);
        break;
    case PLI_MSG_UNSENT:
        pli_rndv_unsent(send, cell->word[1] != 0);
        break;
    case PLI_MSG_RING:
        atomic_load_explicit(&pli_rndv_on_ring, memory_order_acquire)(lane, cell);
        break;
    default:
        hand_over(lane, cell);
        break;
    }
}
