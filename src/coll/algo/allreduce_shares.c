// SPDX-License-Identifier: BSD-3-Clause
// Allreduce of long vectors on several hosts. As many ranks of each host as every host has take a
// share of the vector: each combines its share out of the windows of its host, in the order of
// ranks, does the rest with the ranks that have the same share on the other hosts, and shows the
// result to its own. So all of them use the network at once.
#include "coll/board/board.h"
#include "coll/algorithms.h"
#include "coll/board/board_hosts.h"
#include "coll/sched.h"
#include "coll/sched_run.h"
#include "coll/comm_state.h"
#include "coll/board/board_window.h"
#include "obj/comm.h"
#include "obj/op.h"

#include <string.h>

enum { LONG = 32 * 1024 };

// The operation, seen from here.
struct work {
    const struct pli_coll_args *a;
    struct pli_board *b;
    int n_share, me;    // me: my place on the host; at n_share and beyond there is no share
    size_t size, total; // of an element; elements
    const unsigned char *from;
    unsigned char *to;
};

// Where a share begins, in elements.
static size_t begin_of(const struct work *w, int share)
{
    size_t n = (size_t)w->n_share, i = (size_t)share;
    return w->total / n * i + (i < w->total % n ? i : w->total % n);
}

// The next elements of a share: at most so many from `at` on.
static size_t run_of(const struct work *w, int share, size_t at, size_t most)
{
    size_t len = begin_of(w, share + 1) - begin_of(w, share);
    return at >= len ? 0 : len - at < most ? len - at : most;
}

// My share of my host's sum: each rank shows a piece of each share at a time.
static enum pli_err sum_here(const struct work *w)
{
    struct pli_board *b = w->b;
    size_t room = b->window_half / (size_t)w->n_share / w->size * w->size, most = room / w->size;
    size_t longest = begin_of(w, 1);
    for (size_t at = 0; at < longest; at += most) {
        pli_board_begin(b, w->a, w->total * w->size);
        unsigned char *shown = pli_board_show(b);
        for (int i = 0; i < w->n_share; i++) {
            memcpy(shown + (size_t)i * room, w->from + (begin_of(w, i) + at) * w->size,
                   run_of(w, i, at, most) * w->size);
        }
        enum pli_err err = pli_board_meet(b, w->a, w->total * w->size);
        if (err != PLI_OK) {
            return err; // all members of the host see the same, at the first meeting
        }
        size_t n = w->me < w->n_share ? run_of(w, w->me, at, most) : 0;
        if (n == 0) {
            continue;
        }
        unsigned char *to = w->to + (begin_of(w, w->me) + at) * w->size;
        memcpy(to, pli_board_window_of(b, b->n - 1) + (size_t)w->me * room, n * w->size);
        for (int i = b->n - 2; i >= 0; i--) {
            pli_op_apply(w->a->op, pli_board_window_of(b, i) + (size_t)w->me * room, to,
                         (MPI_Count)n, w->a->recv.type);
        }
    }
    return PLI_OK;
}

// The same share of all hosts.
static enum pli_err sum_between(const struct work *w, const struct pli_hostmap *h)
{
    if (w->me >= w->n_share) {
        pli_sched_skip(w->a->comm);
        return PLI_OK;
    }
    struct pli_coll_args across = *w->a;
    across.n = h->n_host;
    across.me = h->my_host;
    across.is_in_place = true;
    across.recv.count = (MPI_Count)(begin_of(w, w->me + 1) - begin_of(w, w->me));
    across.recv.buf = across.send.buf = w->to + begin_of(w, w->me) * w->size;
    struct pli_sched *s;
    enum pli_err err = pli_sched_create(w->a->kind, PLI_SCHED_ONCE, &s);
    if (err == PLI_OK) {
        bool is_long = (size_t)across.recv.count * w->size > LONG;
        pli_sched_on(s, w->a->comm);
        pli_sched_among(s, h->peers + (size_t)w->me * (size_t)h->n_host);
        if (is_long && w->a->op->is_commutative) {
            pli_allreduce_ring(s, &across);
        } else {
            pli_allreduce_doubling(s, &across);
        }
        err = pli_sched_run(s, w->a->comm);
        pli_sched_destroy(s);
    }
    return err;
}

// Each rank that has a share shows the result, a window at a time. After a failure the others of
// the host wait here: a size that no rank has makes them fail.
static enum pli_err spread_here(const struct work *w, enum pli_err far)
{
    struct pli_board *b = w->b;
    size_t most = b->window_half / w->size, longest = begin_of(w, 1);
    for (size_t at = 0; at < longest; at += most) {
        pli_board_begin(b, w->a, far == PLI_OK ? w->total * w->size : UINT64_MAX);
        unsigned char *shown = pli_board_show(b);
        if (w->me < w->n_share) {
            memcpy(shown, w->to + (begin_of(w, w->me) + at) * w->size,
                   run_of(w, w->me, at, most) * w->size);
        }
        enum pli_err err = pli_board_meet(b, w->a, w->total * w->size);
        if (far != PLI_OK || err != PLI_OK) {
            return far != PLI_OK ? far : err;
        }
        for (int k = 1; k <= w->n_share; k++) {
            int i = (w->me + k) % w->n_share;
            if (i != w->me) {
                memcpy(w->to + (begin_of(w, i) + at) * w->size, pli_board_window_of(b, i),
                       run_of(w, i, at, most) * w->size);
            }
        }
    }
    return PLI_OK;
}

enum pli_err pli_allreduce_shares(const struct pli_coll_args *a)
{
    const struct pli_hostmap *h = pli_comm_state_hosts(a->comm);
    size_t fit = a->comm->coll->half / (size_t)a->recv.type->size; // a piece has an element
    struct work w = { .a = a,
                      .b = pli_comm_state_here(a->comm),
                      .n_share = (size_t)h->n_place < fit ? h->n_place : (int)fit,
                      .me = pli_hostmap_index(h, a->comm->rank),
                      .size = (size_t)a->recv.type->size,
                      .total = (size_t)a->recv.count,
                      .from = a->send.buf,
                      .to = (unsigned char *)(uintptr_t)a->recv.buf };
    if (w.b == NULL) { // alone on this host, so every share is mine
        memmove(w.to, w.from, w.from != w.to ? w.total * w.size : 0);
        return sum_between(&w, h);
    }
    enum pli_err err = sum_here(&w);
    enum pli_err far = sum_between(&w, h); // also after a failure: the other hosts wait
    err = err != PLI_OK ? err : pli_err_is_news(far) ? far : PLI_OK; // a failure that all learn of
    return err != PLI_OK ? err : spread_here(&w, far);
}
