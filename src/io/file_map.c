// SPDX-License-Identifier: BSD-3-Clause
// Maps files of local file systems. Space is reserved first, because a store to a page that has
// none would end the process.
#include "io/file_map.h"

#include "base/clock.h"
#include "base/cpu.h"
#include "io/file.h"
#include "io/file_fault.h"
#include "io/file_sys.h"
#include "io/file_turn.h"
#include "msg/progress.h"
#include "obj/comm.h"
#include "obj/datatype.h"
#include "obj/type_plan.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif
#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

enum {
    LARGE_PAGE = 2 << 20, // where they have another size the advice is of no use, no more
    NEAR = 64 << 10,      // a gap that pages are brought over by loads
    KEPT_SPAN = 64 << 20, // of the file, from a multiple of it on, in a mapping that is kept
    SPIN_NS = 2000 * 1000,
    AWAIT_NS = 50 * 1000
};
static const MPI_Offset LOCK_AT = INT64_MAX - 1;

bool pli_file_map_is_local(uint32_t system)
{
    switch (system) {
    case EXT4_SUPER_MAGIC: // ext2 and ext3 too
    case XFS_SUPER_MAGIC:
    case BTRFS_SUPER_MAGIC:
    case TMPFS_MAGIC:
        return true;
    default:
        return false;
    }
}

static bool has_new_kernel; // 6.16 or later

static void ask_kernel(void)
{
    struct utsname u;
    int major = 0, minor = 0;
    has_new_kernel = uname(&u) == 0 && sscanf(u.release, "%d.%d", &major, &minor) == 2 &&
                     (major > 6 || (major == 6 && minor >= 16));
}

// XFS has large pages too, but writes the page of the old end to the disk, and waits for that, when
// a file becomes longer within it: the larger the page, the longer the wait.
bool pli_file_map_has_large_pages(uint32_t system)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, ask_kernel);
    return system == EXT4_SUPER_MAGIC && has_new_kernel;
}

bool pli_file_map_is_memory(uint32_t system)
{
    return system == TMPFS_MAGIC;
}

// XFS may write over blocks that other files have too, and writes a page extent by extent.
bool pli_file_map_is_in_place(uint32_t system)
{
    return system == EXT4_SUPER_MAGIC || system == TMPFS_MAGIC;
}

bool pli_file_map_is_nfs(uint32_t system)
{
    return system == NFS_SUPER_MAGIC;
}

bool pli_file_map_is_nfs_folder(const char *name)
{
    struct statfs s;
    const char *slash = strrchr(name, '/');
    char *folder = slash == NULL ? strdup(".") : strndup(name, (size_t)(slash - name) + 1);
    bool is = folder != NULL && statfs(folder, &s) == 0 && (uint32_t)s.f_type == NFS_SUPER_MAGIC;
    free(folder);
    return is;
}

// madvise tells of an error of the disk where a load or store would end the process. Kernels before
// 5.14 do not know it: then pages come with the first access.
static bool populate(const struct pli_file_map *m, MPI_Offset lo, MPI_Offset hi, int advice)
{
    return madvise(m->base + lo, (size_t)(hi - lo), advice) == 0 || errno == EINVAL;
}

// Whether the kernel knows it: a store to a page for which there is no space would end the process.
static bool can_populate(void)
{
    static _Atomic int known; // 1: yes, -1: no
    int is = atomic_load_explicit(&known, memory_order_relaxed);
    if (is == 0) {
        is = madvise(NULL, 0, MADV_POPULATE_WRITE) == 0 ? 1 : -1;
        atomic_store_explicit(&known, is, memory_order_relaxed);
    }
    return is > 0;
}

static MPI_Offset page_of(MPI_Offset at)
{
    MPI_Offset page = sysconf(_SC_PAGESIZE);
    return at / page * page;
}

bool pli_file_map_is_allowed(const struct pli_file *f)
{
    return f->is_local && f->can_read && f->hints.map != PLI_FILE_DISABLE;
}

bool pli_file_map_is_large(const struct pli_file *f, MPI_Offset lo, MPI_Offset hi)
{
    return f->has_large_pages && pli_file_map_is_allowed(f) && hi - lo >= LARGE_PAGE / 2;
}

// A long range is mapped in whole large pages: one fault brings, and prepares for writing, 2 MiB
// where small pages need 512 faults in every rank. The mapping may be longer than the file; what is
// touched is not.
static bool map(const struct pli_file *f, MPI_Offset lo, MPI_Offset hi, int prot,
                struct pli_file_map *out)
{
    bool large = pli_file_map_is_large(f, lo, hi);
    MPI_Offset start = large ? lo / LARGE_PAGE * LARGE_PAGE : page_of(lo);
    MPI_Offset end = large ? (hi + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE : hi;
    size_t len = (size_t)(end - start);
    void *at = mmap(NULL, len, prot, MAP_SHARED, f->fd, start);
    if (at == MAP_FAILED) {
        return false;
    }
    *out = (struct pli_file_map){ .start = at,
                                  .len = len,
                                  .base = (char *)((uintptr_t)at - (uintptr_t)start),
                                  .has_large = large };
    if (large) {
        madvise(out->start, out->len, MADV_HUGEPAGE); // else small pages do
    }
    return true;
}

// Space for [lo, hi) of a file that becomes longer. Where the new end is within a page, ext4 brings
// that page, a small one, which would be in the way of a large one. Where the file had something of
// the large one before, that is there, or cannot be: then nothing is dropped, which would begin to
// write it to the disk.
static bool lengthen(const struct pli_file *f, MPI_Offset lo, MPI_Offset hi)
{
    struct stat s;
    MPI_Offset last = page_of(hi - 1);
    bool is_new = last + sysconf(_SC_PAGESIZE) > hi && fstat(f->fd, &s) == 0 &&
                  s.st_size <= last / LARGE_PAGE * LARGE_PAGE;
    if (fallocate(f->fd, 0, lo, hi - lo) != 0) {
        return false;
    }
    if (is_new) {
        posix_fadvise(f->fd, last, sysconf(_SC_PAGESIZE), POSIX_FADV_DONTNEED);
    }
    return true;
}

// Where each rank has a core it looks for the lock a while before it sleeps: who has it brings one
// page, in less than half a millisecond, but a sleeper may not be woken for longer than that.
static bool lock_end(const struct pli_file *f)
{
    uint64_t begin = pli_clock_ns();
    while (pli_progress_spins() > 1 && pli_clock_ns() - begin < SPIN_NS) {
        if (pli_file_sys_try_lock(f->fd, LOCK_AT, 1)) {
            return true;
        }
        pli_cpu_relax();
    }
    if (pli_file_sys_lock(f->fd, f->name, true, LOCK_AT, 1) == PLI_OK) {
        return true;
    }
    pli_fail_take(NULL);
    return false;
}

// For reading it is a copy on write that nobody writes to: it has the pages of the file, as a
// shared mapping has, but is nothing that a checkpoint must keep for others.
static bool map_kept(const struct pli_file *f, bool is_write, MPI_Offset lo,
                     struct pli_file_map *out)
{
    MPI_Offset start = lo / KEPT_SPAN * KEPT_SPAN;
    void *at = mmap(NULL, KEPT_SPAN, is_write ? PROT_READ | PROT_WRITE : PROT_READ,
                    is_write ? MAP_SHARED : MAP_PRIVATE, f->fd, start);
    if (at == MAP_FAILED) {
        return false;
    }
    *out = (struct pli_file_map){ .start = at,
                                  .len = KEPT_SPAN,
                                  .base = (char *)((uintptr_t)at - (uintptr_t)start),
                                  .is_write = is_write,
                                  .is_kept = true };
    return true;
}

// The mapping that was kept, where it has the range; else another takes its place. Who finds that a
// thread uses it maps one of its own.
static bool take_kept(struct pli_file *f, bool is_write, MPI_Offset lo, MPI_Offset hi,
                      struct pli_file_map *out)
{
    if (lo / KEPT_SPAN != (hi - 1) / KEPT_SPAN) {
        return false;
    }
    struct pli_file_map *kept = atomic_exchange(&f->kept[is_write], NULL);
    bool is_there = kept != NULL && kept->len > 0; // 0: a checkpoint was made
    if (kept != NULL) {
        *out = *kept;
        free(kept);
    }
    if (is_there && out->base + lo >= (char *)out->start &&
        out->base + hi <= (char *)out->start + out->len) {
        return true;
    }
    if (is_there) {
        munmap(out->start, out->len);
    }
    return map_kept(f, is_write, lo, out);
}

static void drop(struct pli_file_map *kept)
{
    if (kept != NULL) {
        munmap(kept->start, kept->len);
        free(kept);
    }
}

static void keep(struct pli_file *f, const struct pli_file_map *m)
{
    struct pli_file_map *kept = malloc(sizeof *kept);
    if (kept == NULL) {
        munmap(m->start, m->len);
        return;
    }
    *kept = *m;
    drop(atomic_exchange(&f->kept[m->is_write], kept));
}

static void ask_large(const struct pli_file *f, MPI_Offset lo, MPI_Offset hi,
                      struct pli_file_map *m)
{
    if (!m->has_large && pli_file_map_is_large(f, lo, hi)) {
        m->has_large = madvise(m->start, m->len, MADV_HUGEPAGE) == 0;
    }
}

// Pages of memory that is the file are faulted by all members that write there, again in each
// access where the mapping is not kept.
static bool map_common(struct pli_file *f, MPI_Offset lo, MPI_Offset hi, struct pli_file_map *out)
{
    if (!take_kept(f, true, lo, hi, out)) {
        return map(f, lo, hi, PROT_READ | PROT_WRITE, out);
    }
    ask_large(f, lo, hi, out);
    return true;
}

// Large pages, from another one on in each member: they would wait for each other at every one.
static bool bring_large(const struct pli_file *f, MPI_Offset begin, MPI_Offset end,
                        const struct pli_file_map *m)
{
    MPI_Offset n = (end - begin + LARGE_PAGE - 1) / LARGE_PAGE;
    MPI_Offset from = (begin / LARGE_PAGE + f->comm->rank % n) * LARGE_PAGE;
    from = from > begin ? from : begin;
    return populate(m, from, end, MADV_POPULATE_WRITE) &&
           (from == begin || populate(m, begin, from, MADV_POPULATE_WRITE));
}

// Whether another brings the page of the end, and this rank has a core to look for when it has:
// in the system it would sleep until then, and come back to an empty cache.
static bool is_end_locked(const struct pli_file *f)
{
    if (pli_progress_spins() <= 1) {
        return false;
    }
    bool is_mine = pli_file_sys_try_lock(f->fd, LOCK_AT, 1);
    if (is_mine) {
        pli_file_sys_unlock(f->fd, LOCK_AT, 1);
    }
    return !is_mine;
}

// Whether others most likely write, in a moment, what lacks of the large page of hi, which ends at
// `end`: it is less than what is between two records of this rank, and views fill the file.
static bool is_shared_end(const struct pli_file *f, MPI_Offset hi, MPI_Offset end)
{
    const struct pli_file_view *v = &f->view;
    return f->is_filled && f->comm->size > 1 && !v->is_dense && v->layout->plan->runs > 0 &&
           hi < end && end - hi < v->layout->extent / v->layout->plan->runs;
}

// Whether the file has all of [0, hi), if need be by another rank in a moment. A page is a large
// one only where the file has the last of the small ones in its place; and each rank that makes the
// file longer takes the lock. So all wait for the one that has the last record.
static bool await_longer(const struct pli_file *f, MPI_Offset hi)
{
    MPI_Offset end = (hi - 1) / LARGE_PAGE * LARGE_PAGE + LARGE_PAGE, last = page_of(end - 1);
    bool is_likely = is_shared_end(f, hi, end), has_core = pli_progress_spins() > 1;
    uint64_t begin = is_likely ? pli_clock_ns() : 0;
    struct stat s;
    while (fstat(f->fd, &s) == 0 && (s.st_size < hi || (is_likely && s.st_size <= last))) {
        if (!is_likely || pli_clock_ns() - begin > AWAIT_NS || !(has_core || pli_cpu_give_way())) {
            return s.st_size >= hi;
        }
    }
    return true;
}

// The same happens to the page of the old end when another rank makes the file longer, as ranks do
// that write by turns: so one after the other makes it longer and brings the large page of its end.
// Nothing but speed depends on the lock, whose place is that of no access. Who finds that another
// has it brings the pages before that one meanwhile, where the file has them by now.
static bool map_longer(struct pli_file *f, MPI_Offset lo, MPI_Offset hi, struct pli_file_map *out)
{
    struct stat s;
    MPI_Offset begin = page_of(lo), last = (hi - 1) / LARGE_PAGE * LARGE_PAGE;
    last = last > begin ? last : begin;
    if (!map_common(f, lo, hi, out)) {
        return false;
    }
    bool is_good = true, has_rest = last > begin;
    bool has_lock = pli_file_sys_try_lock(f->fd, LOCK_AT, 1);
    if (!has_lock && has_rest && fstat(f->fd, &s) == 0 && s.st_size >= last) {
        is_good = fallocate(f->fd, 0, lo, last - lo) == 0 && bring_large(f, begin, last, out);
        has_rest = false;
    }
    has_lock = has_lock || lock_end(f);
    is_good = is_good && lengthen(f, lo, hi) && populate(out, last, hi, MADV_POPULATE_WRITE);
    if (has_lock) {
        pli_file_sys_unlock(f->fd, LOCK_AT, 1);
    }
    is_good = is_good && (!has_rest || bring_large(f, begin, last, out));
    if (!is_good) {
        munmap(out->start, out->len);
    }
    return is_good;
}

static bool map_made(struct pli_file *f, MPI_Offset lo, MPI_Offset hi, struct pli_file_map *out)
{
    bool is_large = pli_file_map_is_large(f, lo, hi);
    if (!(is_large ? map_common(f, lo, hi, out) : map(f, lo, hi, PROT_READ | PROT_WRITE, out))) {
        return false;
    }
    if (!(is_large ? bring_large(f, page_of(lo), hi, out)
                   : populate(out, page_of(lo), hi, MADV_POPULATE_WRITE))) {
        munmap(out->start, out->len);
        return false;
    }
    return true;
}

// The part of a range that a member cares for first, where all of them access it: they would wait
// for each other at every page.
static void own_part(const struct pli_file *f, MPI_Offset lo, MPI_Offset hi, MPI_Offset *from,
                     MPI_Offset *to)
{
    MPI_Offset part = (hi - lo) / f->comm->size;
    int rank = f->comm->rank;
    *from = page_of(lo + part * rank);
    *to = rank == f->comm->size - 1 ? hi : page_of(lo + part * (rank + 1));
}

// Pages that another member has brought come many at a time by a load, and can be stored to; by a
// store they come one at a time.
static bool bring_shared(const struct pli_file *f, MPI_Offset lo, MPI_Offset hi,
                         struct pli_file_map *m)
{
    MPI_Offset from, to;
    own_part(f, lo, hi, &from, &to);
    bool is_good = (from == to || populate(m, from, to, MADV_POPULATE_WRITE)) &&
                   (to == hi || populate(m, to, hi, MADV_POPULATE_READ)) &&
                   (from <= lo || populate(m, page_of(lo), from, MADV_POPULATE_READ));
    if (!is_good) {
        munmap(m->start, m->len);
    }
    return is_good;
}

static bool map_shared(struct pli_file *f, MPI_Offset lo, MPI_Offset hi, struct pli_file_map *out)
{
    return map_common(f, lo, hi, out) && bring_shared(f, lo, hi, out);
}

// Pages that are there, all of them.
static bool map_there(struct pli_file *f, MPI_Offset lo, MPI_Offset hi, struct pli_file_map *out)
{
    if (!map_common(f, lo, hi, out)) {
        return false;
    }
    if (!populate(out, page_of(lo), hi, MADV_POPULATE_READ)) {
        munmap(out->start, out->len);
        return false;
    }
    return true;
}

// Whether there is far more space than that: then it need not be reserved before pages are brought.
static bool has_plenty(const struct pli_file *f, MPI_Offset len)
{
    struct statfs s;
    return can_populate() && fstatfs(f->fd, &s) == 0 &&
           s.f_bavail / 2 > (fsblkcnt_t)(len / s.f_bsize);
}

bool pli_file_map_reach(const struct pli_file *f, MPI_Offset hi)
{
    struct stat s;
    return fstat(f->fd, &s) == 0 && (s.st_size >= hi || fallocate(f->fd, 0, hi - 1, 1) == 0);
}

// Where each member has a core, one makes the space of its part by a system call, which is the
// fastest way but keeps others out, while they bring the pages of theirs.
static bool make_own(const struct pli_file *f, MPI_Offset lo, MPI_Offset hi)
{
    MPI_Offset from, to;
    if (!pli_file_map_reach(f, hi)) {
        return false;
    }
    own_part(f, lo, hi, &from, &to);
    bool is_made = true;
    if (from < to && pli_file_turn_try(f)) {
        is_made = fallocate(f->fd, 0, from, to - from) == 0;
        pli_file_turn_give(f);
    }
    return is_made;
}

static bool make_space(const struct pli_file *f, MPI_Offset lo, MPI_Offset hi)
{
    bool by_parts =
        f->is_memory && pli_file_turn_is_worth(f, (size_t)(hi - lo)) && has_plenty(f, hi - lo);
    return by_parts ? make_own(f, lo, hi) : fallocate(f->fd, 0, lo, hi - lo) == 0;
}

static bool map_write(struct pli_file *f, MPI_Offset lo, MPI_Offset hi, struct pli_file_map *out)
{
    if (pli_file_map_is_large(f, lo, hi) && (!await_longer(f, hi) || is_end_locked(f))) {
        return map_longer(f, lo, hi, out);
    }
    if (!pli_file_map_is_allowed(f) || !make_space(f, lo, hi)) {
        return false;
    }
    return f->is_memory ? map_shared(f, lo, hi, out) : map_made(f, lo, hi, out);
}

// Where an access before had the whole range, page tables are filled, mostly: asking for each page
// takes a third of the time of a copy. Pages that went meanwhile come with the loads.
static bool is_filled(const struct pli_file_map *m, MPI_Offset lo, MPI_Offset hi)
{
    return m->is_kept && lo >= m->lo && hi <= m->hi;
}

// A range near to those before makes theirs longer; one elsewhere takes their place.
static void note_filled(struct pli_file_map *m, MPI_Offset lo, MPI_Offset hi)
{
    bool is_near = m->lo < m->hi && lo - m->hi <= NEAR && m->lo - hi <= NEAR;
    m->lo = is_near && m->lo < lo ? m->lo : lo;
    m->hi = is_near && m->hi > hi ? m->hi : hi;
}

static bool map_read(struct pli_file *f, MPI_Offset lo, MPI_Offset hi, struct pli_file_map *out)
{
    struct stat s;
    if (!pli_file_map_is_allowed(f) || fstat(f->fd, &s) != 0 || s.st_size < hi ||
        !(take_kept(f, false, lo, hi, out) || map(f, lo, hi, PROT_READ, out))) {
        return false;
    }
    ask_large(f, lo, hi, out);
    if (is_filled(out, lo, hi)) {
        return true;
    }
    if (!populate(out, page_of(lo), hi, MADV_POPULATE_READ)) {
        munmap(out->start, out->len);
        return false;
    }
    note_filled(out, lo, hi);
    return true;
}

static bool guard(struct pli_file_map *m, bool is_mapped)
{
    if (is_mapped) {
        pli_file_fault_begin(&m->fault, m->start, m->len);
    }
    return is_mapped;
}

bool pli_file_map_open(struct pli_file *f, MPI_Offset lo, MPI_Offset hi, struct pli_file_map *out)
{
    return guard(out, map_write(f, lo, hi, out));
}

bool pli_file_map_open_made(struct pli_file *f, MPI_Offset lo, MPI_Offset hi,
                            struct pli_file_map *out)
{
    return guard(out, pli_file_map_is_allowed(f) &&
                          (f->is_memory ? map_there(f, lo, hi, out) : map_made(f, lo, hi, out)));
}

bool pli_file_map_move(const struct pli_file *f, MPI_Offset lo, MPI_Offset hi,
                       const struct pli_file_map *m)
{
    return f->is_memory && m->base + lo >= (char *)m->start &&
           m->base + hi <= (char *)m->start + m->len &&
           populate(m, page_of(lo), hi, MADV_POPULATE_READ);
}

bool pli_file_map_open_memory(struct pli_file *f, MPI_Offset lo, MPI_Offset hi,
                              struct pli_file_map *out)
{
    struct stat s;
    bool is_mapped = f->is_memory && pli_file_map_is_allowed(f) && fstat(f->fd, &s) == 0 &&
                     s.st_size >= hi && can_populate() && map_common(f, lo, hi, out);
    if (is_mapped && !populate(out, page_of(lo), hi, MADV_POPULATE_WRITE)) {
        munmap(out->start, out->len);
        is_mapped = false;
    }
    return guard(out, is_mapped);
}

bool pli_file_map_open_sparse(struct pli_file *f, MPI_Offset lo, MPI_Offset hi,
                              struct pli_file_map *out)
{
    return guard(out, f->is_memory && pli_file_map_is_allowed(f) && has_plenty(f, hi - lo) &&
                          pli_file_map_reach(f, hi) && map_common(f, lo, hi, out));
}

bool pli_file_map_open_read(struct pli_file *f, MPI_Offset lo, MPI_Offset hi,
                            struct pli_file_map *out)
{
    return guard(out, map_read(f, lo, hi, out));
}

bool pli_file_map_close(struct pli_file *f, struct pli_file_map *m)
{
    bool is_good = pli_file_fault_end(&m->fault);
    if (m->is_kept && is_good) {
        keep(f, m);
    } else {
        munmap(m->start, m->len);
    }
    return is_good;
}

void pli_file_map_end(struct pli_file *f)
{
    drop(atomic_exchange(&f->kept[false], NULL));
    drop(atomic_exchange(&f->kept[true], NULL));
}

// Who has taken a mapping still has it; what is left here is empty, and has no range of any access.
void pli_file_map_drop(struct pli_file *f)
{
    struct pli_file_map *kept = atomic_load(&f->kept[true]);
    if (kept != NULL) {
        munmap(kept->start, kept->len);
        *kept = (struct pli_file_map){ .is_write = true, .is_kept = true };
    }
}
