// SPDX-License-Identifier: BSD-3-Clause
// Indivisible operations on words of memory, shared between processes or not.
#ifndef PLI_ONESIDED_REGION_TYPE_H
#define PLI_ONESIDED_REGION_TYPE_H

#include <stdbool.h>
#include <stddef.h>

// Numbers are part of messages: appended and never reused.
enum pli_region_type {
    PLI_REGION_I32,
    PLI_REGION_U32,
    PLI_REGION_I64,
    PLI_REGION_U64,
    PLI_REGION_F32,
    PLI_REGION_F64,
    PLI_REGION_N_TYPE
};

enum pli_region_op {
    PLI_REGION_LOAD,
    PLI_REGION_STORE, // with a fetch: swap
    PLI_REGION_CSWAP,
    PLI_REGION_ADD,
    PLI_REGION_MULT,
    PLI_REGION_AND, // the three: integers only
    PLI_REGION_OR,
    PLI_REGION_XOR,
    PLI_REGION_MIN,
    PLI_REGION_MAX,
    PLI_REGION_N_OP
};

size_t pli_region_type_size(enum pli_region_type type);
// Whether the operation is one for the type.
bool pli_region_type_has(enum pli_region_type type, enum pli_region_op op);
// The operation on mapped memory, naturally aligned. Sequentially consistent. Context: any thread.
void pli_region_type_apply(void *target, enum pli_region_type type, enum pli_region_op op,
                           const void *a, const void *b, void *fetch);

#endif
