// SPDX-License-Identifier: BSD-3-Clause
// Collectives that move small blocks by postings on the board: who gives writes its blocks and goes
// on, who gets copies them. What is too large for a posting follows as a message, which the giver
// decides alone, so ranks need not know the sizes of others.
#include "coll/algorithms.h"
#include "coll/board/board.h"
#include "coll/board/board_part.h"
#include "coll/comm_state.h"
#include "coll/piece.h"
#include "coll/sched.h"
#include "coll/sched_run.h"
#include "obj/comm.h"

// One operation, as this rank takes part in it.
struct move {
    const struct pli_coll_args *a;
    struct pli_board *b;
    bool gives, gets; // to others, from others
    bool is_parted;   // a posting has a block of its own for each reader
    int giver;        // the only one, who writes a posting for each; -1: all others
    int reader;       // of my posting
    bool is_later;    // mine follows as messages, or so do blocks of it: `later` says which
    bool has_later;   // another one's does: `later` says whose
    bool must_answer; // a member asks whether sizes agree, though they do not
    uint64_t later[PLI_BOARD_POSTS_RANKS / 64];
};

// What I give to a member, and what I get from one.
static struct pli_block given(const struct move *m, int to)
{
    const struct pli_coll_args *a = m->a;
    if (m->is_parted || m->giver >= 0) {
        return pli_blocks_at(&a->send, to);
    }
    return a->is_in_place ? pli_blocks_at(&a->recv, a->me) : pli_blocks_one(&a->send);
}

static struct pli_block gotten(const struct move *m, int from)
{
    return m->giver >= 0 ? pli_blocks_one(&m->a->recv) : pli_blocks_at(&m->a->recv, from);
}

// A posting with parts begins with where each part ends.
static size_t table_bytes(const struct move *m)
{
    return (size_t)m->b->n * sizeof(uint16_t);
}

static size_t posted_bytes(const struct move *m)
{
    if (!m->is_parted) {
        return (size_t)pli_blocks_bytes(given(m, m->a->me));
    }
    size_t sum = table_bytes(m);
    for (int i = 0; i < m->b->n; i++) {
        sum += i != m->b->me ? (size_t)pli_blocks_bytes(given(m, i)) : 0;
    }
    return sum;
}

static void write_parts(const struct move *m, unsigned char *to)
{
    size_t end = table_bytes(m);
    for (int i = 0; i < m->b->n; i++) {
        struct pli_block from = given(m, i);
        size_t n = i != m->b->me ? (size_t)pli_blocks_bytes(from) : 0;
        if (n > 0) {
            pli_piece_out(&from, 0, to + end, n);
        }
        end += n;
        uint16_t told = (uint16_t)end;
        memcpy(to + (size_t)i * sizeof told, &told, sizeof told);
    }
}

static bool comes_later(const struct move *m, int member)
{
    return (m->later[member / 64] >> member % 64 & 1) != 0;
}

static enum pli_err give(struct move *m)
{
    size_t bytes = posted_bytes(m);
    struct pli_board_slot *slot;
    enum pli_err err = pli_board_post_begin(m->b, m->a, bytes, &slot);
    if (err != PLI_OK) {
        return err;
    }
    unsigned char *to = m->is_parted ? pli_board_post_place_large(m->b, slot, bytes)
                                     : pli_board_post_place(m->b, slot, bytes);
    m->is_later = to == NULL;
    if (to != NULL && m->is_parted) {
        write_parts(m, to);
    } else if (to != NULL && bytes > 0) {
        struct pli_block from = given(m, m->a->me);
        pli_piece_out(&from, 0, to, bytes);
    }
    pli_board_post_publish(m->b, slot, m->reader);
    return PLI_OK;
}

// The part of a posting that is for me.
static const unsigned char *my_part(const struct move *m, const unsigned char *data, size_t *bytes)
{
    uint16_t start = (uint16_t)table_bytes(m), end;
    const unsigned char *at = data + (size_t)m->b->me * sizeof end;
    memcpy(&end, at, sizeof end);
    if (m->b->me > 0) {
        memcpy(&start, at - sizeof start, sizeof start);
    }
    *bytes = (size_t)(end - start);
    return data + start;
}

static enum pli_err take(struct move *m, int from)
{
    struct pli_block to = gotten(m, from);
    size_t expected = (size_t)pli_blocks_bytes(to);
    const struct pli_board_slot *slot;
    if (m->is_parted && expected == 0) {
        return PLI_OK; // as with messages: none where there is no data
    }
    enum pli_err err = m->giver >= 0 ? pli_board_part_read(m->b, m->a, from, &slot)
                                     : pli_board_post_read(m->b, m->a, from, &slot);
    if (err != PLI_OK) {
        return err;
    }
    if (slot->error == PLI_BOARD_POST_LATER) {
        m->later[from / 64] |= UINT64_C(1) << from % 64;
        m->has_later = true;
        return PLI_OK;
    }
    size_t bytes = slot->bytes;
    const unsigned char *data = pli_board_post_data(slot);
    m->must_answer = m->must_answer || slot->error == PLI_BOARD_POST_ASKS;
    if (m->is_parted) {
        data = my_part(m, data, &bytes);
    }
    if (__builtin_expect(bytes != expected, 0)) {
        return pli_board_post_misfit(m->a, from, bytes, expected);
    }
    if (bytes > 0) {
        pli_piece_in(&to, 0, data, bytes);
    }
    return PLI_OK;
}

static enum pli_err take_all(struct move *m)
{
    enum pli_err err = PLI_OK;
    for (int k = 1; k < m->b->n; k++) {
        enum pli_err found = take(m, (m->b->me + k) % m->b->n);
        err = err == PLI_OK ? found : err;
    }
    return err;
}

// A member that has more than fits a posting, where the root expects less, waits for its word.
static void answer_no(struct move *m)
{
    struct pli_board_slot *slot;
    if (pli_board_post_begin(m->b, m->a, 0, &slot) == PLI_OK) {
        slot->error = PLI_BOARD_POST_NONE;
        pli_board_post_publish(m->b, slot, PLI_BOARD_POST_TO_ALL);
    }
}

// Messages, for what was too large. All members use up the tag.
__attribute__((cold)) static enum pli_err run_later(struct move *m)
{
    const struct pli_coll_args *a = m->a;
    struct pli_sched *s;
    enum pli_err err = pli_sched_create(a->kind, PLI_SCHED_ONCE, &s);
    if (err != PLI_OK) {
        return err;
    }
    bool is_root = m->giver == a->me;
    pli_sched_on(s, a->comm);
    for (int i = 0; i < a->n && m->has_later; i++) {
        if (comes_later(m, i)) {
            struct pli_block in = gotten(m, i);
            int step = pli_sched_recv(s, in.buf, in.count, in.type, i);
            if (m->giver >= 0) {
                pli_sched_rooted(s, step);
            }
        }
    }
    for (int k = 1; k < a->n && m->is_later; k++) {
        int i = (a->me + k) % a->n;
        struct pli_block out = given(m, i);
        if (is_root        ? comes_later(m, i)
            : m->is_parted ? pli_blocks_bytes(out) > 0
                           : m->reader == i || m->reader < 0) {
            int step = pli_sched_send(s, out.buf, out.count, out.type, i);
            if (m->giver < 0 && !m->gets) {
                pli_sched_rooted(s, step);
            }
        }
    }
    err = pli_sched_run(s, a->comm);
    pli_sched_destroy(s);
    return err;
}

static void copy_own(const struct move *m)
{
    struct pli_block from = given(m, m->a->me), to = gotten(m, m->a->me);
    size_t n = (size_t)pli_blocks_bytes(from);
    if (from.type->is_dense && to.type->is_dense && n == (size_t)pli_blocks_bytes(to)) {
        if (n > 0) {
            memcpy((char *)to.buf + to.type->true_lb, (char *)from.buf + from.type->true_lb, n);
        }
    } else {
        pli_cursor_copy(from.buf, from.count, from.type, to.buf, to.count, to.type);
    }
}

static enum pli_err run(struct move *m)
{
    enum pli_err err = !m->gives       ? PLI_OK
                       : m->giver >= 0 ? pli_board_part_give(m->b, m->a, m->later, &m->is_later)
                                       : give(m);
    if (err == PLI_OK && m->gets) {
        err = m->giver >= 0 ? take(m, m->giver) : take_all(m);
    }
    if (__builtin_expect(m->must_answer, 0)) {
        answer_no(m);
    }
    pli_board_post_end(m->b);
    pli_board_note_part(m->b, !m->gives, m->gives ? -1 : m->giver);
    if (__builtin_expect(m->is_later || m->has_later, 0)) {
        enum pli_err later = run_later(m);
        err = err == PLI_OK ? later : err;
    } else {
        pli_sched_skip(m->a->comm);
    }
    return err;
}

static struct move start(const struct pli_coll_args *a)
{
    return (struct move){ .a = a, .b = pli_comm_state_here(a->comm), .giver = -1 };
}

enum pli_err pli_move_post_gather(const struct pli_coll_args *a)
{
    struct move m = start(a);
    bool is_root = a->root == a->me;
    m.gives = !is_root;
    m.gets = is_root;
    m.reader = a->root;
    enum pli_err err = run(&m);
    if (is_root && !a->is_in_place && err == PLI_OK) {
        copy_own(&m);
    }
    return err;
}

enum pli_err pli_move_post_scatter(const struct pli_coll_args *a)
{
    struct move m = start(a);
    bool is_root = a->root == a->me;
    m.gives = is_root;
    m.gets = !is_root;
    m.giver = a->root;
    enum pli_err err = run(&m);
    if (is_root && !a->is_in_place && err == PLI_OK) {
        copy_own(&m);
    }
    return err;
}

enum pli_err pli_move_post_allgatherv(const struct pli_coll_args *a)
{
    struct move m = start(a);
    m.gives = m.gets = true;
    m.reader = PLI_BOARD_POST_TO_ALL;
    if (!a->is_in_place) {
        copy_own(&m);
    }
    return run(&m);
}

enum pli_err pli_move_post_alltoallv(const struct pli_coll_args *a)
{
    struct move m = start(a);
    m.gives = m.gets = m.is_parted = true;
    m.reader = PLI_BOARD_POST_TO_ALL;
    copy_own(&m);
    return run(&m);
}
