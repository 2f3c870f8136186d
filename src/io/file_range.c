// SPDX-License-Identifier: BSD-3-Clause
// Each member has a lock of its own, which it has for as long as it holds a range: others wait for
// that, and the kernel frees it when its owner dies. Who looks at the table has the guard, but not
// while it waits, so ranges of one member are not in the way of another's.
#include "io/file_range.h"

#include "boot/boot.h"
#include "boot/node_lock.h"
#include "ckpt/freeze_hold.h"
#include "coll/coll.h"
#include "io/file.h"
#include "obj/comm.h"
#include "obj/datatype.h"
#include "rma/win.h"
#include "rma/win_memory.h"

#include <stdatomic.h>
#include <time.h>

enum { WORD = 64, SPINS = 100, PAUSE_NS = 1000 * 1000 };

// A member. Its range is changed under the guard, and counts while its bit is set.
struct holder {
    _Alignas(64) MPI_Offset lo, hi;
    int64_t is_write;
    uint64_t lock[PLI_NODE_LOCK_SIZE / 8];
};

struct pli_file_ranges {
    _Alignas(64) uint64_t guard[PLI_NODE_LOCK_SIZE / 8];
    _Atomic uint64_t held[]; // bits of members that hold a range; set under the guard
};

static int n_word(const struct pli_file *f)
{
    return (f->comm->size + WORD - 1) / WORD;
}

static size_t head_len(const struct pli_file *f)
{
    size_t len = sizeof(struct pli_file_ranges) + (size_t)n_word(f) * sizeof(uint64_t);
    return (len + sizeof(struct holder) - 1) / sizeof(struct holder) * sizeof(struct holder);
}

static struct holder *holder_of(const struct pli_file *f, int rank)
{
    return (struct holder *)((char *)f->ranges.table + head_len(f)) + rank;
}

// Where the table is, as rank 0 tells.
struct place {
    uint64_t offset;
    int64_t where;
};

// Memory of a process that was started later is another's when it has died and the job goes on.
static bool may_offer(void)
{
    const struct pli_node_header *h = pli_boot.node.header;
    return pli_boot.row < h->n_row || (h->mode & PLI_NODE_SURVIVES) == 0;
}

static struct place offer(struct pli_file *f)
{
    struct pli_win_memory m;
    size_t len = head_len(f) + (size_t)f->comm->size * sizeof(struct holder);
    if (!may_offer() || !pli_win_memory_take(&m, len)) {
        return (struct place){ .where = PLI_MEMORY_NONE };
    }
    f->ranges.memory = m.at;
    f->ranges.where = (int)m.where;
    f->ranges.table = m.at;
    pli_node_lock_init(f->ranges.table->guard);
    for (int i = 0; i < n_word(f); i++) {
        atomic_store(&f->ranges.table->held[i], 0);
    }
    for (int i = 0; i < f->comm->size; i++) {
        pli_node_lock_init(holder_of(f, i)->lock);
    }
    return (struct place){ pli_win_memory_offset(&m, m.at), (int64_t)m.where };
}

// Members of other hosts cannot have it; a file of one member has nothing to agree on.
enum pli_err pli_file_range_open(struct pli_file *f)
{
    struct place p = { .where = PLI_MEMORY_NONE };
    MPI_Offset lacks = 0;
    if (f->pointer.word == NULL || f->comm->size == 1 || f->ranges.table != NULL) {
        return PLI_OK;
    }
    if (f->comm->rank == 0) {
        p = offer(f);
    }
    enum pli_err err =
        pli_coll_bcast(&p, sizeof p, pli_handle_get(MPI_BYTE, PLI_KIND_DATATYPE), 0, f->comm);
    if (err == PLI_OK && p.where != PLI_MEMORY_NONE) {
        f->ranges.table = pli_win_memory_at((int)p.where, p.offset);
    }
    lacks = f->ranges.table == NULL || f->needs_lock;
    err = pli_file_agree_most(f->comm, err, &lacks, 1);
    if (err != PLI_OK || lacks != 0) {
        pli_file_range_close(f);
    }
    return err;
}

void pli_file_range_close(struct pli_file *f)
{
    if (f->ranges.memory != NULL) {
        struct pli_win_memory m = { .at = f->ranges.memory };
        m.where = f->ranges.where;
        pli_win_memory_give(&m);
    }
    pli_file_range_leave(f);
}

void pli_file_range_leave(struct pli_file *f)
{
    f->ranges = (struct pli_file_held){ .table = NULL };
}

static void take_guard(struct pli_file_ranges *t)
{
    for (int i = 0; i < SPINS; i++) { // it is given back after a few instructions
        if (pli_node_lock_try(t->guard)) {
            return;
        }
    }
    pli_node_lock_take(t->guard);
}

// Who holds something of [lo, hi) that is in the way; -1: nobody. Context: guard.
static int find(const struct pli_file *f, bool is_write, MPI_Offset lo, MPI_Offset hi)
{
    int me = f->comm->rank;
    for (int i = 0; i < n_word(f); i++) {
        uint64_t bits = atomic_load_explicit(&f->ranges.table->held[i], memory_order_acquire);
        for (; bits != 0; bits &= bits - 1) {
            int rank = i * WORD + __builtin_ctzll(bits);
            const struct holder *h = holder_of(f, rank);
            if (rank != me && h->lo < hi && h->hi > lo && (is_write || h->is_write != 0)) {
                return rank;
            }
        }
    }
    return -1;
}

static void set_held(const struct pli_file *f, int rank, bool is)
{
    _Atomic uint64_t *word = &f->ranges.table->held[rank / WORD];
    uint64_t bit = (uint64_t)1 << rank % WORD;
    if (is) {
        atomic_fetch_or_explicit(word, bit, memory_order_release);
    } else {
        atomic_fetch_and_explicit(word, ~bit, memory_order_release);
    }
}

// Who gives its range back does so before it gives its lock back: a range that is held when the
// lock is to be had is that of a member that died.
static void wait_for(const struct pli_file *f, int rank)
{
    struct holder *h = holder_of(f, rank);
    pli_node_lock_take(h->lock);
    set_held(f, rank, false);
    pli_node_lock_drop(h->lock);
}

// A thread that is stopped for a checkpoint has no lock: its copy would not be the owner.
static void hold_freeze(void)
{
    struct timespec moment = { .tv_nsec = PAUSE_NS };
    if (pli_freeze_is_waited_for()) {
        nanosleep(&moment, NULL);
    }
    pli_freeze_hold();
}

void pli_file_range_take(struct pli_file *f, bool is_write, MPI_Offset lo, MPI_Offset hi)
{
    struct holder *mine = holder_of(f, f->comm->rank);
    hold_freeze();
    pli_node_lock_take(mine->lock);
    for (;;) {
        take_guard(f->ranges.table);
        int other = find(f, is_write, lo, hi);
        if (other < 0) {
            mine->lo = lo;
            mine->hi = hi;
            mine->is_write = is_write;
            set_held(f, f->comm->rank, true);
        }
        pli_node_lock_drop(f->ranges.table->guard);
        if (other < 0) {
            return;
        }
        pli_node_lock_drop(mine->lock);
        wait_for(f, other);
        pli_node_lock_take(mine->lock);
    }
}

void pli_file_range_extend(struct pli_file *f, MPI_Offset hi)
{
    struct holder *mine = holder_of(f, f->comm->rank);
    for (;;) {
        take_guard(f->ranges.table);
        int other = find(f, true, mine->hi, hi);
        if (other < 0) {
            mine->hi = hi;
        }
        pli_node_lock_drop(f->ranges.table->guard);
        if (other < 0) {
            return;
        }
        wait_for(f, other);
    }
}

void pli_file_range_give(struct pli_file *f)
{
    set_held(f, f->comm->rank, false);
    pli_node_lock_drop(holder_of(f, f->comm->rank)->lock);
    pli_freeze_let();
}
