// SPDX-License-Identifier: BSD-3-Clause
// Does indivisible operations on words of memory.
// What the processor can do in one instruction is done so; the rest by compare-and-swap.
#include "onesided/region_type.h"

#include <stdint.h>
#include <string.h>

size_t pli_region_type_size(enum pli_region_type type)
{
    return type == PLI_REGION_I32 || type == PLI_REGION_U32 || type == PLI_REGION_F32 ? 4 : 8;
}

bool pli_region_type_has(enum pli_region_type type, enum pli_region_op op)
{
    bool is_bits = op >= PLI_REGION_AND && op <= PLI_REGION_XOR;
    bool is_float = type == PLI_REGION_F32 || type == PLI_REGION_F64;
    return type >= 0 && type < PLI_REGION_N_TYPE && op >= 0 && op < PLI_REGION_N_OP &&
           !(is_bits && is_float);
}

// The new value of a word, given as bits in a 64-bit box.
#define ARITHMETIC(T)                                                                              \
    {                                                                                              \
        T x, y;                                                                                    \
        memcpy(&x, old, sizeof x);                                                                 \
        memcpy(&y, a, sizeof y);                                                                   \
        if (op == PLI_REGION_ADD) {                                                                \
            x = (T)(x + y);                                                                        \
        } else if (op == PLI_REGION_MULT) {                                                        \
            x = (T)(x * y);                                                                        \
        } else {                                                                                   \
            x = (op == PLI_REGION_MIN) == (x < y) ? x : y;                                         \
        }                                                                                          \
        memcpy(fresh, &x, sizeof x);                                                               \
        break;                                                                                     \
    }

static void compute(enum pli_region_type type, enum pli_region_op op, const void *old,
                    const void *a, void *fresh)
{
    // Unsigned where the result is the same: overflow wraps as the programs expect.
    bool wraps = op == PLI_REGION_ADD || op == PLI_REGION_MULT;
    switch (type) {
    case PLI_REGION_I32:
        if (!wraps) {
            ARITHMETIC(int32_t)
        }
        ARITHMETIC(uint32_t)
    case PLI_REGION_U32:
        ARITHMETIC(uint32_t)
    case PLI_REGION_I64:
        if (!wraps) {
            ARITHMETIC(int64_t)
        }
        ARITHMETIC(uint64_t)
    case PLI_REGION_U64:
        ARITHMETIC(uint64_t)
    case PLI_REGION_F32:
        ARITHMETIC(float)
    default:
        ARITHMETIC(double)
    }
}

#define APPLY(W, target, op, a, b, fetch)                                                          \
    {                                                                                              \
        W *t = target, x, y = 0, old;                                                              \
        memcpy(&x, a, sizeof x);                                                                   \
        switch (op) {                                                                              \
        case PLI_REGION_LOAD:                                                                      \
            old = __atomic_load_n(t, __ATOMIC_SEQ_CST);                                            \
            break;                                                                                 \
        case PLI_REGION_STORE:                                                                     \
            old = __atomic_exchange_n(t, x, __ATOMIC_SEQ_CST);                                     \
            break;                                                                                 \
        case PLI_REGION_CSWAP:                                                                     \
            memcpy(&y, b, sizeof y);                                                               \
            __atomic_compare_exchange_n(t, &x, y, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);      \
            old = x;                                                                               \
            break;                                                                                 \
        case PLI_REGION_AND:                                                                       \
            old = __atomic_fetch_and(t, x, __ATOMIC_SEQ_CST);                                      \
            break;                                                                                 \
        case PLI_REGION_OR:                                                                        \
            old = __atomic_fetch_or(t, x, __ATOMIC_SEQ_CST);                                       \
            break;                                                                                 \
        case PLI_REGION_XOR:                                                                       \
            old = __atomic_fetch_xor(t, x, __ATOMIC_SEQ_CST);                                      \
            break;                                                                                 \
        default:                                                                                   \
            if (op == PLI_REGION_ADD && type != PLI_REGION_F32 && type != PLI_REGION_F64) {        \
                old = __atomic_fetch_add(t, x, __ATOMIC_SEQ_CST);                                  \
                break;                                                                             \
            }                                                                                      \
            old = __atomic_load_n(t, __ATOMIC_SEQ_CST);                                            \
            do {                                                                                   \
                compute(type, op, &old, a, &y);                                                    \
            } while (!__atomic_compare_exchange_n(t, &old, y, true, __ATOMIC_SEQ_CST,              \
                                                  __ATOMIC_SEQ_CST));                              \
        }                                                                                          \
        if (fetch != NULL) {                                                                       \
            memcpy(fetch, &old, sizeof old);                                                       \
        }                                                                                          \
    }

void pli_region_type_apply(void *target, enum pli_region_type type, enum pli_region_op op,
                           const void *a, const void *b, void *fetch)
{
    static const uint64_t nothing;
    a = a != NULL ? a : &nothing;
    if (pli_region_type_size(type) == 4) {
        APPLY(uint32_t, target, op, a, b, fetch)
    } else {
        APPLY(uint64_t, target, op, a, b, fetch)
    }
}
