// SPDX-License-Identifier: BSD-3-Clause
// <upc_atomic.h>. A domain is memory on every thread at the same offset, so that each reads its own
// copy. [UPC 1.3 optional library 7.3.4]
#include "rt_atomic.h"
#include "rt.h"
#include "rt_barrier.h"
#include "rt_op.h"
#include "upc_calls.h"

#include "base/err.h"
#include "boot/boot.h"
#include "onesided/region.h"

#include <string.h>

enum { ACCESS = OP_GET | OP_SET | OP_CSWAP, BITS = OP_AND | OP_OR | OP_XOR };
enum { NUMBERS = OP_ADD | OP_SUB | OP_MULT | OP_INC | OP_DEC | OP_MAX | OP_MIN };
enum { TYPE_PTS = 22, DOMAIN_MAGIC = 0x444f4d41 };

struct domain {
    uint32_t magic;
    int32_t type; // upc_type_t
    uint64_t ops;
};

// The width and kind of a upc_type_t; -1: not one for atomics.
static int type_of(int type)
{
    switch (type) {
    case 5:  // UPC_INT
    case 15: // UPC_INT32
        return PLI_REGION_I32;
    case 6:  // UPC_UINT
    case 16: // UPC_UINT32
        return PLI_REGION_U32;
    case 7:  // UPC_LONG
    case 9:  // UPC_LLONG
    case 17: // UPC_INT64
        return PLI_REGION_I64;
    case 8:  // UPC_ULONG
    case 10: // UPC_ULLONG
    case 18: // UPC_UINT64
    case TYPE_PTS:
        return PLI_REGION_U64;
    case 19: // UPC_FLOAT
        return PLI_REGION_F32;
    case 20: // UPC_DOUBLE
        return PLI_REGION_F64;
    default:
        return -1;
    }
}

static unsigned long ops_of(int type)
{
    bool is_float = type == 19 || type == 20;
    return type == TYPE_PTS ? ACCESS : is_float ? ACCESS | NUMBERS : ACCESS | NUMBERS | BITS;
}

pli_upc_pts pli_upc_all_atomicdomain_alloc(int type, unsigned long ops, int hints)
{
    (void)hints;
    if (type_of(type) < 0) {
        pli_rt_die("upc_all_atomicdomain_alloc: type %d is not one for atomic operations", type);
    }
    if ((ops & ~ops_of(type)) != 0) {
        pli_rt_die("upc_all_atomicdomain_alloc: operations %#lx are not for type %d",
                   ops & ~ops_of(type), type);
    }
    pli_upc_pts p = pli_upc_all_alloc((size_t)pli_rt.n, sizeof(struct domain));
    if (p != 0) {
        struct domain *d = (struct domain *)(pli_rt.seg[rt_me()->me] + pli_upc_addrfield(p));
        *d = (struct domain){ DOMAIN_MAGIC, type, ops };
    }
    return p;
}

void pli_upc_all_atomicdomain_free(pli_upc_pts p)
{
    if (p != 0) {
        struct domain *d = (struct domain *)(pli_rt.seg[rt_me()->me] + pli_upc_addrfield(p));
        d->magic = 0;
        pli_upc_all_free(p);
    } else {
        pli_rt_barrier_sync(RT_ALL_FREE);
    }
}

static const struct domain *domain_at(pli_upc_pts p)
{
    const struct domain *d = (struct domain *)(pli_rt.seg[rt_me()->me] + pli_upc_addrfield(p));
    if (p == 0 || d->magic != DOMAIN_MAGIC) {
        pli_rt_die("upc_atomic: the domain is not one, or was freed");
    }
    return d;
}

void pli_rt_atomic_run(pli_upc_pts target, int type, enum pli_region_op op, const void *a,
                       const void *b, void *fetch)
{
    char *at = rt_near(target);
    if (at != NULL) {
        pli_region_type_apply(at, (enum pli_region_type)type, op, a, b, fetch);
        return;
    }
    enum pli_err err =
        pli_region_atomic(rt_me()->region, (int)pli_upc_threadof(target), pli_upc_addrfield(target),
                          (enum pli_region_type)type, op, a, b, fetch);
    if (err != PLI_OK) {
        pli_boot_let_launcher_judge();
        pli_rt_die("upc_atomic: thread %d cannot be reached: %s", (int)pli_upc_threadof(target),
                   pli_fail_take(NULL));
    }
}

// Pointers are equal whatever their phase is.
static void swap_pointers(pli_upc_pts target, const void *a, const void *b, void *fetch)
{
    pli_upc_pts want, old, seen;
    memcpy(&want, a, sizeof want);
    pli_rt_atomic_run(target, PLI_REGION_U64, PLI_REGION_LOAD, NULL, NULL, &old);
    while (pli_upc_same(old, want)) {
        pli_rt_atomic_run(target, PLI_REGION_U64, PLI_REGION_CSWAP, &old, b, &seen);
        if (seen == old) {
            break;
        }
        old = seen;
    }
    if (fetch != NULL) {
        memcpy(fetch, &old, sizeof old);
    }
}

union number {
    int32_t i;
    int64_t l;
    float f;
    double d;
};

// The negative of *a, or +1 or -1, as a number of the type.
static const void *addend(int type, unsigned long op, const void *a, union number *to)
{
    size_t size = pli_region_type_size((enum pli_region_type)type);
    memset(to, 0, sizeof *to);
    if (op == OP_SUB) {
        memcpy(to, a, size);
    } else if (type == PLI_REGION_F32) {
        to->f = op == OP_INC ? -1 : 1;
    } else if (type == PLI_REGION_F64) {
        to->d = op == OP_INC ? -1 : 1;
    } else if (size == 4) {
        to->i = op == OP_INC ? -1 : 1;
    } else {
        to->l = op == OP_INC ? -1 : 1;
    }
    if (type == PLI_REGION_F32) {
        to->f = -to->f;
    } else if (type == PLI_REGION_F64) {
        to->d = -to->d;
    } else if (size == 4) {
        to->i = (int32_t)(0u - (uint32_t)to->i);
    } else {
        to->l = (int64_t)(0ull - (uint64_t)to->l);
    }
    return to;
}

static void check(const struct domain *d, void *fetch, unsigned long op, const void *a,
                  const void *b)
{
    bool has_a = (op & (OP_GET | OP_INC | OP_DEC)) == 0, has_b = op == OP_CSWAP;
    if ((d->ops & op) == 0 || (op & (op - 1)) != 0) {
        pli_rt_die("upc_atomic: operation %#lx is not one of the domain", op);
    }
    if ((a != NULL) != has_a || (b != NULL) != has_b || (op == OP_GET && fetch == NULL)) {
        pli_rt_die("upc_atomic: operation %#lx takes other operands: %s first, %s second%s", op,
                   has_a ? "a" : "no", has_b ? "a" : "no",
                   op == OP_GET ? ", and a place for the result" : "");
    }
}

void pli_upc_atomic_relaxed(pli_upc_pts domain, void *fetch, unsigned long op, pli_upc_pts target,
                            const void *a, const void *b)
{
    const struct domain *d = domain_at(domain);
    int type = type_of(d->type);
    union number n;
    check(d, fetch, op, a, b);
    if (pli_upc_threadof(target) >= (size_t)pli_rt.n || target == 0) {
        pli_rt_die("upc_atomic: the target is %s", target == 0 ? "null" : "a wild pointer");
    }
    switch (op) {
    case OP_GET:
        pli_rt_atomic_run(target, type, PLI_REGION_LOAD, NULL, NULL, fetch);
        break;
    case OP_SET:
        pli_rt_atomic_run(target, type, PLI_REGION_STORE, a, NULL, fetch);
        break;
    case OP_CSWAP:
        if (d->type == TYPE_PTS) {
            swap_pointers(target, a, b, fetch);
        } else {
            pli_rt_atomic_run(target, type, PLI_REGION_CSWAP, a, b, fetch);
        }
        break;
    case OP_ADD:
        pli_rt_atomic_run(target, type, PLI_REGION_ADD, a, NULL, fetch);
        break;
    case OP_MULT:
        pli_rt_atomic_run(target, type, PLI_REGION_MULT, a, NULL, fetch);
        break;
    case OP_MIN:
        pli_rt_atomic_run(target, type, PLI_REGION_MIN, a, NULL, fetch);
        break;
    case OP_MAX:
        pli_rt_atomic_run(target, type, PLI_REGION_MAX, a, NULL, fetch);
        break;
    case OP_AND:
        pli_rt_atomic_run(target, type, PLI_REGION_AND, a, NULL, fetch);
        break;
    case OP_OR:
        pli_rt_atomic_run(target, type, PLI_REGION_OR, a, NULL, fetch);
        break;
    case OP_XOR:
        pli_rt_atomic_run(target, type, PLI_REGION_XOR, a, NULL, fetch);
        break;
    default:
        pli_rt_atomic_run(target, type, PLI_REGION_ADD, addend(type, op, a, &n), NULL, fetch);
    }
}

void pli_upc_atomic_strict(pli_upc_pts domain, void *fetch, unsigned long op, pli_upc_pts target,
                           const void *a, const void *b)
{
    pli_upc_flush();
    atomic_thread_fence(memory_order_seq_cst);
    pli_upc_atomic_relaxed(domain, fetch, op, target, a, b);
    pli_upc_flush();
    atomic_thread_fence(memory_order_seq_cst);
}

int pli_upc_atomic_isfast(int type, unsigned long ops, pli_upc_pts target)
{
    (void)target;
    return type_of(type) >= 0 && (ops & ~ops_of(type)) == 0;
}
