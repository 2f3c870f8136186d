// SPDX-License-Identifier: BSD-3-Clause
// The table of algorithms. Rows of an operation are tried from the top; the last one always fits. A
// limit that is not given is none.
#include "coll/coll_select.h"

#include "base/conf.h"
#include "base/log.h"
#include "boot/boot.h"
#include "coll/board/board.h"
#include "coll/coll_explain.h"
#include "coll/coll_tune.h"
#include "coll/coll_args.h"
#include "coll/algorithms.h"
#include "coll/board/board_hosts.h"
#include "coll/board/board_post.h"
#include "coll/sched.h"
#include "coll/comm_state.h"
#include "coll/board/board_window.h"
#include "msg/lane.h"
#include "msg/request.h"
#include "obj/comm.h"
#include "obj/op.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum need {
    COMMUTES = 1,    // the operation does not care about order
    FORCED = 2,      // taken only when the setting names it
    BOARD = 4,       // blocking, all members on one host
    WINDOW = 8,      // and each has memory to show data in
    DENSE = 16,      // elements lie close together
    HOSTS = 32,      // members on several hosts, numbered host by host if order matters
    HERE = 64,       // blocking, and every host has a board of its members
    EVEN = 128,      // and each has the same number of them
    CORES = 512,     // and there is a core for each
    CROWDED = 4096,  // and there is not
    SLICES = 256,    // a window has room for an element of every rank
    APART = 2048,    // not in place
    ONE_HOST = 8192, // all members on one host
    SEVERAL = 16384, // members on several hosts, however many on each
    ROOM = 32768,    // all members on one host that has a core for each, whatever else runs there
    TURNS = 65536,   // all members on one host that has fewer cores
    STAYS = 1024,    // a job that ends when a rank dies: nobody leaves while others read its buffer
};

// So many ranks on one host are endpoints of few processes: the least messages in all count, and
// not the fewest steps of each.
enum { KIB = 1024, N_ROW = 14, MANY_RANKS = PLI_SCHED_MANY_RANKS };

// clang-format off
static const struct pli_coll_algo table[PLI_N_COLL][N_ROW] = {
    [PLI_COLL_BARRIER] = {
        { "board", "flags in shared memory", .direct = pli_barrier_board, .needs = BOARD },
        { "nodes", "flags inside hosts, messages between",
          .direct = pli_barrier_board_hosts, .needs = HOSTS | HERE },
        { "hier", "inside hosts, then between", .build = pli_barrier_hier, .needs = HOSTS },
        { "tree", "up to rank 0 and back", .build = pli_barrier_tree, .min_rank = MANY_RANKS },
        { "dissem", "rounds of messages, each four times as far", .build = pli_barrier_dissem },
    },
    [PLI_COLL_BCAST] = {
        { "board", "a ring in shared memory, or a message of two",
          .direct = pli_bcast_board, .needs = BOARD },
        { "nodes", "messages between hosts, rings inside",
          .direct = pli_bcast_board_hosts, .needs = HOSTS | HERE },
        { "hier", "inside hosts, then between", .build = pli_bcast_hier, .needs = HOSTS },
        { "linear", "the root to every rank",
          .build = pli_bcast_linear, .needs = TURNS, .max_rank = 31 },
        { "binomial", "a tree, each rank passes it on",
          .build = pli_bcast_binomial, .max_bytes = 1024 * KIB },
        { "chain", "in pieces from rank to rank", .build = pli_bcast_chain },
    },
    [PLI_COLL_GATHER] = {
        { "board", "postings in shared memory",
          .direct = pli_move_post_gather, .needs = BOARD,
          .max_bytes = PLI_BOARD_POST_MAX, .max_rank = PLI_BOARD_POSTS_RANKS },
        { "board", "the same, and the blocks as messages",
          .direct = pli_move_post_gather, .needs = BOARD | CROWDED,
          .min_bytes = PLI_BOARD_POST_MAX + 1, .max_rank = PLI_BOARD_POSTS_RANKS },
        { "cma", "one copy, or as below if that is faster",
          .direct = pli_move_cma_gather, .needs = BOARD | CORES | STAYS, .min_bytes = 32 * KIB },
        { "windows", "windows in shared memory",
          .direct = pli_gather_windows, .needs = BOARD | CORES },
        { "binomial", "a tree, blocks collected on the way",
          .build = pli_gather_binomial, .max_bytes = 2 * KIB, .min_rank = 32 },
        { "linear", "every rank to the root", .build = pli_gather_linear },
    },
    [PLI_COLL_GATHERV] = {
        { "board", "postings in shared memory, or messages",
          .direct = pli_move_post_gather, .needs = BOARD,
          .max_rank = PLI_BOARD_POSTS_RANKS },
        { "linear", "every rank to the root", .build = pli_gather_linear },
    },
    [PLI_COLL_SCATTER] = {
        { "cma", "one copy, or as below if that is faster",
          .direct = pli_move_cma_scatter, .needs = BOARD | CORES | STAYS,
          .min_bytes = 16 * KIB + 1 },
        { "board", "postings in shared memory, or messages",
          .direct = pli_move_post_scatter, .needs = BOARD, .max_bytes = 16 * KIB,
          .max_rank = PLI_BOARD_POSTS_RANKS },
        { "board", "the same, and the blocks as messages",
          .direct = pli_move_post_scatter, .needs = BOARD | CROWDED, .min_bytes = 16 * KIB + 1,
          .max_rank = PLI_BOARD_POSTS_RANKS },
        { "binomial", "a tree, blocks handed on",
          .build = pli_scatter_binomial, .max_bytes = 2 * KIB, .min_rank = 32 },
        { "binomial", "as above, for fewer ranks",
          .build = pli_scatter_binomial, .needs = SEVERAL, .max_bytes = 2 * KIB, .min_rank = 8 },
        { "linear", "the root to every rank", .build = pli_scatter_linear },
    },
    [PLI_COLL_SCATTERV] = {
        { "board", "postings in shared memory, or messages",
          .direct = pli_move_post_scatter, .needs = BOARD,
          .max_rank = PLI_BOARD_POSTS_RANKS },
        { "linear", "the root to every rank", .build = pli_scatter_linear },
    },
    [PLI_COLL_ALLGATHER] = {
        { "slots", "slots in shared memory",
          .direct = pli_allgather_slots, .needs = BOARD, .max_bytes = PLI_BOARD_INLINE },
        { "cma", "one copy, or as below if that is faster",
          .direct = pli_move_cma_allgather, .needs = BOARD | CORES | STAYS, .min_bytes = 32 * KIB },
        { "board", "windows in shared memory",
          .direct = pli_allgather_board, .needs = BOARD | WINDOW },
        { "nodes", "messages between hosts, windows inside",
          .direct = pli_allgather_board_hosts, .needs = HOSTS | HERE | WINDOW | EVEN },
        { "linear", "every rank to every rank",
          .build = pli_allgather_linear, .max_bytes = 32 * KIB, .max_rank = 8 },
        { "bruck", "rounds, known blocks double",
          .build = pli_allgather_bruck, .max_bytes = 4 * KIB },
        { "linear", "as above, for more ranks",
          .build = pli_allgather_linear, .max_bytes = 32 * KIB, .max_rank = 16 },
        { "ring", "blocks go around", .build = pli_allgather_ring, .needs = ROOM, .min_rank = 5 },
        { "turns", "every rank to every rank, received in turn",
          .build = pli_allgather_turns, .needs = ONE_HOST, .max_bytes = 512 * KIB, .max_rank = 64 },
        { "ring", "as above, for all others", .build = pli_allgather_ring },
    },
    [PLI_COLL_ALLGATHERV] = {
        { "board", "postings in shared memory",
          .direct = pli_move_post_allgatherv, .needs = BOARD,
          .max_bytes = 4 * PLI_BOARD_POST_MAX, .max_rank = PLI_BOARD_POSTS_RANKS },
        { "cma", "one copy, or as below if that is faster",
          .direct = pli_move_cma_allgatherv, .needs = BOARD | CORES | STAYS,
          .min_bytes = 64 * KIB },
        { "windows", "windows in shared memory",
          .direct = pli_allgather_board, .needs = BOARD | CORES | WINDOW },
        { "linear", "every rank to every rank",
          .build = pli_allgather_linear, .max_bytes = 32 * KIB, .max_rank = 32 },
        { "ring", "blocks go around", .build = pli_allgather_ring, .needs = ROOM, .min_rank = 5 },
        { "linear", "as above, for larger blocks",
          .build = pli_allgather_linear, .max_bytes = 256 * KIB, .max_rank = 32 },
        { "turns", "every rank to every rank, received in turn",
          .build = pli_allgather_turns, .needs = ONE_HOST,
          .max_bytes = 4096 * KIB, .max_rank = 64 },
        { "ring", "as above, for all others", .build = pli_allgather_ring },
    },
    [PLI_COLL_ALLTOALL] = {
        { "slots", "slots in shared memory",
          .direct = pli_alltoall_slots, .needs = BOARD, .max_all = PLI_BOARD_INLINE },
        { "cma", "one copy, or as below if that is faster",
          .direct = pli_move_cma_alltoall, .needs = BOARD | CORES | STAYS, .min_bytes = 16 * KIB },
        { "linear", "everything at once, as a partner may wait for its core",
          .build = pli_alltoall_linear, .needs = TURNS, .min_bytes = 64 * KIB + 1,
          .max_rank = 64 },
        { "board", "windows in shared memory",
          .direct = pli_alltoall_board, .needs = BOARD | WINDOW, .max_rank = 256 },
        { "nodes", "windows inside hosts, messages between",
          .direct = pli_alltoall_board_hosts, .needs = HOSTS | HERE | WINDOW | EVEN,
          .max_bytes = 4 * KIB, .max_rank = 256 },
        { "bruck", "rounds of collected small blocks",
          .build = pli_alltoall_bruck, .max_bytes = 256, .min_rank = 32 },
        { "bruck", "as above, for fewer ranks",
          .build = pli_alltoall_bruck, .needs = SEVERAL, .max_bytes = 256, .min_rank = 16 },
        { "linear", "everything at once", .build = pli_alltoall_linear, .max_bytes = 64 * KIB },
        { "pairwise", "one partner at a time", .build = pli_alltoall_pairwise },
    },
    [PLI_COLL_ALLTOALLV] = {
        { "board", "postings in shared memory, or messages",
          .direct = pli_move_post_alltoallv, .needs = BOARD | APART, .max_rank = 64 },
        { "linear", "everything at once", .build = pli_alltoall_linear, .max_rank = 64 },
        { "pairwise", "one partner at a time", .build = pli_alltoall_pairwise },
    },
    [PLI_COLL_ALLTOALLW] = {
        { "board", "postings in shared memory, or messages",
          .direct = pli_move_post_alltoallv, .needs = BOARD | APART, .max_rank = 64 },
        { "linear", "everything at once", .build = pli_alltoall_linear, .max_rank = 64 },
        { "pairwise", "one partner at a time", .build = pli_alltoall_pairwise },
    },
    [PLI_COLL_REDUCE] = {
        { "board", "slots in shared memory",
          .direct = pli_reduce_board, .needs = BOARD | DENSE, .max_bytes = PLI_BOARD_INLINE },
        { "whole", "windows in shared memory",
          .direct = pli_allreduce_whole,
          .needs = BOARD | WINDOW | DENSE, .max_bytes = PLI_BOARD_WINDOW_SMALL, .max_rank = 64 },
        { "nodes", "shared memory inside hosts, messages between",
          .direct = pli_reduce_board_hosts,
          .needs = HOSTS | HERE | WINDOW | DENSE, .max_bytes = PLI_BOARD_WINDOW_SMALL },
        { "hier", "inside hosts, then between", .build = pli_reduce_hier, .needs = HOSTS },
        { "binomial", "a tree, combined on the way", .build = pli_reduce_binomial },
    },
    [PLI_COLL_ALLREDUCE] = {
        { "board", "slots in shared memory",
          .direct = pli_reduce_board, .needs = BOARD | DENSE, .max_bytes = PLI_BOARD_INLINE },
        { "whole", "all combine all windows in shared memory",
          .direct = pli_allreduce_whole,
          .needs = BOARD | WINDOW | DENSE, .max_bytes = 2 * KIB, .max_rank = 32 },
        { "split", "each combines a share of the windows",
          .direct = pli_allreduce_split, .needs = BOARD | WINDOW | DENSE, .max_rank = 256 },
        { "nodes", "shared memory inside hosts, messages between",
          .direct = pli_reduce_board_hosts,
          .needs = HOSTS | HERE | WINDOW | DENSE, .max_bytes = PLI_BOARD_WINDOW_SMALL },
        { "shares", "each rank of a host has a share of the vector",
          .direct = pli_allreduce_shares, .needs = HOSTS | HERE | WINDOW | DENSE },
        { "hier", "inside hosts, then between", .build = pli_allreduce_hier, .needs = HOSTS },
        { "tree", "reduce to rank 0, then broadcast",
          .build = pli_allreduce_tree, .min_rank = MANY_RANKS },
        { "doubling", "pairs exchange, at doubling distance",
          .build = pli_allreduce_doubling, .max_bytes = 32 * KIB, .max_rank = 2 },
        { "doubling", "as above, for more ranks",
          .build = pli_allreduce_doubling, .max_bytes = 16 * KIB },
        { "halving", "pairs exchange halves, and return them combined",
          .build = pli_allreduce_halving, .needs = COMMUTES, .max_bytes = 4096 * KIB },
        { "ring", "pieces go around twice", .build = pli_allreduce_ring, .needs = COMMUTES },
        { "tree", "as above, for fewer ranks", .build = pli_allreduce_tree, .needs = FORCED },
        { "doubling", "as above, for operations with an order", .build = pli_allreduce_doubling },
    },
    [PLI_COLL_REDUCE_SCATTER] = {
        { "slots", "slots in shared memory",
          .direct = pli_reduce_scatter_slots, .needs = BOARD | DENSE,
          .max_bytes = PLI_BOARD_INLINE },
        { "board", "each combines its block of the windows",
          .direct = pli_reduce_scatter_board,
          .needs = BOARD | WINDOW | DENSE | SLICES, .max_rank = 256 },
        { "doubling", "an allreduce, of which each keeps its block; a reduce for one rank",
          .build = pli_reduce_scatter_doubling, .max_bytes = 8 * KIB, .min_rank = 3 },
        { "ring", "pieces go around once", .build = pli_reduce_scatter_ring, .needs = COMMUTES },
        { "tree", "reduce to rank 0, then hand out", .build = pli_reduce_scatter_tree },
    },
    [PLI_COLL_REDUCE_SCATTER_BLOCK] = {
        { "slots", "slots in shared memory",
          .direct = pli_reduce_scatter_slots, .needs = BOARD | DENSE,
          .max_bytes = PLI_BOARD_INLINE },
        { "board", "each combines its block of the windows",
          .direct = pli_reduce_scatter_board,
          .needs = BOARD | WINDOW | DENSE | SLICES, .max_rank = 256 },
        { "doubling", "an allreduce, of which each keeps its block",
          .build = pli_reduce_scatter_doubling, .max_bytes = 8 * KIB, .min_rank = 3 },
        { "ring", "pieces go around once", .build = pli_reduce_scatter_ring, .needs = COMMUTES },
        { "tree", "reduce to rank 0, then hand out", .build = pli_reduce_scatter_tree },
    },
    [PLI_COLL_SCAN] = {
        { "board", "postings from rank to rank",
          .direct = pli_scan_board,
          .needs = BOARD | DENSE, .max_bytes = PLI_BOARD_POST_MAX, .max_rank = 64 },
        { "doubling", "at doubling distance", .build = pli_scan_doubling },
        { "linear", "from rank to rank", .build = pli_scan_linear, .needs = FORCED },
    },
    [PLI_COLL_EXSCAN] = {
        { "board", "postings from rank to rank",
          .direct = pli_scan_board,
          .needs = BOARD | DENSE, .max_bytes = PLI_BOARD_POST_MAX, .max_rank = 64 },
        { "doubling", "at doubling distance", .build = pli_scan_doubling },
        { "linear", "from rank to rank", .build = pli_scan_linear, .needs = FORCED },
    },
    [PLI_COLL_NEIGHBOR_ALLGATHER] = {
        { "board", "postings in shared memory, or messages",
          .direct = pli_neighbor_post, .needs = BOARD, .max_rank = PLI_BOARD_POSTS_RANKS },
        { "linear", "a message along every edge", .build = pli_neighbor_linear },
    },
    [PLI_COLL_NEIGHBOR_ALLGATHERV] = {
        { "board", "postings in shared memory, or messages",
          .direct = pli_neighbor_post, .needs = BOARD, .max_rank = PLI_BOARD_POSTS_RANKS },
        { "linear", "a message along every edge", .build = pli_neighbor_linear },
    },
    [PLI_COLL_NEIGHBOR_ALLTOALL] = {
        { "board", "postings in shared memory, or messages",
          .direct = pli_neighbor_post, .needs = BOARD, .max_rank = PLI_BOARD_POSTS_RANKS },
        { "linear", "a message along every edge", .build = pli_neighbor_linear },
    },
    [PLI_COLL_NEIGHBOR_ALLTOALLV] = {
        { "board", "postings in shared memory, or messages",
          .direct = pli_neighbor_post, .needs = BOARD, .max_rank = PLI_BOARD_POSTS_RANKS },
        { "linear", "a message along every edge", .build = pli_neighbor_linear },
    },
    [PLI_COLL_NEIGHBOR_ALLTOALLW] = {
        { "board", "postings in shared memory, or messages",
          .direct = pli_neighbor_post, .needs = BOARD, .max_rank = PLI_BOARD_POSTS_RANKS },
        { "linear", "a message along every edge", .build = pli_neighbor_linear },
    },
};
// clang-format on

static const struct pli_coll_algo *forced[PLI_N_COLL];
static const struct pli_coll_algo *_Atomic taken[PLI_N_COLL]; // last, while is_special
static bool is_special; // an algorithm is forced, a table was read, or choices are explained
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool is_word(const char *at, size_t len, const char *word)
{
    return strlen(word) == len && strncmp(at, word, len) == 0;
}

// Say what exists instead of a name that does not.
static void complain(const char *at, size_t len, int kind)
{
    char there[256] = "";
    for (int i = 0; i < (kind < 0 ? (int)PLI_N_COLL : (int)N_ROW); i++) {
        const char *word = kind < 0 ? pli_coll_kind_info[i].name : table[kind][i].name;
        if (word != NULL && strstr(there, word) == NULL) {
            strncat(there, there[0] != '\0' ? ", " : "", sizeof there - strlen(there) - 1);
            strncat(there, word, sizeof there - strlen(there) - 1);
        }
    }
    pli_log(PLI_WARN, "PLIANT_COLL: there is no %s '%.*s'; there is %s",
            kind < 0 ? "collective operation" : "algorithm", (int)len, at, there);
}

static void force(const char *op, size_t op_len, const char *algo, size_t algo_len)
{
    for (int k = 0; k < PLI_N_COLL; k++) {
        if (!is_word(op, op_len, pli_coll_kind_info[k].name)) {
            continue;
        }
        for (int i = 0; i < N_ROW && table[k][i].name != NULL; i++) {
            if (is_word(algo, algo_len, table[k][i].name)) {
                forced[k] = &table[k][i];
                return;
            }
        }
        complain(algo, algo_len, k);
        return;
    }
    complain(op, op_len, -1);
}

const struct pli_coll_algo *pli_coll_select_named(int kind, const char *name)
{
    for (int i = 0; i < N_ROW && table[kind][i].name != NULL; i++) {
        if (strcmp(name, table[kind][i].name) == 0) {
            return &table[kind][i];
        }
    }
    return NULL;
}

const struct pli_coll_algo *pli_coll_select_row(int kind, int i)
{
    bool is_row = kind >= 0 && kind < PLI_N_COLL && i >= 0 && i < N_ROW;
    return is_row && table[kind][i].name != NULL ? &table[kind][i] : NULL;
}

// PLIANT_COLL=allreduce:ring,bcast:binomial
static void read_setting(void)
{
    const char *at = pli_conf.coll;
    is_special = *at != '\0' || pli_coll_tune_open(pli_conf.coll_rules) || pli_coll_explain_open();
    while (*at != '\0') {
        size_t len = strcspn(at, ",");
        size_t op_len = strcspn(at, ":,");
        if (op_len == len) {
            if (len > 0) {
                pli_log(PLI_WARN, "PLIANT_COLL: '%.*s' is not operation:algorithm", (int)len, at);
            }
        } else {
            force(at, op_len, at + op_len + 1, len - op_len - 1);
        }
        at += len + (at[len] == ',');
    }
}

// Whether the datatype's elements can be combined in shared memory as they are.
static bool is_dense(const struct pli_datatype *t)
{
    return t->is_dense && t->true_lb == 0 && t->extent == t->size &&
           t->size <= PLI_BOARD_WINDOW_SMALL;
}

// All members see the same: they belong to one job, and the cores are those that it was given when
// it began.
static bool has_cores(const struct pli_coll_args *a, bool for_each)
{
    bool is_enough = (uint32_t)a->n <= pli_node_first_cores(pli_proc.boot->node.header);
    return pli_comm_state_hosts(a->comm)->n_host == 1 && is_enough == for_each;
}

// PLI_AGAIN: it cannot. Asking for a board or a window may make one: all members ask in the same
// order, and may find there that they disagree, which is the failure.
static enum pli_err can_do(const struct pli_coll_algo *r, const struct pli_coll_args *a,
                           bool is_blocking, bool is_wanted)
{
    if ((r->needs & COMMUTES && !a->op->is_commutative) ||
        (r->needs & STAYS && pli_request_may_be_withdrawn) ||
        (r->needs & APART && a->is_in_place) || (r->needs & DENSE && !is_dense(a->recv.type)) ||
        (r->needs & SLICES && a->recv.type->size * a->n > PLI_BOARD_WINDOW_SMALL)) {
        return PLI_AGAIN;
    }
    if (r->needs & HOSTS) {
        const struct pli_hostmap *h = pli_comm_state_hosts(a->comm);
        bool keeps_order = a->op == NULL || a->op->is_commutative || h->is_grouped;
        bool is_even = h->n_place * h->n_host == a->n;
        if (h->n_host <= 1 || h->n_host == a->n || !keeps_order || (r->needs & EVEN && !is_even)) {
            return PLI_AGAIN;
        }
        if ((r->needs & HERE) == 0) {
            return PLI_OK;
        }
        return is_blocking
                   ? pli_board_hosts_ready(a, r->needs & WINDOW ? pli_board_window_need(a) : 0)
                   : PLI_AGAIN;
    }
    if (r->needs & (ONE_HOST | SEVERAL) &&
        (pli_comm_state_hosts(a->comm)->n_host > 1) != ((r->needs & SEVERAL) != 0)) {
        return PLI_AGAIN;
    }
    if (!is_wanted &&
        ((r->needs & ROOM && !has_cores(a, true)) || (r->needs & TURNS && !has_cores(a, false)))) {
        return PLI_AGAIN;
    }
    if ((r->needs & BOARD) == 0) {
        return PLI_OK;
    }
    struct pli_board *b = is_blocking ? pli_comm_state_board(a->comm) : NULL;
    if (b == NULL || (r->needs & CORES && b->is_oversubscribed && !is_wanted) ||
        (r->needs & CROWDED && !b->is_oversubscribed && !is_wanted)) {
        return PLI_AGAIN;
    }
    return r->needs & WINDOW ? pli_board_widen(b, a, pli_board_window_need(a)) : PLI_OK;
}

static bool is_within(const struct pli_coll_algo *r, MPI_Count bytes, int n)
{
    return bytes >= r->min_bytes && (r->max_bytes == 0 || bytes <= r->max_bytes) &&
           n >= r->min_rank && (r->max_rank == 0 || n <= r->max_rank) &&
           (r->max_all == 0 || bytes <= r->max_all / n);
}

// The first row that fits, from one on.
static enum pli_err first_fitting(const struct pli_coll_args *a, bool is_blocking, MPI_Count bytes,
                                  const struct pli_coll_algo *r, const struct pli_coll_algo **out)
{
    enum pli_err err = PLI_AGAIN;
    for (; err == PLI_AGAIN; r++) {
        if ((r->needs & FORCED) == 0 && is_within(r, bytes, a->comm->size)) {
            *out = r;
            err = can_do(r, a, is_blocking, false);
        }
    }
    return err;
}

// Why a row is not taken, without asking for a board.
static const char *why_not(const struct pli_coll_algo *r, const struct pli_coll_args *a,
                           bool is_blocking, MPI_Count bytes)
{
    const struct pli_hostmap *h = r->needs & HOSTS ? pli_comm_state_hosts(a->comm) : NULL;
    return r->needs & FORCED ? "only when asked for"
           : (r->max_bytes != 0 && bytes > r->max_bytes) ||
                   (r->max_all != 0 && bytes > r->max_all / a->comm->size)
               ? "too large for it"
           : bytes < r->min_bytes                          ? "too small for it"
           : a->comm->size < r->min_rank                   ? "too few ranks for it"
           : !is_within(r, bytes, a->comm->size)           ? "too many ranks for it"
           : (r->needs & (BOARD | HERE)) && !is_blocking   ? "only for blocking calls"
           : r->needs & COMMUTES && !a->op->is_commutative ? "the operation does not commute"
           : r->needs & DENSE && !is_dense(a->recv.type)   ? "the type has holes or is large"
           : r->needs & APART && a->is_in_place            ? "not with MPI_IN_PLACE"
           : r->needs & STAYS && pli_request_may_be_withdrawn
               ? "not in a job that goes on when a rank dies, whose memory others may be reading"
           : r->needs & SLICES && a->recv.type->size * a->n > PLI_BOARD_WINDOW_SMALL
               ? "an element of every rank does not fit a window"
           : h != NULL && (h->n_host <= 1 || h->n_host == a->n)
               ? "only where several hosts have several ranks"
           : r->needs & ROOM     ? "only on one host with a core for each rank"
           : r->needs & TURNS    ? "only on one host with fewer cores than ranks"
           : r->needs & ONE_HOST ? "only on one host"
           : r->needs & SEVERAL  ? "only on several hosts"
           : r->needs & CORES && pli_lane_is_oversubscribed()    ? "only with a core for each rank"
           : r->needs & CROWDED && !pli_lane_is_oversubscribed() ? "only with more ranks than cores"
           : r->needs & BOARD
               ? "the members have no board: several hosts, no memory, or it is made "
                 "at the third collective"
               : "it cannot do this here";
}

// One line per communicator, operation and power of two of the size, by rank 0.
static void explain(const struct pli_coll_args *a, bool is_blocking, MPI_Count bytes,
                    const char *source, const struct pli_coll_algo *r)
{
    if (a->comm->rank != 0 || !pli_coll_explain_is_new(a->comm, a->kind, is_blocking, bytes, r)) {
        return;
    }
    char passed[512] = "";
    size_t n = 0;
    for (int i = 0; source == NULL && &table[a->kind][i] != r && n < sizeof passed; i++) {
        const struct pli_coll_algo *other = &table[a->kind][i];
        n += (size_t)snprintf(passed + n, sizeof passed - n, "%s%s: %s", i > 0 ? "; " : "",
                              other->name, why_not(other, a, is_blocking, bytes));
    }
    pli_coll_explain_tell(a->comm, pli_coll_kind_info[a->kind].name, is_blocking, bytes, r->name,
                          source != NULL ? source
                          : n == 0       ? "the first of its algorithms fits"
                                         : "the first that fits",
                          passed);
}

// What a setting or the table of mpiinfo --tune names comes first, where it can do the operation.
__attribute__((cold)) static enum pli_err select_special(const struct pli_coll_args *a,
                                                         bool is_blocking, MPI_Count bytes,
                                                         const struct pli_coll_algo **out)
{
    int n = a->comm->size;
    const struct pli_coll_algo *r = forced[a->kind];
    const char *source = "PLIANT_COLL names it";
    if (r == NULL && is_blocking) {
        r = pli_coll_tune_find(a->comm, a->kind, bytes);
        source = "it was the fastest when mpiinfo --tune measured";
    }
    bool is_limited =
        r != NULL && (r->needs & (BOARD | HERE)) != 0; // by what fits in shared memory
    enum pli_err err = PLI_AGAIN;
    if (r != NULL && (!is_limited || is_within(r, bytes, n))) {
        err = can_do(r, a, is_blocking, true);
        *out = r;
    }
    if (err == PLI_AGAIN) {
        source = NULL;
        err = first_fitting(a, is_blocking, bytes, table[a->kind], out);
    }
    atomic_store_explicit(&taken[a->kind], *out, memory_order_relaxed);
    if (err == PLI_OK && pli_coll_explain_open()) {
        explain(a, is_blocking, bytes, source, *out);
    }
    return err;
}

enum pli_err pli_coll_select(const struct pli_coll_args *a, bool is_blocking,
                             const struct pli_coll_algo **out)
{
    pthread_once(&once, read_setting);
    MPI_Count bytes = pli_coll_args_bytes(a);
    return __builtin_expect(is_special, 0)
               ? select_special(a, is_blocking, bytes, out)
               : first_fitting(a, is_blocking, bytes, table[a->kind], out);
}

enum pli_err pli_coll_select_other(const struct pli_coll_args *a, const struct pli_coll_algo *than,
                                   const struct pli_coll_algo **out)
{
    return first_fitting(a, true, pli_coll_args_bytes(a), than + 1, out);
}

void pli_coll_select_force(int kind, const struct pli_coll_algo *row)
{
    pthread_once(&once, read_setting);
    forced[kind] = row;
    is_special = true;
}

const struct pli_coll_algo *pli_coll_select_taken(int kind)
{
    return atomic_load_explicit(&taken[kind], memory_order_relaxed);
}

static _Atomic uint64_t n_use[PLI_N_COLL], n_use_of[PLI_N_COLL][N_ROW];

uint64_t pli_coll_select_used(int kind, int i)
{
    return atomic_load_explicit(i < 0 ? &n_use[kind] : &n_use_of[kind][i], memory_order_relaxed);
}

void pli_coll_select_count(const struct pli_coll_args *a, const struct pli_coll_algo *algo)
{
    const struct pli_coll_algo *first = table[a->kind];
    atomic_fetch_add_explicit(&n_use[a->kind], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&a->comm->traffic.collectives, 1, memory_order_relaxed);
    for (int i = 0; i < N_ROW; i++) {
        if (algo == &first[i]) {
            atomic_fetch_add_explicit(&n_use_of[a->kind][i], 1, memory_order_relaxed);
        }
    }
}

static void print_limit(FILE *to, const struct pli_coll_algo *r)
{
    if (r->needs & FORCED) {
        fprintf(to, "when asked for");
    } else if (r->max_bytes == 0 && r->min_bytes > 0) {
        fprintf(to, "from %lld KiB", (long long)r->min_bytes / KIB);
    } else if (r->max_all >= KIB) {
        fprintf(to, "up to %lld KiB of all ranks", (long long)r->max_all / KIB);
    } else if (r->max_all != 0) {
        fprintf(to, "up to %lld bytes of all ranks", (long long)r->max_all);
    } else if (r->max_bytes == 0) {
        fprintf(to, "any size");
    } else if (r->max_bytes >= KIB) {
        fprintf(to, "up to %lld KiB", (long long)r->max_bytes / KIB);
    } else {
        fprintf(to, "up to %lld bytes", (long long)r->max_bytes);
    }
    if (r->min_rank > 1) {
        fprintf(to, ", from %d ranks", r->min_rank);
    }
    if (r->max_rank > 0) {
        fprintf(to, ", up to %d ranks", r->max_rank);
    }
    if (r->needs & COMMUTES) {
        fprintf(to, ", commutative operation");
    }
    if (r->needs & (ONE_HOST | ROOM | TURNS)) {
        fprintf(to, ", on one host%s",
                r->needs & ROOM    ? " with a core for each rank"
                : r->needs & TURNS ? " with fewer cores"
                                   : "");
    }
    if (r->needs & SEVERAL) {
        fprintf(to, ", on several hosts");
    }
    if (r->needs & HOSTS) {
        fprintf(to, ", several hosts%s%s", r->needs & EVEN ? " of the same number of ranks" : "",
                r->needs & HERE ? ", blocking" : "");
    }
    if (r->needs & HERE && r->needs & DENSE) {
        fprintf(to, ", dense type");
    }
    if (r->needs & BOARD) {
        fprintf(to, ", blocking, on one host%s%s",
                r->needs & CORES     ? " with a core for each rank"
                : r->needs & CROWDED ? " with more ranks than cores"
                                     : "",
                r->needs & DENSE ? ", dense type" : "");
    }
}

void pli_coll_select_print(FILE *to)
{
    pthread_once(&once, read_setting);
    fprintf(
        to,
        "The first that fits is taken; PLIANT_COLL=operation:algorithm,... takes another,\n"
        "and so does the table of mpiinfo --tune. PLIANT_LOG=coll tells which one a job takes.\n");
    for (int k = 0; k < PLI_N_COLL; k++) {
        fprintf(to, "\n%s\n", pli_coll_kind_info[k].name);
        for (int i = 0; i < N_ROW && table[k][i].name != NULL; i++) {
            fprintf(to, "  %-10s %-40s ", table[k][i].name, table[k][i].about);
            print_limit(to, &table[k][i]);
            fprintf(to, "%s\n", forced[k] == &table[k][i] ? " (chosen by PLIANT_COLL)" : "");
        }
    }
}
