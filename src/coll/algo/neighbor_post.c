// SPDX-License-Identifier: BSD-3-Clause
// Neighborhood collectives by postings on the board: each rank posts what it has for its neighbours
// and goes on, and copies what they posted. What is too large for a posting follows as messages
// along the edges.
#include "coll/algorithms.h"
#include "coll/board/board.h"
#include "coll/board/board_post.h"
#include "coll/comm_state.h"
#include "coll/neighbors.h"
#include "coll/piece.h"
#include "coll/sched.h"
#include "coll/sched_run.h"
#include "obj/comm.h"

// One operation, as this rank takes part in it.
struct exchange {
    const struct pli_coll_args *a;
    struct pli_board *b;
    struct pli_neighbors nb;
    bool is_gather; // all neighbours get the same block
    bool is_later;  // mine follows as messages
    bool has_later; // that of another one does
    uint64_t later[PLI_BOARD_POSTS_RANKS / 64];
};

// A posting with a block for each edge begins with the number of edges and one of these for each.
struct edge {
    uint16_t to;  // a rank, or NO_RANK
    uint16_t end; // of its block, from the begin of the posting
};

enum { NO_RANK = UINT16_MAX };

static struct pli_block given(const struct exchange *x, int edge)
{
    const struct pli_blocks *s = &x->a->send;
    return x->is_gather ? pli_blocks_one(s) : pli_blocks_at(s, edge);
}

static size_t table_bytes(size_t n_edge)
{
    return sizeof(uint16_t) + n_edge * sizeof(struct edge);
}

static struct edge edge_at(const unsigned char *posting, int i)
{
    struct edge e;
    memcpy(&e, posting + table_bytes((size_t)i), sizeof e);
    return e;
}

static size_t posted_bytes(const struct exchange *x)
{
    if (x->is_gather) {
        return x->nb.n_out > 0 ? (size_t)pli_blocks_bytes(given(x, 0)) : 0;
    }
    size_t sum = table_bytes((size_t)x->nb.n_out);
    for (int i = 0; i < x->nb.n_out; i++) {
        sum += x->nb.out[i] >= 0 ? (size_t)pli_blocks_bytes(given(x, i)) : 0;
    }
    return sum;
}

static void write_blocks(const struct exchange *x, unsigned char *posting)
{
    uint16_t n = (uint16_t)x->nb.n_out;
    size_t end = table_bytes(n);
    memcpy(posting, &n, sizeof n);
    for (int i = 0; i < n; i++) {
        bool is_there = x->nb.out[i] >= 0;
        struct pli_block from = given(x, i);
        size_t bytes = is_there ? (size_t)pli_blocks_bytes(from) : 0;
        if (bytes > 0) {
            pli_piece_out(&from, 0, posting + end, bytes);
        }
        end += bytes;
        struct edge e = { is_there ? (uint16_t)x->nb.out[i] : NO_RANK, (uint16_t)end };
        memcpy(posting + table_bytes((size_t)i), &e, sizeof e);
    }
}

static enum pli_err give(struct exchange *x)
{
    size_t bytes = posted_bytes(x);
    struct pli_board_slot *slot;
    enum pli_err err = pli_board_post_begin(x->b, x->a, bytes, &slot);
    if (err != PLI_OK) {
        return err;
    }
    unsigned char *to = pli_board_post_place_large(x->b, slot, bytes);
    x->is_later = to == NULL;
    if (to != NULL && !x->is_gather) {
        write_blocks(x, to);
    } else if (to != NULL && bytes > 0) {
        struct pli_block from = given(x, 0);
        pli_piece_out(&from, 0, to, bytes);
    }
    pli_board_post_publish(x->b, slot, PLI_BOARD_POST_TO_ALL);
    return PLI_OK;
}

// Which of the edges in a posting is my edge i; -1: the other rank has none for it.
static int matching_edge(const struct exchange *x, const unsigned char *posting, int i)
{
    uint16_t n;
    memcpy(&n, posting, sizeof n);
    if (x->nb.is_cartesian) {
        return (i ^ 1) < n ? i ^ 1 : -1;
    }
    int before = 0;
    for (int k = 0; k < i; k++) {
        before += x->nb.in[k] == x->nb.in[i];
    }
    int at = 0;
    while (at < n && (edge_at(posting, at).to != x->b->me || before-- > 0)) {
        at++;
    }
    return at < n ? at : -1;
}

static enum pli_err no_edge(const struct exchange *x, int from)
{
    return pli_fail(PLI_ERR_TOPOLOGY,
                    "%s on %s: rank %d is a neighbour that this rank receives from, but does not "
                    "send to this rank as often",
                    pli_coll_kind_info[x->a->kind].name, pli_comm_say(x->a->comm), from);
}

static enum pli_err take(struct exchange *x, int i)
{
    int from = x->nb.in[i];
    struct pli_block to = pli_blocks_at(&x->a->recv, i);
    size_t expected = (size_t)pli_blocks_bytes(to);
    const struct pli_board_slot *slot;
    enum pli_err err = pli_board_post_read(x->b, x->a, from, &slot);
    if (err != PLI_OK) {
        return err;
    }
    if (slot->error == PLI_BOARD_POST_LATER) {
        x->later[from / 64] |= UINT64_C(1) << from % 64;
        x->has_later = true;
        return PLI_OK;
    }
    const unsigned char *data = pli_board_post_data(slot);
    size_t bytes = slot->bytes;
    if (!x->is_gather) {
        int k = matching_edge(x, data, i);
        if (k < 0) {
            return no_edge(x, from);
        }
        uint16_t n;
        memcpy(&n, data, sizeof n);
        size_t start = k > 0 ? edge_at(data, k - 1).end : table_bytes(n);
        bytes = edge_at(data, k).end - start;
        data += start;
    }
    if (__builtin_expect(bytes != expected, 0)) {
        return pli_board_post_misfit(x->a, from, bytes, expected);
    }
    if (bytes > 0) {
        pli_piece_in(&to, 0, data, bytes);
    }
    return PLI_OK;
}

static bool comes_later(const struct exchange *x, int from)
{
    return from >= 0 && (x->later[from / 64] >> from % 64 & 1) != 0;
}

// Messages, for what was too large. All members use up the tag.
__attribute__((cold)) static enum pli_err run_later(struct exchange *x)
{
    const struct pli_coll_args *a = x->a;
    struct pli_sched *s;
    enum pli_err err = pli_sched_create(a->kind, PLI_SCHED_ONCE, &s);
    if (err != PLI_OK) {
        return err;
    }
    pli_sched_on(s, a->comm);
    for (int i = 0; i < x->nb.n_in; i++) {
        int k = x->nb.is_cartesian ? i ^ 1 : i; // as in pli_neighbor_linear
        if (comes_later(x, x->nb.in[k])) {
            struct pli_block in = pli_blocks_at(&a->recv, k);
            pli_sched_recv(s, in.buf, in.count, in.type, x->nb.in[k]);
        }
    }
    for (int i = 0; i < x->nb.n_out && x->is_later; i++) {
        struct pli_block out = given(x, i);
        pli_sched_send(s, out.buf, out.count, out.type, x->nb.out[i]);
    }
    err = pli_sched_run(s, a->comm);
    pli_sched_destroy(s);
    return err;
}

enum pli_err pli_neighbor_post(const struct pli_coll_args *a)
{
    struct exchange x = {
        .a = a,
        .b = pli_comm_state_here(a->comm),
        .is_gather =
            a->kind == PLI_COLL_NEIGHBOR_ALLGATHER || a->kind == PLI_COLL_NEIGHBOR_ALLGATHERV,
    };
    enum pli_err err = pli_neighbors_find(a->comm, &x.nb);
    if (err != PLI_OK) {
        return err;
    }
    err = give(&x);
    bool is_given = err == PLI_OK;
    for (int i = 0; i < x.nb.n_in && is_given; i++) {
        enum pli_err found = x.nb.in[i] >= 0 ? take(&x, i) : PLI_OK;
        err = err == PLI_OK ? found : err;
    }
    pli_board_post_end(x.b);
    if (__builtin_expect(x.is_later || x.has_later, 0)) {
        enum pli_err later = run_later(&x);
        return err == PLI_OK ? later : err;
    }
    pli_sched_skip(a->comm);
    return err;
}
