// SPDX-License-Identifier: BSD-3-Clause
// Applies accesses of other members to memory.
// Accesses change memory here: blocks are copied, set, or combined under the guard.
#include "onesided/region_apply.h"

#include "base/cpu.h"
#include "boot/boot.h"
#include "msg/lane.h"
#include "obj/datatype_number.h"
#include "obj/op.h"
#include "obj/op_kernel.h"
#include "onesided/region_layout.h"

#include <sched.h>
#include <string.h>

// What members of other MPIs call them.
_Static_assert(PLI_ELEM_I8 == (int)PLI_NUM_I8 && PLI_ELEM_U64 == (int)PLI_NUM_U64 &&
                   PLI_ELEM_F32 == (int)PLI_NUM_F32 && PLI_ELEM_LD == (int)PLI_NUM_LD &&
                   PLI_ELEM_CF32 == (int)PLI_NUM_CF32 && PLI_ELEM_CLD == (int)PLI_NUM_CLD,
               "numbers in messages");
_Static_assert(PLI_COMBINE_SUM == (int)PLI_OP_SUM && PLI_COMBINE_MAX == (int)PLI_OP_MAX &&
                   PLI_COMBINE_BXOR == (int)PLI_OP_BXOR && PLI_COMBINE_LXOR == (int)PLI_OP_LXOR &&
                   PLI_COMBINE_MAXLOC == (int)PLI_OP_MAXLOC &&
                   PLI_COMBINE_REPLACE == (int)PLI_OP_REPLACE &&
                   PLI_COMBINE_NO_OP == (int)PLI_OP_NO_OP,
               "operations in messages");

enum { LOOKS = 1000, ELEM_MAX = 64 };

void pli_region_apply_lock(struct pli_guard *g)
{
    uint32_t me = (uint32_t)pli_proc.id + 1, was = 0;
    for (uint32_t n = 1; !atomic_compare_exchange_weak_explicit(
             &g->busy, &was, me, memory_order_acquire, memory_order_relaxed);
         n++) {
        if (was != 0 && n % LOOKS == 0) {
            sched_yield();
            if (was != me && pli_node_failure(&pli_proc.boot->node, was - 1) != 0) {
                continue; // was is what we expect to replace
            }
        }
        was = 0;
    }
}

void pli_region_apply_unlock(struct pli_guard *g)
{
    atomic_store_explicit(&g->busy, 0, memory_order_release);
}

void pli_region_apply_put(const struct pli_region_change *c, const char *in)
{
    for (int i = 0; i < c->n_block; i++) {
        const struct pli_region_block *b = &c->blocks[i];
        for (uint64_t k = 0; k < b->n; k++, in += b->len) {
            memcpy((char *)(c->base + (uintptr_t)b->at + k * (uintptr_t)b->step), in, b->len);
        }
    }
}

void pli_region_apply_get(const struct pli_region_change *c, char *out)
{
    for (int i = 0; i < c->n_block; i++) {
        const struct pli_region_block *b = &c->blocks[i];
        for (uint64_t k = 0; k < b->n; k++, out += b->len) {
            memcpy(out, (char *)(c->base + (uintptr_t)b->at + k * (uintptr_t)b->step), b->len);
        }
    }
}

void pli_region_apply_set(const struct pli_region_change *c, int byte)
{
    for (int i = 0; i < c->n_block; i++) {
        const struct pli_region_block *b = &c->blocks[i];
        for (uint64_t k = 0; k < b->n; k++) {
            memset((char *)(c->base + (uintptr_t)b->at + k * (uintptr_t)b->step), byte, b->len);
        }
    }
}

// A run of n elements that lie as close in memory as in a message.
static void apply_run(const struct pli_region_change *c, char *p, const char *in, size_t n)
{
    const struct pli_region_elem *e = &c->elem;
    if (c->op == PLI_OP_REPLACE) {
        memcpy(p, in, n * e->size);
    } else if (e->index == 0) {
        pli_op_kernel((enum pli_op_which)c->op, (enum pli_number)e->number)(in, p, n);
    } else { // the loop for pairs knows them as C has them: padded
        pli_op_fn f = pli_op_pair((enum pli_op_which)c->op, (enum pli_number)e->number,
                                  (enum pli_number)e->index);
        for (size_t i = 0; i < n; i++) {
            f(in + i * e->size, p + i * e->size, 1);
        }
    }
}

// An element with a hole in it.
static void apply_split(const struct pli_region_change *c, char *p, const char *in)
{
    char one[ELEM_MAX];
    pli_region_elem_scatter(&c->elem, one, in);
    if (c->op == PLI_OP_REPLACE) {
        pli_region_elem_scatter(&c->elem, p, in);
    } else {
        pli_op_pair((enum pli_op_which)c->op, (enum pli_number)c->elem.number,
                    (enum pli_number)c->elem.index)(one, p, 1);
    }
}

void pli_region_apply_op(const struct pli_region_change *c, struct pli_guard *guard, const char *in,
                         char *out)
{
    bool is_split = pli_region_layout_is_split(&c->elem), is_change = c->op != PLI_OP_NO_OP;
    pli_region_apply_lock(guard);
    for (int i = 0; i < c->n_block; i++) {
        const struct pli_region_block *b = &c->blocks[i];
        for (uint64_t k = 0; k < b->n; k++) {
            char *p = (char *)(c->base + (uintptr_t)b->at + k * (uintptr_t)b->step);
            if (out != NULL && is_split) {
                pli_region_elem_gather(&c->elem, out, p);
            } else if (out != NULL) {
                memcpy(out, p, b->len);
            }
            if (is_change && is_split) {
                apply_split(c, p, in);
            } else if (is_change) {
                apply_run(c, p, in, b->len / c->elem.size);
            }
            out = out != NULL ? out + b->len : NULL;
            in = is_change ? in + b->len : in;
        }
    }
    pli_region_apply_unlock(guard);
}

void pli_region_apply_run(void (*combine)(const void *in, void *inout, size_t n), bool is_replace,
                          size_t n, size_t bytes, struct pli_guard *guard, void *target,
                          const void *in, void *out)
{
    pli_region_apply_lock(guard);
    if (out != NULL) {
        pli_region_apply_copy(out, target, bytes);
    }
    if (combine != NULL) {
        combine(in, target, n);
    } else if (is_replace) {
        pli_region_apply_copy(target, in, bytes);
    }
    pli_region_apply_unlock(guard);
}

static bool is_equal(const void *a, const void *b, size_t bytes)
{
    uint64_t x, y;
    if (bytes != sizeof x) {
        return memcmp(a, b, bytes) == 0;
    }
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return x == y;
}

void pli_region_apply_swap(size_t size, struct pli_guard *guard, void *target, const void *compare,
                           const void *in, void *out)
{
    pli_region_apply_lock(guard);
    pli_region_apply_copy(out, target, size);
    if (is_equal(out, compare, size)) {
        pli_region_apply_copy(target, in, size);
    }
    pli_region_apply_unlock(guard);
}
