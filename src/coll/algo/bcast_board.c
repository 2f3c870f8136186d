// SPDX-License-Identifier: BSD-3-Clause
// Broadcast through the ring of the board. Each entry has the size, so ranks that disagree get an
// error. Long messages come in chunks; between two members, which copy a message from buffer to
// buffer together, an entry tells that one follows.
#include "coll/algorithms.h"
#include "coll/board/board.h"
#include "coll/board/board_ring.h"
#include "coll/comm_state.h"
#include "coll/piece.h"
#include "coll/sched.h"
#include "coll/sched_run.h"
#include "obj/comm.h"

enum { MESSAGE_MIN = 64 * 1024 };

static enum pli_err run_message(const struct pli_coll_args *a)
{
    struct pli_sched *s;
    enum pli_err err = pli_sched_create(a->kind, PLI_SCHED_ONCE, &s);
    if (err == PLI_OK) {
        pli_sched_set_root(s, a->root); // reports of deadlocks name it
        pli_sched_on(s, a->comm);
        pli_bcast_linear(s, a);
        err = pli_sched_run(s, a->comm);
        pli_sched_destroy(s);
    }
    return err;
}

static enum pli_err give_message(struct pli_board *b, const struct pli_coll_args *a, size_t bytes)
{
    unsigned char *none;
    enum pli_err err = pli_board_ring_next(b, a, bytes, 0, &none);
    if (err != PLI_OK) {
        return err;
    }
    pli_board_ring_publish(b);
    pli_board_ring_close(b);
    return run_message(a);
}

static enum pli_err give(struct pli_board *b, const struct pli_coll_args *a, size_t bytes)
{
    bool is_own = b->whole == NULL; // the board of all members, who count messages alike
    if (b->n == 2 && bytes >= MESSAGE_MIN && is_own) {
        return give_message(b, a, bytes);
    }
    struct pli_cursor c;
    pli_cursor_init(&c, a->recv.buf, a->recv.count, a->recv.type);
    size_t piece = pli_board_ring_piece(b, bytes), done = 0;
    do {
        unsigned char *to;
        enum pli_err err = pli_board_ring_next(b, a, bytes, piece, &to);
        if (err != PLI_OK) {
            return err;
        }
        size_t n = bytes - done < piece ? bytes - done : piece;
        if (n > 0 && a->recv.type->is_dense) {
            memcpy(to, (const char *)a->recv.buf + a->recv.type->true_lb + done, n);
        } else {
            pli_cursor_pack(&c, to, n);
        }
        done += n;
        pli_board_ring_publish(b);
    } while (done < bytes);
    pli_board_ring_close(b);
    return PLI_OK;
}

// Read one entry, and add the bytes that came.
static enum pli_err take(struct pli_board *b, const struct pli_coll_args *a, struct pli_cursor *c,
                         size_t *done_io, size_t *total)
{
    struct pli_board_ring_view v;
    size_t done = *done_io;
    enum pli_err err = pli_board_ring_read(b, a, &v);
    if (err != PLI_OK) {
        return err;
    }
    *total = v.bytes;
    if (v.piece == 0) {
        pli_board_ring_done(b, a->root);
        *done_io = v.bytes;
        err = run_message(a);
        return (size_t)c->total == v.bytes ? err : PLI_OK; // the caller says that sizes differ
    }
    size_t n = v.bytes - done < v.piece ? v.bytes - done : v.piece;
    if (n > 0 && a->recv.type->is_dense && done + n <= c->total) {
        memcpy((char *)(uintptr_t)a->recv.buf + a->recv.type->true_lb + done, v.data, n);
    } else {
        pli_cursor_unpack(c, v.data, n); // no more than there is room for
    }
    pli_board_ring_done(b, a->root);
    *done_io += n;
    return PLI_OK;
}

enum pli_err pli_bcast_board(const struct pli_coll_args *a)
{
    struct pli_board *b = pli_comm_state_here(a->comm);
    size_t bytes = (size_t)(a->recv.count * a->recv.type->size);
    b->what = pli_board_what(a);
    if (a->root == b->me) {
        return give(b, a, bytes);
    }
    struct pli_cursor c;
    pli_cursor_init(&c, a->recv.buf, a->recv.count, a->recv.type);
    size_t done = 0, total = 0;
    do {
        enum pli_err err = take(b, a, &c, &done, &total);
        if (err != PLI_OK) {
            return err;
        }
    } while (done < total);
    if (total != bytes) {
        return pli_fail(PLI_ERR_TRUNC,
                        "bcast on %s: rank %d sends %zu bytes where this rank expects %zu",
                        pli_comm_say(a->comm), a->root, total, bytes);
    }
    return PLI_OK;
}
