// SPDX-License-Identifier: BSD-3-Clause
// The range is done in windows. Each member copies what it has of a window to its slot of a ring in
// rank 0's shared memory, tells rank 0 by an empty message, and goes on with the next window. Rank
// 0 writes a window when all who have something of it have told; when the ring begins anew it tells
// members that a slot is free. The system lets one process write to a file at a time, so a second
// writer would only wait, or make the first one wait.
#include "io/file_ring.h"

#include "coll/coll.h"
#include "io/file.h"
#include "io/file_coll_priv.h"
#include "io/file_lock.h"
#include "io/file_sys.h"
#include "msg/p2p.h"
#include "obj/comm.h"
#include "obj/datatype.h"
#include "obj/handle.h"
#include "rma/win.h"
#include "rma/win_memory.h"

#include <stdatomic.h>
#include <stdlib.h>

enum {
    RING = 4 << 20,
    SHORT_SLOT = 256 << 10, // stays in the cache of the core that writes it
    LONG_SLOT = 1 << 20,    // where ranks share cores each window costs a change of who runs
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
    size_t *sizes = malloc((size_t)f->comm->size * sizeof *sizes);
    if (sizes == NULL || f->peers == NULL || !pli_win_memory_take(&m, RING + PAGE)) {
        free(sizes);
        return (struct place){ .where = PLI_MEMORY_NONE };
    }
    f->ring.sizes = sizes;
    f->ring.memory = m.at;
    f->ring.where = (int)m.where;
    return (struct place){ pli_win_memory_offset(&m, m.at), (int64_t)m.where };
}

enum pli_err pli_file_ring_open(struct pli_file *f, bool *is_there_out)
{
    *is_there_out = f->ring.at != NULL;
    if (f->ring.at != NULL) {
        return PLI_OK;
    }
    struct place p = { .where = PLI_MEMORY_NONE };
    MPI_Offset lacks = 0;
    if (f->comm->rank == 0) {
        p = offer(f);
    }
    enum pli_err err = pli_coll_bcast(&p, sizeof p, byte_type(), 0, f->comm);
    if (err == PLI_OK && p.where != PLI_MEMORY_NONE) {
        uintptr_t at = (uintptr_t)pli_win_memory_at((int)p.where, p.offset);
        f->ring.at = at != 0 ? (char *)((at + PAGE - 1) / PAGE * PAGE) : NULL;
    }
    lacks = f->ring.at == NULL;
    err = pli_file_agree_most(f->comm, err, &lacks, 1);
    if (err != PLI_OK || lacks != 0) {
        pli_file_ring_close(f);
    }
    f->ring.is_missing = lacks != 0;
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
    f->ring = (struct pli_file_ring){ .at = NULL };
}

// The windows of an access.
struct windows {
    MPI_Offset base, end, len;
    int n, n_slot;
};

static struct windows divide(const struct pli_file_op *o)
{
    struct windows w = { .base = o->base / PAGE * PAGE, .end = o->end };
    w.len = o->f->rounds == PLI_FILE_ROUNDS_SHORT ? SHORT_SLOT : LONG_SLOT;
    w.n = (int)((w.end - w.base + w.len - 1) / w.len);
    w.n_slot = RING / (int)w.len;
    return w;
}

static void tell(struct pli_file_op *o, int rank)
{
    struct pli_request *r = NULL;
    atomic_thread_fence(memory_order_release);
    pli_file_coll_note(o, pli_p2p_isend_on(NULL, 0, byte_type(), rank, PLI_FILE_TAG, o->f->comm,
                                           PLI_CHAN_SETUP, 0, &r));
    if (r != NULL) {
        pli_file_coll_finish(o, r);
    }
}

static void hear(struct pli_file_op *o, int rank)
{
    struct pli_request *r = NULL;
    pli_file_coll_note(o, pli_p2p_irecv_on(NULL, 0, byte_type(), rank, PLI_FILE_TAG, o->f->comm,
                                           PLI_CHAN_SETUP, &r));
    if (r != NULL) {
        pli_file_coll_finish(o, r);
    }
    atomic_thread_fence(memory_order_acquire);
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
        pli_file_coll_note(
            o, pli_file_sys_write(f->fd, f->name, o->buf, (size_t)(last - first), first, &done));
    } else {
        pli_file_coll_write_runs(o, first);
    }
    pli_file_lock_end(f, first, last);
}

// Rank 0: hear of what members have put into a window, and write it.
static void end_window(struct pli_file_op *o, char *slot, MPI_Offset lo, MPI_Offset hi)
{
    MPI_Offset first, last;
    size_t sum;
    if (!pli_file_coll_trim(o, lo, hi, o->sizes, &first, &last, &sum)) {
        return;
    }
    for (int i = 1; i < o->f->comm->size; i++) {
        if (o->sizes[i] > 0) {
            hear(o, i);
        }
    }
    if (o->err == PLI_OK) {
        write_window(o, slot, lo, first, last, sum);
    }
}

void pli_file_ring_write(struct pli_file_op *o)
{
    struct pli_file *f = o->f;
    struct windows w = divide(o);
    bool is_writer = f->comm->rank == 0;
    if (is_writer && f->has_large_pages) { // ext4: writing is faster where space is there
        pli_file_coll_note(o, pli_file_sys_reserve(f->fd, f->name, o->base, o->end));
    }
    o->sizes = f->ring.sizes;
    for (int i = 0; i < w.n; i++) {
        MPI_Offset lo = w.base + i * w.len, hi = lo + w.len < w.end ? lo + w.len : w.end;
        char *slot = f->ring.at + (size_t)(i % w.n_slot) * (size_t)w.len;
        if (!is_writer && i >= w.n_slot) {
            hear(o, 0);
        }
        size_t n = fill(o, slot, lo, hi);
        if (is_writer) {
            end_window(o, slot, lo, hi);
        } else if (n > 0) {
            tell(o, 0);
        }
        for (int k = 1; is_writer && i + w.n_slot < w.n && k < f->comm->size; k++) {
            tell(o, k);
        }
    }
    o->sizes = NULL;
}
