// SPDX-License-Identifier: BSD-3-Clause
// Maps the segment of this process when it is first used, and takes memory from it.
#include "msg/segment.h"

#include "boot/boot.h"
#include "msg/lane.h"
#include "base/extent_alloc.h"

#include <pthread.h>
#include <sys/mman.h>

static struct {
    pthread_mutex_t guard;
    bool is_tried, is_claimed;
    char *all;        // of the first row; NULL: not mapped
    const char *node; // of which memory: a clone may have gone to another host
    struct pli_extent_alloc pieces;
} seg = { .guard = PTHREAD_MUTEX_INITIALIZER };

// Context: guard held.
static enum pli_err map(void)
{
    if (seg.is_tried && seg.node == pli_proc.boot->node.base) {
        return seg.all != NULL ? PLI_OK : pli_fail(PLI_ERR_NOMEM, "segments cannot be mapped");
    }
    seg.is_tried = true;
    seg.all = NULL;
    seg.node = pli_proc.boot->node.base;
    return pli_node_map_segments(&pli_proc.boot->node, &seg.all);
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

static char *own(void)
{
    const struct pli_boot *boot = pli_proc.boot;
    return seg.all + (size_t)boot->row * boot->node.header->seg_size;
}

void *pli_segment_take(size_t size)
{
    const struct pli_boot *boot = pli_proc.boot;
    char *mem = NULL;
    size_t at;
    pthread_mutex_lock(&seg.guard);
    if (!seg.is_claimed && boot->row < boot->node.header->n_row &&
        size <= SIZE_MAX - PLI_SEGMENT_PAGE && map() == PLI_OK) {
        seg.pieces.size = (size_t)boot->node.header->seg_size;
        size = size == 0 ? PLI_SEGMENT_PAGE
                         : (size + PLI_SEGMENT_PAGE - 1) / PLI_SEGMENT_PAGE * PLI_SEGMENT_PAGE;
        mem = pli_extent_alloc_take(&seg.pieces, size, &at) ? own() + at : NULL;
    }
    pthread_mutex_unlock(&seg.guard);
    return mem;
}

void pli_segment_give(void *p)
{
    if (p == NULL) {
        return;
    }
    pthread_mutex_lock(&seg.guard);
    size_t size = pli_extent_alloc_give(&seg.pieces, (size_t)((char *)p - own()));
    if (size > 0) {
        madvise(p, size, MADV_REMOVE);
    }
    pthread_mutex_unlock(&seg.guard);
}

void pli_segment_clone(void)
{
    pli_extent_alloc_clear(&seg.pieces);
    seg.is_tried = false;
    seg.all = NULL;
}

uint64_t pli_segment_offset(const void *p)
{
    return (uint64_t)((const char *)p - seg.all);
}

void *pli_segment_at(uint64_t offset)
{
    pthread_mutex_lock(&seg.guard);
    char *p = map() == PLI_OK ? seg.all + offset : NULL;
    pthread_mutex_unlock(&seg.guard);
    return p;
}
