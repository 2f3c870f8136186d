// SPDX-License-Identifier: BSD-3-Clause
// Allocates memory of windows that other processes of the host can map.
// The memory is this process's segment of the node memory, or its arena there where it has none, so
// that checkpoints hold it and that others of the host map it.
#include "rma/win_memory.h"

#include "msg/arena.h"
#include "msg/segment.h"
#include "rma/win.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

// The address in the node memory of what lies in the pages, and the other way round.
static const void *to_home(const struct pli_win_memory *m, const void *p)
{
    size_t far = (size_t)((const char *)p - (const char *)m->pages);
    return m->pages != NULL && far < m->len ? (const char *)m->home + far : p;
}

uint64_t pli_win_memory_offset(const struct pli_win_memory *m, const void *p)
{
    return m->where == PLI_MEMORY_SEGMENT ? pli_segment_offset(to_home(m, p))
           : m->where == PLI_MEMORY_ARENA ? pli_arena_offset(to_home(m, p))
                                          : 0;
}

void *pli_win_memory_at(int where, uint64_t offset)
{
    return where == PLI_MEMORY_SEGMENT ? pli_segment_at(offset) : pli_arena_at(offset);
}

void pli_win_memory_give(struct pli_win_memory *m)
{
    if (m->pages != m->home && !m->is_lent) { // a second mapping, or a copy
        munmap(m->pages, m->len);
    }
    m->pages = m->home = NULL;
    if (m->at == NULL) {
        return;
    }
    if (m->where == PLI_MEMORY_SEGMENT) {
        pli_segment_give(m->at);
    } else if (m->where == PLI_MEMORY_ARENA) {
        pli_arena_give(m->at);
    } else if (m->where == PLI_MEMORY_PRIVATE) {
        free(m->at);
    }
    m->at = NULL;
}

// Memory of the machine; asking the system takes a call, which a file that is opened would notice.
static uint64_t all_memory(void)
{
    static _Atomic uint64_t known;
    uint64_t all = atomic_load_explicit(&known, memory_order_relaxed);
    if (all == 0) {
        all = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
        atomic_store_explicit(&known, all, memory_order_relaxed);
    }
    return all;
}

static bool take_segment(struct pli_win_memory *m, size_t len)
{
    uint64_t all = all_memory();
    *m = (struct pli_win_memory){ .where = PLI_MEMORY_SEGMENT,
                                  .at = len < all ? pli_segment_take(len) : NULL };
    return m->at != NULL;
}

static bool take_arena(struct pli_win_memory *m, size_t len)
{
    *m = (struct pli_win_memory){ .where = PLI_MEMORY_ARENA, .at = pli_arena_take(len) };
    return m->at != NULL;
}

bool pli_win_memory_take(struct pli_win_memory *m, size_t len)
{
    return take_segment(m, len) || take_arena(m, len);
}

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static size_t whole_pages(size_t len)
{
    return (len + page_size() - 1) / page_size() * page_size();
}

// Map pages of the node memory a second time, for one window. Where the system does not let them be
// (valgrind), there are no pages of its own.
static void map_pages(struct pli_win_memory *m, void *home, size_t len)
{
    void *p = mremap(home, 0, len, MREMAP_MAYMOVE);
    m->pages = p != MAP_FAILED ? p : NULL;
    m->home = p != MAP_FAILED ? home : NULL;
    m->len = len;
}

// What is taken of a segment is pages that nobody else has.
static void use_segment(struct pli_win_memory *m, void *at, size_t len)
{
    m->pages = m->home = at;
    m->len = (len + PLI_SEGMENT_PAGE - 1) / PLI_SEGMENT_PAGE * PLI_SEGMENT_PAGE;
    m->len = m->len > 0 ? m->len : PLI_SEGMENT_PAGE;
}

void *pli_win_memory_take_pages(struct pli_win_memory *m, size_t len)
{
    size_t whole = whole_pages(len);
    if (take_segment(m, len)) {
        use_segment(m, m->at, len);
        return m->at;
    }
    if (len > SIZE_MAX / 2 || !take_arena(m, whole + page_size())) {
        return NULL;
    }
    char *home = (char *)whole_pages((uintptr_t)m->at);
    map_pages(m, home, whole);
    return m->pages != NULL ? m->pages : home;
}

void *pli_win_memory_share(struct pli_win_memory *m, int where, uint64_t offset, size_t len)
{
    void *home = pli_win_memory_at(where, offset);
    m->where = (unsigned)where;
    if (home == NULL || m->pages != NULL) {
        return m->pages; // it is this member that took it
    }
    if (where == PLI_MEMORY_SEGMENT) {
        use_segment(m, home, len);
    } else {
        map_pages(m, home, whole_pages(len));
    }
    return m->pages != NULL ? m->pages : home;
}

void *pli_win_memory_in(const struct pli_win_memory *m, int where, uint64_t offset)
{
    char *p = pli_win_memory_at(where, offset);
    size_t far = (size_t)(p - (char *)m->home);
    return m->pages != NULL && p != NULL && far < m->len ? (char *)m->pages + far : p;
}

// mremap to a given place. UCX puts a function in place of the C library's that drops the place.
static bool map_at(void *from, size_t from_len, const struct pli_win_memory *m)
{
    long at = syscall(SYS_mremap, from, from_len, m->len, MREMAP_MAYMOVE | MREMAP_FIXED, m->pages);
    return at != -1;
}

enum pli_err pli_win_memory_copy(struct pli_win_memory *m)
{
    void *copy = mmap(NULL, m->len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED) {
        return pli_fail(PLI_ERR_NOMEM, "cannot copy %zu bytes of a window: %s", m->len,
                        strerror(errno));
    }
    memcpy(copy, m->pages, m->len);
    if (!map_at(copy, m->len, m)) {
        munmap(copy, m->len);
        return pli_fail(PLI_ERR_NOMEM, "cannot map the copy of a window: %s", strerror(errno));
    }
    m->where = PLI_MEMORY_COPY;
    m->at = m->home = NULL;
    m->is_lent = false;
    return PLI_OK;
}

bool pli_win_memory_offer_copy(struct pli_win_memory *m, uint64_t *offset_out)
{
    struct pli_win_memory taken;
    char *home = NULL;
    if (take_segment(&taken, m->len)) {
        home = taken.at;
    } else if (take_arena(&taken, m->len + page_size())) {
        home = (char *)whole_pages((uintptr_t)taken.at);
    } else {
        return false;
    }
    memcpy(home, m->pages, m->len);
    m->where = taken.where;
    m->at = taken.at;
    *offset_out =
        taken.where == PLI_MEMORY_SEGMENT ? pli_segment_offset(home) : pli_arena_offset(home);
    return true;
}

enum pli_err pli_win_memory_join(struct pli_win_memory *m, int where, uint64_t offset)
{
    void *home = pli_win_memory_at(where, offset);
    bool is_there = home != NULL && (m->is_lent || map_at(home, 0, m));
    if (!is_there) {
        return pli_fail(PLI_ERR_NOMEM, "cannot map %zu bytes of a shared window: %s", m->len,
                        strerror(errno));
    }
    m->where = (unsigned)where;
    m->home = home;
    return PLI_OK;
}
