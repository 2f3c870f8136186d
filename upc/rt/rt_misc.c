// SPDX-License-Identifier: BSD-3-Clause
// The clock, castability queries, and the checks of debug builds.
#include "rt.h"
#include "upc_calls.h"

#include "base/clock.h"

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
