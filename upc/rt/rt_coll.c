// SPDX-License-Identifier: BSD-3-Clause
// Collectives that move data. Every thread moves its own part, between the two barriers that the
// flags ask for. [UPC 1.3 required library 4.3]
#include "rt.h"
#include "rt_barrier.h"
#include "rt_copy.h"
#include "upc_calls.h"

enum { IN_NOSYNC = 1 << 2, OUT_NOSYNC = 1 << 5 };

// The block of a thread in memory that is spread over all, at the same offset each.
static pli_upc_pts at_thread(pli_upc_pts p, int thread)
{
    return pli_upc_make(thread, 0, (int64_t)pli_upc_addrfield(p));
}

static void enter(enum rt_what what, int flags)
{
    if ((flags & IN_NOSYNC) == 0) {
        pli_rt_barrier_sync(what);
    }
}

static void leave(enum rt_what what, int flags)
{
    if ((flags & OUT_NOSYNC) == 0) {
        pli_rt_barrier_sync(what);
    }
}

void pli_upc_all_broadcast(pli_upc_pts dst, pli_upc_pts src, size_t n, int flags)
{
    enter(RT_BROADCAST, flags);
    pli_upc_memcpy(at_thread(dst, rt_me()->me), src, n);
    leave(RT_BROADCAST, flags);
}

void pli_upc_all_scatter(pli_upc_pts dst, pli_upc_pts src, size_t n, int flags)
{
    int me = rt_me()->me;
    enter(RT_SCATTER, flags);
    pli_upc_memcpy(at_thread(dst, me), src + (size_t)me * n, n);
    leave(RT_SCATTER, flags);
}

void pli_upc_all_gather(pli_upc_pts dst, pli_upc_pts src, size_t n, int flags)
{
    int me = rt_me()->me;
    enter(RT_GATHER, flags);
    pli_upc_memcpy(dst + (size_t)me * n, at_thread(src, me), n);
    leave(RT_GATHER, flags);
}

// Each begins with itself, so that not all go to the same thread at once.
void pli_upc_all_gather_all(pli_upc_pts dst, pli_upc_pts src, size_t n, int flags)
{
    int me = rt_me()->me;
    enter(RT_GATHER_ALL, flags);
    for (int k = 0; k < pli_rt.n; k++) {
        int t = (me + k) % pli_rt.n;
        pli_upc_memcpy(at_thread(dst, me) + (size_t)t * n, at_thread(src, t), n);
    }
    leave(RT_GATHER_ALL, flags);
}

void pli_upc_all_exchange(pli_upc_pts dst, pli_upc_pts src, size_t n, int flags)
{
    int me = rt_me()->me;
    enter(RT_EXCHANGE, flags);
    for (int k = 0; k < pli_rt.n; k++) {
        int t = (me + k) % pli_rt.n;
        pli_upc_memcpy(at_thread(dst, me) + (size_t)t * n, at_thread(src, t) + (size_t)me * n, n);
    }
    leave(RT_EXCHANGE, flags);
}

void pli_upc_all_permute(pli_upc_pts dst, pli_upc_pts src, pli_upc_pts perm, size_t n, int flags)
{
    int me = rt_me()->me, to;
    enter(RT_PERMUTE, flags);
    pli_rt_copy_get(&to, at_thread(perm, me), sizeof to);
    if (to < 0 || to >= pli_rt.n) {
        pli_rt_die("upc_all_permute: perm[%d] is %d, which is no thread", me, to);
    }
    pli_upc_memcpy(at_thread(dst, to), at_thread(src, me), n);
    leave(RT_PERMUTE, flags);
}
