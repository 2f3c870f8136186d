// SPDX-License-Identifier: BSD-3-Clause
// Heaps in shared segments. Pieces lie side by side, each with a header that knows its size and the
// piece before it; free ones are in lists by size and are joined with free neighbours. The end of
// the heap moves up and down. Segments are sparse: memory is taken from the system by touching it,
// and given back piece by piece.
#include "rt_heap.h"
#include "rt.h"

#include "base/cpu.h"
#include "onesided/region.h"

#include <sys/mman.h>

struct piece {
    uint64_t size; // with this header; the upper 16 bits are USED or FREE
    uint64_t prev; // offset of the piece before it, 0: it is the first
};

// In the room of a free piece.
struct links {
    uint64_t next, prev;
};

enum { ALIGN = 16, MIN_PIECE = 32, MAX_TRIED = 32, MIN_PIECE_LOG = 5 };
#define USED ((uint64_t)0x5eed << 48)
#define FREE ((uint64_t)0xf4ee << 48)
#define SIZE ((((uint64_t)1) << 48) - 1)
#define RELEASE ((uint64_t)1 << 20) // free room of this size goes back to the system

static struct piece *piece_at(const struct rt_space *s, uint64_t at)
{
    return (struct piece *)(s->seg + at);
}

static struct links *links_at(const struct rt_space *s, uint64_t at)
{
    return (struct links *)(s->seg + at + sizeof(struct piece));
}

static uint64_t size_at(const struct rt_space *s, uint64_t at)
{
    return piece_at(s, at)->size & SIZE;
}

static bool is_free(const struct rt_space *s, uint64_t at)
{
    return (piece_at(s, at)->size & ~SIZE) == FREE;
}

static int bin_of(uint64_t size)
{
    int log = 63 - __builtin_clzll(size);
    int bin = (log - MIN_PIECE_LOG) * 2 + (int)(size >> (log - 1) & 1);
    return bin < RT_N_BIN ? bin : RT_N_BIN - 1;
}

static void insert(const struct rt_space *s, uint64_t at, uint64_t size)
{
    uint64_t *first = &s->h->bin[bin_of(size)];
    piece_at(s, at)->size = size | FREE;
    *links_at(s, at) = (struct links){ *first, 0 };
    if (*first != 0) {
        links_at(s, *first)->prev = at;
    }
    *first = at;
}

static void take_out(const struct rt_space *s, uint64_t at)
{
    struct links l = *links_at(s, at);
    if (l.prev != 0) {
        links_at(s, l.prev)->next = l.next;
    } else {
        s->h->bin[bin_of(size_at(s, at))] = l.next;
    }
    if (l.next != 0) {
        links_at(s, l.next)->prev = l.prev;
    }
}

static uint64_t find(const struct rt_space *s, uint64_t need)
{
    int bin = bin_of(need);
    uint64_t at = s->h->bin[bin];
    for (int i = 0; at != 0 && i < MAX_TRIED; i++, at = links_at(s, at)->next) {
        if (size_at(s, at) >= need) {
            return at;
        }
    }
    for (bin++; bin < RT_N_BIN; bin++) {
        if (s->h->bin[bin] != 0) {
            return s->h->bin[bin];
        }
    }
    return 0;
}

// A free piece, cut to the size.
static uint64_t reuse(const struct rt_space *s, uint64_t need)
{
    uint64_t at = find(s, need);
    if (at == 0) {
        return 0;
    }
    uint64_t size = size_at(s, at);
    take_out(s, at);
    if (size - need >= MIN_PIECE) {
        uint64_t rest = at + need;
        piece_at(s, rest)->prev = at;
        insert(s, rest, size - need);
        piece_at(s, rest + size - need)->prev = rest; // never the end: that is not free
        size = need;
    }
    piece_at(s, at)->size = size | USED;
    return at;
}

static int64_t copies(const struct rt_space *s)
{
    int64_t n = 0;
    for (int t = 0; s->is_sym && t < pli_rt.n; t++) {
        n += pli_rt.seg[t] != NULL;
    }
    return s->is_sym ? n : 1;
}

// Whether the heap may reach up to `top`: there is address space, the user's limit is kept, and the
// host has the memory.
static bool may_grow(const struct rt_space *s, uint64_t top)
{
    struct rt_page *zero = pli_rt.page[0];
    if (top > s->end) {
        return false;
    }
    if (pli_rt.limit != 0 && top - s->base > pli_rt.limit) {
        return false;
    }
    if (top > s->h->high) {
        uint64_t high = rt_round(top, RT_PAGE);
        int64_t more = (int64_t)(high - (s->h->high == 0 ? s->base : s->h->high)) * copies(s);
        if (zero != NULL && atomic_fetch_add(&zero->grown, more) + more > pli_rt.memory) {
            atomic_fetch_sub(&zero->grown, more);
            return false;
        }
        s->h->high = high;
    }
    return true;
}

static uint64_t extend(const struct rt_space *s, uint64_t need)
{
    uint64_t at = s->h->top == 0 ? s->base : s->h->top;
    if (!may_grow(s, at + need)) {
        return 0;
    }
    *piece_at(s, at) = (struct piece){ need | USED, s->h->last };
    s->h->last = at;
    s->h->top = at + need;
    return at;
}

static void lock(struct rt_heap *h, int me)
{
    uint32_t free_word = 0;
    while (!atomic_compare_exchange_weak_explicit(&h->lock, &free_word, (uint32_t)me + 1,
                                                  memory_order_acquire, memory_order_relaxed)) {
        free_word = 0;
        pli_cpu_rest();
    }
}

static void unlock(struct rt_heap *h)
{
    atomic_store_explicit(&h->lock, 0, memory_order_release);
}

uint64_t pli_rt_heap_take(const struct rt_space *s, uint64_t bytes, int me)
{
    if (bytes > s->end - s->base) {
        return 0;
    }
    uint64_t need = rt_round(bytes + sizeof(struct piece), ALIGN);
    need = need < MIN_PIECE ? MIN_PIECE : need;
    lock(s->h, me);
    uint64_t at = reuse(s, need);
    if (at == 0) {
        at = extend(s, need);
    }
    if (at != 0) {
        s->h->used += size_at(s, at);
        s->h->n_live++;
    }
    unlock(s->h);
    return at == 0 ? 0 : at + sizeof(struct piece);
}

// Give memory between two offsets back to the system, at every thread that has its copy here.
static void release(const struct rt_space *s, uint64_t from, uint64_t to)
{
    const struct pli_region *r = rt_me()->region;
    if (r != NULL && pli_region_is_registered(r)) {
        return; // a device would go on to read and write the pages that were there
    }
    from = rt_round(from, RT_PAGE);
    to = to / RT_PAGE * RT_PAGE;
    for (int t = 0; from < to && t < pli_rt.n; t++) {
        char *seg = s->is_sym ? pli_rt.seg[t] : t == 0 ? s->seg : NULL;
        if (seg != NULL) {
            madvise(seg + from, to - from, MADV_REMOVE);
        }
    }
}

// The heap ends lower now.
static void shrink(const struct rt_space *s, uint64_t top, uint64_t last)
{
    s->h->top = top;
    s->h->last = last;
    uint64_t high = rt_round(top, RT_PAGE);
    if (s->h->high - high >= RELEASE) {
        release(s, high, s->h->high);
        if (pli_rt.page[0] != NULL) {
            atomic_fetch_sub(&pli_rt.page[0]->grown, (int64_t)(s->h->high - high) * copies(s));
        }
        s->h->high = high;
    }
}

static void give(const struct rt_space *s, uint64_t at)
{
    uint64_t size = size_at(s, at), next = at + size, prev = piece_at(s, at)->prev;
    piece_at(s, at)->size = size; // neither: a second free of it is seen
    if (next < s->h->top && is_free(s, next)) {
        take_out(s, next);
        size += size_at(s, next);
        next = at + size;
    }
    if (prev != 0 && is_free(s, prev)) {
        take_out(s, prev);
        size += size_at(s, prev);
        at = prev;
    }
    if (next == s->h->top) {
        shrink(s, at, piece_at(s, at)->prev);
        return;
    }
    piece_at(s, next)->prev = at;
    insert(s, at, size);
    if (size >= RELEASE) {
        release(s, at + MIN_PIECE, next);
    }
}

const char *pli_rt_heap_give(const struct rt_space *s, uint64_t at, int me)
{
    const char *why = NULL;
    lock(s->h, me);
    if (at < s->base + sizeof(struct piece) || at >= s->h->top || at % ALIGN != 0) {
        why = "does not come from an allocation, or was freed already";
    } else if (is_free(s, at - sizeof(struct piece)) ||
               (piece_at(s, at - sizeof(struct piece))->size & ~SIZE) != USED) {
        why = "is not the start of an allocation, or was freed already";
    } else {
        s->h->used -= size_at(s, at - sizeof(struct piece));
        s->h->n_live--;
        give(s, at - sizeof(struct piece));
    }
    unlock(s->h);
    return why;
}
