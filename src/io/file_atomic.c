// SPDX-License-Identifier: BSD-3-Clause
// An atomic write that fails is taken back. Where writing back takes space it is reserved first,
// which is all that most writes need; but errors of a disk come at any piece, Btrfs writes what has
// space to another place, and where gaps are wide space would be reserved for much more than is
// written.
#include "io/file_atomic.h"

#include "io/file.h"
#include "io/file_lock.h"
#include "io/file_sys.h"
#include "obj/cursor.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    MOST_GAPS = 64, // a write that spans more times its size reserves no space
    N_RUN = 128,
    SPARE = 1 << 20, // what Btrfs notes of pieces
};

struct atomic_write {
    const struct pli_file_atomic *a;
    MPI_Offset lo, hi;   // where the data is
    bool is_ordered;     // else it may be anywhere
    MPI_Offset from, to; // what is locked
    bool is_regular;
    MPI_Offset size; // of the file before
    char *old;       // what was there, as far as the file had it,
    size_t n;        // so many bytes of the access
    bool is_lent;    // that memory is a buffer of the file
    int spare;       // a file that has space for that; -1: none
};

static enum pli_err look(struct atomic_write *w)
{
    const struct pli_file *f = w->a->file;
    struct stat s;
    if (fstat(f->fd, &s) != 0) {
        return pli_file_sys_fail(errno, "look at", f->name, 0, -1);
    }
    w->is_regular = S_ISREG(s.st_mode);
    w->size = s.st_size;
    return PLI_OK;
}

// Nobody else writes what is locked. Where the file ends before the range, all from its end on is
// locked: then it is known who has made it longer.
static enum pli_err lock_range(struct atomic_write *w)
{
    struct pli_file *f = w->a->file;
    enum pli_err err = look(w);
    w->to = w->hi;
    while (err == PLI_OK) {
        w->from = w->is_regular && w->size < w->lo ? w->size : w->lo;
        err = pli_file_lock_take(f, true, w->from, w->to);
        if (err != PLI_OK) {
            return err;
        }
        err = look(w);
        if (err == PLI_OK && (!w->is_regular || w->size >= w->from)) {
            return PLI_OK;
        }
        pli_file_lock_drop(f, w->from, w->to); // it has become shorter meanwhile
    }
    return err;
}

// Data that is anywhere is all in the file, which is made as long as that: reading it would end at
// the first piece behind the end.
static enum pli_err reach_all(struct atomic_write *w)
{
    const struct pli_file *f = w->a->file;
    MPI_Offset end = w->size;
    struct pli_cursor c;
    struct iovec iov[N_RUN];
    size_t left = w->a->len;
    pli_file_view_cursor(&f->view, &c, NULL, w->a->pos, left);
    while (left > 0) {
        int n;
        left -= pli_cursor_iov(&c, iov, N_RUN, left, &n);
        for (int i = 0; i < n; i++) {
            MPI_Offset last = (MPI_Offset)((uintptr_t)iov[i].iov_base + iov[i].iov_len);
            end = last > end ? last : end;
        }
    }
    return end == w->size || ftruncate(f->fd, end) == 0
               ? PLI_OK
               : pli_file_sys_fail(errno, "write", f->name, 0, end);
}

// How much of the data is before the end of the file.
static size_t before_end(const struct atomic_write *w)
{
    const struct pli_file_atomic *a = w->a;
    if (!w->is_ordered) {
        return a->len;
    }
    MPI_Offset n = pli_file_view_before(&a->file->view, w->size) - a->pos;
    return n <= 0 ? 0 : (size_t)n < a->len ? (size_t)n : a->len;
}

// Move `len` bytes of the same places, from byte `skip` of the data on.
static enum pli_err move_part(const struct atomic_write *w, bool is_write, char *buf, size_t skip,
                              size_t len, size_t *done_out)
{
    return w->a->part(w->a->file, is_write, w->a->pos + (MPI_Offset)skip, buf, len, done_out);
}

// A file that cannot be read, as its mode forbids that, is written without.
static enum pli_err keep(struct atomic_write *w)
{
    struct pli_file *f = w->a->file;
    if (!w->is_regular || !f->can_read) {
        return PLI_OK;
    }
    enum pli_err err = w->is_ordered ? PLI_OK : reach_all(w);
    size_t len = before_end(w);
    if (err != PLI_OK || len == 0) {
        return err;
    }
    w->is_lent = (MPI_Offset)len <= f->hints.buffer;
    w->old = w->is_lent ? pli_file_buffer_take(f) : malloc(len);
    return w->old != NULL ? move_part(w, false, w->old, 0, len, &w->n)
                          : pli_fail(PLI_ERR_NOMEM,
                                     "no memory to keep %zu bytes of file %s until an atomic write "
                                     "is done",
                                     len, f->name);
}

static void forget(const struct atomic_write *w)
{
    if (w->is_lent && w->old != NULL) {
        pli_file_buffer_give(w->a->file, w->old);
    } else {
        free(w->old);
    }
}

// How much of the disk data takes that is written to another place: whole pages, of which a piece
// has one or two in part.
static MPI_Offset pages_of(const struct atomic_write *w)
{
    const struct pli_file_view *v = &w->a->file->view;
    if (w->n == 0 || v->is_dense) {
        return (MPI_Offset)w->n;
    }
    MPI_Offset run = pli_file_view_run_length(v);
    MPI_Offset most = ((MPI_Offset)w->n / run + 1) * (run + 2 * sysconf(_SC_PAGESIZE));
    return w->is_ordered && w->hi - w->lo < most ? w->hi - w->lo : most;
}

// Btrfs needs space for what is written back too, all of it, as it frees what was written together
// only together: a file without a name has it meanwhile, and it is there when that is closed.
static enum pli_err take_spare(struct atomic_write *w)
{
    const struct pli_file *f = w->a->file;
    if (f->is_in_place || pli_file_sys_type(f->fd) != BTRFS_SUPER_MAGIC) {
        return PLI_OK;
    }
    const char *slash = strrchr(f->name, '/');
    char *folder = slash == NULL ? strdup(".") : strndup(f->name, (size_t)(slash - f->name) + 1);
    if (folder == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for the name of a folder");
    }
    w->spare = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    bool has_failed = w->spare < 0 || fallocate(w->spare, 0, 0, pages_of(w) + SPARE) != 0;
    int error = has_failed ? errno : 0;
    free(folder);
    return error != ENOSPC && error != EDQUOT
               ? PLI_OK
               : pli_file_sys_fail(error, "write", f->name, w->lo, (long long)w->a->len);
}

static void give_spare(struct atomic_write *w)
{
    if (w->spare >= 0) {
        close(w->spare);
        w->spare = -1;
    }
}

static enum pli_err reserve(const struct atomic_write *w)
{
    const struct pli_file *f = w->a->file;
    if (!w->is_ordered || (size_t)(w->hi - w->lo) / MOST_GAPS > w->a->len) {
        return PLI_OK;
    }
    // To make space takes longer than to write where pages are small.
    return f->is_in_place && f->can_read ? pli_file_sys_check_room(f->fd, f->name, w->lo, w->hi)
                                         : pli_file_sys_reserve(f->fd, f->name, w->lo, w->hi);
}

// NFS tells of a full disk when data goes to the server, which unlocking would do too late.
static enum pli_err write_all(const struct atomic_write *w)
{
    const struct pli_file *f = w->a->file;
    enum pli_err err = w->a->write(w->a->arg);
    if (err == PLI_OK && f->needs_lock && w->is_regular && fsync(f->fd) != 0) {
        err = pli_file_sys_fail(errno, "write", f->name, w->lo, (long long)w->a->len);
    }
    return err;
}

// How much of the data was changed: a file system that writes to other places needs space for what
// is written back.
static size_t changed(const struct atomic_write *w)
{
    char *now = malloc(w->n);
    size_t n = w->n, done;
    if (now != NULL && move_part(w, false, now, 0, n, &done) == PLI_OK && done == n) {
        while (n > 0 && now[n - 1] == w->old[n - 1]) {
            n--;
        }
    }
    free(now);
    return n;
}

// Where space is short, that of what was written over is there again once the disk has the new.
static enum pli_err write_back(const struct atomic_write *w, char *buf, size_t skip, size_t len)
{
    size_t at = 0, done = 1;
    enum pli_err err = PLI_OK;
    bool is_short;
    do {
        bool was_stuck = done == 0;
        err = move_part(w, true, buf + at, skip + at, len - at, &done);
        at += done;
        is_short = (err == PLI_ERR_NO_SPACE || err == PLI_ERR_QUOTA) && !(was_stuck && done == 0);
    } while (is_short && syncfs(w->a->file->fd) == 0);
    return err;
}

static int make_hole(const struct pli_file *f, MPI_Offset at, MPI_Offset len)
{
    int rc;
    do {
        rc = fallocate(f->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, len);
    } while (rc != 0 && errno == EINTR);
    return rc;
}

// Holes where the data behind the end was to be, which is not all of it: they need no space, as
// zeros would. False: the file system has none.
static bool make_holes(const struct atomic_write *w)
{
    const struct pli_file *f = w->a->file;
    MPI_Offset pos = w->a->pos + (MPI_Offset)w->n;
    struct pli_cursor c;
    struct iovec iov[N_RUN];
    size_t left = w->a->len - w->n;
    if (f->view.is_dense) {
        return left == 0 || make_hole(f, w->hi - (MPI_Offset)left, (MPI_Offset)left) == 0;
    }
    pli_file_view_cursor(&f->view, &c, NULL, pos, left);
    while (left > 0) {
        int n;
        left -= pli_cursor_iov(&c, iov, N_RUN, left, &n);
        for (int i = 0; i < n; i++) {
            MPI_Offset at = (MPI_Offset)(uintptr_t)iov[i].iov_base;
            if (make_hole(f, at, (MPI_Offset)iov[i].iov_len) != 0) {
                return false;
            }
        }
    }
    return true;
}

// Behind the end that the file had: it gets that again, unless others have written further behind.
static enum pli_err shorten(struct atomic_write *w)
{
    struct pli_file *f = w->a->file;
    MPI_Offset size = w->size;
    enum pli_err err = PLI_OK;
    if (w->to < INT64_MAX) {
        err = pli_file_lock_more(f, w->to, INT64_MAX);
        w->to = err == PLI_OK ? INT64_MAX : w->to;
    }
    err = err == PLI_OK ? look(w) : err;
    if (err != PLI_OK || w->size == size) {
        return err;
    }
    if (!w->is_ordered || w->size <= w->hi) {
        return ftruncate(f->fd, size) == 0 || (syncfs(f->fd) == 0 && ftruncate(f->fd, size) == 0)
                   ? PLI_OK
                   : pli_file_sys_fail(errno, "shorten", f->name, size, w->size - size);
    }
    if (make_holes(w)) {
        return PLI_OK;
    }
    size_t len = w->a->len - w->n;
    char *zero = calloc(len + 1, 1);
    err = zero != NULL ? write_back(w, zero, w->n, len)
                       : pli_fail(PLI_ERR_NOMEM, "no memory for %zu bytes", len);
    free(zero);
    return err;
}

static enum pli_err take_back(struct atomic_write *w, enum pli_err err, bool *is_whole_out)
{
    struct pli_fail_saved why;
    pli_fail_save(&why, err);
    give_spare(w);
    size_t n = w->n > 0 ? changed(w) : 0;
    enum pli_err back = n > 0 ? write_back(w, w->old, 0, n) : PLI_OK;
    back = back == PLI_OK ? shorten(w) : back;
    if (back != PLI_OK) {
        pli_fail_take(NULL);
        return pli_fail(err, "%s; what was there before could not be written back", why.text);
    }
    *is_whole_out = true;
    return pli_fail_repeat(&why);
}

// Whether the system does it as a whole or not at all: one call within one page.
static bool is_one_page(const struct atomic_write *w)
{
    MPI_Offset page = sysconf(_SC_PAGESIZE);
    return w->a->file->is_in_place && w->is_ordered && w->hi - w->lo == (MPI_Offset)w->a->len &&
           w->lo / page == (w->hi - 1) / page && pli_file_sys_is_allowed(w->hi);
}

static enum pli_err write_page(const struct atomic_write *w, bool *is_whole_out)
{
    struct pli_file *f = w->a->file;
    enum pli_err err = pli_file_lock_take(f, true, w->lo, w->hi);
    *is_whole_out = true;
    if (err == PLI_OK) {
        err = w->a->write(w->a->arg);
        pli_file_lock_drop(f, w->lo, w->hi);
    }
    return err;
}

enum pli_err pli_file_atomic_write(const struct pli_file_atomic *a, bool *is_whole_out)
{
    const struct pli_file_view *v = &a->file->view;
    struct atomic_write w = { .a = a,
                              .spare = -1,
                              .is_ordered = pli_file_view_is_ordered(v, a->pos, a->len),
                              .hi = INT64_MAX };
    if (w.is_ordered) {
        w.lo = pli_file_view_offset(v, a->pos);
        w.hi = pli_file_view_end(v, a->pos + (MPI_Offset)a->len);
    }
    if (is_one_page(&w)) {
        return write_page(&w, is_whole_out);
    }
    *is_whole_out = false;
    enum pli_err err = lock_range(&w);
    if (err != PLI_OK) {
        return err;
    }
    err = keep(&w);
    err = err == PLI_OK ? reserve(&w) : err;
    err = err == PLI_OK ? take_spare(&w) : err;
    err = err == PLI_OK ? write_all(&w) : err;
    if (err != PLI_OK && w.is_regular && a->file->can_read) {
        err = take_back(&w, err, is_whole_out);
    }
    pli_file_lock_drop(a->file, w.from, w.to);
    give_spare(&w);
    forget(&w);
    return err;
}
