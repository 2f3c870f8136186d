// SPDX-License-Identifier: BSD-3-Clause
// Keeps the shared file pointer in a word of shared memory, where a change is one atomic
// instruction, and on several hosts in a window. No lock file is needed anywhere.
#include "io/file_shared.h"

#include "boot/boot.h"
#include "coll/coll.h"
#include "io/file.h"
#include "io/file_async.h"
#include "io/file_seek.h"
#include "obj/comm.h"
#include "obj/datatype.h"
#include "obj/info.h"
#include "obj/op.h"
#include "rma/passive.h"
#include "rma/rma_update.h"
#include "rma/win.h"
#include "rma/win_alloc.h"
#include "rma/win_free.h"
#include "rma/win_memory.h"

#include <pthread.h>
#include <string.h>

enum { MOST_KEPT = 1 << 20 };

static struct pli_datatype *offset_type(void)
{
    return pli_handle_get(MPI_OFFSET, PLI_KIND_DATATYPE);
}

static struct pli_op *op(MPI_Op which)
{
    return pli_handle_get(which, PLI_KIND_OP);
}

static bool is_reached(const struct pli_comm *comm)
{
    for (int i = 0; i < comm->size; i++) {
        uint64_t proc = pli_group_at(comm->group, i).proc;
        uint32_t row;
        if (proc != comm->group->me.proc && !pli_boot_shares(&pli_boot, proc, &row)) {
            return false;
        }
    }
    return true;
}

// What the last file had that is closed. Giving it back takes its pages out of the memory of every
// member, which costs as much as the rest of opening and closing a file.
static struct {
    pthread_mutex_t lock;
    void *at; // of the segment of this process; NULL: nothing
    size_t len;
} kept = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool take_kept(struct pli_win_memory *m, size_t *len)
{
    pthread_mutex_lock(&kept.lock);
    bool is = kept.at != NULL && kept.len >= *len;
    if (is) {
        *m = (struct pli_win_memory){ .where = PLI_MEMORY_SEGMENT, .at = kept.at };
        *len = kept.len;
        kept.at = NULL;
    }
    pthread_mutex_unlock(&kept.lock);
    return is;
}

// Keep it, or what is kept, if that is more. Returns what is to be given back.
static void *keep(void *at, size_t len)
{
    pthread_mutex_lock(&kept.lock);
    if (len <= MOST_KEPT && (kept.at == NULL || kept.len < len)) {
        void *other = kept.at;
        kept.at = at;
        kept.len = len;
        at = other;
    }
    pthread_mutex_unlock(&kept.lock);
    return at;
}

struct pli_file_word pli_file_shared_offer(struct pli_file *f, const struct pli_comm *comm,
                                           size_t len)
{
    struct pli_win_memory m;
    if (!is_reached(comm) || !(take_kept(&m, &len) || pli_win_memory_take(&m, len))) {
        return (struct pli_file_word){ .where = PLI_MEMORY_NONE };
    }
    struct pli_file_head *head = m.at;
    f->pointer = (struct pli_file_shared){
        .word = &head->pos, .turn = &head->turn, .memory = m.at, .len = len, .where = (int)m.where
    };
    atomic_store(f->pointer.word, 0);
    atomic_store(f->pointer.turn, 0);
    return (struct pli_file_word){ pli_win_memory_offset(&m, m.at), (int64_t)m.where };
}

enum pli_err pli_file_shared_create_far(struct pli_file *f, struct pli_comm *comm)
{
    void *base = NULL;
    struct pli_info *info = NULL;
    MPI_Aint size = comm->rank == 0 ? (MPI_Aint)sizeof(MPI_Offset) : 0;
    // Only rank 0 needs the thread that serves others while the program computes. Whether it will
    // be asked is not known: the first access with the shared pointer is no collective call.
    enum pli_err hint = pli_info_create(&info);
    hint = hint == PLI_OK ? pli_info_set(info, "pliant_first_only", "true") : hint;
    enum pli_err err = pli_win_alloc(size, 1, info, comm, &base, &f->pointer.win);
    pli_info_release(info);
    if (err != PLI_OK) {
        return err;
    }
    if (comm->rank == 0) {
        memset(base, 0, sizeof(MPI_Offset));
    }
    err = pli_passive_lock_all(MPI_MODE_NOCHECK, f->pointer.win);
    enum pli_err meet = pli_coll_barrier(comm);
    err = err == PLI_OK ? meet : err;
    return err == PLI_OK ? hint : err; // members agree on it
}

enum pli_err pli_file_shared_create(struct pli_file *f, struct pli_comm *comm,
                                    struct pli_file_word word)
{
    if (word.where == PLI_MEMORY_NONE) {
        return pli_file_shared_create_far(f, comm);
    }
    if (f->pointer.word == NULL) {
        struct pli_file_head *head = pli_win_memory_at((int)word.where, word.offset);
        f->pointer.word = head != NULL ? &head->pos : NULL;
        f->pointer.turn = head != NULL ? &head->turn : NULL;
    }
    return f->pointer.word != NULL
               ? PLI_OK
               : pli_fail(PLI_ERR_NOMEM,
                          "the shared pointer of file %s, which is memory of rank 0, cannot be "
                          "mapped",
                          f->name);
}

static void give_word(struct pli_file *f)
{
    void *at = f->pointer.memory;
    if (at != NULL && f->pointer.is_clean && f->pointer.where == PLI_MEMORY_SEGMENT) {
        at = keep(at, f->pointer.len);
    }
    if (at != NULL) {
        struct pli_win_memory m = { .at = at };
        m.where = f->pointer.where;
        pli_win_memory_give(&m);
    }
    f->pointer = (struct pli_file_shared){ .word = NULL };
}

void pli_file_shared_destroy(struct pli_file *f)
{
    if (f->pointer.win != NULL) {
        pli_passive_unlock_all(f->pointer.win);
        pli_win_free(f->pointer.win);
    }
    give_word(f);
}

void pli_file_shared_drop(struct pli_file *f)
{
    pli_win_free_local(f->pointer.win);
    give_word(f);
}

static enum pli_err change(struct pli_file *f, MPI_Offset n, MPI_Op which, MPI_Offset *before_out)
{
    _Atomic MPI_Offset *word = f->pointer.word;
    if (word != NULL) {
        // Nothing but the place itself follows from it, so nobody waits for what was stored before.
        *before_out = which == MPI_REPLACE
                          ? atomic_exchange(word, n)
                          : atomic_fetch_add_explicit(word, n, memory_order_relaxed);
        return PLI_OK;
    }
    enum pli_err err =
        pli_rma_update_fetch(&n, before_out, offset_type(), 0, 0, op(which), f->pointer.win);
    return err == PLI_OK ? pli_passive_flush(0, f->pointer.win) : err;
}

enum pli_err pli_file_shared_advance(struct pli_file *f, MPI_Offset n, MPI_Offset *before_out)
{
    return change(f, n, n == 0 ? MPI_NO_OP : MPI_SUM, before_out);
}

enum pli_err pli_file_shared_order(struct pli_file *f, MPI_Offset n, MPI_Offset *before_out)
{
    struct pli_datatype *type = offset_type();
    MPI_Offset end = 0, now = 0;
    enum pli_err err = pli_coll_scan(&n, &end, 1, type, op(MPI_SUM), f->comm);
    // The last one knows the sum.
    int last = f->comm->size - 1;
    if (err == PLI_OK && f->comm->rank == last) {
        err = pli_file_shared_advance(f, end, &now);
    }
    enum pli_err bcast = pli_coll_bcast(&now, 1, type, last, f->comm);
    *before_out = now + end - n;
    return err == PLI_OK ? bcast : err;
}

static enum pli_err put(struct pli_file *f, MPI_Offset to)
{
    MPI_Offset was;
    enum pli_err err = pli_coll_barrier(f->comm); // nobody uses it as it was
    if (err == PLI_OK && f->comm->rank == 0) {
        err = change(f, to, MPI_REPLACE, &was);
    }
    enum pli_err meet = pli_coll_barrier(f->comm);
    return err == PLI_OK ? meet : err;
}

MPI_Offset pli_file_shared_leave(struct pli_file *f)
{
    MPI_Offset pos = f->pointer.word != NULL ? atomic_load(f->pointer.word) : 0;
    f->pointer = (struct pli_file_shared){ .win = f->pointer.win };
    return pos;
}

void pli_file_shared_forget(void)
{
    kept.at = NULL;
    pthread_mutex_init(&kept.lock, NULL);
}

enum pli_err pli_file_shared_make(struct pli_file *f, MPI_Offset to)
{
    struct pli_file_word word = { .where = PLI_MEMORY_NONE };
    if (f->comm->rank == 0) {
        word = pli_file_shared_offer(f, f->comm, sizeof(struct pli_file_head));
    }
    enum pli_err err =
        pli_coll_bcast(&word, sizeof word, pli_handle_get(MPI_BYTE, PLI_KIND_DATATYPE), 0, f->comm);
    err = err == PLI_OK ? pli_file_shared_create(f, f->comm, word) : err;
    return err == PLI_OK ? put(f, to) : err;
}

enum pli_err pli_file_shared_reset(struct pli_file *f)
{
    return put(f, 0);
}

enum pli_err pli_file_shared_position(struct pli_file *f, MPI_Offset *out)
{
    return pli_file_shared_advance(f, 0, out);
}

enum pli_err pli_file_shared_offset(struct pli_file *f, MPI_Offset *out)
{
    MPI_Offset at = 0;
    enum pli_err err = f->comm->rank == 0 ? pli_file_shared_position(f, &at) : PLI_OK;
    enum pli_err bcast = pli_coll_bcast(&at, 1, offset_type(), 0, f->comm);
    *out = pli_file_view_offset(&f->view, at * f->view.unit);
    return err == PLI_OK ? bcast : err;
}

enum pli_err pli_file_shared_seek(struct pli_file *f, MPI_Offset offset, int whence)
{
    MPI_Offset mine[2] = { offset, pli_file_seek_number(whence) }, now = 0, to = 0;
    MPI_Offset first[2] = { mine[0], mine[1] };
    enum pli_err err = pli_file_async_settle(f, "MPI_File_seek_shared");
    if (err == PLI_OK && (f->amode & MPI_MODE_SEQUENTIAL) != 0) {
        err = pli_fail(PLI_ERR_UNSUPPORTED,
                       "the file was opened with MPI_MODE_SEQUENTIAL: its pointer cannot be moved");
    }
    enum pli_err bcast = pli_coll_bcast(first, 2, offset_type(), 0, f->comm);
    err = err == PLI_OK ? bcast : err;
    if (err == PLI_OK && memcmp(mine, first, sizeof mine) != 0) {
        err = pli_fail(PLI_ERR_NOT_SAME, "offset or whence differ from those of rank 0");
    }
    err = err == PLI_OK ? pli_file_shared_position(f, &now) : err;
    err = err == PLI_OK ? pli_file_seek_to(f, offset, whence, now, &to) : err;
    err = pli_file_agree(f, err);
    return err == PLI_OK ? put(f, to) : err;
}
