// SPDX-License-Identifier: BSD-3-Clause
// Independent access. Data with gaps in the file is moved with the gaps (data sieving) where pieces
// are small: one large read, or stores to a mapping of the file, instead of very many small calls.
#include "io/file_access.h"

#include "io/file.h"
#include "io/file_atomic.h"
#include "io/file_block.h"
#include "io/file_datarep.h"
#include "io/file_lock.h"
#include "io/file_map.h"
#include "io/file_shared_batch.h"
#include "io/file_shared_map.h"
#include "io/file_sys.h"
#include "io/file_turn.h"
#include "obj/comm.h"
#include "obj/cursor.h"
#include "obj/type_plan.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    N_IOV = 256,       // runs of the file, or of memory, in a list
    LONG_PIECE = 8192, // pieces of memory of this size are not worth a copy
    BOUNCE = 1 << 20,  // others are collected in so many bytes
    // What a system call costs is worth so many bytes that are moved for nothing:
    WRITE_STEP = 4096,     // a piece and its gap of no more are stored in a mapping
    LARGE_STEP = 65536,    // the same where it has large pages, and others write into the gaps,
    LARGE_PIECE = 8192,    // and pieces of no more; and where both are read
    MEMORY_STEP = 32768,   // the same of memory that is the file, where 16 pages come at a time
    SPARSE = 65536,        // no less is stored in such pages where others do so too,
    SPARSE_STEP = 65536,   // by pieces of a page or more with a gap of no more
    READ_STEP = 6144,      // elsewhere a piece twice and its gap of less are read with the gap
    MAPPED_RUN = 32768,    // runs of no less are read from memory that is the file,
    MAPPED_PART = 4 << 20, // in parts up to a multiple of this
};

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static enum pli_err check_mode(const struct pli_file *f, bool is_write)
{
    if (is_write && (f->amode & MPI_MODE_RDONLY) != 0) {
        return pli_fail(PLI_ERR_READ_ONLY, "file %s was opened with MPI_MODE_RDONLY", f->name);
    }
    return is_write || (f->amode & MPI_MODE_WRONLY) == 0
               ? PLI_OK
               : pli_fail(PLI_ERR_ACCESS, "file %s was opened with MPI_MODE_WRONLY", f->name);
}

// Data that is written is converted now, data that is read in the end.
static enum pli_err convert(struct pli_file_access *a)
{
    struct pli_datatype *byte = pli_handle_get(MPI_BYTE, PLI_KIND_DATATYPE);
    a->stage = malloc(a->len + 1);
    if (a->stage == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory to convert %zu bytes", a->len);
    }
    a->run = a->stage;
    a->rep = a->file->view.rep;
    pli_cursor_init(&a->memory, a->stage, (MPI_Count)a->len, byte);
    return a->is_write ? pli_file_datarep_write(a->rep, a->buf, a->count, a->type, a->stage)
                       : PLI_OK;
}

enum pli_err pli_file_access_begin(struct pli_file_access *a, struct pli_file *f, bool is_write,
                                   const void *buf, MPI_Count count, struct pli_datatype *type)
{
    const struct pli_file_view *v = &f->view;
    *a = (struct pli_file_access){ .file = f,
                                   .is_write = is_write,
                                   .buf = (void *)(uintptr_t)buf,
                                   .count = count,
                                   .type = pli_datatype_retain(type) };
    MPI_Count each = pli_file_datarep_size(v->rep, type), len;
    enum pli_err err = check_mode(f, is_write);
    if (err == PLI_OK && __builtin_mul_overflow(each, count, &len)) {
        err = pli_fail(PLI_ERR_COUNT, "argument count is %lld, which is more than a file can hold",
                       (long long)count);
    }
    if (err == PLI_OK && pli_file_view_etypes(v, len) * v->unit != len) {
        err = pli_fail(PLI_ERR_IO,
                       "%lld bytes are accessed, which are no whole etypes: one has %lld bytes",
                       (long long)len, (long long)v->unit);
    }
    if (err == PLI_OK && len > 0 && v->layout->size == 0) {
        err = pli_fail(PLI_ERR_IO,
                       "the filetype of the view has no data, so nothing can be accessed");
    }
    if (err != PLI_OK) {
        return err;
    }
    a->len = (size_t)len;
    if (v->rep != NULL && len > 0) {
        return convert(a);
    }
    pli_cursor_init(&a->memory, buf, count, type);
    a->run = pli_datatype_is_run(type, count) ? (char *)a->buf + type->true_lb : NULL;
    return PLI_OK;
}

enum pli_err pli_file_access_end(struct pli_file_access *a, enum pli_err err, size_t *bytes_out)
{
    size_t bytes = a->done;
    if (a->stage != NULL && a->len > 0) {
        // In elements: those that are there as a whole.
        MPI_Count each = (MPI_Count)a->len / a->count, n = (MPI_Count)a->done / each;
        MPI_Count got = n * a->type->size;
        if (err == PLI_OK && !a->is_write) {
            err = pli_file_datarep_read(a->rep, a->stage, a->done, a->buf, n, a->type, &got);
        }
        bytes = (size_t)got;
    }
    free(a->stage);
    if (a->type != NULL) {
        pli_datatype_release(a->type);
    }
    a->stage = NULL;
    a->type = NULL;
    *bytes_out = bytes;
    return err;
}

void pli_file_access_pack(const struct pli_file_access *a, size_t from, void *buf, size_t n)
{
    if (a->run != NULL) {
        memcpy(buf, a->run + from, n);
        return;
    }
    struct pli_cursor c = a->memory;
    pli_cursor_seek(&c, from);
    pli_cursor_pack(&c, buf, n);
}

void pli_file_access_unpack(const struct pli_file_access *a, size_t from, const void *buf, size_t n)
{
    if (a->run != NULL) {
        memcpy(a->run + from, buf, n);
        return;
    }
    struct pli_cursor c = a->memory;
    pli_cursor_seek(&c, from);
    pli_cursor_unpack(&c, buf, n);
}

// Memory in long pieces goes to the system as it is.
static enum pli_err move_pieces(struct pli_file_access *a, size_t n, MPI_Offset at, size_t *moved)
{
    const struct pli_file *f = a->file;
    struct pli_cursor c = a->memory;
    struct iovec iov[N_IOV];
    enum pli_err err = PLI_OK;
    pli_cursor_seek(&c, a->done);
    *moved = 0;
    while (*moved < n && err == PLI_OK) {
        int n_iov;
        size_t part, want = pli_cursor_iov(&c, iov, N_IOV, n - *moved, &n_iov);
        MPI_Offset here = at + (MPI_Offset)*moved;
        err = a->is_write ? pli_file_sys_writev(f->fd, f->name, iov, n_iov, here, &part)
                          : pli_file_sys_readv(f->fd, f->name, iov, n_iov, here, &part);
        *moved += part;
        if (part < want) {
            break;
        }
    }
    return err;
}

// Memory in short pieces is collected first.
static enum pli_err move_collected(struct pli_file_access *a, size_t n, MPI_Offset at,
                                   size_t *moved)
{
    size_t room = smaller(n, BOUNCE);
    char *bounce = malloc(room);
    enum pli_err err =
        bounce != NULL ? PLI_OK : pli_fail(PLI_ERR_NOMEM, "no memory for %zu bytes", room);
    *moved = 0;
    while (*moved < n && err == PLI_OK) {
        size_t part, want = smaller(room, n - *moved);
        if (a->is_write) {
            pli_file_access_pack(a, a->done + *moved, bounce, want);
        }
        err =
            pli_file_block_move(a->file, a->is_write, bounce, want, at + (MPI_Offset)*moved, &part);
        if (!a->is_write) {
            pli_file_access_unpack(a, a->done + *moved, bounce, part);
        }
        *moved += part;
        if (part < want) {
            break;
        }
    }
    free(bounce);
    return err;
}

// The next n bytes, which are one run of a file in memory: the system would find and lock each page
// to copy it. Returns how many were moved; the caller reads the others.
static size_t read_mapped(const struct pli_file_access *a, size_t n, MPI_Offset at)
{
    struct pli_file *f = a->file;
    struct pli_file_map map;
    size_t done = 0;
    if (a->is_write || a->is_plain || a->run == NULL || !f->is_memory || n < MAPPED_RUN) {
        return 0;
    }
    for (size_t part; done < n; done += part) {
        MPI_Offset lo = at + (MPI_Offset)done;
        part = smaller(n - done, MAPPED_PART - (size_t)(lo % MAPPED_PART));
        if (!pli_file_map_open_read(f, lo, lo + (MPI_Offset)part, &map)) {
            break;
        }
        memcpy(a->run + a->done + done, map.base + lo, part);
        if (!pli_file_map_close(f, &map)) {
            break;
        }
    }
    return done;
}

// The next n bytes, which are one run of the file. *is_end_out: the file ended.
static enum pli_err move_run(struct pli_file_access *a, size_t n, MPI_Offset at, bool *is_end_out)
{
    size_t moved = read_mapped(a, n, at);
    enum pli_err err = PLI_OK;
    a->done += moved;
    n -= moved;
    at += (MPI_Offset)moved;
    moved = 0;
    if (n == 0) {
        return PLI_OK;
    }
    if (a->run != NULL) {
        err = pli_file_block_move(a->file, a->is_write, a->run + a->done, n, at, &moved);
    } else if (a->type->size / a->type->plan->runs >= LONG_PIECE) {
        err = move_pieces(a, n, at, &moved);
    } else {
        err = move_collected(a, n, at, &moved);
    }
    a->done += moved;
    *is_end_out = moved < n;
    return err;
}

// Runs of the file that are one run of memory, several at once.
static enum pli_err move_pieces_at_once(struct pli_file_access *a, const struct iovec *runs, int n,
                                        bool *is_end_out)
{
    struct pli_file_piece pieces[N_IOV];
    size_t want = 0, moved;
    for (int i = 0; i < n; i++) {
        pieces[i] = (struct pli_file_piece){ .buf = a->run + a->done + want,
                                             .len = runs[i].iov_len,
                                             .at = (MPI_Offset)(uintptr_t)runs[i].iov_base };
        want += runs[i].iov_len;
    }
    enum pli_err err = pli_file_block_pieces(a->file, a->is_write, pieces, n, &moved);
    a->done += moved;
    *is_end_out = moved < want;
    return err;
}

// Whether to write a list of short runs in one turn; long ones have turns of their own.
static bool has_turn(const struct pli_file_access *a, const struct iovec *runs, int n)
{
    size_t sum = 0, longest = 0;
    for (int i = 0; a->is_write && i < n; i++) {
        sum += runs[i].iov_len;
        longest = runs[i].iov_len > longest ? runs[i].iov_len : longest;
    }
    return sum <= PLI_FILE_TURN && pli_file_turn_is_worth(a->file, sum) &&
           !pli_file_turn_is_worth(a->file, longest);
}

// Each run of the file by itself.
static enum pli_err move_runs(struct pli_file_access *a, size_t n, bool *is_end_out)
{
    struct pli_cursor c;
    struct iovec iov[N_IOV];
    enum pli_err err = PLI_OK;
    pli_file_view_cursor(&a->file->view, &c, NULL, a->pos + (MPI_Offset)a->done, n);
    while (n > 0 && err == PLI_OK && !*is_end_out) {
        int n_iov;
        n -= pli_cursor_iov(&c, iov, N_IOV, n, &n_iov);
        if (a->file->has_uring && a->run != NULL) {
            err = move_pieces_at_once(a, iov, n_iov, is_end_out);
            continue;
        }
        bool is_turn = has_turn(a, iov, n_iov);
        if (is_turn) {
            pli_file_turn_take(a->file);
        }
        for (int i = 0; i < n_iov && err == PLI_OK && !*is_end_out; i++) {
            err = move_run(a, iov[i].iov_len, (MPI_Offset)(uintptr_t)iov[i].iov_base, is_end_out);
        }
        if (is_turn) {
            pli_file_turn_give(a->file);
        }
    }
    return err;
}

// A part of the file that is read, and written, with its gaps.
struct sieve {
    MPI_Offset lo, hi;
    size_t n; // bytes of the view in it
};

// The next n bytes of the view, from memory where offset 0 of the file would be at base.
static void load(struct pli_file_access *a, size_t n, const char *base)
{
    struct pli_cursor c;
    pli_file_view_cursor(&a->file->view, &c, base, a->pos + (MPI_Offset)a->done, n);
    if (a->run != NULL) {
        pli_cursor_pack(&c, a->run + a->done, n);
    } else {
        char part[8192];
        for (size_t at = 0, m; at < n; at += m) {
            m = pli_cursor_pack(&c, part, smaller(sizeof part, n - at));
            pli_file_access_unpack(a, a->done + at, part, m);
        }
    }
    a->done += n;
}

// *buf: room for a range of the file, made when it is needed.
static enum pli_err sieve_read(struct pli_file_access *a, const struct sieve *s, char **buf,
                               size_t room, bool *is_end_out)
{
    struct pli_file *f = a->file;
    struct pli_file_map map;
    size_t got = 0;
    if (pli_file_map_open_read(f, s->lo, s->hi, &map)) {
        load(a, s->n, map.base);
        if (pli_file_map_close(f, &map)) {
            return PLI_OK;
        }
        a->done -= s->n;
    }
    *buf = *buf != NULL ? *buf : malloc(room);
    if (*buf == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for a buffer of %zu bytes", room);
    }
    enum pli_err err = pli_file_block_move(f, false, *buf, (size_t)(s->hi - s->lo), s->lo, &got);
    MPI_Offset pos = a->pos + (MPI_Offset)a->done;
    MPI_Offset n = pli_file_view_before(&f->view, s->lo + (MPI_Offset)got) - pos;
    n = n < 0 ? 0 : n > (MPI_Offset)s->n ? (MPI_Offset)s->n : n;
    load(a, (size_t)n, *buf - s->lo);
    *is_end_out = (size_t)n < s->n;
    return err;
}

// The bytes of the view in a range of the file, from memory to where offset 0 of the file would be.
static void store(const struct pli_file_access *a, const struct sieve *s, char *base)
{
    struct pli_cursor c;
    pli_file_view_cursor(&a->file->view, &c, base, a->pos + (MPI_Offset)a->done, s->n);
    char part[8192];
    for (size_t at = 0, m; at < s->n; at += m) {
        m = a->run != NULL ? s->n : smaller(sizeof part, s->n - at);
        if (a->run == NULL) {
            pli_file_access_pack(a, a->done + at, part, m);
        }
        pli_cursor_unpack(&c, a->run != NULL ? a->run + a->done : part, m);
    }
}

// With the hint romio_ds_write=enable all writers of the file lock what they write.
static enum pli_err rewrite(struct pli_file_access *a, const struct sieve *s)
{
    struct pli_file *f = a->file;
    size_t span = (size_t)(s->hi - s->lo), got = 0;
    char *buf = malloc(span);
    if (buf == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for a buffer of %zu bytes", span);
    }
    enum pli_err err = pli_file_sys_read(f->fd, f->name, buf, span, s->lo, &got);
    if (err == PLI_OK) {
        memset(buf + got, 0, span - got);
        store(a, s, buf - s->lo);
        err = pli_file_sys_write(f->fd, f->name, buf, span, s->lo, &got);
    }
    free(buf);
    a->done += err == PLI_OK ? s->n : 0;
    return err;
}

// False: pages were lost meanwhile.
static bool store_mapped(struct pli_file_access *a, const struct sieve *s, struct pli_file_map *m)
{
    store(a, s, m->base);
    bool is_stored = pli_file_map_close(a->file, m);
    a->done += is_stored ? s->n : 0;
    return is_stored;
}

// Whether pieces are stored in pages of memory that is the file, which are made by that: so all
// members make some at a time, by system calls one after the other.
static bool is_sparse(const struct pli_file_access *a, const struct sieve *s)
{
    const struct pli_file *f = a->file;
    size_t piece = (size_t)pli_file_view_run_length(&f->view);
    return a->is_write && f->is_memory && f->hints.ds_write == PLI_FILE_AUTOMATIC &&
           f->comm->size > 1 && s->n >= SPARSE && piece >= (size_t)sysconf(_SC_PAGESIZE) &&
           piece < MAPPED_RUN && (size_t)(s->hi - s->lo) / (s->n / piece + 1) <= SPARSE_STEP;
}

static enum pli_err sparse_write(struct pli_file_access *a, const struct sieve *s)
{
    struct pli_file_map m;
    bool is_end = false;
    return pli_file_map_open_sparse(a->file, s->lo, s->hi, &m) && store_mapped(a, s, &m)
               ? PLI_OK
               : move_runs(a, s->n, &is_end);
}

static enum pli_err sieve_write(struct pli_file_access *a, const struct sieve *s)
{
    struct pli_file_map m;
    bool is_end = false;
    if (pli_file_map_open(a->file, s->lo, s->hi, &m) && store_mapped(a, s, &m)) {
        return PLI_OK;
    }
    return a->file->hints.ds_write == PLI_FILE_ENABLE && a->file->can_read
               ? rewrite(a, s)
               : move_runs(a, s->n, &is_end);
}

// How far apart such pieces may be.
static size_t common_step(const struct pli_file_access *a)
{
    return a->file->is_memory ? MEMORY_STEP : LARGE_STEP;
}

// Whether pages that members fill together are worth to be mapped as a whole by each of them: to
// read them, where large ones are written, or where each member has a core to bring its part.
static bool is_common(const struct pli_file_access *a, size_t piece)
{
    const struct pli_file *f = a->file;
    bool is_shared = f->is_memory && pli_file_turn_is_worth(f, a->len);
    return f->is_filled && piece <= LARGE_PIECE &&
           (a->is_write ? f->has_large_pages || is_shared : pli_file_map_is_allowed(f));
}

static bool is_worth(const struct pli_file_access *a, const struct sieve *s)
{
    const struct pli_file *f = a->file;
    enum pli_file_choice choice = a->is_write ? f->hints.ds_write : f->hints.ds_read;
    if (choice == PLI_FILE_DISABLE || (a->is_write && !f->is_local && choice != PLI_FILE_ENABLE)) {
        return false;
    }
    size_t piece = (size_t)pli_file_view_run_length(&f->view), n_piece = s->n / piece + 1;
    size_t step = (size_t)(s->hi - s->lo) / n_piece;
    bool common = is_common(a, piece);
    size_t most = common ? common_step(a) : a->is_write ? WRITE_STEP : READ_STEP;
    return choice == PLI_FILE_ENABLE || (a->is_write || common ? step : step + piece) <= most;
}

bool pli_file_access_is_mapped(const struct pli_file_access *a)
{
    const struct pli_file *f = a->file;
    const struct pli_file_view *v = &f->view;
    enum pli_file_choice choice = a->is_write ? f->hints.ds_write : f->hints.ds_read;
    if (a->len == 0 || v->is_dense || choice != PLI_FILE_AUTOMATIC ||
        !pli_file_view_is_ordered(v, a->pos, a->len)) {
        return false;
    }
    MPI_Offset lo = pli_file_view_offset(v, a->pos);
    MPI_Offset hi = pli_file_view_end(v, a->pos + (MPI_Offset)a->len);
    size_t piece = (size_t)pli_file_view_run_length(v),
           step = (size_t)(hi - lo) / (a->len / piece + 1);
    return (!a->is_write || pli_file_map_is_large(f, lo, hi)) && step <= common_step(a) &&
           is_common(a, piece);
}

static enum pli_err run_gaps(struct pli_file_access *a)
{
    const struct pli_file *f = a->file;
    // Nothing is read to be written, so a mapping may be large.
    size_t room = (size_t)(a->is_write && f->is_local ? f->hints.buffer
                           : a->is_write              ? f->hints.write_sieve
                                                      : f->hints.read_sieve);
    bool is_end = false;
    enum pli_err err = PLI_OK;
    char *buf = NULL;
    while (a->done < a->len && err == PLI_OK && !is_end) {
        MPI_Offset pos = a->pos + (MPI_Offset)a->done;
        struct sieve s = { .lo = pli_file_view_offset(&f->view, pos) };
        MPI_Offset n = pli_file_view_before(&f->view, s.lo + (MPI_Offset)room) - pos;
        s.n = smaller(n > 0 ? (size_t)n : 1, a->len - a->done);
        s.hi = pli_file_view_end(&f->view, pos + (MPI_Offset)s.n);
        bool is_run = (size_t)(s.hi - s.lo) == s.n;
        if (is_run) {
            err = move_run(a, s.n, s.lo, &is_end);
        } else if (is_sparse(a, &s)) {
            err = sparse_write(a, &s);
        } else if (!is_worth(a, &s)) {
            err = move_runs(a, s.n, &is_end);
        } else {
            err = a->is_write ? sieve_write(a, &s) : sieve_read(a, &s, &buf, room, &is_end);
        }
    }
    free(buf);
    return err;
}

static enum pli_err run(struct pli_file_access *a)
{
    const struct pli_file_view *v = &a->file->view;
    bool is_end = false;
    if (a->len == 0) {
        return PLI_OK;
    }
    if (v->is_dense) {
        return move_run(a, a->len, pli_file_view_offset(v, a->pos), &is_end);
    }
    return !(a->is_plain && a->is_write) && pli_file_view_is_ordered(v, a->pos, a->len)
               ? run_gaps(a)
               : move_runs(a, a->len, &is_end);
}

static enum pli_err write_it(void *access)
{
    return run(access);
}

// Bytes of the view that are one run of memory; they are written without a mapping, which would
// take space for the gaps, and where they are one run of the file read without, as tmpfs would make
// pages for holes.
static enum pli_err move_part(struct pli_file *f, bool is_write, MPI_Offset pos, char *buf,
                              size_t len, size_t *done_out)
{
    struct pli_file_access part = {
        .file = f, .is_write = is_write, .is_plain = true, .pos = pos, .len = len, .run = buf
    };
    enum pli_err err = run(&part);
    *done_out = part.done;
    return err;
}

static enum pli_err write_atomic(struct pli_file_access *a)
{
    const struct pli_file_atomic how = { .file = a->file,
                                         .pos = a->pos,
                                         .len = a->len,
                                         .write = write_it,
                                         .arg = a,
                                         .part = move_part };
    bool is_whole;
    enum pli_err err = pli_file_atomic_write(&how, &is_whole);
    a->done = err != PLI_OK && is_whole ? 0 : a->done;
    return err;
}

static enum pli_err run_locked(struct pli_file_access *a)
{
    struct pli_file *f = a->file;
    bool is_sieve = a->is_write && f->hints.ds_write == PLI_FILE_ENABLE;
    if (a->len == 0 || !(f->is_atomic || f->needs_lock || is_sieve)) {
        return run(a);
    }
    if (a->is_write && f->is_atomic) {
        return write_atomic(a);
    }
    // In atomic mode no access of another rank sees a part of this one.
    MPI_Offset lo = 0, hi = INT64_MAX;
    if (pli_file_view_is_ordered(&f->view, a->pos, a->len)) {
        lo = pli_file_view_offset(&f->view, a->pos);
        hi = pli_file_view_end(&f->view, a->pos + (MPI_Offset)a->len);
    }
    enum pli_err err = pli_file_lock_take(f, a->is_write, lo, hi);
    if (err == PLI_OK) {
        err = run(a);
        pli_file_lock_drop(f, lo, hi);
    }
    return err;
}

bool pli_file_access_line(struct pli_file *f, const void *buf, MPI_Count count,
                          const struct pli_datatype *type, MPI_Offset *at_out, size_t *len_out,
                          enum pli_err *err_out)
{
    return pli_file_shared_batch_line(f, buf, count, type, at_out, len_out, err_out);
}

enum pli_err pli_file_access_run(struct pli_file_access *a)
{
    enum pli_err err;
    if (pli_file_shared_map_write(a)) {
        return PLI_OK;
    }
    if (pli_file_shared_batch_write(a, &err)) {
        return err;
    }
    // A line that is written by itself changes nothing of what was collected.
    err = a->is_shared && a->is_write ? PLI_OK : pli_file_shared_batch_flush(a->file);
    err = err == PLI_OK ? run_locked(a) : err;
    if (err == PLI_OK) {
        err = pli_file_shared_batch_note(a);
    }
    pli_file_shared_map_note(a->file, a);
    return err;
}

enum pli_err pli_file_access_refresh(struct pli_file *f)
{
    enum pli_err err = pli_file_lock_begin(f, !f->can_read, 0, INT64_MAX);
    if (err == PLI_OK) {
        pli_file_lock_end(f, 0, INT64_MAX);
    }
    return err;
}
