// SPDX-License-Identifier: BSD-3-Clause
// <upc_nb.h> [UPC 1.3 optional library]
#include <stddef.h>
#ifndef PLI_UPC_NB_H
#define PLI_UPC_NB_H

typedef void *upc_handle_t;
#define UPC_COMPLETE_HANDLE ((upc_handle_t)0)
#define PLI_UPC_NB_NAME(name) __asm__("pli_" #name)

upc_handle_t upc_memcpy_nb(shared void *restrict dst, shared const void *restrict src, size_t n)
    PLI_UPC_NB_NAME(upc_memcpy_nb);
upc_handle_t upc_memget_nb(void *restrict dst, shared const void *restrict src, size_t n)
    PLI_UPC_NB_NAME(upc_memget_nb);
upc_handle_t upc_memput_nb(shared void *restrict dst, const void *restrict src, size_t n)
    PLI_UPC_NB_NAME(upc_memput_nb);
upc_handle_t upc_memset_nb(shared void *dst, int c, size_t n) PLI_UPC_NB_NAME(upc_memset_nb);
void upc_memcpy_nbi(shared void *restrict dst, shared const void *restrict src, size_t n)
    PLI_UPC_NB_NAME(upc_memcpy_nbi);
void upc_memget_nbi(void *restrict dst, shared const void *restrict src, size_t n)
    PLI_UPC_NB_NAME(upc_memget_nbi);
void upc_memput_nbi(shared void *restrict dst, const void *restrict src, size_t n)
    PLI_UPC_NB_NAME(upc_memput_nbi);
void upc_memset_nbi(shared void *dst, int c, size_t n) PLI_UPC_NB_NAME(upc_memset_nbi);
int upc_sync_attempt(upc_handle_t handle) PLI_UPC_NB_NAME(upc_sync_attempt);
void upc_sync(upc_handle_t handle) PLI_UPC_NB_NAME(upc_sync);
int upc_synci_attempt(void) PLI_UPC_NB_NAME(upc_synci_attempt);
void upc_synci(void) PLI_UPC_NB_NAME(upc_synci);

#endif
