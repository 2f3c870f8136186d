// SPDX-License-Identifier: BSD-3-Clause
// The giver of blocks waits until nobody looks any more at what any of the slots held before, which
// it finds out for many operations at once.
#include "coll/board/board_part.h"

#include "base/copy.h"
#include "base/cpu.h"
#include "coll/board/board.h"
#include "coll/coll_args.h"
#include "coll/piece.h"
#include "ft/failure.h"

#include <string.h>

enum { FIRST_LINE = 32 }; // so much of a slot's data is in the line of its head

// Wait until all are done with what the slots of this operation held before.
static bool wait_for_all(struct pli_board *b)
{
    uint64_t least = UINT64_MAX, want = b->post_at - PLI_BOARD_POSTS + 1;
    for (int i = 0; i < b->n; i++) {
        const _Atomic uint64_t *word = &b->members[i].posts_read;
        if (i != b->me) {
            if (!pli_board_wait_short(b, word, want)) {
                return false;
            }
            uint64_t read = atomic_load_explicit(word, memory_order_acquire);
            least = read < least ? read : least;
        }
    }
    b->parts_room = least + PLI_BOARD_POSTS;
    return true;
}

// So much of the room for blocks goes to one of so many bytes.
static inline size_t room_of(size_t bytes)
{
    bool has_some = bytes > PLI_BOARD_INLINE && bytes <= PLI_BOARD_POST_MAX;
    return has_some ? (bytes + 63) / 64 * 64 : 0; // lines of its own
}

// What the blocks of a call need.
struct needs {
    size_t room;  // for those that do not fit a slot
    bool is_long; // some use the second line of a slot
};

static void add_need(struct needs *sum, size_t bytes, size_t times)
{
    sum->room += room_of(bytes) * times;
    sum->is_long = sum->is_long || (bytes > FIRST_LINE && bytes <= PLI_BOARD_INLINE);
}

static struct needs needs_of(const struct pli_coll_args *a)
{
    struct needs sum = { 0 };
    if (a->send.counts.data == NULL) { // they are alike
        size_t bytes = (size_t)pli_blocks_bytes(pli_blocks_at(&a->send, 0));
        add_need(&sum, bytes, (size_t)(a->n - 1));
        return sum;
    }
    for (int i = 0; i < a->n; i++) {
        size_t bytes = (size_t)(pli_ints_at(a->send.counts, i) * a->send.type->size);
        add_need(&sum, bytes, i != a->me);
    }
    return sum;
}

// The lines of the slots come while the first blocks are written.
static void fetch_slots(const struct pli_board *b, bool is_long)
{
    for (int i = 0; i < b->n; i++) {
        struct pli_board_slot *slot = pli_board_post_slot(b, i);
        pli_cpu_will_write(slot);
        if (is_long) {
            pli_cpu_will_write(slot->data + FIRST_LINE);
        }
    }
}

static enum pli_err begin(struct pli_board *b, const struct pli_coll_args *a)
{
    struct needs sum = needs_of(a);
    b->what = pli_board_what(a);
    if (b->post_at >= b->parts_room && !wait_for_all(b)) {
        return pli_failure_refuse(pli_coll_kind_info[a->kind].name, a->comm);
    }
    bool is_large = sum.room > PLI_BOARD_POST_MAX;
    b->part = sum.room == 0 ? NULL : is_large ? pli_board_post_large(b) : pli_board_post_chunk(b);
    b->part_room = b->part == NULL ? 0 : is_large ? PLI_BOARD_POST_LARGE : PLI_BOARD_POST_MAX;
    fetch_slots(b, sum.is_long);
    return PLI_OK;
}

// Where a block that does not fit a slot goes to.
static unsigned char *part_of(struct pli_board *b, size_t bytes)
{
    size_t room = room_of(bytes);
    if (room == 0 || room > b->part_room) {
        return NULL;
    }
    unsigned char *at = b->part;
    b->part += room;
    b->part_room -= room;
    return at;
}

// Whether there is room for a block that has holes or more than a few bytes.
static bool give_long(struct pli_board *b, struct pli_board_slot *slot,
                      const struct pli_block *from, size_t bytes)
{
    unsigned char *to =
        pli_board_post_tell(slot, bytes <= PLI_BOARD_INLINE ? slot->data : part_of(b, bytes));
    if (to != NULL) {
        pli_piece_out(from, 0, to, bytes);
    }
    return to != NULL;
}

// The last member waits for as long as this takes for all others.
static inline bool give_one(struct pli_board *b, int member, struct pli_block from)
{
    struct pli_board_slot *slot = pli_board_post_slot(b, member);
    size_t bytes = (size_t)pli_blocks_bytes(from);
    bool is_there = true;
    slot->bytes = bytes;
    slot->what = b->what;
    const char *data = (const char *)from.buf + from.type->true_lb;
    if (bytes <= PLI_COPY_SMALL && from.type->is_dense) {
        slot->error = PLI_BOARD_POST_INLINE;
        pli_copy_small(slot->data, data, bytes);
    } else if (bytes <= PLI_BOARD_INLINE && from.type->is_dense) {
        slot->error = PLI_BOARD_POST_INLINE;
        memcpy(slot->data, data, bytes);
    } else {
        is_there = give_long(b, slot, &from, bytes);
    }
    atomic_store_explicit(&slot->seq, b->post_at + 1, memory_order_release);
    return is_there;
}

enum pli_err pli_board_part_give(struct pli_board *b, const struct pli_coll_args *a,
                                 uint64_t *later, bool *has_later)
{
    enum pli_err err = begin(b, a);
    if (err != PLI_OK) {
        return err;
    }
    for (int k = 1; k < a->n; k++) {
        int i = a->me + k < a->n ? a->me + k : a->me + k - a->n;
        if (__builtin_expect(!give_one(b, i, pli_blocks_at(&a->send, i)), 0)) {
            *has_later = true;
            later[i / 64] |= UINT64_C(1) << i % 64;
        }
    }
    b->has_posted = true;
    b->post_reader[b->post_at % PLI_BOARD_POSTS] = PLI_BOARD_POST_TO_ALL; // of its memory
    pli_board_wake_all(b);
    return PLI_OK;
}

enum pli_err pli_board_part_read(struct pli_board *b, const struct pli_coll_args *a, int giver,
                                 const struct pli_board_slot **out)
{
    const struct pli_board_slot *mine = pli_board_post_slot(b, b->me),
                                *its = pli_board_post_slot(b, giver);
    b->what = pli_board_what(a);
    b->has_read = true;
    // The giver writes to its own slot only if it is in another operation.
    if (!pli_board_wait_any(b, &mine->seq, &its->seq, b->post_at + 1)) {
        return pli_failure_refuse(pli_coll_kind_info[a->kind].name, a->comm);
    }
    *out = mine;
    if (__builtin_expect(atomic_load_explicit(&mine->seq, memory_order_acquire) <= b->post_at, 0)) {
        return pli_board_other_call(b, a, giver, its->what);
    }
    return __builtin_expect(mine->what == b->what, 1) // else another one takes itself for the giver
               ? PLI_OK
               : pli_board_other_call(b, a, (int)(mine->what / PLI_BOARD_KINDS), mine->what);
}
