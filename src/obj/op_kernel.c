// SPDX-License-Identifier: BSD-3-Clause
// One loop per operation and kind of number. Elements may lie at any address. Signed sums and
// products are computed unsigned, where overflow is defined and gives the same bits. On x86_64 each
// loop exists three times: for all processors, and for those with vectors two and four times as
// long, AVX2 and AVX-512; what they compute is the same to the bit, as nothing is summed up across
// elements and no product is rounded together with a sum.
#include "obj/op_kernel.h"

#include <stdatomic.h>

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF // as GCC does for standard C
#endif

#define ANYWHERE __attribute__((aligned(1), may_alias))
typedef int8_t any_I8 ANYWHERE;
typedef uint8_t any_U8 ANYWHERE;
typedef int16_t any_I16 ANYWHERE;
typedef uint16_t any_U16 ANYWHERE;
typedef int32_t any_I32 ANYWHERE;
typedef uint32_t any_U32 ANYWHERE;
typedef int64_t any_I64 ANYWHERE;
typedef uint64_t any_U64 ANYWHERE;
typedef pli_i128 any_I128 ANYWHERE;
typedef unsigned __int128 any_U128 ANYWHERE;
typedef float any_F32 ANYWHERE;
typedef double any_F64 ANYWHERE;
typedef long double any_LD ANYWHERE;
typedef pli_f128 any_F128 ANYWHERE;
#if PLI_HAS_F16
typedef pli_f16 any_F16 ANYWHERE;
#endif

#if defined(__x86_64__) && defined(__clang__)
#define HAS_WIDE 1
#define WIDEST "avx512f,avx512bw,avx512dq,avx512vl"
#elif defined(__x86_64__)
#define HAS_WIDE 1
#define WIDEST "avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512"
#else
#define HAS_WIDE 0
#endif

enum { WIDEST_MIN = 512 }; // bytes

// The functions of a loop that `name`_each does for each kind of processor.
#define FUNCTION(name)                                                                             \
    static void name(const void *in, void *inout, size_t n)                                        \
    {                                                                                              \
        name##_each(in, inout, n);                                                                 \
    }
#if HAS_WIDE
// The longest vectors only do what fills them: of a rest they would do more one by one.
#define FUNCTIONS_WITH(name, size, widest)                                                         \
    FUNCTION(name)                                                                                 \
    static __attribute__((noinline, target("avx2"))) void name##_wide(const void *in, void *inout, \
                                                                      size_t n)                    \
    {                                                                                              \
        name##_each(in, inout, n);                                                                 \
    }                                                                                              \
    static                                                                                         \
        __attribute__((target(widest))) void name##_widest(const void *in, void *inout, size_t n)  \
    {                                                                                              \
        size_t most = n * (size) < WIDEST_MIN ? 0 : n / (64 / (size)) * (64 / (size));             \
        if (most > 0) {                                                                            \
            name##_each(in, inout, most);                                                          \
        }                                                                                          \
        if (most < n) {                                                                            \
            name##_wide((const char *)in + most * (size), (char *)inout + most * (size),           \
                        n - most);                                                                 \
        }                                                                                          \
    }
#else
#define FUNCTIONS_WITH(name, size, widest) FUNCTION(name)
#endif
#define FUNCTIONS(name, size) FUNCTIONS_WITH(name, size, WIDEST)

#define EACH(name)                                                                                 \
    static inline                                                                                  \
        __attribute__((always_inline)) void name##_each(const void *in, void *inout, size_t n)
#define LOOP(op, number, expr)                                                                     \
    EACH(op##_##number)                                                                            \
    {                                                                                              \
        const any_##number *restrict a = in;                                                       \
        any_##number *restrict b = inout;                                                          \
        _Pragma("GCC unroll 4") for (size_t i = 0; i < n; i++)                                     \
        {                                                                                          \
            b[i] = (any_##number)(expr);                                                           \
        }                                                                                          \
    }                                                                                              \
    FUNCTIONS(op##_##number, sizeof(any_##number))
#define ORDER(number)                                                                              \
    LOOP(min, number, a[i] < b[i] ? a[i] : b[i])                                                   \
    LOOP(max, number, a[i] > b[i] ? a[i] : b[i])
#define BITS(number)                                                                               \
    LOOP(sum, number, a[i] + b[i])                                                                 \
    LOOP(prod, number, 1u * a[i] * b[i])                                                           \
    LOOP(band, number, a[i] & b[i])                                                                \
    LOOP(bor, number, a[i] | b[i])                                                                 \
    LOOP(bxor, number, a[i] ^ b[i])                                                                \
    LOOP(land, number, (a[i] != 0) & (b[i] != 0))                                                  \
    LOOP(lor, number, (a[i] != 0) | (b[i] != 0))                                                   \
    LOOP(lxor, number, (a[i] != 0) ^ (b[i] != 0))
#define FLOATS(number)                                                                             \
    LOOP(sum, number, a[i] + b[i])                                                                 \
    LOOP(prod, number, a[i] * b[i])
// A complex number is two floats: its sum is theirs. Its product has no loop with AVX-512, where
// GCC 12 rounds products together with sums whatever it is told.
#define COMPLEX(number, part)                                                                      \
    EACH(sum_##number)                                                                             \
    {                                                                                              \
        sum_##part##_each(in, inout, 2 * n);                                                       \
    }                                                                                              \
    FUNCTIONS(sum_##number, 2 * sizeof(any_##part))                                                \
    EACH(prod_##number)                                                                            \
    {                                                                                              \
        const any_##part *restrict a = in;                                                         \
        any_##part *restrict b = inout;                                                            \
        for (size_t i = 0; i < 2 * n; i += 2) {                                                    \
            any_##part re = a[i] * b[i] - a[i + 1] * b[i + 1];                                     \
            b[i + 1] = a[i] * b[i + 1] + a[i + 1] * b[i];                                          \
            b[i] = re;                                                                             \
        }                                                                                          \
    }                                                                                              \
    FUNCTIONS_WITH(prod_##number, 2 * sizeof(any_##part), "avx2")

ORDER(I8)
ORDER(U8)
ORDER(I16)
ORDER(U16)
ORDER(I32)
ORDER(U32)
ORDER(I64)
ORDER(U64)
ORDER(I128)
ORDER(F32)
ORDER(F64)
ORDER(LD)
ORDER(F128)
BITS(U8)
BITS(U16)
BITS(U32)
BITS(U64)
BITS(U128)
FLOATS(F32)
FLOATS(F64)
FLOATS(LD)
FLOATS(F128)
COMPLEX(CF32, F32)
COMPLEX(CF64, F64)
COMPLEX(CLD, LD)
COMPLEX(CF128, F128)
#if PLI_HAS_F16
ORDER(F16)
FLOATS(F16)
COMPLEX(CF16, F16)
#define F16_ROW(op, w) [PLI_NUM_F16] = op##_F16##w,
#define CF16_ROW(op, w) [PLI_NUM_CF16] = op##_CF16##w,
#else
#define F16_ROW(op, w)
#define CF16_ROW(op, w)
#endif

#define BIT_ROW(op, w)                                                                             \
    [PLI_NUM_I8] = op##_U8##w, [PLI_NUM_U8] = op##_U8##w, [PLI_NUM_I16] = op##_U16##w,             \
    [PLI_NUM_U16] = op##_U16##w, [PLI_NUM_I32] = op##_U32##w, [PLI_NUM_U32] = op##_U32##w,         \
    [PLI_NUM_I64] = op##_U64##w, [PLI_NUM_U64] = op##_U64##w, [PLI_NUM_I128] = op##_U128##w,       \
    [PLI_NUM_U128] = op##_U128##w,
#define ORDER_ROW(op, w)                                                                           \
    [PLI_NUM_I8] = op##_I8##w, [PLI_NUM_U8] = op##_U8##w, [PLI_NUM_I16] = op##_I16##w,             \
    [PLI_NUM_U16] = op##_U16##w, [PLI_NUM_I32] = op##_I32##w, [PLI_NUM_U32] = op##_U32##w,         \
    [PLI_NUM_I64] = op##_I64##w, [PLI_NUM_U64] = op##_U64##w, [PLI_NUM_I128] = op##_I128##w,
#define FLOAT_ROW(op, w)                                                                           \
    F16_ROW(op, w)                                                                                 \
    [PLI_NUM_F32] = op##_F32##w, [PLI_NUM_F64] = op##_F64##w, [PLI_NUM_LD] = op##_LD##w,           \
    [PLI_NUM_F128] = op##_F128##w,
#define COMPLEX_ROW(op, w)                                                                         \
    CF16_ROW(op, w)                                                                                \
    [PLI_NUM_CF32] = op##_CF32##w, [PLI_NUM_CF64] = op##_CF64##w, [PLI_NUM_CLD] = op##_CLD##w,     \
    [PLI_NUM_CF128] = op##_CF128##w,
#define TABLE(w)                                                                                   \
    {                                                                                              \
        [PLI_OP_SUM] = { BIT_ROW(sum, w) FLOAT_ROW(sum, w) COMPLEX_ROW(sum, w) },                  \
        [PLI_OP_PROD] = { BIT_ROW(prod, w) FLOAT_ROW(prod, w) COMPLEX_ROW(prod, w) },              \
        [PLI_OP_MIN] = { ORDER_ROW(min, w) FLOAT_ROW(min, w) },                                    \
        [PLI_OP_MAX] = { ORDER_ROW(max, w) FLOAT_ROW(max, w) },                                    \
        [PLI_OP_BAND] = { BIT_ROW(band, w) }, [PLI_OP_BOR] = { BIT_ROW(bor, w) },                  \
        [PLI_OP_BXOR] = { BIT_ROW(bxor, w) }, [PLI_OP_LAND] = { BIT_ROW(land, w) },                \
        [PLI_OP_LOR] = { BIT_ROW(lor, w) }, [PLI_OP_LXOR] = { BIT_ROW(lxor, w) },                  \
    }

static const pli_op_fn kernels[PLI_N_VECTORS][PLI_N_OP][PLI_N_NUM] = {
    [PLI_VECTORS_PLAIN] = TABLE(),
#if HAS_WIDE
    [PLI_VECTORS_AVX2] = TABLE(_wide),
    [PLI_VECTORS_AVX512] = TABLE(_widest),
#endif
};

// Processors with AVX-512 that are older than its second set of byte instructions (before Ice Lake)
// slow down for milliseconds after a few of the longest vectors, so the program would pay for them.
__attribute__((cold)) static enum pli_vectors choose(void)
{
#if HAS_WIDE
    if (__builtin_cpu_supports("avx512vbmi2") && pli_op_has_vectors(PLI_VECTORS_AVX512)) {
        return PLI_VECTORS_AVX512;
    }
#endif
    return pli_op_has_vectors(PLI_VECTORS_AVX2) ? PLI_VECTORS_AVX2 : PLI_VECTORS_PLAIN;
}

static inline enum pli_vectors vectors(void)
{
    static _Atomic uint8_t chosen; // one more than it; 0: not yet
    uint8_t v = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (__builtin_expect(v == 0, 0)) {
        v = (uint8_t)(choose() + 1);
        atomic_store_explicit(&chosen, v, memory_order_relaxed);
    }
    return (enum pli_vectors)(v - 1);
}

enum pli_vectors pli_op_vectors(void)
{
    return vectors();
}

bool pli_op_has_vectors(enum pli_vectors v)
{
#if HAS_WIDE
    if (v == PLI_VECTORS_AVX512) {
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    }
    return v == PLI_VECTORS_PLAIN || __builtin_cpu_supports("avx2");
#else
    return v == PLI_VECTORS_PLAIN;
#endif
}

pli_op_fn pli_op_kernel_with(enum pli_vectors v, enum pli_op_which op, enum pli_number number)
{
    return kernels[v][op][number];
}

pli_op_fn pli_op_kernel(enum pli_op_which op, enum pli_number number)
{
    return kernels[vectors()][op][number];
}

// MPI_MINLOC and MPI_MAXLOC: one loop per kind of value and kind of index. [MPI-5.0 6.9.4]
// Equal values keep the smaller index, whichever operation it is.
#define PAIR(op, cmp, V, VT, I, IT)                                                                \
    static void op##_##V##_##I(const void *in, void *inout, size_t n)                              \
    {                                                                                              \
        struct pair {                                                                              \
            VT v;                                                                                  \
            IT i;                                                                                  \
        };                                                                                         \
        typedef struct pair any_pair __attribute__((aligned(1)));                                  \
        const any_pair *restrict a = in;                                                           \
        any_pair *restrict b = inout;                                                              \
        for (size_t k = 0; k < n; k++) {                                                           \
            VT av = a[k].v, bv = b[k].v;                                                           \
            if (av cmp bv || (av == bv && a[k].i < b[k].i)) {                                      \
                b[k].v = av;                                                                       \
                b[k].i = a[k].i;                                                                   \
            }                                                                                      \
        }                                                                                          \
    }
#define BOTH(V, VT, I, IT)                                                                         \
    PAIR(minloc, <, V, VT, I, IT)                                                                  \
    PAIR(maxloc, >, V, VT, I, IT)

#define FOR_INDEX(X, V, VT)                                                                        \
    X(V, VT, I8, int8_t)                                                                           \
    X(V, VT, U8, uint8_t)                                                                          \
    X(V, VT, I16, int16_t)                                                                         \
    X(V, VT, U16, uint16_t)                                                                        \
    X(V, VT, I32, int32_t)                                                                         \
    X(V, VT, U32, uint32_t)                                                                        \
    X(V, VT, I64, int64_t)                                                                         \
    X(V, VT, U64, uint64_t)
// The Fortran pairs keep the index as a number of the value's kind.
#define FOR_ALL(X)                                                                                 \
    FOR_INDEX(X, I8, int8_t)                                                                       \
    FOR_INDEX(X, U8, uint8_t)                                                                      \
    FOR_INDEX(X, I16, int16_t)                                                                     \
    FOR_INDEX(X, U16, uint16_t)                                                                    \
    FOR_INDEX(X, I32, int32_t)                                                                     \
    FOR_INDEX(X, U32, uint32_t)                                                                    \
    FOR_INDEX(X, I64, int64_t)                                                                     \
    FOR_INDEX(X, U64, uint64_t)                                                                    \
    FOR_INDEX(X, F32, float)                                                                       \
    FOR_INDEX(X, F64, double)                                                                      \
    FOR_INDEX(X, LD, long double)                                                                  \
    FOR_INDEX(X, F128, pli_f128)                                                                   \
    X(F32, float, F32, float)                                                                      \
    X(F64, double, F64, double)
FOR_ALL(BOTH)

#define MIN_ROW(V, VT, I, IT) [PLI_NUM_##V][PLI_NUM_##I] = minloc_##V##_##I,
#define MAX_ROW(V, VT, I, IT) [PLI_NUM_##V][PLI_NUM_##I] = maxloc_##V##_##I,
static const pli_op_fn minloc[PLI_N_NUM][PLI_N_NUM] = { FOR_ALL(MIN_ROW) };
static const pli_op_fn maxloc[PLI_N_NUM][PLI_N_NUM] = { FOR_ALL(MAX_ROW) };

pli_op_fn pli_op_pair(enum pli_op_which op, enum pli_number value, enum pli_number index)
{
    return op == PLI_OP_MINLOC ? minloc[value][index] : maxloc[value][index];
}
