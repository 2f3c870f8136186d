// SPDX-License-Identifier: BSD-3-Clause
// Broadcast through the ring of the board: the root writes entries and does not wait, unless the
// ring is full; the others read them. The first entry has the size, so ranks that disagree get
// an error. Long messages come in chunks of the root's stream.
#include "coll/board/board.h"
#include "coll/algorithms.h"
#include "coll/comm_state.h"
#include "ft/failure.h"
#include "msg/arena.h"
#include "obj/comm.h"
#include "obj/cursor.h"
#include "obj/datatype.h"

#include <string.h>

enum { CHUNK = 32768 };

enum { IS_INLINE, IS_CHUNK }; // slot->error says where the data is

static struct pli_board_slot *entry(struct pli_board *b)
{
    return &b->w->ring[b->ring_at % PLI_BOARD_RING];
}

// Wait until all are done with what the next entry held. False: they never will.
static bool wait_for_room(struct pli_board *b)
{
    if (b->ring_at < b->ring_room) {
        return true;
    }
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < b->n; i++) {
        if (i != b->me) {
            // A reader wakes the root it reads from, which may have been another one.
            if (!pli_board_wait_short(b, &b->members[i].read, b->ring_at - PLI_BOARD_RING + 1)) {
                return false;
            }
            uint64_t read = atomic_load_explicit(&b->members[i].read, memory_order_relaxed);
            least = read < least ? read : least;
        }
    }
    b->ring_room = least + PLI_BOARD_RING;
    return true;
}

static void publish(struct pli_board *b, struct pli_board_slot *e)
{
    b->ring_at++;
    atomic_store_explicit(&e->seq, b->ring_at, memory_order_release);
    pli_board_wake_all(b);
}

static bool give(struct pli_board *b, const struct pli_coll_args *a, size_t bytes)
{
    struct pli_cursor c;
    pli_cursor_init(&c, a->recv.buf, a->recv.count, a->recv.type);
    bool is_small = bytes <= PLI_BOARD_INLINE;
    if (!is_small && b->stream == NULL) {
        b->stream = pli_arena_take((size_t)CHUNK * PLI_BOARD_RING);
    }
    size_t piece = is_small || b->stream == NULL ? PLI_BOARD_INLINE : CHUNK;
    size_t done = 0;
    do {
        if (!wait_for_room(b)) {
            return false;
        }
        struct pli_board_slot *e = entry(b);
        unsigned char *to = e->data;
        e->bytes = bytes;
        e->kind = PLI_COLL_BCAST;
        e->error = IS_INLINE;
        if (piece == CHUNK) {
            to = b->stream + b->ring_at % PLI_BOARD_RING * CHUNK;
            e->error = IS_CHUNK;
            e->offset = pli_arena_offset(to);
        }
        size_t n = bytes - done < piece ? bytes - done : piece;
        if (n > 0 && a->recv.type->is_dense) {
            memcpy(to, (const char *)a->recv.buf + a->recv.type->true_lb + done, n);
        } else {
            pli_cursor_pack(&c, to, n);
        }
        done += n;
        publish(b, e);
    } while (done < bytes);
    return true;
}

// Read one entry, and add the bytes it had. False: it will never be there.
static bool take(struct pli_board *b, const struct pli_coll_args *a, struct pli_cursor *c,
                 size_t *done_io, size_t *total)
{
    struct pli_board_slot *e = entry(b);
    size_t done = *done_io;
    if (!pli_board_wait(b, &e->seq, b->ring_at + 1)) {
        return false;
    }
    *total = e->bytes;
    size_t piece = e->error == IS_CHUNK ? CHUNK : PLI_BOARD_INLINE;
    size_t n = e->bytes - done < piece ? e->bytes - done : piece;
    const unsigned char *from = e->error == IS_CHUNK ? pli_arena_at(e->offset) : e->data;
    if (n > 0 && a->recv.type->is_dense && done + n <= c->total) {
        memcpy((char *)(uintptr_t)a->recv.buf + a->recv.type->true_lb + done, from, n);
    } else {
        pli_cursor_unpack(c, from, n); // no more than there is room for
    }
    b->ring_at++;
    atomic_store_explicit(&b->members[b->me].read, b->ring_at, memory_order_release);
    *done_io += n;
    return true;
}

enum pli_err pli_bcast_board(const struct pli_coll_args *a)
{
    struct pli_board *b = pli_comm_state_here(a->comm);
    size_t bytes = (size_t)(a->recv.count * a->recv.type->size);
    b->kind = PLI_COLL_BCAST;
    if (a->root == b->me) {
        if (!give(b, a, bytes)) {
            return pli_failure_refuse("bcast", a->comm);
        }
        atomic_store_explicit(&b->members[b->me].read, b->ring_at, memory_order_relaxed);
        return PLI_OK;
    }
    struct pli_cursor c;
    pli_cursor_init(&c, a->recv.buf, a->recv.count, a->recv.type);
    size_t done = 0, total = 0;
    do {
        if (!take(b, a, &c, &done, &total)) {
            return pli_failure_refuse("bcast", a->comm);
        }
        pli_board_wake(b, a->root); // it may wait for room
    } while (done < total);
    if (total != bytes) {
        return pli_fail(PLI_ERR_TRUNC,
                        "bcast on %s: rank %d sends %zu bytes where this rank expects %zu",
                        pli_comm_say(a->comm), a->root, total, bytes);
    }
    return PLI_OK;
}
