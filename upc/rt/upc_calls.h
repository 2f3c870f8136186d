// SPDX-License-Identifier: BSD-3-Clause
// The library's functions as translated programs call them; the headers in include/ declare them
// with their UPC types.
#ifndef PLI_RT_UPC_CALLS_H
#define PLI_RT_UPC_CALLS_H

#include "rt.h"

pli_upc_pts pli_upc_global_alloc(size_t n_block, size_t n_byte);
pli_upc_pts pli_upc_all_alloc(size_t n_block, size_t n_byte);
pli_upc_pts pli_upc_alloc(size_t n_byte);
pli_upc_pts pli_upc_local_alloc(size_t n_block, size_t n_byte);
void pli_upc_free(pli_upc_pts p);
void pli_upc_all_free(pli_upc_pts p);

pli_upc_pts pli_upc_global_lock_alloc(void);
pli_upc_pts pli_upc_all_lock_alloc(void);
void pli_upc_lock_free(pli_upc_pts p);
void pli_upc_all_lock_free(pli_upc_pts p);
void pli_upc_lock(pli_upc_pts p);
int pli_upc_lock_attempt(pli_upc_pts p);
void pli_upc_unlock(pli_upc_pts p);

void pli_upc_notify(int has_value, int value);
void pli_upc_wait(int has_value, int value);
void pli_upc_barrier(int has_value, int value);

void pli_upc_get(void *to, pli_upc_pts from, size_t n);
void pli_upc_put(pli_upc_pts to, const void *from, size_t n);
void pli_upc_put_changed(pli_upc_pts to, const void *now, const void *old, size_t n);
void *pli_upc_local_far(pli_upc_pts p);
void pli_upc_flush(void);
void pli_upc_memcpy(pli_upc_pts to, pli_upc_pts from, size_t n);
void pli_upc_memget(void *to, pli_upc_pts from, size_t n);
void pli_upc_memput(pli_upc_pts to, const void *from, size_t n);
void pli_upc_memset(pli_upc_pts to, int c, size_t n);

void *pli_upc_memcpy_nb(pli_upc_pts to, pli_upc_pts from, size_t n);
void *pli_upc_memget_nb(void *to, pli_upc_pts from, size_t n);
void *pli_upc_memput_nb(pli_upc_pts to, const void *from, size_t n);
void *pli_upc_memset_nb(pli_upc_pts to, int c, size_t n);
void pli_upc_memcpy_nbi(pli_upc_pts to, pli_upc_pts from, size_t n);
void pli_upc_memget_nbi(void *to, pli_upc_pts from, size_t n);
void pli_upc_memput_nbi(pli_upc_pts to, const void *from, size_t n);
void pli_upc_memset_nbi(pli_upc_pts to, int c, size_t n);
int pli_upc_sync_attempt(void *handle);
void pli_upc_sync(void *handle);
int pli_upc_synci_attempt(void);
void pli_upc_synci(void);

void pli_upc_poll_slow(void);
uint64_t pli_upc_ticks_now(void);
uint64_t pli_upc_ticks_to_ns(uint64_t ticks);
void *pli_upc_cast(pli_upc_pts p);
struct pli_upc_castable {
    int sure, likely;
};
struct pli_upc_castable pli_upc_thread_info(size_t thread);
void pli_upc_check(pli_upc_pts p, size_t len, const char *file, int line);

void pli_upc_all_broadcast(pli_upc_pts dst, pli_upc_pts src, size_t n, int flags);
void pli_upc_all_scatter(pli_upc_pts dst, pli_upc_pts src, size_t n, int flags);
void pli_upc_all_gather(pli_upc_pts dst, pli_upc_pts src, size_t n, int flags);
void pli_upc_all_gather_all(pli_upc_pts dst, pli_upc_pts src, size_t n, int flags);
void pli_upc_all_exchange(pli_upc_pts dst, pli_upc_pts src, size_t n, int flags);
void pli_upc_all_permute(pli_upc_pts dst, pli_upc_pts src, pli_upc_pts perm, size_t n, int flags);

pli_upc_pts pli_upc_all_atomicdomain_alloc(int type, unsigned long ops, int hints);
void pli_upc_all_atomicdomain_free(pli_upc_pts domain);
void pli_upc_atomic_strict(pli_upc_pts domain, void *fetch, unsigned long op, pli_upc_pts target,
                           const void *a, const void *b);
void pli_upc_atomic_relaxed(pli_upc_pts domain, void *fetch, unsigned long op, pli_upc_pts target,
                            const void *a, const void *b);
int pli_upc_atomic_isfast(int type, unsigned long ops, pli_upc_pts target);

#endif
