// SPDX-License-Identifier: BSD-3-Clause
// A line takes an atomic instruction for its place, a copy, and another one for the end of the
// file. The system is asked once for every window.
#include "io/file_shared_map.h"

#include "io/file.h"
#include "io/file_access.h"
#include "io/file_fault.h"
#include "io/file_map.h"
#include "io/file_sys.h"
#include "obj/comm.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Windows grow with the file, so that a short log does not pay for space that it does not need.
enum {
    FIRST_WINDOW = 64 * 1024,
    LAST_WINDOW = 1 << 20,
    LONGEST = 64 * 1024, // more is written by a system call
};

// The part of the file that this member has mapped.
struct pli_file_window {
    pthread_mutex_t lock;
    struct pli_file_map map;
    MPI_Offset lo, hi; // lo == hi: none
    MPI_Offset step;   // where there are large pages: how long the next one is to be
};

static void raise_to(_Atomic MPI_Offset *word, MPI_Offset least)
{
    MPI_Offset now = atomic_load_explicit(word, memory_order_relaxed);
    while (now < least && !atomic_compare_exchange_weak(word, &now, least)) {
    }
}

static struct pli_file_words *words_of(const struct pli_file *f)
{
    return (struct pli_file_words *)f->pointer.word;
}

static _Atomic MPI_Offset *own_end(const struct pli_file *f)
{
    return &words_of(f)->members[f->comm->rank].end;
}

// Nobody else writes the word, so it needs no instruction that would wait for the line before it to
// leave the core. Context: lock of the window, or nobody writes.
static void raise_own(const struct pli_file *f, MPI_Offset least)
{
    if (atomic_load_explicit(own_end(f), memory_order_relaxed) < least) {
        atomic_store_explicit(own_end(f), least, memory_order_release);
    }
}

static MPI_Offset largest_end(const struct pli_file *f)
{
    MPI_Offset most = 0;
    for (int i = 0; i < f->comm->size; i++) {
        MPI_Offset end = atomic_load(&words_of(f)->members[i].end);
        most = end > most ? end : most;
    }
    return most;
}

// By rank 0 while nobody writes: the file is as long as it should be.
static void set_end(struct pli_file *f, MPI_Offset size)
{
    struct pli_file_words *words = words_of(f);
    for (int i = 0; i < f->comm->size; i++) {
        atomic_store(&words->members[i].end, size);
    }
    atomic_store(&words->room, 0);
    atomic_store(&words->made, 0);
}

static bool is_wanted(const struct pli_file *f)
{
    return f->hints.shared_map == PLI_FILE_ENABLE && (f->amode & MPI_MODE_WRONLY) != 0 &&
           f->hints.map != PLI_FILE_DISABLE && f->is_local && f->can_read && !f->needs_lock;
}

size_t pli_file_shared_map_len(const struct pli_file *f)
{
    size_t n = (size_t)f->comm->size;
    return is_wanted(f) ? sizeof(struct pli_file_words) + n * sizeof words_of(f)->members[0]
                        : sizeof(struct pli_file_head);
}

bool pli_file_shared_map_offer(struct pli_file *f)
{
    struct stat s;
    if (!is_wanted(f) || f->pointer.word == NULL || fstat(f->fd, &s) != 0) {
        return false;
    }
    set_end(f, s.st_size);
    return true;
}

void pli_file_shared_map_note(struct pli_file *f, const struct pli_file_access *a)
{
    if (f->window != NULL && a->is_write && a->done > 0) {
        pthread_mutex_lock(&f->window->lock);
        raise_own(f, pli_file_view_end(&f->view, a->pos + (MPI_Offset)a->done));
        pthread_mutex_unlock(&f->window->lock);
    }
}

static void forget_window(struct pli_file *f, struct pli_file_window *w)
{
    if (w->lo < w->hi) {
        pli_file_fault_resume(&w->map.fault);
        pli_file_map_close(f, &w->map);
    }
    w->lo = w->hi = 0;
}

// Space is there without a gap up to where it is noted.
static void raise_made(struct pli_file_words *words, MPI_Offset lo, MPI_Offset hi)
{
    if (atomic_load(&words->made) >= lo) {
        raise_to(&words->made, hi);
    }
}

// As long as what is before it; in memory that is the file always the same, as the mapping stays,
// and pages that nobody needs would be made for nothing. Where there are large pages the next one
// is twice as long as the last, also after the file was cut: small pages at its begin would be in
// the way of a large one.
static MPI_Offset window_step(const struct pli_file *f, struct pli_file_window *w, MPI_Offset at)
{
    MPI_Offset step = FIRST_WINDOW;
    if (f->has_large_pages) {
        step = w->step > 0 ? w->step : step;
        w->step = step < LAST_WINDOW ? 2 * step : step;
        return step;
    }
    while (!f->is_memory && step < LAST_WINDOW && 2 * step <= at) {
        step *= 2;
    }
    return step;
}

static bool open_window(struct pli_file *f, struct pli_file_window *w, MPI_Offset lo, MPI_Offset hi,
                        bool has_space)
{
    forget_window(f, w);
    bool is_open = has_space ? pli_file_map_open_made(f, lo, hi, &w->map)
                             : pli_file_map_open(f, lo, hi, &w->map);
    if (is_open) {
        pli_file_fault_keep(&w->map.fault);
    }
    return is_open;
}

// Space is announced before it is made: whoever asks for the size meanwhile gets the right one.
// Where the file is longer than what was announced somebody else has written there.
static bool move_window(struct pli_file *f, struct pli_file_window *w, MPI_Offset at)
{
    struct pli_file_words *words = words_of(f);
    MPI_Offset step = window_step(f, w, at), lo = at / step * step, hi = lo + step;
    struct stat s;
    if (!f->is_local || fstat(f->fd, &s) != 0 || !pli_file_sys_is_allowed(hi)) {
        forget_window(f, w);
        return false;
    }
    if (s.st_size > atomic_load(&words->room)) {
        raise_own(f, s.st_size);
    }
    raise_to(&words->room, hi);
    bool has_space = atomic_load(&words->made) >= hi && s.st_size >= hi;
    if (!(has_space && w->lo < w->hi && pli_file_map_move(f, lo, hi, &w->map)) &&
        !open_window(f, w, lo, hi, has_space)) {
        return false;
    }
    raise_made(words, lo, hi);
    w->lo = lo;
    w->hi = hi;
    return true;
}

bool pli_file_shared_map_write(struct pli_file_access *a)
{
    struct pli_file *f = a->file;
    struct pli_file_window *w = f->window;
    if (f->window == NULL || !a->is_shared || !a->is_write || a->run == NULL || a->len == 0 ||
        a->len > LONGEST || !f->view.is_dense || f->is_atomic) {
        return false;
    }
    MPI_Offset at = pli_file_view_offset(&f->view, a->pos), end = at + (MPI_Offset)a->len;
    bool is_stored = true;
    pthread_mutex_lock(&w->lock);
    while (at < end && is_stored) {
        if (at < w->lo || at >= w->hi) {
            is_stored = move_window(f, w, at);
            continue;
        }
        MPI_Offset to = end < w->hi ? end : w->hi;
        pli_file_fault_resume(&w->map.fault);
        memcpy(w->map.base + at, a->run + a->len - (end - at), (size_t)(to - at));
        if (pli_file_fault_pause(&w->map.fault)) {
            at = to;
        } else { // another program made the file shorter
            forget_window(f, w);
        }
    }
    if (is_stored) {
        a->done = a->len;
        raise_own(f, end);
    }
    pthread_mutex_unlock(&w->lock);
    return is_stored;
}

MPI_Offset pli_file_shared_map_size(const struct pli_file *f, MPI_Offset size)
{
    if (f->window == NULL) {
        return size;
    }
    MPI_Offset room = atomic_load(&words_of(f)->room);
    return size <= room ? largest_end(f) : size;
}

void pli_file_shared_map_reset(struct pli_file *f, MPI_Offset size, bool is_exact)
{
    if (f->window == NULL) {
        return;
    }
    forget_window(f, f->window);
    if (f->comm->rank == 0 && is_exact) {
        set_end(f, size);
    } else if (f->comm->rank == 0) {
        raise_own(f, size);
    }
}

enum pli_err pli_file_shared_map_trim(struct pli_file *f, bool is_each)
{
    struct stat s;
    MPI_Offset end = largest_end(f);
    int rc = 0;
    forget_window(f, f->window);
    if (f->comm->rank != 0 && !is_each) {
        return PLI_OK;
    }
    if (f->fd >= 0 && fstat(f->fd, &s) == 0 && s.st_size > end &&
        s.st_size <= atomic_load(&words_of(f)->room)) {
        do {
            rc = ftruncate(f->fd, end);
        } while (rc != 0 && errno == EINTR);
    }
    if (rc == 0 && !is_each) {
        set_end(f, end);
    }
    return rc == 0 ? PLI_OK : pli_file_sys_fail(errno, "set the size of", f->name, 0, -1);
}

enum pli_err pli_file_shared_map_open(struct pli_file *f)
{
    f->window = calloc(1, sizeof *f->window);
    if (f->window == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for the mapping of file %s", f->name);
    }
    pthread_mutex_init(&f->window->lock, NULL);
    return PLI_OK;
}

void pli_file_shared_map_close(struct pli_file *f)
{
    if (f->window != NULL) {
        forget_window(f, f->window);
        pthread_mutex_destroy(&f->window->lock);
        free(f->window);
    }
    f->window = NULL;
}
