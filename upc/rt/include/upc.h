// SPDX-License-Identifier: BSD-3-Clause
// <upc.h>: the core library. The functions carry the runtime's own names in the object file.
#ifndef PLI_UPC_USER_H
#define PLI_UPC_USER_H
// The first two are what programs for other UPC compilers find here.
#include <stdint.h>
#include <stdlib.h>
#include <stddef.h>
#include <upc_types.h>

#define PLI_UPC_NAME(name) __asm__("pli_" #name)

typedef shared struct pli_upc_lock upc_lock_t;
#ifndef PLI_UPC_ATOMICDOMAIN // __UPC_ATOMIC__ promises the name
#define PLI_UPC_ATOMICDOMAIN
typedef shared struct pli_upc_atomicdomain upc_atomicdomain_t;
#endif

void upc_global_exit(int status) PLI_UPC_NAME(upc_global_exit) __attribute__((noreturn));

shared void *upc_global_alloc(size_t nblocks, size_t nbytes) PLI_UPC_NAME(upc_global_alloc);
shared void *upc_all_alloc(size_t nblocks, size_t nbytes) PLI_UPC_NAME(upc_all_alloc);
shared void *upc_alloc(size_t nbytes) PLI_UPC_NAME(upc_alloc);
void upc_free(shared void *ptr) PLI_UPC_NAME(upc_free);
void upc_all_free(shared void *ptr) PLI_UPC_NAME(upc_all_free);

upc_lock_t *upc_global_lock_alloc(void) PLI_UPC_NAME(upc_global_lock_alloc);
upc_lock_t *upc_all_lock_alloc(void) PLI_UPC_NAME(upc_all_lock_alloc);
void upc_lock_free(upc_lock_t *ptr) PLI_UPC_NAME(upc_lock_free);
void upc_all_lock_free(upc_lock_t *ptr) PLI_UPC_NAME(upc_all_lock_free);
void upc_lock(upc_lock_t *ptr) PLI_UPC_NAME(upc_lock);
int upc_lock_attempt(upc_lock_t *ptr) PLI_UPC_NAME(upc_lock_attempt);
void upc_unlock(upc_lock_t *ptr) PLI_UPC_NAME(upc_unlock);

void upc_memcpy(shared void *restrict dst, shared const void *restrict src, size_t n)
    PLI_UPC_NAME(upc_memcpy);
void upc_memget(void *restrict dst, shared const void *restrict src, size_t n)
    PLI_UPC_NAME(upc_memget);
void upc_memput(shared void *restrict dst, const void *restrict src, size_t n)
    PLI_UPC_NAME(upc_memput);
void upc_memset(shared void *dst, int c, size_t n) PLI_UPC_NAME(upc_memset);

// Met in programs though no longer, or never, part of the language.
shared void *upc_local_alloc(size_t nblocks, size_t nbytes) PLI_UPC_NAME(upc_local_alloc);
void upc_poll(void) PLI_UPC_NAME(upc_poll);

// Inline in pli_upc.h; declared here with their UPC types.
size_t pli_upc_threadof(shared void *ptr);
size_t pli_upc_phaseof(shared void *ptr);
shared void *pli_upc_resetphase(shared void *ptr);
size_t pli_upc_addrfield(shared void *ptr);

static inline size_t upc_threadof(shared void *ptr)
{
    return pli_upc_threadof(ptr);
}

static inline size_t upc_phaseof(shared void *ptr)
{
    return pli_upc_phaseof(ptr);
}

static inline shared void *upc_resetphase(shared void *ptr)
{
    return pli_upc_resetphase(ptr);
}

static inline size_t upc_addrfield(shared void *ptr)
{
    return pli_upc_addrfield(ptr);
}

static inline size_t upc_affinitysize(size_t totalsize, size_t nbytes, size_t threadid)
{
    if (nbytes == 0 || nbytes >= totalsize) {
        return threadid == 0 ? totalsize : 0;
    }
    size_t full = totalsize / nbytes, tail = totalsize % nbytes;
    size_t q = full / THREADS, r = full % THREADS;
    return q * nbytes + (threadid < r ? nbytes : threadid == r ? tail : 0);
}

// Programs written before the libraries were split find the collectives here too.
#include <upc_collective.h>
// Berkeley's extensions, where programs for it look for them.
#include <bupc_extensions.h>

#endif
