// SPDX-License-Identifier: BSD-3-Clause
// MPI_MINLOC and MPI_MAXLOC: one loop per kind of value and kind of index. [MPI-5.0 6.9.4]
#include "obj/op_kernel.h"

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
