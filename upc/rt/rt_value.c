// SPDX-License-Identifier: BSD-3-Clause
// Collectives on values (bupc_allv_*). Each thread puts its value where others read it; two places
// take turns, so that one barrier a call is enough: who writes a place again has passed the barrier
// of the call between, to which all others came after they had read.
#include "rt.h"
#include "rt_barrier.h"
#include "rt_copy.h"
#include "rt_op.h"
#include "upc_calls.h"

#include <string.h>

enum { LEAST = 64, WIDEST = sizeof(long double) };
enum kind { UNSIGNED, SIGNED, FLOATING };

// The place of this call at thread 0; all threads ask for the same room.
static pli_upc_pts place(size_t need)
{
    struct rt_thread *me = rt_me();
    if (need > me->value_cap) {
        if (me->value_at != 0) {
            pli_upc_all_free(me->value_at);
        }
        me->value_cap = rt_round(need > LEAST ? need : LEAST, LEAST);
        me->value_at = pli_upc_all_alloc((size_t)pli_rt.n, 2 * me->value_cap);
        if (me->value_at == 0) {
            pli_rt_die("a collective on values: no shared memory for %zu bytes", need);
        }
    }
    me->value_turn ^= 1;
    return me->value_at + me->value_turn * me->value_cap;
}

static pli_upc_pts at_thread(pli_upc_pts p, int thread)
{
    return pli_upc_make(thread, 0, (int64_t)pli_upc_addrfield(p));
}

static void check(const char *what, int thread, int least)
{
    if (thread < least || thread >= pli_rt.n) {
        pli_rt_die("a collective on values: the %s is %d, which is no thread", what, thread);
    }
}

// The values of threads 0 to n - 1.
static void fetch(void *to, size_t size, pli_upc_pts from, int n)
{
    struct rt_batch batch = { 0 };
    for (int t = 0; t < n; t++) {
        pli_rt_copy_batch_add(
            &batch, pli_upc_memget_nb((char *)to + (size_t)t * size, at_thread(from, t), size));
    }
    pli_upc_sync(pli_rt_copy_batch_end(&batch));
}

// Gives out the thread's value and returns where those of all are.
static pli_upc_pts share(const void *value, size_t size)
{
    pli_upc_pts p = place(size);
    pli_rt_copy_put(at_thread(p, rt_me()->me), value, size);
    pli_rt_barrier_sync(RT_VALUES);
    return p;
}

#define COMMON(T)                                                                                  \
    case OP_ADD:                                                                                   \
        return (T)(a + b);                                                                         \
    case OP_MULT:                                                                                  \
        return (T)(a * b);                                                                         \
    case OP_LOGAND:                                                                                \
        return (T)(a && b);                                                                        \
    case OP_LOGOR:                                                                                 \
        return (T)(a || b);                                                                        \
    case OP_MIN:                                                                                   \
        return a < b ? a : b;                                                                      \
    case OP_MAX:                                                                                   \
        return a > b ? a : b;

#define BITS(T)                                                                                    \
    case OP_AND:                                                                                   \
        return (T)(a & b);                                                                         \
    case OP_OR:                                                                                    \
        return (T)(a | b);                                                                         \
    case OP_XOR:                                                                                   \
        return (T)(a ^ b);

static _Noreturn void bad_op(unsigned long op)
{
    pli_rt_die("a collective on values: operation %#lx is not one for the type", op);
}

// The result of each in *to.
#define FOLD(name, T, bits)                                                                        \
    static T name##_one(unsigned long op, T a, T b)                                                \
    {                                                                                              \
        switch (op) {                                                                              \
            COMMON(T)                                                                              \
            bits(T) default : bad_op(op);                                                          \
        }                                                                                          \
    }                                                                                              \
    static void name(void *to, const void *values, int n, unsigned long op)                        \
    {                                                                                              \
        T sum, next;                                                                               \
        memcpy(&sum, values, sizeof sum);                                                          \
        for (int i = 1; i < n; i++) {                                                              \
            memcpy(&next, (const char *)values + (size_t)i * sizeof next, sizeof next);            \
            sum = name##_one(op, sum, next);                                                       \
        }                                                                                          \
        memcpy(to, &sum, sizeof sum);                                                              \
    }
#define NO_BITS(T)

FOLD(fold_i8, int8_t, BITS)
FOLD(fold_u8, uint8_t, BITS)
FOLD(fold_i16, int16_t, BITS)
FOLD(fold_u16, uint16_t, BITS)
FOLD(fold_i32, int32_t, BITS)
FOLD(fold_u32, uint32_t, BITS)
FOLD(fold_i64, int64_t, BITS)
FOLD(fold_u64, uint64_t, BITS)
FOLD(fold_f32, float, NO_BITS)
FOLD(fold_f64, double, NO_BITS)
FOLD(fold_ld, long double, NO_BITS)

typedef void (*fold_fn)(void *to, const void *values, int n, unsigned long op);

static fold_fn fold_of(size_t size, int kind)
{
    static const struct {
        size_t size;
        int kind;
        fold_fn fn;
    } all[] = {
        { 1, SIGNED, fold_i8 },
        { 1, UNSIGNED, fold_u8 },
        { 2, SIGNED, fold_i16 },
        { 2, UNSIGNED, fold_u16 },
        { 4, SIGNED, fold_i32 },
        { 4, UNSIGNED, fold_u32 },
        { 8, SIGNED, fold_i64 },
        { 8, UNSIGNED, fold_u64 },
        { sizeof(float), FLOATING, fold_f32 },
        { sizeof(double), FLOATING, fold_f64 },
        { sizeof(long double), FLOATING, fold_ld },
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i].size == size && all[i].kind == kind) {
            return all[i].fn;
        }
    }
    pli_rt_die("a collective on values: a type of %zu bytes cannot be reduced", size);
}

static void fold_first(void *value, size_t size, fold_fn fold, unsigned long op, pli_upc_pts from,
                       int n)
{
    _Alignas(long double) char values[PLI_UPC_MAX_THREADS * WIDEST];
    fetch(values, size, from, n);
    fold(value, values, n, op);
}

void pli_upc_value_reduce(void *value, size_t size, int kind, unsigned long op, int root)
{
    fold_fn fold = fold_of(size, kind);
    check("root", root, -1);
    pli_upc_pts from = share(value, size);
    if (root < 0 || root == rt_me()->me) {
        fold_first(value, size, fold, op, from, pli_rt.n);
    }
}

void pli_upc_value_prefix(void *value, size_t size, int kind, unsigned long op)
{
    fold_fn fold = fold_of(size, kind);
    fold_first(value, size, fold, op, share(value, size), rt_me()->me + 1);
}

void pli_upc_value_broadcast(void *value, size_t size, int root)
{
    check("root", root, 0);
    pli_rt_copy_get(value, at_thread(share(value, size), root), size);
}

void pli_upc_value_scatter(void *value, size_t size, const void *from, int root)
{
    check("root", root, 0);
    int me = rt_me()->me;
    pli_upc_pts at = at_thread(place(size * (size_t)pli_rt.n), root);
    if (me == root) {
        pli_rt_copy_put(at, from, size * (size_t)pli_rt.n);
    }
    pli_rt_barrier_sync(RT_VALUES);
    pli_rt_copy_get(value, at + (size_t)me * size, size);
}

void pli_upc_value_gather(const void *value, size_t size, void *to, int root)
{
    check("root", root, -1);
    pli_upc_pts from = share(value, size);
    if (root < 0 || root == rt_me()->me) {
        fetch(to, size, from, pli_rt.n);
    }
}

void pli_upc_value_permute(void *value, size_t size, int to)
{
    check("destination", to, 0);
    pli_upc_pts at = place(size);
    pli_rt_copy_put(at_thread(at, to), value, size);
    pli_rt_barrier_sync(RT_VALUES);
    pli_rt_copy_get(value, at_thread(at, rt_me()->me), size);
}
