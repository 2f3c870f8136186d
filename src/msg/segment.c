// SPDX-License-Identifier: BSD-3-Clause
// Maps the segment of this process when it is first used, and takes memory from it.
#include "msg/segment.h"

#include "boot/boot.h"
#include "msg/lane.h"
#include "base/extent_alloc.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

// A segment of a process that came later; each is mapped alone.
struct late {
    uint32_t i;
    char *at;
};

static struct {
    pthread_mutex_t guard;
    bool is_tried, is_claimed;
    char *all;        // of the first row; NULL: not mapped
    const char *node; // of which memory: a clone may have gone to another host
    struct late *late;
    uint32_t n_late, cap_late;
    struct pli_extent_alloc pieces;
} seg = { .guard = PTHREAD_MUTEX_INITIALIZER };

static const struct pli_node_header *header(void)
{
    return pli_proc.boot->node.header;
}

// A clone on another host has another node memory. Context: guard held.
static void look_at_node(void)
{
    if (seg.node != pli_proc.boot->node.base) {
        seg.node = pli_proc.boot->node.base;
        seg.is_tried = false;
        seg.all = NULL;
        seg.n_late = 0;
    }
}

// Context: guard held.
static enum pli_err map(void)
{
    look_at_node();
    if (seg.is_tried) {
        return seg.all != NULL ? PLI_OK : pli_fail(PLI_ERR_NOMEM, "segments cannot be mapped");
    }
    seg.is_tried = true;
    return pli_node_map_segments(&pli_proc.boot->node, &seg.all);
}

// The segment of the i-th process that came later; NULL: it cannot be mapped. Context: guard held.
static char *map_late(uint32_t i)
{
    look_at_node();
    for (uint32_t k = 0; k < seg.n_late; k++) {
        if (seg.late[k].i == i) {
            return seg.late[k].at;
        }
    }
    if (seg.n_late == seg.cap_late) {
        uint32_t cap = seg.cap_late > 0 ? 2 * seg.cap_late : 4;
        struct late *more = realloc(seg.late, cap * sizeof *more);
        if (more == NULL) {
            return NULL;
        }
        seg.late = more;
        seg.cap_late = cap;
    }
    char *at;
    if (pli_node_map_late(&pli_proc.boot->node, i, &at) != PLI_OK) {
        pli_fail_take(NULL);
        return NULL;
    }
    seg.late[seg.n_late++] = (struct late){ i, at };
    return at;
}

enum pli_err pli_segment_claim(char **out)
{
    pthread_mutex_lock(&seg.guard);
    enum pli_err err = map();
    seg.is_claimed = true;
    *out = seg.all;
    pthread_mutex_unlock(&seg.guard);
    return err;
}

// The segment of this process; NULL: it has none. Context: guard held.
static char *own(size_t *size_out)
{
    const struct pli_node_header *h = header();
    uint32_t row = pli_proc.boot->row;
    if (row < h->n_row) {
        *size_out = (size_t)h->seg_size;
        return map() == PLI_OK ? seg.all + (size_t)row * h->seg_size : NULL;
    }
    *size_out = (size_t)h->late_size;
    return map_late(row - h->n_row);
}

void *pli_segment_take(size_t size)
{
    char *mem = NULL;
    size_t at, all;
    pthread_mutex_lock(&seg.guard);
    char *mine = !seg.is_claimed && size <= SIZE_MAX - PLI_SEGMENT_PAGE ? own(&all) : NULL;
    if (mine != NULL) {
        if (seg.pieces.size == 0 && pli_proc.boot->row >= header()->n_row) {
            madvise(mine, all, MADV_REMOVE); // what a process had that was there before
        }
        seg.pieces.size = all;
        size = size == 0 ? PLI_SEGMENT_PAGE
                         : (size + PLI_SEGMENT_PAGE - 1) / PLI_SEGMENT_PAGE * PLI_SEGMENT_PAGE;
        mem = pli_extent_alloc_take(&seg.pieces, size, &at) ? mine + at : NULL;
    }
    pthread_mutex_unlock(&seg.guard);
    return mem;
}

void pli_segment_give(void *p)
{
    if (p == NULL) {
        return;
    }
    size_t all;
    pthread_mutex_lock(&seg.guard);
    char *mine = own(&all);
    size_t size = mine != NULL ? pli_extent_alloc_give(&seg.pieces, (size_t)((char *)p - mine)) : 0;
    if (size > 0) {
        madvise(p, size, MADV_REMOVE);
    }
    pthread_mutex_unlock(&seg.guard);
}

void pli_segment_clone(void)
{
    pli_extent_alloc_clear(&seg.pieces);
    seg.pieces.size = 0;
    seg.is_tried = false;
    seg.all = NULL;
    seg.n_late = 0;
}

uint64_t pli_segment_offset(const void *p)
{
    const struct pli_node_header *h = header();
    uint64_t offset = 0;
    bool is_late = false;
    pthread_mutex_lock(&seg.guard);
    for (uint32_t k = 0; !is_late && k < seg.n_late; k++) {
        size_t far = (size_t)((const char *)p - seg.late[k].at);
        is_late = far < h->late_size;
        offset = h->n_row * h->seg_size + seg.late[k].i * h->late_size + far;
    }
    pthread_mutex_unlock(&seg.guard);
    return is_late ? offset : (uint64_t)((const char *)p - seg.all);
}

void *pli_segment_at(uint64_t offset)
{
    const struct pli_node_header *h = header();
    uint64_t first = h->n_row * h->seg_size;
    char *p = NULL;
    pthread_mutex_lock(&seg.guard);
    if (offset < first) {
        p = map() == PLI_OK ? seg.all + offset : NULL;
    } else if (h->late_size > 0) {
        p = map_late((uint32_t)((offset - first) / h->late_size));
        p = p != NULL ? p + (offset - first) % h->late_size : NULL;
    }
    pthread_mutex_unlock(&seg.guard);
    return p;
}
