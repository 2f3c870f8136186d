// SPDX-License-Identifier: BSD-3-Clause
// What accesses do to memory: by the member that loads and stores, or by the owner for another one.
#ifndef PLI_RMA_RMA_APPLY_H
#define PLI_RMA_RMA_APPLY_H

#include "rma/rma_wire.h"

#include <stddef.h>

struct pli_rma_change {
    uintptr_t base; // what places count from
    const struct pli_rma_block *blocks;
    int n_block;
    struct pli_rma_elem elem; // APPLY and SWAP
    int op;                   // enum pli_op_which of APPLY
};

// Packed bytes from or to the blocks.
void pli_rma_apply_put(const struct pli_rma_change *c, const char *in);
void pli_rma_apply_get(const struct pli_rma_change *c, char *out);
// Accumulate `in`, after what was there went to `out`, unless NULL. Indivisible against all others
// with the same guard, element by element.
void pli_rma_apply_op(const struct pli_rma_change *c, struct pli_guard *guard, const char *in,
                      char *out);
// The element at `target` becomes *in where it equals *compare; what was there goes to out.
void pli_rma_apply_swap(const struct pli_rma_elem *e, struct pli_guard *guard, void *target,
                        const void *compare, const void *in, void *out);

#endif
