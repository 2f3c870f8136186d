// SPDX-License-Identifier: BSD-3-Clause
// Lets members of a board copy from buffer to buffer, where that is allowed and measures faster.
#include "coll/board/board_cma.h"

#include "base/clock.h"
#include "base/conf.h"
#include "coll/board/board.h"
#include "coll/board/board_life.h"
#include "net/shm/peer_memory.h"
#include "obj/comm.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

enum {
    TRY = 4,    // operations with each way at first
    AGAIN = 64, // operations after which the slower one is tried again
    CLASS_MIN = 14,
    N_CLASS = 12,
    PIECE = 256 * 1024,      // of a block, at least
    PIECE_ROOT = 128 * 1024, // where one gives or takes all
    SHARED_ROOT = 512 * 1024,
    WORDS = 8,
    PIECES = 64 * WORDS,
    PAGE = 4096
};

// What a member says in its slot.
struct said {
    uint64_t from; // address of the buffer that others read
    uint64_t to;   // of the one that they write
    float ns;      // that the last operation took it; 0: it failed
    uint8_t can;   // it has buffers, and may read the memory of all others
    uint8_t is_good;
    _Atomic uint64_t taken[WORDS]; // a bit for each piece that somebody moves to it, or has moved
};
_Static_assert(sizeof(struct said) <= PLI_BOARD_INLINE, "it fits a slot");

// What an operation of some size takes all members together, each way. All members have the same
// numbers, as each adds up what all say, and choose alike.
struct cost {
    float ns[2];
    uint32_t n;
};

struct pli_board_cma {
    struct cost costs[PLI_N_COLL][N_CLASS];
    struct cost *last; // of the last operation; NULL: its time does not count
    bool was_cma;
    float last_ns; // that it took this member
    uint64_t start_ns;
    bool may_read; // the memory of all members
    bool is_other; // the operation under way is done another way, which is timed
};

static bool is_same_process(const struct pli_board *b, int member)
{
    const struct pli_group *g = b->comm->group;
    return pli_group_at(g, b->ranks[member]).proc == g->me.proc;
}

// Whether this process may read the memory of all others; tried once.
static struct pli_board_cma *open_cma(struct pli_board *b)
{
    if (b->cma != NULL) {
        return b->cma;
    }
    b->cma = calloc(1, sizeof *b->cma);
    bool may = b->cma != NULL && pli_conf.onecopy[0] != 'o';
    for (int i = 0; i < b->n && may; i++) {
        may = is_same_process(b, i) ||
              pli_peer_memory_probe(pli_board_life_box(b->comm, b->ranks[i]));
    }
    if (b->cma != NULL) {
        b->cma->may_read = may;
    }
    return b->cma;
}

static struct cost *cost_of(struct pli_board_cma *c, const struct pli_coll_args *a)
{
    int k = 63 - __builtin_clzll((uint64_t)pli_coll_args_bytes(a) | 1) - CLASS_MIN;
    return &c->costs[a->kind][k < 0 ? 0 : k >= N_CLASS ? N_CLASS - 1 : k];
}

static bool pick(struct cost *c)
{
    uint32_t n = c->n++;
    if (pli_conf.onecopy[0] == 'c') {
        return true;
    }
    if (n < 2 * TRY) {
        return n >= TRY;
    }
    bool is_cma = c->ns[1] < c->ns[0];
    return n % AGAIN == 0 ? !is_cma : is_cma;
}

// The operation is over.
static void note_time(struct pli_board_cma *c)
{
    c->last_ns = (float)(pli_clock_ns() - c->start_ns);
}

static struct said *said_by(struct pli_board *b, int member)
{
    return (struct said *)(void *)pli_board_slot(b, member)->data;
}

static enum pli_err say(struct pli_board *b, const struct pli_coll_args *a, const struct said *s)
{
    uint64_t bytes = (uint64_t)pli_coll_args_bytes(a);
    memcpy(pli_board_begin(b, a, bytes)->data, s, sizeof *s);
    return pli_board_meet(b, a, bytes);
}

// What the last operation took all members. The least counts, and is slowly forgotten.
static void count(struct pli_board *b, struct pli_board_cma *c)
{
    float sum = 0;
    bool is_known = c->last != NULL;
    for (int i = 0; i < b->n; i++) {
        float ns = said_by(b, i)->ns;
        is_known = is_known && ns > 0;
        sum += ns;
    }
    if (is_known) {
        float *best = &c->last->ns[c->was_cma];
        *best = *best <= 0 || sum < *best ? sum : *best * 0.9f + sum * 0.1f;
    }
}

enum pli_err pli_board_cma_begin(struct pli_board *b, const struct pli_coll_args *a,
                                 const void *from, void *to)
{
    struct pli_board_cma *c = open_cma(b);
    struct said s = { .from = (uint64_t)(uintptr_t)from, .to = (uint64_t)(uintptr_t)to };
    s.can = c != NULL && c->may_read && (from != NULL || to != NULL);
    s.ns = c != NULL ? c->last_ns : 0;
    enum pli_err err = say(b, a, &s);
    if (err != PLI_OK || c == NULL) { // without memory it says that it cannot
        return err != PLI_OK ? err : PLI_AGAIN;
    }
    count(b, c);
    struct cost *k = cost_of(c, a);
    // The first of a way fills caches and maps memory.
    bool is_first = k->n == 0 || k->n == TRY, is_cma = pick(k);
    for (int i = 0; i < b->n; i++) {
        is_cma = is_cma && said_by(b, i)->can;
    }
    c->last = is_first ? NULL : k;
    c->was_cma = is_cma;
    c->last_ns = 0;
    c->start_ns = pli_clock_ns();
    c->is_other = !is_cma;
    return is_cma ? PLI_OK : PLI_AGAIN;
}

bool pli_board_cma_read(struct pli_board *b, int member, size_t at, void *to, size_t len)
{
    const char *from = (const char *)(uintptr_t)said_by(b, member)->from + at;
    if (is_same_process(b, member)) {
        memcpy(to, from, len);
        return true;
    }
    struct iovec local = { to, len }, remote = { (void *)(uintptr_t)from, len };
    return pli_peer_memory_read(pli_board_life_box(b->comm, b->ranks[member]), &local, 1, &remote,
                                1, len);
}

static bool write_to(struct pli_board *b, int member, size_t at, const void *from, size_t len)
{
    uint64_t to = said_by(b, member)->to + at;
    if (is_same_process(b, member)) {
        memcpy((void *)(uintptr_t)to, from, len);
        return true;
    }
    return pli_peer_memory_write(pli_board_life_box(b->comm, b->ranks[member]), to, from, len);
}

// How many pieces a block has; 0: nobody helps. Parts of short blocks from one root or to it cost
// more than they bring, as their data leaves the caches of the one who has it in use.
static int pieces_of(const struct pli_board *b, const struct pli_board_cma_blocks *s)
{
    bool is_rooted = s->giver >= 0 || s->taker >= 0;
    size_t most = (size_t)(PIECES / (b->n - 1)), n = s->bytes / (is_rooted ? PIECE_ROOT : PIECE);
    if (most == 0 || (is_rooted && s->bytes < SHARED_ROOT)) {
        return 0;
    }
    return (int)(n == 0 ? 1 : n < most ? n : most);
}

// Whether the piece of the block that `taker` gets from the k-th after it is mine to move.
static bool take(struct pli_board *b, int taker, int k, int piece, int n_piece)
{
    int i = (k - 1) * n_piece + piece;
    _Atomic uint64_t *word = &said_by(b, taker)->taken[i / 64];
    uint64_t bit = UINT64_C(1) << i % 64;
    return (atomic_load_explicit(word, memory_order_relaxed) & bit) == 0 &&
           (atomic_fetch_or_explicit(word, bit, memory_order_relaxed) & bit) == 0;
}

// Move what is left of a piece, as the one who takes or gives it.
static bool move(struct pli_board *b, const struct pli_board_cma_blocks *s, int other, bool takes,
                 int piece, int n_piece)
{
    int taker = takes ? b->me : other, giver = takes ? other : b->me;
    int k = (giver - taker + b->n) % b->n;
    if (n_piece > 0 && !take(b, taker, k, piece, n_piece)) {
        return true;
    }
    size_t step = n_piece > 1 ? s->bytes / (size_t)n_piece / PAGE * PAGE : s->bytes;
    size_t at = (size_t)piece * step;
    size_t len = piece + 1 < n_piece ? step : s->bytes - at;
    const struct said *me = said_by(b, b->me);
    size_t from = (size_t)taker * s->from_step + at, to = (size_t)giver * s->to_step + at;
    return takes ? pli_board_cma_read(b, giver, from, (char *)(uintptr_t)me->to + to, len)
                 : write_to(b, taker, to, (const char *)(uintptr_t)me->from + from, len);
}

bool pli_board_cma_move(struct pli_board *b, const struct pli_board_cma_blocks *s)
{
    int n_piece = pieces_of(b, s), n = n_piece > 0 ? n_piece : 1;
    bool takes = s->taker < 0 || s->taker == b->me, gives = s->giver < 0 || s->giver == b->me;
    // Where one takes from many the others begin, since all then work at once.
    bool takes_first = s->taker < 0;
    for (int turn = 0; turn < (n_piece > 0 ? 2 : 1); turn++) {
        bool is_taking = (turn == 0) == takes_first;
        if (is_taking ? !takes : !gives) {
            continue;
        }
        for (int i = 0; i < (b->n - 1) * n; i++) {
            // The first goes forward, and no two read from one member at the same time; who helps
            // comes from the other end.
            int k = turn == 0 ? 1 + i / n : b->n - 1 - i / n;
            int piece = turn == 0 ? i % n : n - 1 - i % n;
            int other = is_taking ? (b->me + k) % b->n : (b->me - k + b->n) % b->n;
            int one = is_taking ? s->giver : s->taker;
            if ((one < 0 || one == other) && !move(b, s, other, is_taking, piece, n_piece)) {
                return false;
            }
        }
    }
    return true;
}

enum pli_err pli_board_cma_end(struct pli_board *b, const struct pli_coll_args *a, bool is_good)
{
    struct said s = { .is_good = is_good };
    enum pli_err err = say(b, a, &s);
    for (int i = 0; i < b->n && err == PLI_OK; i++) {
        err = said_by(b, i)->is_good ? PLI_OK : PLI_AGAIN;
    }
    if (err == PLI_OK) {
        note_time(b->cma);
    }
    return err;
}

void pli_board_cma_other_end(struct pli_board *b)
{
    if (b->cma != NULL && b->cma->is_other) {
        b->cma->is_other = false;
        note_time(b->cma);
    }
}
