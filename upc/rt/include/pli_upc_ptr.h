// SPDX-License-Identifier: BSD-3-Clause
// Pointers-to-shared: their bits, their arithmetic and the thread's place among others.
#ifndef PLI_UPC_PTR_H
#define PLI_UPC_PTR_H
#pragma GCC system_header

// 64 bits, from the top: phase, thread, offset into the thread's segment. All zero is null; no
// object lies at offset 0. The phase is an element count and 0 for block sizes 1 and indefinite.
typedef __UINT64_TYPE__ pli_upc_pts;

#define PLI_UPC_ADDR_BITS 34
#define PLI_UPC_THREAD_BITS 10
#define PLI_UPC_PHASE_BITS 20
#define PLI_UPC_MAX_THREADS (1 << PLI_UPC_THREAD_BITS)
#define PLI_UPC_MAX_BLOCK ((1 << PLI_UPC_PHASE_BITS) - 1)
#define PLI_UPC_ADDR_MASK (((pli_upc_pts)1 << PLI_UPC_ADDR_BITS) - 1)
#define PLI_UPC_PLACE_MASK (((pli_upc_pts)1 << (PLI_UPC_ADDR_BITS + PLI_UPC_THREAD_BITS)) - 1)

#if defined PLI_UPC_PTHREADS && PLI_UPC_PTHREADS
#define PLI_UPC_TLS __thread
#else
#define PLI_UPC_TLS
#endif

// Constant while user code runs; the runtime defines them before it and sees them without const.
#ifdef PLI_UPC_RUNTIME
#define PLI_UPC_FIXED
#else
#define PLI_UPC_FIXED const
#endif

extern PLI_UPC_TLS PLI_UPC_FIXED int pli_upc_mythread;
#if defined PLI_UPC_STATIC_THREADS && PLI_UPC_STATIC_THREADS > 0
#define PLI_UPC_DIVIDES 1 // the C compiler knows a better way than to divide
#define pli_upc_threads PLI_UPC_STATIC_THREADS
#elif defined PLI_UPC_LIBRARY // inside the library, which has no part of the program
extern int pli_rt_threads;
#define PLI_UPC_DIVIDES 1
#define pli_upc_threads pli_rt_threads
#else
#define PLI_UPC_DIVIDES 0
extern PLI_UPC_FIXED int pli_upc_threads;
#endif
extern PLI_UPC_FIXED __INT64_TYPE__ pli_upc_reciprocal; // 2^62 / THREADS
// Translated code keeps these words; macros leave the columns of diagnostics alone.
#ifndef PLI_UPC_RUNTIME
#define MYTHREAD pli_upc_mythread
#define THREADS pli_upc_threads
#endif
// Where the segment of each thread is mapped in this process; null when it is not.
extern char *PLI_UPC_FIXED pli_upc_seg[PLI_UPC_MAX_THREADS];
// Not 0 when some segment is not mapped, so that accesses may be under way in the background.
extern PLI_UPC_FIXED int pli_upc_has_far;
extern PLI_UPC_TLS int pli_upc_forall_depth;
extern PLI_UPC_TLS int pli_upc_poll_left;

static inline __SIZE_TYPE__ pli_upc_threadof(pli_upc_pts p)
{
    return (p >> PLI_UPC_ADDR_BITS) & (PLI_UPC_MAX_THREADS - 1);
}

static inline __SIZE_TYPE__ pli_upc_phaseof(pli_upc_pts p)
{
    return p >> (PLI_UPC_ADDR_BITS + PLI_UPC_THREAD_BITS);
}

static inline __SIZE_TYPE__ pli_upc_addrfield(pli_upc_pts p)
{
    return p & PLI_UPC_ADDR_MASK;
}

static inline pli_upc_pts pli_upc_resetphase(pli_upc_pts p)
{
    return p & PLI_UPC_PLACE_MASK;
}

static inline pli_upc_pts pli_upc_make(__INT64_TYPE__ thread, __INT64_TYPE__ phase,
                                       __INT64_TYPE__ addr)
{
    return ((pli_upc_pts)phase << (PLI_UPC_ADDR_BITS + PLI_UPC_THREAD_BITS)) |
           ((pli_upc_pts)thread << PLI_UPC_ADDR_BITS) | ((pli_upc_pts)addr & PLI_UPC_ADDR_MASK);
}

static inline int pli_upc_same(pli_upc_pts a, pli_upc_pts b)
{
    return ((a ^ b) & PLI_UPC_PLACE_MASK) == 0;
}

static inline __INT64_TYPE__ pli_upc_floordiv(__INT64_TYPE__ x, __INT64_TYPE__ n)
{
    if (__builtin_constant_p(n) && (n & (n - 1)) == 0) {
        return x >> __builtin_ctzll((unsigned long long)n);
    }
    return x / n - (x % n < 0);
}

// x / THREADS, rounded down. A multiplication takes a quarter of the time of a division. What is
// asked for is (x + 1/2) / THREADS, which is 2^-11 or more away from whole numbers; the reciprocal
// is wrong by less than 1, so the result is right for |x| < 2^51, and an element has a number below
// 2^44.
static inline __INT64_TYPE__ pli_upc_by_threads(__INT64_TYPE__ x)
{
#if PLI_UPC_DIVIDES || !defined __SIZEOF_INT128__
    return pli_upc_floordiv(x, pli_upc_threads);
#else
    __extension__ typedef __int128 wide;
    return (__INT64_TYPE__)((wide)(4 * x + 2) * pli_upc_reciprocal >> 64);
#endif
}

// p + i for indefinite block size: plain byte arithmetic, no carry leaves the offset field.
static inline pli_upc_pts pli_upc_addi(pli_upc_pts p, __INT64_TYPE__ i, __SIZE_TYPE__ size)
{
    if (__builtin_constant_p(i) && i == 1) {
        return p + size;
    }
    pli_upc_pts moved = p + (pli_upc_pts)i * size;
    return (p & ~PLI_UPC_ADDR_MASK) | (moved & PLI_UPC_ADDR_MASK);
}

// p + i for block size 1. A step of one, as in *p++, needs no division.
static inline pli_upc_pts pli_upc_add1(pli_upc_pts p, __INT64_TYPE__ i, __SIZE_TYPE__ size)
{
    if (__builtin_constant_p(i) && i == 1) {
        int is_last = (int)pli_upc_threadof(p) + 1 == pli_upc_threads;
        return is_last ? (p & PLI_UPC_ADDR_MASK) + size : p + ((pli_upc_pts)1 << PLI_UPC_ADDR_BITS);
    }
    __INT64_TYPE__ x = (__INT64_TYPE__)pli_upc_threadof(p) + i;
    __INT64_TYPE__ q = pli_upc_by_threads(x);
    return pli_upc_make(x - q * pli_upc_threads, 0,
                        (__INT64_TYPE__)(pli_upc_addrfield(p) + (pli_upc_pts)q * size));
}

// p + i for a definite block size.
static inline pli_upc_pts pli_upc_add(pli_upc_pts p, __INT64_TYPE__ i, __INT64_TYPE__ block,
                                      __SIZE_TYPE__ size)
{
    __INT64_TYPE__ phase = (__INT64_TYPE__)pli_upc_phaseof(p);
    if (__builtin_constant_p(i) && i == 1 && __builtin_expect(phase + 1 < block, 1)) {
        return p + ((pli_upc_pts)1 << (PLI_UPC_ADDR_BITS + PLI_UPC_THREAD_BITS)) + size;
    }
    __INT64_TYPE__ x = (__INT64_TYPE__)pli_upc_threadof(p) * block + phase + i;
    __INT64_TYPE__ b = pli_upc_floordiv(x, block);
    __INT64_TYPE__ q = pli_upc_by_threads(b);
    __INT64_TYPE__ new_phase = x - b * block;
    pli_upc_pts delta = (pli_upc_pts)(new_phase - phase + q * block) * size;
    return pli_upc_make(b - q * pli_upc_threads, new_phase,
                        (__INT64_TYPE__)(pli_upc_addrfield(p) + delta));
}

// Element i of an array that starts at p, which lies on thread 0 with phase 0.
static inline pli_upc_pts pli_upc_index1(pli_upc_pts p, __INT64_TYPE__ i, __SIZE_TYPE__ size)
{
    __INT64_TYPE__ q = pli_upc_by_threads(i);
    return p + ((pli_upc_pts)(i - q * pli_upc_threads) << PLI_UPC_ADDR_BITS) +
           (pli_upc_pts)q * size;
}

static inline pli_upc_pts pli_upc_index(pli_upc_pts p, __INT64_TYPE__ i, __INT64_TYPE__ block,
                                        __SIZE_TYPE__ size)
{
    __INT64_TYPE__ b = pli_upc_floordiv(i, block);
    __INT64_TYPE__ q = pli_upc_by_threads(b);
    __INT64_TYPE__ phase = i - b * block;
    return pli_upc_make(b - q * pli_upc_threads, phase,
                        (__INT64_TYPE__)(p + (pli_upc_pts)(phase + q * block) * size));
}

static inline __INT64_TYPE__ pli_upc_addrdiff(pli_upc_pts a, pli_upc_pts b)
{
    // The difference of two offsets, with the sign it has in their own width.
    int up = 64 - PLI_UPC_ADDR_BITS;
    return (__INT64_TYPE__)((a - b) << up) >> up;
}

static inline __INT64_TYPE__ pli_upc_diffi(pli_upc_pts a, pli_upc_pts b, __SIZE_TYPE__ size)
{
    return pli_upc_addrdiff(a, b) / (__INT64_TYPE__)size;
}

static inline __INT64_TYPE__ pli_upc_diff1(pli_upc_pts a, pli_upc_pts b, __SIZE_TYPE__ size)
{
    return pli_upc_diffi(a, b, size) * pli_upc_threads + (__INT64_TYPE__)pli_upc_threadof(a) -
           (__INT64_TYPE__)pli_upc_threadof(b);
}

static inline __INT64_TYPE__ pli_upc_diff(pli_upc_pts a, pli_upc_pts b, __INT64_TYPE__ block,
                                          __SIZE_TYPE__ size)
{
    __INT64_TYPE__ dp = (__INT64_TYPE__)pli_upc_phaseof(a) - (__INT64_TYPE__)pli_upc_phaseof(b);
    __INT64_TYPE__ dt = (__INT64_TYPE__)pli_upc_threadof(a) - (__INT64_TYPE__)pli_upc_threadof(b);
    return (pli_upc_diffi(a, b, size) - dp) * pli_upc_threads + dt * block + dp;
}

// Rows between the start of the course of blocks and p; less than 0: p is inside a row.
static inline long pli_upc_shift(pli_upc_pts p, long block, long row)
{
    long phase = (long)pli_upc_phaseof(p);
    return phase % row != 0 ? -1 : ((long)pli_upc_threadof(p) * block + phase) / row;
}

// A member of the structure at p: same thread, no phase.
static inline pli_upc_pts pli_upc_member(pli_upc_pts p, __SIZE_TYPE__ offset)
{
    return pli_upc_resetphase(p) + offset;
}

#endif
