// SPDX-License-Identifier: BSD-3-Clause
// Allgather on several hosts with the same number of ranks each: the first ranks of all hosts
// exchange their blocks, so do the second ones and so on, and inside each host each rank shows what
// it has got. So each block goes to a host once, and all cores and connections work.
#include "coll/board/board.h"
#include "coll/algorithms.h"
#include "coll/board/board_hosts.h"
#include "coll/piece.h"
#include "coll/sched.h"
#include "coll/sched_run.h"
#include "coll/comm_state.h"
#include "coll/board/board_window.h"
#include "obj/comm.h"

enum { LONG = 32 * 1024 };

// The ranks that have my place on the other hosts, and I.
static const int *peers_of(const struct pli_hostmap *h, int place)
{
    return h->peers + (size_t)place * (size_t)h->n_host;
}

static enum pli_err exchange(const struct pli_coll_args *a, const struct pli_hostmap *h, int place)
{
    struct pli_sched *s;
    enum pli_err err = pli_sched_create(a->kind, PLI_SCHED_ONCE, &s);
    if (err != PLI_OK) {
        return err;
    }
    const int *peers = peers_of(h, place);
    pli_sched_on(s, a->comm);
    pli_sched_among(s, peers);
    MPI_Count *places = pli_sched_bytes(s, 2 * (size_t)h->n_host * sizeof *places);
    for (int i = 0; i < h->n_host && pli_sched_ok(s); i++) {
        places[i] = a->recv.count;
        places[h->n_host + i] = peers[i] * a->recv.count;
    }
    struct pli_coll_args across = *a;
    across.n = h->n_host;
    across.me = h->my_host;
    across.recv.counts = (struct pli_ints){ places, true };
    across.recv.displs = (struct pli_ints){ places + h->n_host, true };
    if (pli_sched_ok(s)) {
        bool is_long = pli_coll_args_bytes(a) > LONG;
        (is_long ? pli_allgather_ring : pli_allgather_linear)(s, &across);
    }
    err = pli_sched_run(s, a->comm);
    pli_sched_destroy(s);
    return err;
}

// n bytes from byte `at` on of the blocks of a place, one after the other, to or from a window.
static void move(const struct pli_coll_args *a, const int *peers, size_t bytes, size_t at,
                 unsigned char *shown, size_t n, bool is_out)
{
    while (n > 0) {
        struct pli_block block = pli_blocks_at(&a->recv, peers[at / bytes]);
        size_t done = at % bytes, some = bytes - done < n ? bytes - done : n;
        if (is_out) {
            pli_piece_out(&block, done, shown, some);
        } else {
            pli_piece_in(&block, done, shown, some);
        }
        at += some;
        shown += some;
        n -= some;
    }
}

enum pli_err pli_allgather_board_hosts(const struct pli_coll_args *a)
{
    const struct pli_hostmap *h = pli_comm_state_hosts(a->comm);
    struct pli_board *b = pli_comm_state_here(a->comm);
    size_t bytes = (size_t)pli_coll_args_bytes(a), total = bytes * (size_t)h->n_host, done = 0;
    enum pli_err far = exchange(a, h, b->me);
    if (pli_err_is_news(far)) {
        return far; // the others hear it too
    }
    do {
        size_t n = total - done < b->window_half ? total - done : b->window_half;
        // After a failure the others of the host wait here: a size that no rank has makes them
        // fail.
        pli_board_begin(b, a, far == PLI_OK ? bytes : UINT64_MAX);
        unsigned char *shown = pli_board_show(b);
        if (far == PLI_OK) {
            move(a, peers_of(h, b->me), bytes, done, shown, n, true);
        }
        enum pli_err err = pli_board_meet(b, a, bytes);
        if (far != PLI_OK || err != PLI_OK) {
            return far != PLI_OK ? far : err;
        }
        for (int k = 1; k < b->n; k++) {
            int i = (b->me + k) % b->n;
            move(a, peers_of(h, i), bytes, done,
                 (unsigned char *)(uintptr_t)pli_board_window_of(b, i), n, false);
        }
        done += n;
    } while (done < total);
    return PLI_OK;
}
