// SPDX-License-Identifier: BSD-3-Clause
// Alltoall of short blocks on several hosts with the same number of ranks each. Each rank shows its
// blocks on the board; each rank takes those for itself and those for the ranks that have its place
// on the other hosts, and sends to each of these one message with the blocks of all its host.
#include "coll/board/board.h"
#include "coll/algorithms.h"
#include "coll/board/board_hosts.h"
#include "coll/piece.h"
#include "coll/sched.h"
#include "coll/sched_run.h"
#include "coll/comm_state.h"
#include "coll/board/board_window.h"
#include "obj/comm.h"

#include <stdlib.h>

// The operation, seen from here. A message has n_place blocks, in the order of places.
struct work {
    const struct pli_coll_args *a;
    const struct pli_hostmap *h;
    struct pli_board *b;
    int n_place;
    size_t bytes;         // of a block
    unsigned char *out;   // [host][place]: from the ranks of my host
    unsigned char *in;    // [host][place]: to me
    enum pli_err problem; // found before the first meeting
};

static int rank_at(const struct work *w, int host, int place)
{
    return w->h->peers[place * w->h->n_host + host];
}

static unsigned char *block_at(const struct work *w, unsigned char *all, int host, int place)
{
    size_t at = ((size_t)host * (size_t)w->n_place + (size_t)place) * w->bytes;
    return w->problem == PLI_OK ? all + at : all;
}

// n bytes from `done` on of what the member at a place shows: to me, or to my peer on that host.
static void take(const struct work *w, int place, size_t done, size_t n)
{
    const unsigned char *shown = pli_board_window_of(w->b, place);
    for (int host = 0; host < w->h->n_host; host++) {
        const unsigned char *from = shown + (size_t)rank_at(w, host, w->b->me) * n;
        if (host != w->h->my_host) {
            memcpy(block_at(w, w->out, host, place) + done, from, n);
            continue;
        }
        struct pli_block to = pli_blocks_at(&w->a->recv, rank_at(w, host, place));
        pli_piece_in(&to, done, from, n);
    }
}

// Inside the host, a piece of every block at a time.
static enum pli_err collect(const struct work *w)
{
    const struct pli_coll_args *a = w->a;
    const struct pli_blocks *from = a->is_in_place ? &a->recv : &a->send;
    struct pli_board *b = w->b;
    size_t most = b->window_half / (size_t)a->n, done = 0;
    do {
        size_t n = w->bytes - done < most ? w->bytes - done : most;
        pli_board_begin(b, a, w->problem == PLI_OK ? w->bytes : UINT64_MAX);
        unsigned char *shown = pli_board_show(b);
        for (int i = 0; i < a->n; i++) {
            struct pli_block block = pli_blocks_at(from, i);
            pli_piece_out(&block, done, shown + (size_t)i * n, n);
        }
        enum pli_err err = pli_board_meet(b, a, w->bytes);
        if (w->problem != PLI_OK || err != PLI_OK) {
            return w->problem != PLI_OK ? w->problem : err;
        }
        for (int k = 0; k < b->n; k++) {
            take(w, (b->me + k) % b->n, done, n);
        }
        done += n;
    } while (done < w->bytes);
    return PLI_OK;
}

// One message to and from each other host. After a failure the others wait for theirs: one of a
// size that no rank expects makes them fail.
static enum pli_err exchange(const struct work *w, enum pli_err here)
{
    struct pli_sched *s;
    enum pli_err err =
        pli_err_is_news(here) ? here : pli_sched_create(w->a->kind, PLI_SCHED_ONCE, &s);
    if (err != PLI_OK) {
        return err; // of a death all hear
    }
    struct pli_datatype *byte = pli_datatype_basic(MPI_BYTE);
    MPI_Count all = (MPI_Count)((size_t)w->n_place * w->bytes);
    MPI_Count in = w->problem == PLI_OK ? all : 0, out = here == PLI_OK ? all : all == 0;
    int n = w->h->n_host;
    pli_sched_on(s, w->a->comm);
    pli_sched_among(s, w->h->peers + (size_t)w->b->me * (size_t)n);
    for (int k = 1; k < n; k++) {
        int host = (w->h->my_host - k + n) % n;
        pli_sched_recv(s, block_at(w, w->in, host, 0), in, byte, host);
    }
    for (int k = 1; k < n; k++) {
        int host = (w->h->my_host + k) % n;
        pli_sched_send(s, block_at(w, w->out, host, 0), out, byte, host);
    }
    err = pli_sched_run(s, w->a->comm);
    pli_sched_destroy(s);
    return here != PLI_OK ? here : err;
}

enum pli_err pli_alltoall_board_hosts(const struct pli_coll_args *a)
{
    struct work w = { .a = a,
                      .h = pli_comm_state_hosts(a->comm),
                      .b = pli_comm_state_here(a->comm),
                      .bytes = (size_t)pli_coll_args_bytes(a) };
    w.n_place = w.b->n;
    size_t all = (size_t)a->n * w.bytes;
    unsigned char *room = malloc(2 * all + 1), nothing = 0;
    w.out = room != NULL ? room : &nothing;
    w.in = room != NULL ? room + all : &nothing;
    if (room == NULL) {
        w.problem = pli_fail(PLI_ERR_NOMEM, "no memory for %zu bytes of blocks on their way", all);
    }
    enum pli_err err = exchange(&w, collect(&w));
    for (int host = 0; host < w.h->n_host && err == PLI_OK; host++) {
        for (int place = 0; place < w.n_place && host != w.h->my_host; place++) {
            struct pli_block to = pli_blocks_at(&a->recv, rank_at(&w, host, place));
            pli_piece_in(&to, 0, block_at(&w, w.in, host, place), w.bytes);
        }
    }
    free(room);
    return err;
}
