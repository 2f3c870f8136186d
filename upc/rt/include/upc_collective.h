// SPDX-License-Identifier: BSD-3-Clause
// <upc_collective.h> [UPC 1.3 required library]
#include <stddef.h>
#include <upc_types.h>
#ifndef PLI_UPC_COLLECTIVE_H
#define PLI_UPC_COLLECTIVE_H

#define UPC_FUNC (1 << 16)
#define UPC_NONCOMM_FUNC (1 << 17)
#define PLI_UPC_COLL_NAME(name) __asm__("pli_" #name)

void upc_all_broadcast(shared void *restrict dst, shared const void *restrict src, size_t nbytes,
                       upc_flag_t flags) PLI_UPC_COLL_NAME(upc_all_broadcast);
void upc_all_scatter(shared void *restrict dst, shared const void *restrict src, size_t nbytes,
                     upc_flag_t flags) PLI_UPC_COLL_NAME(upc_all_scatter);
void upc_all_gather(shared void *restrict dst, shared const void *restrict src, size_t nbytes,
                    upc_flag_t flags) PLI_UPC_COLL_NAME(upc_all_gather);
void upc_all_gather_all(shared void *restrict dst, shared const void *restrict src, size_t nbytes,
                        upc_flag_t flags) PLI_UPC_COLL_NAME(upc_all_gather_all);
void upc_all_exchange(shared void *restrict dst, shared const void *restrict src, size_t nbytes,
                      upc_flag_t flags) PLI_UPC_COLL_NAME(upc_all_exchange);
void upc_all_permute(shared void *restrict dst, shared const void *restrict src,
                     shared const int *restrict perm, size_t nbytes, upc_flag_t flags)
    PLI_UPC_COLL_NAME(upc_all_permute);

#define PLI_UPC_REDUCE(letter, T)                                                                  \
    void upc_all_reduce##letter(shared void *restrict dst, shared const void *restrict src,        \
                                upc_op_t op, size_t nelems, size_t blk_size, T (*func)(T, T),      \
                                upc_flag_t flags) PLI_UPC_COLL_NAME(upc_all_reduce##letter);       \
    void upc_all_prefix_reduce##letter(shared void *restrict dst, shared const void *restrict src, \
                                       upc_op_t op, size_t nelems, size_t blk_size,                \
                                       T (*func)(T, T), upc_flag_t flags)                          \
        PLI_UPC_COLL_NAME(upc_all_prefix_reduce##letter)

PLI_UPC_REDUCE(C, signed char);
PLI_UPC_REDUCE(UC, unsigned char);
PLI_UPC_REDUCE(S, signed short);
PLI_UPC_REDUCE(US, unsigned short);
PLI_UPC_REDUCE(I, signed int);
PLI_UPC_REDUCE(UI, unsigned int);
PLI_UPC_REDUCE(L, signed long);
PLI_UPC_REDUCE(UL, unsigned long);
PLI_UPC_REDUCE(F, float);
PLI_UPC_REDUCE(D, double);
PLI_UPC_REDUCE(LD, long double);

#endif
