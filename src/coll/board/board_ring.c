// SPDX-License-Identifier: BSD-3-Clause
// Entries are numbered; each reader tells how many it has read, and the writer waits for the
// slowest.
#include "coll/board/board_ring.h"

#include "coll/board/board.h"
#include "coll/coll_args.h"
#include "ft/failure.h"
#include "msg/arena.h"
#include "obj/comm.h"

enum { IS_INLINE, IS_CHUNK, IS_ELSEWHERE }; // slot->error says where the data is

static struct pli_board_slot *entry(struct pli_board *b)
{
    return &b->w->ring[b->ring_at % PLI_BOARD_RING];
}

size_t pli_board_ring_piece(struct pli_board *b, size_t bytes)
{
    if (bytes > PLI_BOARD_INLINE && b->stream == NULL) {
        b->stream = pli_arena_take((size_t)PLI_BOARD_CHUNK * PLI_BOARD_RING);
    }
    return bytes <= PLI_BOARD_INLINE || b->stream == NULL ? PLI_BOARD_INLINE : PLI_BOARD_CHUNK;
}

// Wait until all are done with what the next entry held. False: they never will.
static bool wait_for_room(struct pli_board *b)
{
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < b->n; i++) {
        if (i != b->me) {
            // A reader wakes the root it reads from, which may have been another one.
            if (!pli_board_wait_short(b, &b->members[i].read, b->ring_at - PLI_BOARD_RING + 1)) {
                return false;
            }
            uint64_t read = atomic_load_explicit(&b->members[i].read, memory_order_acquire);
            least = read < least ? read : least;
        }
    }
    b->ring_room = least + PLI_BOARD_RING;
    return true;
}

const struct pli_board_slot *pli_board_ring_torn(const struct pli_board *b)
{
    for (int i = 0; i < PLI_BOARD_RING; i++) {
        const struct pli_board_slot *e = &b->w->ring[i];
        if (b->ring_mine[i] != 0 &&
            atomic_load_explicit(&e->seq, memory_order_acquire) == b->ring_mine[i] &&
            e->what / PLI_BOARD_KINDS != (uint32_t)b->me) {
            return e;
        }
    }
    return NULL;
}

// Another member has written what this one is about to, or wrote over it before.
__attribute__((cold)) static enum pli_err
refuse_second(struct pli_board *b, const struct pli_coll_args *a, const struct pli_board_slot *e)
{
    return pli_board_other_call(b, a, (int)(e->what / PLI_BOARD_KINDS), e->what);
}

enum pli_err pli_board_ring_next(struct pli_board *b, const struct pli_coll_args *a, size_t bytes,
                                 size_t piece, unsigned char **out)
{
    struct pli_board_slot *e = entry(b);
    if (b->ring_at >= b->ring_room) {
        const struct pli_board_slot *torn = pli_board_ring_torn(b);
        if (torn != NULL) {
            return refuse_second(b, a, torn);
        }
        if (!wait_for_room(b)) {
            return pli_failure_refuse(pli_coll_kind_info[a->kind].name, a->comm);
        }
    }
    if (__builtin_expect(atomic_load_explicit(&e->seq, memory_order_acquire) > b->ring_at, 0)) {
        return refuse_second(b, a, e);
    }
    e->bytes = bytes;
    e->what = pli_board_what(a);
    if (piece < PLI_BOARD_CHUNK) {
        e->error = piece > 0 ? IS_INLINE : IS_ELSEWHERE;
        *out = e->data;
        return PLI_OK;
    }
    unsigned char *at = b->stream + b->ring_at % PLI_BOARD_RING * PLI_BOARD_CHUNK;
    e->error = IS_CHUNK;
    e->offset = pli_arena_offset(at);
    *out = at;
    return PLI_OK;
}

void pli_board_ring_publish(struct pli_board *b)
{
    struct pli_board_slot *e = entry(b);
    b->ring_mine[b->ring_at % PLI_BOARD_RING] = b->ring_at + 1;
    b->ring_at++;
    pli_board_note_part(b, false, -1);
    atomic_store_explicit(&e->seq, b->ring_at, memory_order_release);
    pli_board_wake_all(b);
}

void pli_board_ring_close(struct pli_board *b)
{
    atomic_store_explicit(&b->members[b->me].read, b->ring_at, memory_order_relaxed);
}

enum pli_err pli_board_ring_read(struct pli_board *b, const struct pli_coll_args *a,
                                 struct pli_board_ring_view *out)
{
    struct pli_board_slot *e = entry(b);
    if (!pli_board_wait(b, &e->seq, b->ring_at + 1)) {
        return pli_failure_refuse(pli_coll_kind_info[a->kind].name, a->comm);
    }
    if (__builtin_expect(e->what != b->what, 0)) {
        return pli_board_other_call(b, a, (int)(e->what / PLI_BOARD_KINDS), e->what);
    }
    out->bytes = e->bytes;
    out->piece = e->error == IS_CHUNK       ? PLI_BOARD_CHUNK
                 : e->error == IS_ELSEWHERE ? 0
                                            : PLI_BOARD_INLINE;
    out->data = e->error == IS_CHUNK ? pli_arena_at(e->offset) : e->data;
    return PLI_OK;
}

void pli_board_ring_done(struct pli_board *b, int root)
{
    b->ring_at++;
    pli_board_note_part(b, true, root);
    atomic_store_explicit(&b->members[b->me].read, b->ring_at, memory_order_release);
    pli_board_wake(b, root); // it may wait for room
}
