// SPDX-License-Identifier: BSD-3-Clause
// Access to shared data: near ones inline, far ones by the runtime.
#ifndef PLI_UPC_ACCESS_H
#define PLI_UPC_ACCESS_H
#pragma GCC system_header

#include "pli_upc_ptr.h"

// Far accesses: blocking for the caller's own program order, in any order otherwise.
void pli_upc_get(void *to, pli_upc_pts from, __SIZE_TYPE__ len);
void pli_upc_put(pli_upc_pts to, const void *from, __SIZE_TYPE__ len);
// A get that may take what came with an earlier one, and bring more than is asked for, since the
// last pli_upc_ahead_begin. is_straight: it need not be seen first that data is read in a row.
void pli_upc_get_ahead(void *to, pli_upc_pts from, __SIZE_TYPE__ len);
void pli_upc_ahead_begin(int is_straight);
// Put back the bytes in which now differs from old: bit-fields must not touch their neighbours.
void pli_upc_put_changed(pli_upc_pts to, const void *now, const void *old, __SIZE_TYPE__ len);
void *pli_upc_local_far(pli_upc_pts p); // not mapped here: reports and ends the job
void pli_upc_flush(void);               // complete all far accesses of this thread
void pli_upc_poll(void);                // let others run: progress and yield

// The private address of shared data, or null when it is not mapped here.
static inline void *pli_upc_near(pli_upc_pts p)
{
    char *seg = pli_upc_seg[pli_upc_threadof(p)];
    return __builtin_expect(seg != 0, 1) ? seg + pli_upc_addrfield(p) : (char *)0;
}

// upcc -fupc-debug: every access is checked first. A macro, to know the line it stands in.
#if defined PLI_UPC_CHECK && PLI_UPC_CHECK
#define PLI_UPC_TRUST 0 // no access through pointers may become a plain one
void pli_upc_check(pli_upc_pts p, __SIZE_TYPE__ len, const char *file, int line);
#define pli_upc_near(p)                                                                            \
    ({                                                                                             \
        pli_upc_pts __pli_np = (p);                                                                \
        pli_upc_check(__pli_np, 1, __FILE__, __LINE__);                                            \
        (pli_upc_near)(__pli_np);                                                                  \
    })
#else
#define PLI_UPC_TRUST 1
#endif

// For <bupc_extensions.h>: null also where the library has more to say.
static inline void *pli_upc_word_near(pli_upc_pts p)
{
    return PLI_UPC_TRUST && p != 0 ? (pli_upc_near)(p) : (void *)0;
}

// Cast to pointer-to-local.
static inline void *pli_upc_local(pli_upc_pts p)
{
    if (p == 0) {
        return (void *)0;
    }
    void *at = pli_upc_near(p);
    return __builtin_expect(at != 0, 1) ? at : pli_upc_local_far(p);
}

// This thread's part of the array that starts at p, or would start in the course of blocks of p.
static inline void *pli_upc_here(pli_upc_pts p, __SIZE_TYPE__ size)
{
    return pli_upc_seg[pli_upc_mythread] + pli_upc_addrfield(p) - pli_upc_phaseof(p) * size;
}

// The same address, by way of the symbol of the array that it lies in: so the C compiler sees that
// elements of two arrays are different memory, and that pointers from elsewhere may lead to both.
static inline void *pli_upc_of(char *symbol, void *at)
{
    long distance = (long)at - (long)symbol;
    __asm__("" : "+r"(distance)); // or it finds that symbol is not needed
    return symbol + distance;
}

// Elements i, i + THREADS, ... of what is spread one by one, from p on: they are with one thread,
// one behind the other. Null: not mapped here, or p is inside an element.
static inline void *pli_upc_strided(pli_upc_pts p, long i, __SIZE_TYPE__ size)
{
    __INT64_TYPE__ x = (__INT64_TYPE__)pli_upc_threadof(p) + i, q = pli_upc_by_threads(x);
    char *seg = pli_upc_seg[x - q * pli_upc_threads];
    return seg != 0 && pli_upc_phaseof(p) == 0
               ? seg + pli_upc_addrfield(p) + q * (__INT64_TYPE__)size
               : (char *)0;
}

// At most so many iterations, or those until p, which goes on by whole rows, leaves its block.
static inline long pli_upc_run_length(long most, pli_upc_pts p, long block, long row)
{
    long left = (block - (long)pli_upc_phaseof(p)) / row;
    return left < most ? left : most;
}

// How many steps p makes to be no longer below end ('<'), or above it ('l'), or to meet it ('!'):
// steps of one for which it stays in its block, or of THREADS. Less than 1: not known.
static inline long pli_upc_walk(pli_upc_pts p, pli_upc_pts end, int op, int is_stride, long block,
                                __SIZE_TYPE__ size)
{
    long d = block == 0   ? pli_upc_diffi(end, p, size)
             : block == 1 ? pli_upc_diff1(end, p, size)
                          : pli_upc_diff(end, p, block, size);
    if (d < 0) {
        return 0;
    }
    if (is_stride) {
        long n = d / pli_upc_threads, rest = d % pli_upc_threads;
        return op == 'l' ? n + 1 : rest == 0 ? n : op == '<' ? n + 1 : 0;
    }
    return op == 'l' ? d + 1 : d;
}

// At most so many steps, or those for which p is still in its block; late: and behind the last of
// them, too.
static inline long pli_upc_room(long most, pli_upc_pts p, long block, int late)
{
    long left = block - (long)pli_upc_phaseof(p) - late;
    return left < most ? left : most;
}

// Row i of an array of n rows, each of which lies within a block. copy: where a far one is fetched
// to; null: far ones are null. A row that the array does not have is never used.
static inline void *pli_upc_row(char *symbol, pli_upc_pts array, long i, long n, long row,
                                long block, __SIZE_TYPE__ size, void *copy)
{
    if (i < 0 || i >= n) {
        return symbol != 0 ? symbol : pli_upc_seg[pli_upc_mythread];
    }
    pli_upc_pts p = pli_upc_index(array, i * row, block, size);
    void *at = (pli_upc_near)(p);
    if (__builtin_expect(at == 0, 0)) {
        if (copy != 0) {
            pli_upc_get(copy, p, (__SIZE_TYPE__)row * size);
        }
        return copy;
    }
    return symbol != 0 ? pli_upc_of(symbol, at) : at;
}

#ifdef __SANITIZE_THREAD__
// The thread sanitizer knows no fences; a word that all of them pass tells it as much.
__attribute__((weak)) int pli_upc_order_word;
#define PLI_UPC_BARRIER() ((void)__atomic_fetch_add(&pli_upc_order_word, 1, __ATOMIC_SEQ_CST))
#else
#define PLI_UPC_BARRIER() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#endif

// Full order between what this thread did and what it will do. [UPC 1.3 memory model]
static inline void pli_upc_order(void)
{
    if (__builtin_expect(pli_upc_has_far, 0)) {
        pli_upc_flush();
    }
    PLI_UPC_BARRIER();
}

// A stretch of the program begins in which far data may be read ahead.
static inline int pli_upc_ahead(int is_straight)
{
    if (__builtin_expect(pli_upc_has_far, 0)) {
        pli_upc_ahead_begin(is_straight);
    }
    return 1;
}

static inline void pli_upc_fence(void)
{
    pli_upc_order();
    if (--pli_upc_poll_left < 0) { // programs spin on a fence
        pli_upc_poll();
    }
}

// Macros, because the type of the object is an argument. p and v are evaluated once. Their own
// variables have reserved names: p and v may mention any name of the program.
#define PLI_UPC_GET_AS(T, A, p)                                                                    \
    ({                                                                                             \
        pli_upc_pts __pli_p = (p);                                                                 \
        __typeof__(T) __pli_v;                                                                     \
        void *__pli_at = pli_upc_near(__pli_p);                                                    \
        if (__builtin_expect(__pli_at != 0, 1))                                                    \
            __pli_v = *(A *)__pli_at;                                                              \
        else                                                                                       \
            pli_upc_get(&__pli_v, __pli_p, sizeof __pli_v);                                        \
        __pli_v;                                                                                   \
    })

// The same where the translator has found that far data may be read ahead.
#define PLI_UPC_GET_AHEAD(T, p)                                                                    \
    ({                                                                                             \
        pli_upc_pts __pli_p = (p);                                                                 \
        __typeof__(T) __pli_v;                                                                     \
        void *__pli_at = pli_upc_near(__pli_p);                                                    \
        if (__builtin_expect(__pli_at != 0, 1))                                                    \
            __pli_v = *(__typeof__(T) *)__pli_at;                                                  \
        else                                                                                       \
            pli_upc_get_ahead(&__pli_v, __pli_p, sizeof __pli_v);                                  \
        __pli_v;                                                                                   \
    })

#define PLI_UPC_PUT_AS(T, A, p, v)                                                                 \
    ({                                                                                             \
        pli_upc_pts __pli_p = (p);                                                                 \
        __typeof__(T) __pli_v = (v);                                                               \
        void *__pli_at = pli_upc_near(__pli_p);                                                    \
        if (__builtin_expect(__pli_at != 0, 1))                                                    \
            *(A *)__pli_at = __pli_v;                                                              \
        else                                                                                       \
            pli_upc_put(__pli_p, &__pli_v, sizeof __pli_v);                                        \
        __pli_v;                                                                                   \
    })

#define PLI_UPC_GET(T, p) PLI_UPC_GET_AS(T, __typeof__(T), p)
#define PLI_UPC_PUT(T, p, v) PLI_UPC_PUT_AS(T, __typeof__(T), p, v)
#define PLI_UPC_GET_VOLATILE(T, p) PLI_UPC_GET_AS(T, volatile __typeof__(T), p)
#define PLI_UPC_PUT_VOLATILE(T, p, v) PLI_UPC_PUT_AS(T, volatile __typeof__(T), p, v)

// For structures with const members, which cannot be assigned.
#define PLI_UPC_GET_COPY(T, p)                                                                     \
    ({                                                                                             \
        pli_upc_pts __pli_p = (p);                                                                 \
        __typeof__(T) __pli_v;                                                                     \
        void *__pli_at = pli_upc_near(__pli_p);                                                    \
        if (__builtin_expect(__pli_at != 0, 1))                                                    \
            __builtin_memcpy((void *)&__pli_v, __pli_at, sizeof __pli_v);                          \
        else                                                                                       \
            pli_upc_get((void *)&__pli_v, __pli_p, sizeof __pli_v);                                \
        __pli_v;                                                                                   \
    })

// Others may use a strict object at the same time: it is read and written in one piece, if its size
// is one that the machine has.
#define PLI_UPC_IS_PIECE(T) (sizeof(T) <= 8 && (sizeof(T) & (sizeof(T) - 1)) == 0)

#define PLI_UPC_GET_STRICT(T, p)                                                                   \
    ({                                                                                             \
        pli_upc_pts __pli_sp = (p);                                                                \
        __typeof__(T) __pli_sv, *__pli_sa;                                                         \
        pli_upc_fence();                                                                           \
        __pli_sa = (__typeof__(T) *)pli_upc_near(__pli_sp);                                        \
        if (__builtin_expect(__pli_sa == 0, 0))                                                    \
            pli_upc_get(&__pli_sv, __pli_sp, sizeof __pli_sv);                                     \
        else if (PLI_UPC_IS_PIECE(T))                                                              \
            __atomic_load(__pli_sa, &__pli_sv, __ATOMIC_RELAXED);                                  \
        else                                                                                       \
            __pli_sv = *(volatile __typeof__(T) *)__pli_sa;                                        \
        pli_upc_order();                                                                           \
        __pli_sv;                                                                                  \
    })

#define PLI_UPC_PUT_STRICT(T, p, v)                                                                \
    ({                                                                                             \
        pli_upc_pts __pli_sp = (p);                                                                \
        __typeof__(T) __pli_sv = (v), *__pli_sa;                                                   \
        pli_upc_order();                                                                           \
        __pli_sa = (__typeof__(T) *)pli_upc_near(__pli_sp);                                        \
        if (__builtin_expect(__pli_sa == 0, 0))                                                    \
            pli_upc_put(__pli_sp, &__pli_sv, sizeof __pli_sv);                                     \
        else if (PLI_UPC_IS_PIECE(T))                                                              \
            __atomic_store(__pli_sa, &__pli_sv, __ATOMIC_RELAXED);                                 \
        else                                                                                       \
            *(volatile __typeof__(T) *)__pli_sa = __pli_sv;                                        \
        pli_upc_order();                                                                           \
        __pli_sv;                                                                                  \
    })

// lvalue op= v
#define PLI_UPC_UPDATE_BY(get, put, T, p, op, v)                                                   \
    ({                                                                                             \
        pli_upc_pts __pli_up = (p);                                                                \
        __typeof__(T) __pli_uv = get(T, __pli_up);                                                 \
        __pli_uv op(v);                                                                            \
        put(T, __pli_up, __pli_uv);                                                                \
        __pli_uv;                                                                                  \
    })
#define PLI_UPC_UPDATE(T, p, op, v) PLI_UPC_UPDATE_BY(PLI_UPC_GET, PLI_UPC_PUT, T, p, op, v)
#define PLI_UPC_UPDATE_STRICT(T, p, op, v)                                                         \
    PLI_UPC_UPDATE_BY(PLI_UPC_GET_STRICT, PLI_UPC_PUT_STRICT, T, p, op, v)

#define PLI_UPC_UPDATE_VOLATILE(T, p, op, v)                                                       \
    PLI_UPC_UPDATE_BY(PLI_UPC_GET_VOLATILE, PLI_UPC_PUT_VOLATILE, T, p, op, v)

// lvalue++ and lvalue--: the old value
#define PLI_UPC_POST_BY(get, put, T, p, op, v)                                                     \
    ({                                                                                             \
        pli_upc_pts __pli_up = (p);                                                                \
        __typeof__(T) __pli_uo = get(T, __pli_up), __pli_uv = __pli_uo;                            \
        __pli_uv op(v);                                                                            \
        put(T, __pli_up, __pli_uv);                                                                \
        __pli_uo;                                                                                  \
    })
#define PLI_UPC_POST(T, p, op, v) PLI_UPC_POST_BY(PLI_UPC_GET, PLI_UPC_PUT, T, p, op, v)
#define PLI_UPC_POST_STRICT(T, p, op, v)                                                           \
    PLI_UPC_POST_BY(PLI_UPC_GET_STRICT, PLI_UPC_PUT_STRICT, T, p, op, v)

#define PLI_UPC_POST_VOLATILE(T, p, op, v)                                                         \
    PLI_UPC_POST_BY(PLI_UPC_GET_VOLATILE, PLI_UPC_PUT_VOLATILE, T, p, op, v)

// Where p is in a loop that goes through shared data by *p++, as a private address: `at`. From
// there to `end` all is in one block and mapped here. The variable p itself is what it will be when
// `at` has come to `end`; so it is right where both meet, as they do in the beginning and where
// nothing is mapped.
struct pli_upc_cursor {
    char *at, *end;
};

// What a step within a block adds to a pointer.
static inline pli_upc_pts pli_upc_cursor_unit(long block, __SIZE_TYPE__ size)
{
    pli_upc_pts phase = (pli_upc_pts)1 << (PLI_UPC_ADDR_BITS + PLI_UPC_THREAD_BITS);
    return block == 0 ? size : phase + size;
}

static inline pli_upc_pts pli_upc_cursor_here(pli_upc_pts p, const struct pli_upc_cursor *w,
                                              long block, __SIZE_TYPE__ size)
{
    pli_upc_pts left = (pli_upc_pts)(w->end - w->at) / size;
    return p - left * pli_upc_cursor_unit(block, size);
}

// A step from `end`: p + 1, and the way to the last element of its block. It stops there, for
// the step from there may lead to another thread.
static inline pli_upc_pts pli_upc_cursor_on(pli_upc_pts p, struct pli_upc_cursor *w, long block,
                                            __SIZE_TYPE__ size)
{
    p = block == 0 ? pli_upc_addi(p, 1, size) : pli_upc_add(p, 1, block, size);
    char *at = PLI_UPC_TRUST ? (char *)(pli_upc_near)(p) : (char *)0;
    pli_upc_pts left = at == 0      ? 0
                       : block == 0 ? (pli_upc_pts)1 << 20
                                    : (pli_upc_pts)block - 1 - pli_upc_phaseof(p);
    w->at = at;
    w->end = at + left * size;
    return p + left * pli_upc_cursor_unit(block, size);
}

static inline pli_upc_pts pli_upc_cursor_step(pli_upc_pts p, struct pli_upc_cursor *w, long block,
                                              __SIZE_TYPE__ size)
{
    if (__builtin_expect(w->at == w->end, 0)) {
        return pli_upc_cursor_on(p, w, block, size);
    }
    w->at += size;
    return p;
}

// *p, or *p++ if step is 1, as a value and on the left of = and of op=. get: the macro for what is
// not on the way. A bit-field v has a type only as +v.
#define PLI_UPC_CURSOR_GET(T, p, w, block, step, get)                                              \
    ({                                                                                             \
        __typeof__(T) __pli_wv;                                                                    \
        if (__builtin_expect((w)->at != (w)->end, 1))                                              \
            __pli_wv = *(__typeof__(T) *)(w)->at;                                                  \
        else                                                                                       \
            __pli_wv = get(T, p);                                                                  \
        if (step)                                                                                  \
            p = pli_upc_cursor_step(p, w, block, sizeof(T));                                       \
        __pli_wv;                                                                                  \
    })

#define PLI_UPC_CURSOR_PUT(T, p, w, block, step, v)                                                \
    ({                                                                                             \
        __typeof__(T) __pli_wv = (v);                                                              \
        if (__builtin_expect((w)->at != (w)->end, 1))                                              \
            *(__typeof__(T) *)(w)->at = __pli_wv;                                                  \
        else                                                                                       \
            PLI_UPC_PUT(T, p, __pli_wv);                                                           \
        if (step)                                                                                  \
            p = pli_upc_cursor_step(p, w, block, sizeof(T));                                       \
        __pli_wv;                                                                                  \
    })

#define PLI_UPC_CURSOR_UPDATE(T, p, w, block, step, op, v)                                         \
    ({                                                                                             \
        __auto_type __pli_wo = +(v);                                                               \
        __typeof__(T) __pli_wv;                                                                    \
        if (__builtin_expect((w)->at != (w)->end, 1))                                              \
            __pli_wv = *(__typeof__(T) *)(w)->at op __pli_wo;                                      \
        else                                                                                       \
            __pli_wv = PLI_UPC_UPDATE(T, p, op, __pli_wo);                                         \
        if (step)                                                                                  \
            p = pli_upc_cursor_step(p, w, block, sizeof(T));                                       \
        __pli_wv;                                                                                  \
    })

#include "pli_upc_bits.h"

#endif
