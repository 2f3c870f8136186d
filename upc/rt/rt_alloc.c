// SPDX-License-Identifier: BSD-3-Clause
// The functions that allocate shared memory. Memory that spans all threads comes from one heap,
// whose headers lie in thread 0's segment; memory of one thread from that thread's own heap.
#include "rt_alloc.h"
#include "rt.h"
#include "rt_ask.h"
#include "rt_barrier.h"
#include "rt_copy.h"
#include "rt_heap.h"
#include "upc_calls.h"

#include "base/log.h"

static struct rt_space space_of(int owner, bool is_sym)
{
    struct rt_page *page = pli_rt.page[owner];
    return (struct rt_space){ .h = is_sym ? &page->sym : &page->own,
                              .seg = pli_rt.seg[owner],
                              .base = is_sym ? pli_rt.sym_base : pli_rt.own_base,
                              .end = is_sym ? pli_rt.own_base : pli_rt.page_at,
                              .is_sym = is_sym };
}

// The user's limit is on both heaps together.
static bool is_over_limit(int owner, bool is_sym, uint64_t bytes)
{
    const struct rt_page *zero = pli_rt.page[0], *own = pli_rt.page[owner];
    if (pli_rt.limit == 0) {
        return false;
    }
    uint64_t other = is_sym ? 0 : zero != NULL ? zero->sym.used : 0;
    for (int t = 0; is_sym && t < pli_rt.n; t++) {
        const struct rt_page *page = pli_rt.page[t];
        other = page != NULL && page->own.used > other ? page->own.used : other;
    }
    return other + (is_sym ? zero->sym.used : own->own.used) + bytes > pli_rt.limit;
}

uint64_t pli_rt_alloc_take(int owner, bool is_sym, uint64_t bytes)
{
    struct rt_space s = space_of(owner, is_sym);
    return is_over_limit(owner, is_sym, bytes) ? 0 : pli_rt_heap_take(&s, bytes, rt_me()->me);
}

const char *pli_rt_alloc_free(int owner, uint64_t at)
{
    bool is_sym = at < pli_rt.own_base;
    if (is_sym && owner != 0) {
        return "is not where the allocation starts";
    }
    struct rt_space s = space_of(owner, is_sym);
    return pli_rt_heap_give(&s, at, rt_me()->me);
}

static void say_full(const char *call, uint64_t bytes)
{
    static _Atomic int n_said;
    if (atomic_fetch_add(&n_said, 1) == 0) {
        pli_log(PLI_WARN, "UPC thread %d: %s found no room for %llu bytes and returns NULL; %s",
                rt_me()->me, call, (unsigned long long)bytes,
                pli_rt.limit != 0 ? "upcrun -shared-heap sets how much a thread may have"
                                  : "all memory of this host that shared heaps may use is taken");
    }
}

static pli_upc_pts symmetric(const char *call, uint64_t n_block, uint64_t n_byte)
{
    uint64_t rows, bytes, t = (uint64_t)pli_rt.n;
    if (n_block == 0 || n_byte == 0) {
        return 0;
    }
    rows = n_block / t + (n_block % t != 0);
    if (__builtin_mul_overflow(rows, n_byte, &bytes)) {
        say_full(call, UINT64_MAX);
        return 0;
    }
    uint64_t at = pli_rt.page[0] != NULL ? pli_rt_alloc_take(0, true, bytes)
                                         : pli_rt_ask(0, RT_ASK_ALLOC, bytes);
    if (at == 0) {
        say_full(call, bytes);
    }
    return at;
}

pli_upc_pts pli_upc_global_alloc(size_t n_block, size_t n_byte)
{
    return symmetric("upc_global_alloc", n_block, n_byte);
}

// The two places for the result are used in turn: when all have come to one allocation, no
// thread looks at the result of the one before.
static pli_upc_pts made_by_first(struct rt_thread *me, pli_upc_pts p, enum rt_what what)
{
    unsigned turn = me->phase & 1;
    size_t at = pli_rt.page_at + offsetof(struct rt_page, made) + turn * sizeof p;
    if (me->me == 0) {
        pli_rt.page[0]->made[turn] = p;
    }
    pli_rt_barrier_sync(what);
    if (me->me != 0) {
        pli_rt_copy_get(&p, at, sizeof p);
    }
    return p;
}

pli_upc_pts pli_upc_all_alloc(size_t n_block, size_t n_byte)
{
    struct rt_thread *me = rt_me();
    pli_upc_pts p = me->me == 0 ? symmetric("upc_all_alloc", n_block, n_byte) : 0;
    return made_by_first(me, p, RT_ALL_ALLOC);
}

pli_upc_pts pli_upc_alloc(size_t n_byte)
{
    int me = rt_me()->me;
    if (n_byte == 0) {
        return 0;
    }
    uint64_t at = pli_rt_alloc_take(me, false, n_byte);
    if (at == 0) {
        say_full("upc_alloc", n_byte);
        return 0;
    }
    return pli_upc_make(me, 0, (int64_t)at);
}

pli_upc_pts pli_upc_local_alloc(size_t n_block, size_t n_byte)
{
    size_t bytes;
    if (__builtin_mul_overflow(n_block, n_byte, &bytes)) {
        say_full("upc_local_alloc", UINT64_MAX);
        return 0;
    }
    return pli_upc_alloc(bytes);
}

void pli_upc_free(pli_upc_pts p)
{
    if (p == 0) {
        return;
    }
    int owner = (int)pli_upc_threadof(p);
    uint64_t at = pli_upc_addrfield(p);
    if (owner >= pli_rt.n) {
        pli_rt_die("upc_free: a pointer to thread %d of %d", owner, pli_rt.n);
    }
    if (pli_rt.page[owner] == NULL) {
        if (pli_rt_ask(owner, RT_ASK_FREE, at) != 0) {
            pli_rt_die("upc_free: the pointer (thread %d, offset %#llx) does not come from an "
                       "allocation, or was freed already",
                       owner, (unsigned long long)at);
        }
        return;
    }
    const char *why = pli_rt_alloc_free(owner, at);
    if (why != NULL) {
        pli_rt_die("upc_free: the pointer (thread %d, offset %#llx) %s", owner,
                   (unsigned long long)at, why);
    }
}

void pli_upc_all_free(pli_upc_pts p)
{
    pli_rt_barrier_sync(RT_ALL_FREE);
    if (rt_me()->me == 0) {
        pli_upc_free(p);
    }
}

pli_upc_pts pli_rt_alloc_share(pli_upc_pts p, enum rt_what what)
{
    return made_by_first(rt_me(), p, what);
}
