// SPDX-License-Identifier: BSD-3-Clause
// Locks ranges of a file.
#include "io/file_lock.h"

#include "io/file.h"
#include "io/file_range.h"
#include "io/file_sys.h"
#include "io/file_wire.h"

// Where the lock of an offset is, for what members of other MPIs must see too.
static MPI_Offset place(const struct pli_file *f, MPI_Offset at)
{
    MPI_Offset shift = f->is_mixed && f->is_atomic ? PLI_FILE_WIRE_LOCKS : 0;
    return at > INT64_MAX - shift ? INT64_MAX : at + shift;
}

// Members of one host need no system call to exclude each other, as atomic mode demands. All are in
// that mode, or none is.
static bool has_table(const struct pli_file *f)
{
    return f->ranges.table != NULL && f->is_atomic;
}

enum pli_err pli_file_lock_take(struct pli_file *f, bool is_write, MPI_Offset lo, MPI_Offset hi)
{
    pthread_mutex_lock(&f->range);
    if (has_table(f)) {
        pli_file_range_take(f, is_write, lo, hi);
        return PLI_OK;
    }
    MPI_Offset from = place(f, lo);
    enum pli_err err = pli_file_sys_lock(f->fd, f->name, is_write, from, place(f, hi) - from);
    if (err != PLI_OK) {
        pthread_mutex_unlock(&f->range);
    }
    return err;
}

enum pli_err pli_file_lock_more(struct pli_file *f, MPI_Offset lo, MPI_Offset hi)
{
    if (has_table(f)) {
        pli_file_range_extend(f, hi);
        return PLI_OK;
    }
    MPI_Offset from = place(f, lo);
    return pli_file_sys_lock(f->fd, f->name, true, from, place(f, hi) - from);
}

void pli_file_lock_drop(struct pli_file *f, MPI_Offset lo, MPI_Offset hi)
{
    MPI_Offset from = place(f, lo);
    if (has_table(f)) {
        pli_file_range_give(f);
    } else {
        pli_file_sys_unlock(f->fd, from, place(f, hi) - from);
    }
    pthread_mutex_unlock(&f->range);
}

enum pli_err pli_file_lock_begin(struct pli_file *f, bool is_write, MPI_Offset lo, MPI_Offset hi)
{
    return f->needs_lock ? pli_file_lock_take(f, is_write, lo, hi) : PLI_OK;
}

void pli_file_lock_end(struct pli_file *f, MPI_Offset lo, MPI_Offset hi)
{
    if (f->needs_lock) {
        pli_file_lock_drop(f, lo, hi);
    }
}
