// SPDX-License-Identifier: BSD-3-Clause
// The clock, castability queries, questions about pointers and threads, and the checks of debug
// builds.
#include "rt.h"
#include "upc_calls.h"

#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

uint64_t pli_upc_ticks_now(void)
{
    return pli_clock_ns();
}

uint64_t pli_upc_ticks_to_ns(uint64_t ticks)
{
    return ticks;
}

void *pli_upc_cast(pli_upc_pts p)
{
    return p == 0 || pli_upc_threadof(p) >= (size_t)pli_rt.n ? NULL : rt_near(p);
}

struct pli_upc_castable pli_upc_thread_info(size_t thread)
{
    int flags = thread < (size_t)pli_rt.n && pli_rt.seg[thread] != NULL ? 15 : 0;
    return (struct pli_upc_castable){ flags, flags };
}

// Whether there is an object at all where the pointer points.
void pli_upc_check(pli_upc_pts p, size_t len, const char *file, int line)
{
    uint64_t at = pli_upc_addrfield(p);
    size_t t = pli_upc_threadof(p);
    const char *what = NULL;
    if (p == 0) {
        pli_rt_die("%s:%d: an access through a null pointer-to-shared", file, line);
    }
    if (t >= (size_t)pli_rt.n) {
        pli_rt_die("%s:%d: an access through a wild pointer-to-shared: it names thread %zu of %d",
                   file, line, t, pli_rt.n);
    }
    const struct rt_page *zero = pli_rt.page[0], *own = pli_rt.page[t];
    if (at < RT_FIRST) {
        what = "below all shared objects";
    } else if (at >= pli_rt.sym_base && at < pli_rt.own_base && zero != NULL &&
               at + len > zero->sym.top) {
        what = "behind all shared objects";
    } else if (at >= pli_rt.own_base && own != NULL && at + len > own->own.top) {
        what = "behind all that the thread has allocated";
    }
    if (what != NULL) {
        pli_rt_die("%s:%d: an access through a wild pointer-to-shared: offset %#llx of thread %zu "
                   "is %s",
                   file, line, (unsigned long long)at, t, what);
    }
}

uint64_t pli_upc_ticks_to_us(uint64_t ticks)
{
    return ticks / 1000;
}

double pli_upc_tick_granularity(void)
{
    struct timespec step;
    clock_getres(CLOCK_MONOTONIC, &step);
    return (double)step.tv_sec * 1e6 + (double)step.tv_nsec * 1e-3;
}

double pli_upc_tick_overhead(void)
{
    enum { CALLS = 1000 };
    uint64_t begin = pli_clock_ns(), end = begin;
    for (int i = 0; i < CALLS; i++) {
        end = pli_clock_ns();
    }
    return (double)(end - begin) / CALLS * 1e-3;
}

int pli_upc_castable_at(pli_upc_pts p)
{
    return p == 0 || pli_upc_cast(p) != NULL; // null becomes null
}

int pli_upc_castable_thread(unsigned thread)
{
    return pli_upc_thread_info(thread).sure != 0;
}

pli_upc_pts pli_upc_inverse_cast(void *at)
{
    for (int t = 0; t < pli_rt.n; t++) {
        uint64_t seg = (uintptr_t)pli_rt.seg[t], offset = (uintptr_t)at - seg;
        if (seg != 0 && offset >= RT_FIRST && offset < pli_rt.page_at) {
            return pli_upc_make(t, 0, (int64_t)offset);
        }
    }
    return 0;
}

pli_upc_pts pli_upc_ptradd(pli_upc_pts p, size_t block, size_t size, ptrdiff_t n)
{
    if (block > PLI_UPC_MAX_BLOCK) {
        pli_rt_die("bupc_ptradd: a block size of %zu elements is above the limit of %d", block,
                   PLI_UPC_MAX_BLOCK);
    }
    return block == 0   ? pli_upc_addi(p, n, size)
           : block == 1 ? pli_upc_add1(p, n, size)
                        : pli_upc_add(p, n, (int64_t)block, size);
}

int pli_upc_dump_shared(pli_upc_pts p, char *to, int cap)
{
    enum { LEAST = 100 }; // BUPC_DUMP_MIN_LENGTH
    if (to == NULL || cap < LEAST) {
        errno = EINVAL;
        return -1;
    }
    if (p == 0) {
        snprintf(to, (size_t)cap, "<NULL>");
        return 0;
    }
    size_t t = pli_upc_threadof(p);
    snprintf(to, (size_t)cap, "<address=%p (addrfield=%#zx), thread=%zu, phase=%zu>",
             t < (size_t)pli_rt.n ? (void *)rt_near(p) : NULL, pli_upc_addrfield(p), t,
             pli_upc_phaseof(p));
    return 0;
}

// The numbers are those of BUPC_THREADS_.
unsigned pli_upc_thread_distance(int x, int y)
{
    enum { SAME, VERYNEAR, NEAR, FAR, VERYFAR };
    if (x < 0 || y < 0 || x >= pli_rt.n || y >= pli_rt.n) {
        pli_rt_die("bupc_thread_distance: %d is no thread", x < 0 || x >= pli_rt.n ? x : y);
    }
    return x == y                                         ? SAME
           : pli_rt.place[x].proc == pli_rt.place[y].proc ? VERYNEAR
           : pli_rt.place[x].host == pli_rt.place[y].host ? NEAR
                                                          : VERYFAR;
}
