// SPDX-License-Identifier: BSD-3-Clause
// The range is done in windows. Each member copies what it has of a window to its slot of a ring in
// rank 0's shared memory, tells the window's writer by an empty message, and goes on with the next
// window. The writer writes it when all who have something of it have told; when the ring begins
// anew it tells members that a slot is free. The system lets one process write to a file at a time,
// so rank 0 writes all windows, as a second writer would only wait, or make the first one wait.
// Where each member has a core, others copy from rank 0's memory too, so that it does nothing but
// write. Where ranks share cores, a second member stores some windows of a file in memory through a
// mapping, where pages are made without the lock of the file.
#include "io/file_ring.h"

#include "coll/coll.h"
#include "io/file.h"
#include "io/file_block.h"
#include "io/file_coll_priv.h"
#include "io/file_lock.h"
#include "io/file_map.h"
#include "io/file_sys.h"
#include "msg/p2p.h"
#include "obj/comm.h"
#include "obj/cursor.h"
#include "obj/datatype.h"
#include "obj/group.h"
#include "obj/handle.h"
#include "rma/rma_cma.h"
#include "rma/win.h"
#include "rma/win_memory.h"

#include <stdatomic.h>
#include <stdlib.h>

enum {
    RING = 4 << 20,
    SHORT_SLOT = 256 << 10, // stays in the cache of the core that writes it,
    N_SHORT_SLOT = 2,       // and of the one that fills it
    LONG_SLOT = 1 << 20,    // where ranks share cores each window costs a change of who runs
    TWO_SLOT = 512 << 10,   // there, of two writers
    N_TURN = 3,             // windows, of which the second writer has the last
    SHORTEST = 64 << 10,    // less is not worth it
    PAGE = 4096
};

static struct pli_datatype *byte_type(void)
{
    return pli_handle_get(MPI_BYTE, PLI_KIND_DATATYPE);
}

bool pli_file_ring_is_worth(const struct pli_file *f, MPI_Offset len)
{
    return f->rounds != PLI_FILE_ROUNDS_OVERLAP && f->pointer.word != NULL && f->comm->size > 1 &&
           f->hints.buffer >= RING && len >= SHORTEST && !f->ring.is_missing;
}

// Where the memory is, as rank 0 tells.
struct place {
    uint64_t offset;
    int64_t where;
};

static struct place offer(struct pli_file *f)
{
    struct pli_win_memory m;
    if (!pli_win_memory_take(&m, RING + PAGE)) {
        return (struct place){ .where = PLI_MEMORY_NONE };
    }
    f->ring.memory = m.at;
    f->ring.where = (int)m.where;
    return (struct place){ pli_win_memory_offset(&m, m.at), (int64_t)m.where };
}

static bool has_two_writers(const struct pli_file *f)
{
    return f->is_memory && f->rounds == PLI_FILE_ROUNDS_WHOLE && f->n_aggregator > 1 &&
           f->aggregators[0] == 0;
}

// Whether this member can write windows, if it has to.
static bool may_write(struct pli_file *f)
{
    if (f->comm->rank != 0 && !(has_two_writers(f) && f->my_aggregator == 1)) {
        return true;
    }
    f->ring.sizes = malloc((size_t)f->comm->size * sizeof *f->ring.sizes);
    return f->ring.sizes != NULL && f->peers != NULL;
}

// Whether this member can do what it may have to do: an aggregator other than rank 0 copies for it.
static bool may_help(struct pli_file *f)
{
    if (f->rounds != PLI_FILE_ROUNDS_SHORT || f->n_aggregator < 2 || f->aggregators[0] != 0) {
        return false;
    }
    if (f->my_aggregator <= 0) {
        return true;
    }
    f->ring.writer = pli_rma_cma_box(pli_group_at(f->comm->group, 0));
    f->ring.part = malloc(SHORT_SLOT);
    return f->ring.writer != NULL && f->ring.part != NULL && pli_rma_cma_may(f->ring.writer);
}

enum pli_err pli_file_ring_open(struct pli_file *f, bool *is_there_out)
{
    *is_there_out = f->ring.at != NULL;
    if (f->ring.at != NULL) {
        return PLI_OK;
    }
    struct place p = { .where = PLI_MEMORY_NONE };
    MPI_Offset lacks[2]; // the memory, and help
    if (f->comm->rank == 0) {
        p = offer(f);
    }
    enum pli_err err = pli_coll_bcast(&p, sizeof p, byte_type(), 0, f->comm);
    if (err == PLI_OK && p.where != PLI_MEMORY_NONE) {
        uintptr_t at = (uintptr_t)pli_win_memory_at((int)p.where, p.offset);
        f->ring.at = at != 0 ? (char *)((at + PAGE - 1) / PAGE * PAGE) : NULL;
    }
    lacks[0] = f->ring.at == NULL || !may_write(f);
    lacks[1] = !may_help(f);
    err = pli_file_agree_most(f->comm, err, lacks, 2);
    if (err != PLI_OK || lacks[0] != 0) {
        pli_file_ring_close(f);
    }
    f->ring.is_missing = lacks[0] != 0;
    f->ring.has_help = lacks[1] == 0;
    *is_there_out = f->ring.at != NULL;
    return err;
}

void pli_file_ring_close(struct pli_file *f)
{
    if (f->ring.memory != NULL) {
        struct pli_win_memory m = { .at = f->ring.memory };
        m.where = f->ring.where;
        pli_win_memory_give(&m);
    }
    free(f->ring.sizes);
    free(f->ring.part);
    f->ring = (struct pli_file_ring){ .at = NULL };
}

// The windows of an access.
struct windows {
    MPI_Offset base, end, len;
    int n, n_slot;
    int n_turn; // windows after which rank 0 begins again; n_slot is a multiple of that
};

static struct windows divide(const struct pli_file_op *o)
{
    struct windows w = { .base = o->base / PAGE * PAGE, .end = o->end };
    bool is_short = o->f->rounds == PLI_FILE_ROUNDS_SHORT, is_two = has_two_writers(o->f);
    w.len = is_short ? SHORT_SLOT : is_two ? TWO_SLOT : LONG_SLOT;
    w.n = (int)((w.end - w.base + w.len - 1) / w.len);
    w.n_slot = is_short ? N_SHORT_SLOT : is_two ? 2 * N_TURN : RING / LONG_SLOT;
    w.n_turn = is_two ? N_TURN : 1;
    return w;
}

// System calls write twice as fast as mappings, which make a page of zeros first.
static int writer_of(const struct pli_file_op *o, const struct windows *w, int window)
{
    return w->n_turn > 1 && window % w->n_turn == N_TURN - 1 ? o->f->aggregators[1] : 0;
}

// A message of a byte: what rank 0 was to be helped with was not done.
static void tell(struct pli_file_op *o, int rank, int tag, bool is_undone)
{
    struct pli_request *r = NULL;
    atomic_thread_fence(memory_order_release);
    pli_file_coll_note(o, pli_p2p_isend_on("", is_undone, byte_type(), rank, tag, o->f->comm,
                                           PLI_CHAN_SETUP, 0, &r));
    if (r != NULL) {
        pli_file_coll_finish(o, r);
    }
}

// Returns whether something was left undone.
static bool hear(struct pli_file_op *o, int rank, int tag)
{
    struct pli_request *r = NULL;
    char byte;
    size_t bytes = 0;
    pli_file_coll_note(
        o, pli_p2p_irecv_on(&byte, 1, byte_type(), rank, tag, o->f->comm, PLI_CHAN_SETUP, &r));
    if (r != NULL) {
        bytes = pli_file_coll_finish(o, r);
    }
    atomic_thread_fence(memory_order_acquire);
    return bytes > 0;
}

// This member's data of a window.
static size_t fill(struct pli_file_op *o, const char *slot, MPI_Offset lo, MPI_Offset hi)
{
    MPI_Offset pos;
    size_t n = pli_file_coll_share(&o->f->view, &o->wants[o->f->comm->rank], lo, hi, &pos);
    if (n > 0) {
        pli_file_coll_place_own(o, pos, n, (char *)((uintptr_t)slot - (uintptr_t)lo));
    }
    return n;
}

// Where members want the same bytes and sums agree with gaps elsewhere, the gaps are not written.
static void write_window(struct pli_file_op *o, char *slot, MPI_Offset lo, MPI_Offset first,
                         MPI_Offset last, size_t sum)
{
    struct pli_file *f = o->f;
    size_t done;
    o->buf = slot + (first - lo);
    pli_file_coll_note(o, pli_file_lock_begin(f, true, first, last));
    if (o->err != PLI_OK) {
        return;
    }
    if (pli_file_coll_is_whole(o, first, last, sum)) {
        size_t len = (size_t)(last - first);
        if (f->comm->rank == 0 || !pli_file_block_store(f, o->buf, len, first)) {
            pli_file_coll_note(o, pli_file_sys_write(f->fd, f->name, o->buf, len, first, &done));
        }
    } else {
        pli_file_coll_write_runs(o, first);
    }
    pli_file_lock_end(f, first, last);
}

// Who copies for rank 0; 0: it does so itself.
static int helper_of(const struct pli_file_op *o, int window)
{
    const struct pli_file *f = o->f;
    return f->ring.has_help && o->wants[0].run != 0
               ? f->aggregators[1 + window % (f->n_aggregator - 1)]
               : 0;
}

// Rank 0's data of a window, by another member. Returns how many bytes it has.
static size_t help(struct pli_file_op *o, const char *slot, MPI_Offset lo, MPI_Offset hi,
                   bool *is_undone_out)
{
    const struct pli_file_ring *ring = &o->f->ring;
    const struct pli_file_view *v = &o->f->peers[0];
    const struct pli_file_want *w = &o->wants[0];
    MPI_Offset pos;
    size_t n = pli_file_coll_share(v, w, lo, hi, &pos);
    if (n == 0) {
        return 0;
    }
    *is_undone_out =
        !pli_rma_cma_read(ring->writer, ring->part, w->run + (uint64_t)(pos - w->pos), n);
    if (!*is_undone_out) {
        struct pli_cursor c;
        pli_file_view_cursor(v, &c, (char *)((uintptr_t)slot - (uintptr_t)lo), pos, n);
        pli_cursor_unpack(&c, ring->part, n);
    }
    return n;
}

// The writer: hear of what members have put into a window, and write it.
static void end_window(struct pli_file_op *o, const struct windows *w, int window, char *slot)
{
    MPI_Offset lo = w->base + window * w->len, hi = lo + w->len < w->end ? lo + w->len : w->end;
    MPI_Offset first, last;
    size_t sum;
    int helper = helper_of(o, window), me = o->f->comm->rank;
    if (!pli_file_coll_trim(o, lo, hi, o->sizes, &first, &last, &sum)) {
        return;
    }
    for (int i = 0; i < o->f->comm->size; i++) {
        bool is_helper = i == helper && helper != 0 && o->sizes[0] > 0;
        bool has_told = i != me && (o->sizes[i] > 0 || is_helper);
        if (has_told && hear(o, i, PLI_FILE_TAG)) {
            fill(o, slot, lo, hi);
        }
    }
    if (o->err == PLI_OK) {
        write_window(o, slot, lo, first, last, sum);
    }
}

// This member's part of a window.
static void begin_window(struct pli_file_op *o, const struct windows *w, int window, char *slot)
{
    MPI_Offset lo = w->base + window * w->len, hi = lo + w->len < w->end ? lo + w->len : w->end;
    int me = o->f->comm->rank, helper = helper_of(o, window), writer = writer_of(o, w, window);
    bool is_undone = false;
    if (me != writer && window >= w->n_slot) {
        hear(o, writer, PLI_FILE_TAG_FREE);
    }
    size_t n = me == 0 && helper != 0 ? 0 : fill(o, slot, lo, hi);
    n += me != 0 && me == helper ? help(o, slot, lo, hi, &is_undone) : 0;
    if (me != writer && n > 0) {
        tell(o, writer, PLI_FILE_TAG, is_undone);
    }
}

static char *slot_of(const struct pli_file_op *o, const struct windows *w, int window)
{
    return o->f->ring.at + (size_t)(window % w->n_slot) * (size_t)w->len;
}

// Windows of both writers are filled before any of them is written, as a writer has data for the
// other one.
static void do_windows(struct pli_file_op *o, const struct windows *w, int from, int to)
{
    int me = o->f->comm->rank;
    for (int i = from; i < to; i++) {
        begin_window(o, w, i, slot_of(o, w, i));
    }
    for (int i = from; i < to; i++) {
        if (me != writer_of(o, w, i)) {
            continue;
        }
        end_window(o, w, i, slot_of(o, w, i));
        for (int k = 0; i + w->n_slot < w->n && k < o->f->comm->size; k++) {
            if (k != me) {
                tell(o, k, PLI_FILE_TAG_FREE, false);
            }
        }
    }
}

void pli_file_ring_write(struct pli_file_op *o)
{
    struct pli_file *f = o->f;
    struct windows w = divide(o);
    if (f->comm->rank == 0 && f->has_large_pages) { // ext4: writing is faster where space is there
        pli_file_coll_note(o, pli_file_sys_reserve(f->fd, f->name, o->base, o->end));
    }
    // Pages behind the end cannot be mapped. Where that fails system calls tell why.
    if (f->comm->rank == 0 && w.n >= N_TURN && w.n_turn > 1) {
        pli_file_map_reach(f, o->end);
    }
    o->sizes = f->ring.sizes;
    for (int i = 0; i < w.n; i += w.n_turn) {
        do_windows(o, &w, i, i + w.n_turn < w.n ? i + w.n_turn : w.n);
    }
    o->sizes = NULL;
}
