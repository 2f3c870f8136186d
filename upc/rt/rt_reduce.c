// SPDX-License-Identifier: BSD-3-Clause
// upc_all_reduce and upc_all_prefix_reduce for eleven types. Where order does not matter each
// thread reduces its own elements, and the owner of the result combines; where it does, one thread
// goes through the elements in order, block by block. [UPC 1.3 required library 4.3.7]
#include "rt.h"
#include "rt_barrier.h"
#include "rt_copy.h"
#include "rt_op.h"
#include "upc_calls.h"

#include <string.h>

enum { IN_NOSYNC = 1 << 2, OUT_NOSYNC = 1 << 5, NONCOMM = 1 << 17 };

// A run of elements on one thread.
struct run {
    pli_upc_pts at;
    size_t n;
};

// The elements of an array with this block size, run by run.
struct walk {
    pli_upc_pts p;
    size_t left, block, size;
};

static bool next_run(struct walk *w, struct run *out)
{
    if (w->left == 0) {
        return false;
    }
    size_t room = w->block == 0 ? w->left : w->block - pli_upc_phaseof(w->p);
    out->at = w->p;
    out->n = room < w->left ? room : w->left;
    w->left -= out->n;
    if (w->left > 0) {
        w->p = w->block == 1 ? pli_upc_add1(w->p, 1, w->size)
                             : pli_upc_add(w->p, (int64_t)out->n, (int64_t)w->block, w->size);
    }
    return true;
}

// Next run of this thread: the blocks of others are stepped over at once.
static bool next_mine(struct walk *w, int me, struct run *out)
{
    size_t away = (size_t)(me - (int)pli_upc_threadof(w->p) + pli_rt.n) % (size_t)pli_rt.n;
    if (w->block == 0) {
        return away == 0 && next_run(w, out);
    }
    if (away > 0 && w->left > 0) {
        size_t skip = w->block - pli_upc_phaseof(w->p) + (away - 1) * w->block;
        w->left -= skip < w->left ? skip : w->left;
        w->p = pli_upc_add(w->p, (int64_t)skip, (int64_t)w->block, w->size);
    }
    return next_run(w, out);
}

static _Noreturn void bad_op(unsigned long op)
{
    pli_rt_die("upc_all_reduce: operation %lu is not one for the type", op);
}

static void check(size_t block, size_t size)
{
    if (block > PLI_UPC_MAX_BLOCK) {
        pli_rt_die("upc_all_reduce: a block size of %zu elements of %zu bytes is above the limit "
                   "of %d",
                   block, size, PLI_UPC_MAX_BLOCK);
    }
}

#define BITS(T)                                                                                    \
    case OP_AND:                                                                                   \
        return (T)(a & b);                                                                         \
    case OP_OR:                                                                                    \
        return (T)(a | b);                                                                         \
    case OP_XOR:                                                                                   \
        return (T)(a ^ b);

#define REDUCE(L, T, bits)                                                                         \
    typedef T (*fn##L)(T, T);                                                                      \
    void pli_upc_all_reduce##L(pli_upc_pts dst, pli_upc_pts src, unsigned long op, size_t n,       \
                               size_t block, fn##L func, int flags);                               \
    void pli_upc_all_prefix_reduce##L(pli_upc_pts dst, pli_upc_pts src, unsigned long op,          \
                                      size_t n, size_t block, fn##L func, int flags);              \
    static inline T apply##L(unsigned long op, T a, T b, fn##L func)                               \
    {                                                                                              \
        switch (op) {                                                                              \
        case OP_ADD:                                                                               \
            return (T)(a + b);                                                                     \
        case OP_MULT:                                                                              \
            return (T)(a * b);                                                                     \
        case OP_LOGAND:                                                                            \
            return a && b;                                                                         \
        case OP_LOGOR:                                                                             \
            return a || b;                                                                         \
        case OP_MIN:                                                                               \
            return a < b ? a : b;                                                                  \
        case OP_MAX:                                                                               \
            return a > b ? a : b;                                                                  \
            bits(T) default : if (func == NULL)                                                    \
            {                                                                                      \
                bad_op(op);                                                                        \
            }                                                                                      \
            return func(a, b);                                                                     \
        }                                                                                          \
    }                                                                                              \
    static bool fold##L(struct run run, unsigned long op, fn##L func, T *v, bool has)              \
    {                                                                                              \
        T buf[128];                                                                                \
        const T *near = (const T *)rt_near(run.at);                                                \
        for (size_t i = 0; i < run.n;) {                                                           \
            size_t k = near != NULL ? run.n : run.n - i < 128 ? run.n - i : 128;                   \
            const T *x = near;                                                                     \
            if (near == NULL) {                                                                    \
                pli_rt_copy_get(buf, pli_upc_addi(run.at, (int64_t)i, sizeof(T)), k * sizeof(T));  \
                x = buf;                                                                           \
            }                                                                                      \
            for (size_t j = 0; j < k; j++) {                                                       \
                *v = has ? apply##L(op, *v, x[j], func) : x[j];                                    \
                has = true;                                                                        \
            }                                                                                      \
            i += k;                                                                                \
        }                                                                                          \
        return has;                                                                                \
    }                                                                                              \
    static bool partial##L(struct walk w, unsigned long op, fn##L func, int me, T *v)              \
    {                                                                                              \
        struct run run;                                                                            \
        bool has = false;                                                                          \
        while (me < 0 ? next_run(&w, &run) : next_mine(&w, me, &run)) {                            \
            has = fold##L(run, op, func, v, has);                                                  \
        }                                                                                          \
        return has;                                                                                \
    }                                                                                              \
    static bool combine##L(unsigned turn, unsigned long op, fn##L func, T *v)                      \
    {                                                                                              \
        bool has = false;                                                                          \
        for (int t = 0; t < pli_rt.n; t++) {                                                       \
            unsigned char s[RT_SCRATCH];                                                           \
            uint64_t at = pli_rt.page_at + offsetof(struct rt_page, scratch) + turn * RT_SCRATCH;  \
            pli_rt_copy_get(s, pli_upc_make(t, 0, (int64_t)at), sizeof s);                         \
            T x;                                                                                   \
            memcpy(&x, s, sizeof x);                                                               \
            if (s[RT_SCRATCH - 1] != 0) {                                                          \
                *v = has ? apply##L(op, *v, x, func) : x;                                          \
                has = true;                                                                        \
            }                                                                                      \
        }                                                                                          \
        return has;                                                                                \
    }                                                                                              \
    void pli_upc_all_reduce##L(pli_upc_pts dst, pli_upc_pts src, unsigned long op, size_t n,       \
                               size_t block, fn##L func, int flags)                                \
    {                                                                                              \
        struct rt_thread *me = rt_me();                                                            \
        struct walk w = { src, n, block, sizeof(T) };                                              \
        T v = 0;                                                                                   \
        bool is_owner = (int)pli_upc_threadof(dst) == me->me, has = false;                         \
        check(block, sizeof(T));                                                                   \
        if ((flags & IN_NOSYNC) == 0) {                                                            \
            pli_rt_barrier_sync(RT_REDUCE);                                                        \
        }                                                                                          \
        if ((op & NONCOMM) != 0) {                                                                 \
            has = is_owner && partial##L(w, op, func, -1, &v);                                     \
        } else {                                                                                   \
            unsigned turn = me->n_reduce++ & 1;                                                    \
            unsigned char *s = pli_rt.page[me->me]->scratch[turn];                                 \
            s[RT_SCRATCH - 1] = partial##L(w, op, func, me->me, &v);                               \
            memcpy(s, &v, sizeof v);                                                               \
            pli_rt_barrier_sync(RT_REDUCE);                                                        \
            has = is_owner && combine##L(turn, op, func, &v);                                      \
        }                                                                                          \
        if (has) {                                                                                 \
            pli_rt_copy_put(dst, &v, sizeof v);                                                    \
        }                                                                                          \
        if ((flags & OUT_NOSYNC) == 0) {                                                           \
            pli_rt_barrier_sync(RT_REDUCE);                                                        \
        }                                                                                          \
    }                                                                                              \
    static void prefix_run##L(struct run from, struct run to, unsigned long op, fn##L func, T *v,  \
                              bool has)                                                            \
    {                                                                                              \
        T buf[128];                                                                                \
        for (size_t i = 0; i < from.n;) {                                                          \
            size_t k = from.n - i < 128 ? from.n - i : 128;                                        \
            pli_rt_copy_get(buf, pli_upc_addi(from.at, (int64_t)i, sizeof(T)), k * sizeof(T));     \
            for (size_t j = 0; j < k; j++) {                                                       \
                buf[j] = *v = has ? apply##L(op, *v, buf[j], func) : buf[j];                       \
                has = true;                                                                        \
            }                                                                                      \
            pli_rt_copy_put(pli_upc_addi(to.at, (int64_t)i, sizeof(T)), buf, k * sizeof(T));       \
            i += k;                                                                                \
        }                                                                                          \
    }                                                                                              \
    void pli_upc_all_prefix_reduce##L(pli_upc_pts dst, pli_upc_pts src, unsigned long op,          \
                                      size_t n, size_t block, fn##L func, int flags)               \
    {                                                                                              \
        struct walk from = { src, n, block, sizeof(T) }, to = { dst, n, block, sizeof(T) };        \
        struct run a, b;                                                                           \
        T v = 0;                                                                                   \
        bool has = false;                                                                          \
        check(block, sizeof(T));                                                                   \
        if ((flags & IN_NOSYNC) == 0) {                                                            \
            pli_rt_barrier_sync(RT_PREFIX_REDUCE);                                                 \
        }                                                                                          \
        while (rt_me()->me == 0 && next_run(&from, &a) && next_run(&to, &b)) {                     \
            prefix_run##L(a, b, op, func, &v, has);                                                \
            has = true;                                                                            \
        }                                                                                          \
        if ((flags & OUT_NOSYNC) == 0) {                                                           \
            pli_rt_barrier_sync(RT_PREFIX_REDUCE);                                                 \
        }                                                                                          \
    }

#define NO_BITS(T)
REDUCE(C, signed char, BITS)
REDUCE(UC, unsigned char, BITS)
REDUCE(S, short, BITS)
REDUCE(US, unsigned short, BITS)
REDUCE(I, int, BITS)
REDUCE(UI, unsigned, BITS)
REDUCE(L, long, BITS)
REDUCE(UL, unsigned long, BITS)
REDUCE(F, float, NO_BITS)
REDUCE(D, double, NO_BITS)
REDUCE(LD, long double, NO_BITS)
