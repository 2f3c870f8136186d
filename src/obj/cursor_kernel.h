// SPDX-License-Identifier: BSD-3-Clause
// The inner loops of pack and unpack.
#ifndef PLI_OBJ_CURSOR_KERNEL_H
#define PLI_OBJ_CURSOR_KERNEL_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// Addresses are computed as numbers: displacements may be absolute, from MPI_BOTTOM.
static inline char *pli_cursor_at(const char *base, MPI_Count offset)
{
    return (char *)((uintptr_t)base + (uintptr_t)offset);
}

// One block. Short ones are copied as two halves that may overlap: no call, no loop.
static inline void pli_cursor_block(char *restrict dst, const char *restrict src, size_t len)
{
    if (len > 32) {
        memcpy(dst, src, len);
    } else if (len >= 16) {
        char a[16], b[16];
        memcpy(a, src, 16);
        memcpy(b, src + len - 16, 16);
        memcpy(dst, a, 16);
        memcpy(dst + len - 16, b, 16);
    } else if (len >= 8) {
        uint64_t a, b;
        memcpy(&a, src, 8);
        memcpy(&b, src + len - 8, 8);
        memcpy(dst, &a, 8);
        memcpy(dst + len - 8, &b, 8);
    } else if (len >= 4) {
        uint32_t a, b;
        memcpy(&a, src, 4);
        memcpy(&b, src + len - 4, 4);
        memcpy(dst, &a, 4);
        memcpy(dst + len - 4, &b, 4);
    } else if (len > 0) {
        char a = src[0], b = src[len / 2], c = src[len - 1];
        dst[0] = a;
        dst[len / 2] = b;
        dst[len - 1] = c;
    }
}

// n blocks of len bytes: from src, src + src_step, ... to dst, dst + dst_step, ...
void pli_cursor_kernel_strided(char *dst, ptrdiff_t dst_step, const char *src, ptrdiff_t src_step,
                               size_t len, size_t n);

// n blocks of len bytes from the places to a stream, from a stream to them, and between two
// buffers of the same places.
void pli_cursor_kernel_gather(char *dst, const char *base, const MPI_Count *places, size_t len,
                              size_t n);
void pli_cursor_kernel_scatter(char *base, const MPI_Count *places, const char *src, size_t len,
                               size_t n);

#endif
