// SPDX-License-Identifier: BSD-3-Clause
// Slots of a member are used in turn. Each member tells how many operations it is done with, and a
// writer waits for the reader of what a slot held before, which it looks at once in many
// operations.
#include "coll/board/board_post.h"

#include "coll/board/board.h"
#include "coll/coll_args.h"
#include "coll/sched.h"
#include "ft/failure.h"
#include "msg/arena.h"
#include "msg/progress.h"
#include "obj/comm.h"

enum {
    POLL_EVERY = 16,
    WAKE_EVERY = PLI_BOARD_POSTS / 2, // so a reader wakes a writer before it needs its next posting
    NOBODY = -1
};

// Whether a reader, or all, are done with operation k; it may wait for that.
static bool is_read_by(struct pli_board *b, int reader, uint64_t k, bool may_wait)
{
    bool is_read = true;
    int first = reader >= 0 ? reader : 0;
    int end = reader >= 0 ? reader + 1 : reader == PLI_BOARD_POST_TO_ALL ? b->n : 0;
    for (int i = first; i < end && is_read; i++) {
        const _Atomic uint64_t *word = &b->members[i].posts_read;
        if (i != b->me) {
            is_read = may_wait ? pli_board_wait_short(b, word, k + 1)
                               : atomic_load_explicit(word, memory_order_acquire) > k;
        }
    }
    return is_read;
}

// Wait until the slot of this operation is free, and see how many more are.
static bool wait_for_room(struct pli_board *b)
{
    uint64_t k = b->post_at - PLI_BOARD_POSTS;
    if (!is_read_by(b, b->post_reader[k % PLI_BOARD_POSTS], k, true)) {
        return false;
    }
    for (k++; k < b->post_at; k++) {
        if (!is_read_by(b, b->post_reader[k % PLI_BOARD_POSTS], k, false)) {
            break;
        }
    }
    b->post_room = k + PLI_BOARD_POSTS;
    return true;
}

enum pli_err pli_board_post_begin(struct pli_board *b, const struct pli_coll_args *a, size_t bytes,
                                  struct pli_board_slot **out)
{
    b->what = pli_board_what(a);
    if (b->post_at >= b->post_room && !wait_for_room(b)) {
        return pli_failure_refuse(pli_coll_kind_info[a->kind].name, a->comm);
    }
    struct pli_board_slot *slot = pli_board_post_slot(b, b->me);
    slot->bytes = bytes;
    slot->what = b->what;
    *out = slot;
    return PLI_OK;
}

unsigned char *pli_board_post_chunk(struct pli_board *b)
{
    if (b->chunks == NULL && !b->has_no_chunks) {
        b->chunks = pli_arena_take((size_t)PLI_BOARD_POST_MAX * PLI_BOARD_POSTS);
        b->has_no_chunks = b->chunks == NULL;
    }
    return b->chunks != NULL ? b->chunks + b->post_at % PLI_BOARD_POSTS * PLI_BOARD_POST_MAX : NULL;
}

unsigned char *pli_board_post_large(struct pli_board *b)
{
    if (b->large == NULL && !b->has_no_large) {
        b->large = pli_arena_take((size_t)PLI_BOARD_POST_LARGE * PLI_BOARD_LARGE_POSTS);
        b->has_no_large = b->large == NULL;
    }
    uint64_t turn = b->n_large % PLI_BOARD_LARGE_POSTS;
    bool is_free =
        b->n_large < PLI_BOARD_LARGE_POSTS ||
        (b->large != NULL && is_read_by(b, PLI_BOARD_POST_TO_ALL, b->large_at[turn], true));
    if (b->large == NULL || !is_free) {
        return NULL;
    }
    b->large_at[turn] = b->post_at;
    b->n_large++;
    return b->large + turn * PLI_BOARD_POST_LARGE;
}

unsigned char *pli_board_post_tell(struct pli_board_slot *slot, unsigned char *at)
{
    slot->error = at == NULL         ? PLI_BOARD_POST_LATER
                  : at == slot->data ? PLI_BOARD_POST_INLINE
                                     : PLI_BOARD_POST_CHUNK;
    slot->offset = slot->error == PLI_BOARD_POST_CHUNK ? pli_arena_offset(at) : 0;
    return at;
}

unsigned char *pli_board_post_place(struct pli_board *b, struct pli_board_slot *slot, size_t bytes)
{
    return pli_board_post_tell(slot, bytes <= PLI_BOARD_INLINE     ? slot->data
                                     : bytes <= PLI_BOARD_POST_MAX ? pli_board_post_chunk(b)
                                                                   : NULL);
}

unsigned char *pli_board_post_place_large(struct pli_board *b, struct pli_board_slot *slot,
                                          size_t bytes)
{
    bool is_large = bytes > PLI_BOARD_POST_MAX && bytes <= PLI_BOARD_POST_LARGE;
    return is_large ? pli_board_post_tell(slot, pli_board_post_large(b))
                    : pli_board_post_place(b, slot, bytes);
}

void pli_board_post_publish(struct pli_board *b, struct pli_board_slot *slot, int reader)
{
    b->has_posted = true;
    b->post_reader[b->post_at % PLI_BOARD_POSTS] = reader;
    atomic_store_explicit(&slot->seq, b->post_at + 1, memory_order_release);
    if (reader >= 0) {
        pli_board_wake(b, reader);
    } else {
        pli_board_wake_all(b);
    }
}

enum pli_err pli_board_post_read(struct pli_board *b, const struct pli_coll_args *a, int member,
                                 const struct pli_board_slot **out)
{
    const struct pli_board_slot *slot = pli_board_post_slot(b, member);
    b->what = pli_board_what(a);
    b->has_read = true;
    if (!pli_board_wait(b, &slot->seq, b->post_at + 1)) {
        return pli_failure_refuse(pli_coll_kind_info[a->kind].name, a->comm);
    }
    *out = slot;
    return __builtin_expect(slot->what == b->what, 1)
               ? PLI_OK
               : pli_board_other_call(b, a, member, slot->what);
}

const unsigned char *pli_board_post_data(const struct pli_board_slot *slot)
{
    return slot->error == PLI_BOARD_POST_CHUNK ? pli_arena_at(slot->offset) : slot->data;
}

void pli_board_post_end(struct pli_board *b)
{
    if (!b->has_posted) {
        b->post_reader[b->post_at % PLI_BOARD_POSTS] = NOBODY;
    }
    b->has_posted = false;
    b->post_at++;
    b->post_calls = b->post_calls * 31 + b->what;
    atomic_store_explicit(&b->members[b->me].posts_read, b->post_at, memory_order_release);
    // Members that share cores sleep soon while they wait for room; others look for longer than
    // this member needs to come to the next operation.
    if (b->has_read && b->is_oversubscribed && b->post_at % WAKE_EVERY == 0) {
        b->has_read = false;
        pli_board_wake_all(b);
    }
    if (b->post_at % POLL_EVERY == 0) {
        pli_progress_once(b->lane); // others may need us for something else
    }
}

static enum pli_err ask_root(struct pli_board *b, const struct pli_coll_args *a,
                             struct pli_board_slot *mine)
{
    const struct pli_board_slot *verdict;
    mine->error = PLI_BOARD_POST_ASKS;
    pli_board_post_publish(b, mine, a->root);
    enum pli_err err = pli_board_post_read(b, a, a->root, &verdict);
    return err == PLI_OK && verdict->error != PLI_BOARD_POST_AGREE ? PLI_AGAIN : err;
}

static enum pli_err answer_all(struct pli_board *b, const struct pli_coll_args *a, size_t bytes,
                               struct pli_board_slot *mine)
{
    enum pli_err err = PLI_OK;
    for (int i = 0; i < b->n; i++) {
        const struct pli_board_slot *slot;
        enum pli_err found = i != b->me ? pli_board_post_read(b, a, i, &slot) : PLI_OK;
        if (i != b->me && found == PLI_OK && slot->bytes != bytes) {
            found = pli_board_post_misfit(a, i, slot->bytes, bytes);
        }
        err = err == PLI_OK ? found : err;
    }
    mine->error = err == PLI_OK ? PLI_BOARD_POST_AGREE : PLI_BOARD_POST_NONE;
    pli_board_post_publish(b, mine, PLI_BOARD_POST_TO_ALL);
    return err;
}

enum pli_err pli_board_post_agree(struct pli_board *b, const struct pli_coll_args *a, size_t bytes)
{
    struct pli_board_slot *mine;
    bool has_agreed = b->has_agreed || b->posts == NULL;
    b->has_agreed = false;
    enum pli_err err = has_agreed ? PLI_OK : pli_board_post_begin(b, a, bytes, &mine);
    if (has_agreed || err != PLI_OK) {
        return err;
    }
    err = a->root == b->me ? answer_all(b, a, bytes, mine) : ask_root(b, a, mine);
    pli_board_post_end(b);
    if (err != PLI_OK) {
        pli_sched_skip(a->comm); // as members do that had little enough for a posting
    }
    return err;
}

enum pli_err pli_board_post_misfit(const struct pli_coll_args *a, int member, size_t bytes,
                                   size_t expected)
{
    return pli_fail(PLI_ERR_TRUNC, "%s on %s: rank %d sends %zu bytes where this rank expects %zu",
                    pli_coll_kind_info[a->kind].name, pli_comm_say(a->comm), member, bytes,
                    expected);
}
