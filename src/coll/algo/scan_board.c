// SPDX-License-Identifier: BSD-3-Clause
// Scan and exscan of short vectors: each rank gets what the ranks before it combined, from the last
// of them, posts that with its own vector for the next one, and goes on. A rank may be several
// operations ahead of the ranks after it.
#include "coll/algorithms.h"
#include "coll/board/board.h"
#include "coll/board/board_post.h"
#include "coll/comm_state.h"
#include "coll/sched.h"
#include "coll/sched_run.h"
#include "obj/comm.h"
#include "obj/op.h"

#include <string.h>

// A message to the next rank or from the one before, where there was no memory for a posting.
__attribute__((cold)) static enum pli_err run_message(const struct pli_coll_args *a, void *buf,
                                                      bool is_send)
{
    struct pli_sched *s;
    enum pli_err err = pli_sched_create(a->kind, PLI_SCHED_ONCE, &s);
    if (err != PLI_OK) {
        return err;
    }
    pli_sched_on(s, a->comm);
    if (is_send) {
        pli_sched_send(s, buf, a->recv.count, a->recv.type, a->me + 1);
    } else {
        pli_sched_recv(s, buf, a->recv.count, a->recv.type, a->me - 1);
    }
    err = pli_sched_run(s, a->comm);
    pli_sched_destroy(s);
    return err;
}

// What the ranks before me combined: where it is until the operation ends.
static enum pli_err before_me(struct pli_board *b, const struct pli_coll_args *a, size_t bytes,
                              unsigned char *room, const unsigned char **out)
{
    const struct pli_board_slot *slot;
    enum pli_err err = a->me > 0 ? pli_board_post_read(b, a, a->me - 1, &slot) : PLI_OK;
    bool is_later = a->me > 0 && err == PLI_OK && slot->error == PLI_BOARD_POST_LATER;
    if (is_later) {
        *out = room;
        return run_message(a, room, false);
    }
    pli_sched_skip(a->comm);
    if (a->me == 0 || err != PLI_OK) {
        return err;
    }
    *out = pli_board_post_data(slot);
    if (__builtin_expect(slot->bytes != bytes || slot->error == PLI_BOARD_POST_NONE, 0)) {
        return slot->bytes != bytes
                   ? pli_board_post_misfit(a, a->me - 1, slot->bytes, bytes)
                   : pli_fail(PLI_ERR_TRUNC, "%s on %s: the counts of ranks before %d differ",
                              pli_coll_kind_info[a->kind].name, pli_comm_say(a->comm), a->me);
    }
    return PLI_OK;
}

// to = before op mine.
static void combine(const struct pli_coll_args *a, const unsigned char *before, void *to,
                    size_t bytes)
{
    if (to != a->send.buf) {
        memcpy(to, a->send.buf, bytes);
    }
    if (before != NULL) {
        pli_op_apply(a->op, before, to, a->recv.count, a->recv.type);
    }
}

enum pli_err pli_scan_board(const struct pli_coll_args *a)
{
    struct pli_board *b = pli_comm_state_here(a->comm);
    size_t bytes = (size_t)(a->recv.count * a->recv.type->size);
    void *result = (void *)(uintptr_t)a->recv.buf;
    _Alignas(64) unsigned char in[PLI_BOARD_POST_MAX], out[PLI_BOARD_POST_MAX];
    bool is_exclusive = a->kind == PLI_COLL_EXSCAN, is_last = a->me + 1 == b->n;
    const unsigned char *before = NULL;
    enum pli_err err = before_me(b, a, bytes, in, &before), later = PLI_OK;
    if (!is_exclusive && err == PLI_OK) {
        combine(a, before, result, bytes);
    }
    struct pli_board_slot *slot = NULL;
    enum pli_err stopped = is_last ? PLI_OK : pli_board_post_begin(b, a, bytes, &slot);
    if (stopped != PLI_OK) {
        return stopped;
    }
    unsigned char *to = NULL;
    bool is_later = false;
    if (slot != NULL && err == PLI_OK) {
        to = pli_board_post_place(b, slot, bytes);
        is_later = to == NULL;
    } else if (slot != NULL) {
        slot->error = PLI_BOARD_POST_NONE;
    }
    if (is_exclusive && (to != NULL || is_later)) {
        combine(a, before, is_later ? out : to, bytes);
    } else if (to != NULL) {
        memcpy(to, result, bytes);
    }
    if (slot != NULL) {
        pli_board_post_publish(b, slot, a->me + 1);
    }
    if (is_exclusive && err == PLI_OK && before != NULL) { // rank 0 has no result
        memcpy(result, before, bytes);
    }
    pli_board_post_end(b);
    if (is_later) {
        later = run_message(a, is_exclusive ? out : result, true);
    } else {
        pli_sched_skip(a->comm);
    }
    return err != PLI_OK ? err : later;
}
