// SPDX-License-Identifier: BSD-3-Clause
// The extensions of Berkeley UPC that the runtime has, under their names there. <upc.h> includes
// it.
#ifndef PLI_UPC_BUPC_EXTENSIONS_H
#define PLI_UPC_BUPC_EXTENSIONS_H
#include <stddef.h>
#include <stdint.h>

#define PLI_UPC_AS(name) __asm__("pli_upc_" #name)

// Transfers under way. A handle is one of <upc_nb.h>; it is waited for once.
typedef void *bupc_handle_t;
#define BUPC_COMPLETE_HANDLE ((bupc_handle_t)0)

bupc_handle_t bupc_memcpy_async(shared void *dst, shared const void *src, size_t n)
    PLI_UPC_AS(memcpy_nb);
bupc_handle_t bupc_memget_async(void *dst, shared const void *src, size_t n) PLI_UPC_AS(memget_nb);
bupc_handle_t bupc_memput_async(shared void *dst, const void *src, size_t n) PLI_UPC_AS(memput_nb);
bupc_handle_t bupc_memset_async(shared void *dst, int c, size_t n) PLI_UPC_AS(memset_nb);
void bupc_waitsync(bupc_handle_t handle) PLI_UPC_AS(sync);
int bupc_trysync(bupc_handle_t handle) PLI_UPC_AS(sync_attempt);
// Of a list: what is over becomes BUPC_COMPLETE_HANDLE. "some" is at least one, if any is under
// way.
void bupc_waitsync_all(bupc_handle_t *handles, size_t n) PLI_UPC_AS(sync_all);
int bupc_trysync_all(bupc_handle_t *handles, size_t n) PLI_UPC_AS(sync_all_attempt);
void bupc_waitsync_some(bupc_handle_t *handles, size_t n) PLI_UPC_AS(sync_some);
int bupc_trysync_some(bupc_handle_t *handles, size_t n) PLI_UPC_AS(sync_some_attempt);

// Without handles; those begun in an access region get one together at its end.
void bupc_memcpy_asynci(shared void *dst, shared const void *src, size_t n) PLI_UPC_AS(memcpy_nbi);
void bupc_memget_asynci(void *dst, shared const void *src, size_t n) PLI_UPC_AS(memget_nbi);
void bupc_memput_asynci(shared void *dst, const void *src, size_t n) PLI_UPC_AS(memput_nbi);
void bupc_memset_asynci(shared void *dst, int c, size_t n) PLI_UPC_AS(memset_nbi);
void bupc_waitsynci(void) PLI_UPC_AS(synci);
int bupc_trysynci(void) PLI_UPC_AS(synci_attempt);
void bupc_begin_accessregion(void) PLI_UPC_AS(begin_accessregion);
bupc_handle_t bupc_end_accessregion(void) PLI_UPC_AS(end_accessregion);

// Memory in pieces. The pieces of both sides have the same number of bytes in all and are filled in
// their order; they need not be of the same lengths.
typedef struct {
    void *addr;
    size_t len;
} bupc_pmemvec_t;
typedef struct {
    shared void *addr;
    size_t len;
} bupc_smemvec_t;

// D and S: what the pieces of the destination and of the source are.
#define PLI_UPC_PIECES(T, suffix, kind, D, DV, S, SV)                                              \
    T bupc_mem##kind##_vlist##suffix(size_t dstcount, DV const dstlist[], size_t srccount,         \
                                     SV const srclist[]) PLI_UPC_AS(mem##kind##_vlist##suffix);    \
    T bupc_mem##kind##_ilist##suffix(size_t dstcount, D *const dstlist[], size_t dstlen,           \
                                     size_t srccount, S *const srclist[], size_t srclen)           \
        PLI_UPC_AS(mem##kind##_ilist##suffix);                                                     \
    T bupc_mem##kind##_fstrided##suffix(D *dstaddr, size_t dstchunklen, size_t dstchunkstride,     \
                                        size_t dstchunkcount, S *srcaddr, size_t srcchunklen,      \
                                        size_t srcchunkstride, size_t srcchunkcount)               \
        PLI_UPC_AS(mem##kind##_fstrided##suffix);                                                  \
    T bupc_mem##kind##_strided##suffix(                                                            \
        D *dstaddr, const size_t dststrides[], S *srcaddr, const size_t srcstrides[],              \
        const size_t count[], size_t stridelevels) PLI_UPC_AS(mem##kind##_strided##suffix)
#define PLI_UPC_PIECES_OF(T, suffix)                                                               \
    PLI_UPC_PIECES(T, suffix, cpy, shared void, bupc_smemvec_t, shared const void,                 \
                   bupc_smemvec_t);                                                                \
    PLI_UPC_PIECES(T, suffix, put, shared void, bupc_smemvec_t, const void, bupc_pmemvec_t);       \
    PLI_UPC_PIECES(T, suffix, get, void, bupc_pmemvec_t, shared const void, bupc_smemvec_t)

PLI_UPC_PIECES_OF(void, );
PLI_UPC_PIECES_OF(bupc_handle_t, _async);

// Atomic operations without a domain. They return the old value. Those with _private are on memory
// of this process, or shared memory that is near, through a plain pointer.
#define PLI_UPC_TARGET_relaxed shared void *
#define PLI_UPC_TARGET_strict shared void *
#define PLI_UPC_TARGET_private void *
#define PLI_UPC_WORD(X, T, t, order)                                                               \
    T bupc_atomic##X##_read_##order(PLI_UPC_TARGET_##order ptr)                                    \
        PLI_UPC_AS(word_read_##order##_##t);                                                       \
    void bupc_atomic##X##_set_##order(PLI_UPC_TARGET_##order ptr, T val)                           \
        PLI_UPC_AS(word_set_##order##_##t);                                                        \
    T bupc_atomic##X##_swap_##order(PLI_UPC_TARGET_##order ptr, T val)                             \
        PLI_UPC_AS(word_swap_##order##_##t);                                                       \
    T bupc_atomic##X##_cswap_##order(PLI_UPC_TARGET_##order ptr, T oldval, T newval)               \
        PLI_UPC_AS(word_cswap_##order##_##t)
#define PLI_UPC_WORD_INTEGER(X, T, t, order)                                                       \
    PLI_UPC_WORD(X, T, t, order);                                                                  \
    T bupc_atomic##X##_mswap_##order(PLI_UPC_TARGET_##order ptr, T mask, T val)                    \
        PLI_UPC_AS(word_mswap_##order##_##t);                                                      \
    T bupc_atomic##X##_fetchadd_##order(PLI_UPC_TARGET_##order ptr, T val)                         \
        PLI_UPC_AS(word_fetchadd_##order##_##t);                                                   \
    T bupc_atomic##X##_fetchand_##order(PLI_UPC_TARGET_##order ptr, T val)                         \
        PLI_UPC_AS(word_fetchand_##order##_##t);                                                   \
    T bupc_atomic##X##_fetchor_##order(PLI_UPC_TARGET_##order ptr, T val)                          \
        PLI_UPC_AS(word_fetchor_##order##_##t);                                                    \
    T bupc_atomic##X##_fetchxor_##order(PLI_UPC_TARGET_##order ptr, T val)                         \
        PLI_UPC_AS(word_fetchxor_##order##_##t);                                                   \
    T bupc_atomic##X##_fetchnot_##order(PLI_UPC_TARGET_##order ptr)                                \
        PLI_UPC_AS(word_fetchnot_##order##_##t)
#define PLI_UPC_WORD_ALL(kind, X, T, t)                                                            \
    kind(X, T, t, relaxed);                                                                        \
    kind(X, T, t, strict);                                                                         \
    kind(X, T, t, private)

PLI_UPC_WORD_ALL(PLI_UPC_WORD_INTEGER, I, int, i32);
PLI_UPC_WORD_ALL(PLI_UPC_WORD_INTEGER, UI, unsigned int, u32);
PLI_UPC_WORD_ALL(PLI_UPC_WORD_INTEGER, L, long, i64);
PLI_UPC_WORD_ALL(PLI_UPC_WORD_INTEGER, UL, unsigned long, u64);
PLI_UPC_WORD_ALL(PLI_UPC_WORD_INTEGER, I32, int32_t, i32);
PLI_UPC_WORD_ALL(PLI_UPC_WORD_INTEGER, U32, uint32_t, u32);
PLI_UPC_WORD_ALL(PLI_UPC_WORD_INTEGER, I64, int64_t, i64);
PLI_UPC_WORD_ALL(PLI_UPC_WORD_INTEGER, U64, uint64_t, u64);
PLI_UPC_WORD_ALL(PLI_UPC_WORD, F, float, f32);
PLI_UPC_WORD_ALL(PLI_UPC_WORD, D, double, f64);

// Those on near memory are instructions of the processor.
void *pli_upc_word_near(shared void *ptr);
void pli_upc_order(void);
#define PLI_UPC_WORD_INLINE(X, T, t, order, name, fetch)                                           \
    T pli_upc_word_##name##_##order##_##t(shared void *ptr, T val);                                \
    extern inline __attribute__((__gnu_inline__, __always_inline__, __artificial__))               \
    T bupc_atomic##X##_##name##_##order(shared void *ptr, T val)                                   \
    {                                                                                              \
        T *at = (T *)pli_upc_word_near(ptr), old;                                                  \
        if (__builtin_expect(at == 0, 0))                                                          \
            return pli_upc_word_##name##_##order##_##t(ptr, val);                                  \
        PLI_UPC_WORD_EDGE_##order;                                                                 \
        old = fetch(at, val, __ATOMIC_RELAXED);                                                    \
        PLI_UPC_WORD_EDGE_##order;                                                                 \
        return old;                                                                                \
    }
#define PLI_UPC_WORD_EDGE_relaxed (void)0
#define PLI_UPC_WORD_EDGE_strict pli_upc_order()
#define PLI_UPC_WORD_INLINE_OF(X, T, t, order)                                                     \
    PLI_UPC_WORD_INLINE(X, T, t, order, swap, __atomic_exchange_n)                                 \
    PLI_UPC_WORD_INLINE(X, T, t, order, fetchadd, __atomic_fetch_add)                              \
    PLI_UPC_WORD_INLINE(X, T, t, order, fetchand, __atomic_fetch_and)                              \
    PLI_UPC_WORD_INLINE(X, T, t, order, fetchor, __atomic_fetch_or)                                \
    PLI_UPC_WORD_INLINE(X, T, t, order, fetchxor, __atomic_fetch_xor)
#define PLI_UPC_WORD_INLINE_ALL(X, T, t)                                                           \
    PLI_UPC_WORD_INLINE_OF(X, T, t, relaxed) PLI_UPC_WORD_INLINE_OF(X, T, t, strict)

PLI_UPC_WORD_INLINE_ALL(I, int, i32)
PLI_UPC_WORD_INLINE_ALL(UI, unsigned int, u32)
PLI_UPC_WORD_INLINE_ALL(L, long, i64)
PLI_UPC_WORD_INLINE_ALL(UL, unsigned long, u64)
PLI_UPC_WORD_INLINE_ALL(I32, int32_t, i32)
PLI_UPC_WORD_INLINE_ALL(U32, uint32_t, u32)
PLI_UPC_WORD_INLINE_ALL(I64, int64_t, i64)
PLI_UPC_WORD_INLINE_ALL(U64, uint64_t, u64)

// Semaphores lie at the thread that allocates them and begin with 0. Any thread may use them;
// every operation is a fence.
typedef shared struct pli_upc_sem bupc_sem_t;
#define BUPC_SEM_INTEGER 0
#define BUPC_SEM_BOOLEAN 1
#define BUPC_SEM_MPRODUCER 0
#define BUPC_SEM_SPRODUCER 2
#define BUPC_SEM_MCONSUMER 0
#define BUPC_SEM_SCONSUMER 4

bupc_sem_t *bupc_sem_alloc(int flags) PLI_UPC_AS(sem_alloc);
void bupc_sem_free(bupc_sem_t *s) PLI_UPC_AS(sem_free);
void bupc_sem_post(bupc_sem_t *s) PLI_UPC_AS(sem_post);
void bupc_sem_postN(bupc_sem_t *s, size_t n) PLI_UPC_AS(sem_post_n);
void bupc_sem_wait(bupc_sem_t *s) PLI_UPC_AS(sem_wait);
void bupc_sem_waitN(bupc_sem_t *s, size_t n) PLI_UPC_AS(sem_wait_n);
int bupc_sem_try(bupc_sem_t *s) PLI_UPC_AS(sem_try);
int bupc_sem_tryN(bupc_sem_t *s, size_t n) PLI_UPC_AS(sem_try_n);
// A put, and n posts once it is there.
void bupc_memput_signal(shared void *dst, const void *src, size_t nbytes, bupc_sem_t *s, size_t n)
    PLI_UPC_AS(memput_signal);
void bupc_memput_signal_async(shared void *dst, const void *src, size_t nbytes, bupc_sem_t *s,
                              size_t n) PLI_UPC_AS(memput_signal);

// Pointers. blockelems is 0 for the indefinite block size.
shared void *bupc_ptradd(shared void *p, size_t blockelems, size_t elemsz, ptrdiff_t elemcount)
    PLI_UPC_AS(ptradd);
// Null where the memory is not mapped here, or is no shared memory.
void *bupc_cast(shared const void *p) PLI_UPC_AS(cast);
int bupc_castable(shared const void *p) PLI_UPC_AS(castable_at);
int bupc_thread_castable(unsigned int thread) PLI_UPC_AS(castable_thread);
shared void *bupc_inverse_cast(void *p) PLI_UPC_AS(inverse_cast);
// Writes thread, phase and address; -1 with EINVAL in errno where buf is shorter than the least.
#define BUPC_DUMP_MIN_LENGTH 100
int bupc_dump_shared(shared const void *p, char *buf, int maxlen) PLI_UPC_AS(dump_shared);
// An error at compile time where the type of the expression, with its qualifiers, is another.
#define bupc_assert_type(expr, type) pli_upc_assert_type(expr, type)

// The same at every thread that asks: SAME, VERYNEAR one process, NEAR one host, VERYFAR two hosts.
#define BUPC_THREADS_SAME 0u
#define BUPC_THREADS_VERYNEAR 1u
#define BUPC_THREADS_NEAR 2u
#define BUPC_THREADS_FAR 3u
#define BUPC_THREADS_VERYFAR 4u
unsigned int bupc_thread_distance(int thread_x, int thread_y) PLI_UPC_AS(thread_distance);

void bupc_poll(void) PLI_UPC_AS(poll);

typedef uint64_t bupc_tick_t;
#define BUPC_TICK_MIN ((bupc_tick_t)0)
#define BUPC_TICK_MAX UINT64_MAX
bupc_tick_t bupc_ticks_now(void) PLI_UPC_AS(ticks_now);
uint64_t bupc_ticks_to_ns(bupc_tick_t ticks) PLI_UPC_AS(ticks_to_ns);
uint64_t bupc_ticks_to_us(bupc_tick_t ticks) PLI_UPC_AS(ticks_to_us);
// In microseconds.
double bupc_tick_granularity(void) PLI_UPC_AS(tick_granularity);
double bupc_tick_overhead(void) PLI_UPC_AS(tick_overhead);

#endif
