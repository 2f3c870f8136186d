// SPDX-License-Identifier: BSD-3-Clause
// What accesses do to memory: by the member that loads and stores, or by the owner for another one.
#ifndef PLI_ONESIDED_REGION_APPLY_H
#define PLI_ONESIDED_REGION_APPLY_H

#include "base/copy_stream.h"
#include "onesided/region_wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

// Copy a run of bytes. One element of the usual sizes is one load and one store, which no other
// rank sees half done.
static inline void pli_region_apply_copy(void *to, const void *from, size_t bytes)
{
    if (bytes == sizeof(uint64_t)) {
        memcpy(to, from, sizeof(uint64_t));
    } else if (bytes == sizeof(uint32_t)) {
        memcpy(to, from, sizeof(uint32_t));
    } else {
        pli_copy_stream(to, from, bytes);
    }
}

struct pli_region_change {
    uintptr_t base; // what places count from
    const struct pli_region_block *blocks;
    int n_block;
    struct pli_region_elem elem; // APPLY and SWAP
    int op;                      // enum pli_op_which of APPLY
};

// Accumulations of one message, one call or one piece of it hold the guard. Of a process that died
// with it, it is taken over.
void pli_region_apply_lock(struct pli_guard *g);
void pli_region_apply_unlock(struct pli_guard *g);

// Packed bytes from or to the blocks.
void pli_region_apply_put(const struct pli_region_change *c, const char *in);
void pli_region_apply_get(const struct pli_region_change *c, char *out);
// The byte in all of the blocks.
void pli_region_apply_set(const struct pli_region_change *c, int byte);
// Accumulate `in`, after what was there went to `out`, unless NULL. Indivisible against all others
// with the same guard, element by element.
void pli_region_apply_op(const struct pli_region_change *c, struct pli_guard *guard, const char *in,
                         char *out);
// The same of a run of elements without holes and index. combine NULL: they are replaced, or only
// read.
void pli_region_apply_run(void (*combine)(const void *in, void *inout, size_t n), bool is_replace,
                          size_t n, size_t bytes, struct pli_guard *guard, void *target,
                          const void *in, void *out);
// The element at `target` becomes *in where it equals *compare; what was there goes to out.
void pli_region_apply_swap(size_t size, struct pli_guard *guard, void *target, const void *compare,
                           const void *in, void *out);

#endif
