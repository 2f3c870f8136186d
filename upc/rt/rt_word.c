// SPDX-License-Identifier: BSD-3-Clause
// Atomic operations without a domain (bupc_atomic*).
#include "rt.h"
#include "rt_atomic.h"
#include "upc_calls.h"

static void fence(bool strictly)
{
    if (strictly) {
        pli_upc_flush();
        atomic_thread_fence(memory_order_seq_cst);
    }
}

static void apply(pli_upc_pts p, bool strictly, enum pli_region_type type, enum pli_region_op op,
                  const void *a, const void *b, void *fetch)
{
    if (p == 0 || pli_upc_threadof(p) >= (size_t)pli_rt.n) {
        pli_rt_die("bupc_atomic: the target is %s", p == 0 ? "null" : "a wild pointer");
    }
    fence(strictly);
    pli_rt_atomic_run(p, (int)type, op, a, b, fetch);
    fence(strictly);
}

typedef pli_upc_pts target_relaxed, target_strict;
typedef void *target_private;

static void apply_relaxed(pli_upc_pts p, enum pli_region_type type, enum pli_region_op op,
                          const void *a, const void *b, void *fetch)
{
    apply(p, false, type, op, a, b, fetch);
}

static void apply_strict(pli_upc_pts p, enum pli_region_type type, enum pli_region_op op,
                         const void *a, const void *b, void *fetch)
{
    apply(p, true, type, op, a, b, fetch);
}

// A word of this process, or a shared one that is near, through a plain pointer.
static void apply_private(void *p, enum pli_region_type type, enum pli_region_op op, const void *a,
                          const void *b, void *fetch)
{
    if (p == NULL) {
        pli_rt_die("bupc_atomic: the target is null");
    }
    pli_region_type_apply(p, type, op, a, b, fetch);
}

#define FETCH(T, type, t, order, name, op)                                                         \
    T pli_upc_word_##name##_##order##_##t(target_##order p, T value);                              \
    T pli_upc_word_##name##_##order##_##t(target_##order p, T value)                               \
    {                                                                                              \
        T old;                                                                                     \
        apply_##order(p, type, op, &value, NULL, &old);                                            \
        return old;                                                                                \
    }

#define WORD(T, type, t, order)                                                                    \
    T pli_upc_word_read_##order##_##t(target_##order p);                                           \
    void pli_upc_word_set_##order##_##t(target_##order p, T value);                                \
    T pli_upc_word_cswap_##order##_##t(target_##order p, T want, T value);                         \
    T pli_upc_word_read_##order##_##t(target_##order p)                                            \
    {                                                                                              \
        T now;                                                                                     \
        apply_##order(p, type, PLI_REGION_LOAD, NULL, NULL, &now);                                 \
        return now;                                                                                \
    }                                                                                              \
    void pli_upc_word_set_##order##_##t(target_##order p, T value)                                 \
    {                                                                                              \
        apply_##order(p, type, PLI_REGION_STORE, &value, NULL, NULL);                              \
    }                                                                                              \
    T pli_upc_word_cswap_##order##_##t(target_##order p, T want, T value)                          \
    {                                                                                              \
        T old;                                                                                     \
        apply_##order(p, type, PLI_REGION_CSWAP, &want, &value, &old);                             \
        return old;                                                                                \
    }                                                                                              \
    FETCH(T, type, t, order, swap, PLI_REGION_STORE)

#define INTEGER(T, type, t, order)                                                                 \
    WORD(T, type, t, order)                                                                        \
    FETCH(T, type, t, order, fetchadd, PLI_REGION_ADD)                                             \
    FETCH(T, type, t, order, fetchand, PLI_REGION_AND)                                             \
    FETCH(T, type, t, order, fetchor, PLI_REGION_OR)                                               \
    FETCH(T, type, t, order, fetchxor, PLI_REGION_XOR)                                             \
    T pli_upc_word_fetchnot_##order##_##t(target_##order p);                                       \
    T pli_upc_word_mswap_##order##_##t(target_##order p, T mask, T value);                         \
    T pli_upc_word_fetchnot_##order##_##t(target_##order p)                                        \
    {                                                                                              \
        return pli_upc_word_fetchxor_##order##_##t(p, (T)-1);                                      \
    }                                                                                              \
    T pli_upc_word_mswap_##order##_##t(target_##order p, T mask, T value)                          \
    {                                                                                              \
        T old = pli_upc_word_read_##order##_##t(p), seen;                                          \
        while ((seen = pli_upc_word_cswap_##order##_##t(p, old,                                    \
                                                        (old & ~mask) | (value & mask))) != old) { \
            old = seen;                                                                            \
        }                                                                                          \
        return old;                                                                                \
    }

#define ALL(kind, T, type, t)                                                                      \
    kind(T, type, t, relaxed) kind(T, type, t, strict) kind(T, type, t, private)

ALL(INTEGER, int32_t, PLI_REGION_I32, i32)
ALL(INTEGER, uint32_t, PLI_REGION_U32, u32)
ALL(INTEGER, int64_t, PLI_REGION_I64, i64)
ALL(INTEGER, uint64_t, PLI_REGION_U64, u64)
ALL(WORD, float, PLI_REGION_F32, f32)
ALL(WORD, double, PLI_REGION_F64, f64)
