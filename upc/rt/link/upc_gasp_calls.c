// SPDX-License-Identifier: BSD-3-Clause
// Tells a GASP tool of what UPC code calls. Only programs that upcc -inst links have this file.
#include "gasp.h"
#include "gasp_upc.h"
#include "pli_upc.h"
#include "upc_link.h"

#include <stddef.h>

#pragma weak gasp_event_notify

// With upcc -inst the linker puts these in place of the functions that UPC code calls.
#define TELL(tag, type, ...)                                                                       \
    do {                                                                                           \
        gasp_context_t to = pli_upc_gasp_context();                                                \
        if (gasp_event_notify != NULL && to != NULL) {                                             \
            gasp_event_notify(to, tag, type, NULL, 0, 0, ##__VA_ARGS__);                           \
        }                                                                                          \
    } while (0)

// A function without a result: its name, the event, parameters, how they are passed on, and what
// the tool is told of them.
#define LIST(...) __VA_ARGS__
#define TOLD(name, tag, params, args, shown)                                                       \
    void __real_pli_upc_##name(params);                                                            \
    void __wrap_pli_upc_##name(params);                                                            \
    void __wrap_pli_upc_##name(params)                                                             \
    {                                                                                              \
        TELL(tag, GASP_START, shown);                                                              \
        __real_pli_upc_##name(args);                                                               \
        TELL(tag, GASP_END, shown);                                                                \
    }

TOLD(notify, GASP_UPC_NOTIFY, LIST(int named, int value), LIST(named, value), LIST(named, value))
TOLD(wait, GASP_UPC_WAIT, LIST(int named, int value), LIST(named, value), LIST(named, value))
TOLD(barrier, GASP_UPC_BARRIER, LIST(int named, int value), LIST(named, value), LIST(named, value))
TOLD(free, GASP_UPC_FREE, pli_upc_pts p, p, &p)
TOLD(all_free, GASP_UPC_FREE, pli_upc_pts p, p, &p)
TOLD(lock_free, GASP_UPC_LOCK_FREE, pli_upc_pts p, p, &p)
TOLD(all_lock_free, GASP_UPC_LOCK_FREE, pli_upc_pts p, p, &p)
TOLD(lock, GASP_UPC_LOCK, pli_upc_pts p, p, &p)
TOLD(unlock, GASP_UPC_UNLOCK, pli_upc_pts p, p, &p)
TOLD(memget, GASP_UPC_MEMGET, LIST(void *dst, pli_upc_pts src, size_t n), LIST(dst, src, n),
     LIST(dst, &src, n))
TOLD(memput, GASP_UPC_MEMPUT, LIST(pli_upc_pts dst, const void *src, size_t n), LIST(dst, src, n),
     LIST(&dst, src, n))
TOLD(memcpy, GASP_UPC_MEMCPY, LIST(pli_upc_pts dst, pli_upc_pts src, size_t n), LIST(dst, src, n),
     LIST(&dst, &src, n))
TOLD(memset, GASP_UPC_MEMSET, LIST(pli_upc_pts dst, int c, size_t n), LIST(dst, c, n),
     LIST(&dst, c, n))

#define TOLD_COLLECTIVE(name, tag)                                                                 \
    TOLD(name, tag, LIST(pli_upc_pts dst, pli_upc_pts src, size_t n, int flags),                   \
         LIST(dst, src, n, flags), LIST(&dst, &src, n, flags))
TOLD_COLLECTIVE(all_broadcast, GASP_UPC_ALL_BROADCAST)
TOLD_COLLECTIVE(all_scatter, GASP_UPC_ALL_SCATTER)
TOLD_COLLECTIVE(all_gather, GASP_UPC_ALL_GATHER)
TOLD_COLLECTIVE(all_gather_all, GASP_UPC_ALL_GATHER_ALL)
TOLD_COLLECTIVE(all_exchange, GASP_UPC_ALL_EXCHANGE)
TOLD(all_permute, GASP_UPC_ALL_PERMUTE,
     LIST(pli_upc_pts dst, pli_upc_pts src, pli_upc_pts perm, size_t n, int flags),
     LIST(dst, src, perm, n, flags), LIST(&dst, &src, &perm, n, flags))

// With a result that is a pointer-to-shared.
#define TOLD_ALLOC(name, tag, params, args)                                                        \
    pli_upc_pts __real_pli_upc_##name(params);                                                     \
    pli_upc_pts __wrap_pli_upc_##name(params);                                                     \
    pli_upc_pts __wrap_pli_upc_##name(params)                                                      \
    {                                                                                              \
        TELL(tag, GASP_START, args);                                                               \
        pli_upc_pts p = __real_pli_upc_##name(args);                                               \
        TELL(tag, GASP_END, args, &p);                                                             \
        return p;                                                                                  \
    }

TOLD_ALLOC(global_alloc, GASP_UPC_GLOBAL_ALLOC, LIST(size_t blocks, size_t n), LIST(blocks, n))
TOLD_ALLOC(all_alloc, GASP_UPC_ALL_ALLOC, LIST(size_t blocks, size_t n), LIST(blocks, n))
TOLD_ALLOC(alloc, GASP_UPC_ALLOC, size_t n, n)

#define TOLD_LOCK_ALLOC(name, tag)                                                                 \
    pli_upc_pts __real_pli_upc_##name(void);                                                       \
    pli_upc_pts __wrap_pli_upc_##name(void);                                                       \
    pli_upc_pts __wrap_pli_upc_##name(void)                                                        \
    {                                                                                              \
        TELL(tag, GASP_START);                                                                     \
        pli_upc_pts p = __real_pli_upc_##name();                                                   \
        TELL(tag, GASP_END, &p);                                                                   \
        return p;                                                                                  \
    }

TOLD_LOCK_ALLOC(global_lock_alloc, GASP_UPC_GLOBAL_LOCK_ALLOC)
TOLD_LOCK_ALLOC(all_lock_alloc, GASP_UPC_ALL_LOCK_ALLOC)

int __real_pli_upc_lock_attempt(pli_upc_pts p);
int __wrap_pli_upc_lock_attempt(pli_upc_pts p);
int __wrap_pli_upc_lock_attempt(pli_upc_pts p)
{
    TELL(GASP_UPC_LOCK_ATTEMPT, GASP_START, &p);
    int got = __real_pli_upc_lock_attempt(p);
    TELL(GASP_UPC_LOCK_ATTEMPT, GASP_END, &p, got);
    return got;
}

_Noreturn void __real_pli_upc_global_exit(int status);
_Noreturn void __wrap_pli_upc_global_exit(int status);
void __wrap_pli_upc_global_exit(int status)
{
    TELL(GASP_UPC_NONCOLLECTIVE_EXIT, GASP_ATOMIC, status);
    __real_pli_upc_global_exit(status);
}
