// SPDX-License-Identifier: BSD-3-Clause
// <upc_atomic.h> [UPC 1.3 optional library]
#include <stddef.h>
#include <upc_types.h>
#ifndef PLI_UPC_ATOMIC_H
#define PLI_UPC_ATOMIC_H

#define UPC_GET (1 << 9)
#define UPC_SET (1 << 10)
#define UPC_CSWAP (1 << 11)
#define UPC_SUB (1 << 12)
#define UPC_INC (1 << 13)
#define UPC_DEC (1 << 14)

#ifndef PLI_UPC_ATOMICDOMAIN
#define PLI_UPC_ATOMICDOMAIN
typedef shared struct pli_upc_atomicdomain upc_atomicdomain_t;
#endif
typedef int upc_atomichint_t;
#define UPC_ATOMIC_HINT_DEFAULT 0
#define UPC_ATOMIC_HINT_LATENCY 1
#define UPC_ATOMIC_HINT_THROUGHPUT 2

#define PLI_UPC_ATOMIC_NAME(name) __asm__("pli_" #name)

upc_atomicdomain_t *upc_all_atomicdomain_alloc(upc_type_t type, upc_op_t ops,
                                               upc_atomichint_t hints)
    PLI_UPC_ATOMIC_NAME(upc_all_atomicdomain_alloc);
void upc_all_atomicdomain_free(upc_atomicdomain_t *ptr)
    PLI_UPC_ATOMIC_NAME(upc_all_atomicdomain_free);
void upc_atomic_strict(upc_atomicdomain_t *domain, void *restrict fetch_ptr, upc_op_t op,
                       shared void *restrict target, const void *restrict operand1,
                       const void *restrict operand2) PLI_UPC_ATOMIC_NAME(upc_atomic_strict);
void upc_atomic_relaxed(upc_atomicdomain_t *domain, void *restrict fetch_ptr, upc_op_t op,
                        shared void *restrict target, const void *restrict operand1,
                        const void *restrict operand2) PLI_UPC_ATOMIC_NAME(upc_atomic_relaxed);
int upc_atomic_isfast(upc_type_t type, upc_op_t ops, shared void *addr)
    PLI_UPC_ATOMIC_NAME(upc_atomic_isfast);

#endif
