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
void pli_upc_get_ahead(void *to, pli_upc_pts from, size_t n);
void pli_upc_ahead_begin(int is_straight);
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
void pli_upc_sync_all(void **handles, size_t n);
int pli_upc_sync_all_attempt(void **handles, size_t n);
void pli_upc_sync_some(void **handles, size_t n);
int pli_upc_sync_some_attempt(void **handles, size_t n);
void pli_upc_begin_accessregion(void);
void *pli_upc_end_accessregion(void);

pli_upc_pts pli_upc_sem_alloc(int flags);
void pli_upc_sem_free(pli_upc_pts p);
void pli_upc_sem_post(pli_upc_pts p);
void pli_upc_sem_post_n(pli_upc_pts p, size_t n);
void pli_upc_sem_wait(pli_upc_pts p);
void pli_upc_sem_wait_n(pli_upc_pts p, size_t n);
int pli_upc_sem_try(pli_upc_pts p);
int pli_upc_sem_try_n(pli_upc_pts p, size_t n);
void pli_upc_memput_signal(pli_upc_pts to, const void *from, size_t len, pli_upc_pts sem, size_t n);

void pli_upc_value_reduce(void *value, size_t size, int kind, unsigned long op, int root);
void pli_upc_value_prefix(void *value, size_t size, int kind, unsigned long op);
void pli_upc_value_broadcast(void *value, size_t size, int root);
void pli_upc_value_scatter(void *value, size_t size, const void *from, int root);
void pli_upc_value_gather(const void *value, size_t size, void *to, int root);
void pli_upc_value_permute(void *value, size_t size, int to);

void pli_upc_poll_slow(void);
uint64_t pli_upc_ticks_now(void);
uint64_t pli_upc_ticks_to_ns(uint64_t ticks);
uint64_t pli_upc_ticks_to_us(uint64_t ticks);
double pli_upc_tick_granularity(void);
double pli_upc_tick_overhead(void);
void *pli_upc_cast(pli_upc_pts p);
struct pli_upc_castable {
    int sure, likely;
};
struct pli_upc_castable pli_upc_thread_info(size_t thread);
int pli_upc_castable_at(pli_upc_pts p);
int pli_upc_castable_thread(unsigned thread);
pli_upc_pts pli_upc_inverse_cast(void *at);
pli_upc_pts pli_upc_ptradd(pli_upc_pts p, size_t block, size_t size, ptrdiff_t n);
int pli_upc_dump_shared(pli_upc_pts p, char *to, int cap);
unsigned pli_upc_thread_distance(int x, int y);
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
