// SPDX-License-Identifier: BSD-3-Clause
// Loops over many small blocks. The common lengths have a loop of their own in which the length,
// and where it pays the stride, is a constant, so that the compiler can use vectors.
#include "obj/cursor_kernel.h"

// Elements are copied as numbers of any alignment, which the compiler turns into vectors.
#define ANYWHERE __attribute__((aligned(1), may_alias))
typedef uint8_t any_1 ANYWHERE;
typedef uint16_t any_2 ANYWHERE;
typedef uint32_t any_4 ANYWHERE;
typedef uint64_t any_8 ANYWHERE;
// Both steps in elements: constant ones become vector loads and shuffles.
#define EVERY(N, DST, SRC)                                                                         \
    for (size_t i = 0; i < n; i++) {                                                               \
        to[i * (DST)] = from[i * (SRC)];                                                           \
    }
// Both steps in bytes.
#define STEPS(N, DST, SRC)                                                                         \
    for (size_t i = 0; i < n; i++) {                                                               \
        *(any_##N *)(dst + (ptrdiff_t)i * (DST)) = *(const any_##N *)(src + (ptrdiff_t)i * (SRC)); \
    }
// One wanted of two or three neighbours: vectors pay. Of more they do not.
#define STRIDED(N)                                                                                 \
    static void strided_##N(char *restrict dst, ptrdiff_t dst_step, const char *restrict src,      \
                            ptrdiff_t src_step, size_t n)                                          \
    {                                                                                              \
        any_##N *restrict to = (any_##N *)dst;                                                     \
        const any_##N *restrict from = (const any_##N *)src;                                       \
        if (dst_step == N) {                                                                       \
            switch (src_step) {                                                                    \
            case 2 * N:                                                                            \
                EVERY(N, 1, 2)                                                                     \
                break;                                                                             \
            case 3 * N:                                                                            \
                EVERY(N, 1, 3)                                                                     \
                break;                                                                             \
            default:                                                                               \
                STEPS(N, N, src_step)                                                              \
            }                                                                                      \
        } else if (src_step == N && dst_step == 2 * N) {                                           \
            EVERY(N, 2, 1)                                                                         \
        } else if (src_step == N) {                                                                \
            STEPS(N, dst_step, N)                                                                  \
        } else {                                                                                   \
            STEPS(N, dst_step, src_step)                                                           \
        }                                                                                          \
    }
STRIDED(1)
STRIDED(2)
STRIDED(4)
STRIDED(8)

// Longer ones fill a register or two each.
#define LONGER(N)                                                                                  \
    static void strided_##N(char *restrict dst, ptrdiff_t dst_step, const char *restrict src,      \
                            ptrdiff_t src_step, size_t n)                                          \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            memcpy(dst + (ptrdiff_t)i * dst_step, src + (ptrdiff_t)i * src_step, N);               \
        }                                                                                          \
    }
LONGER(12)
LONGER(16)
LONGER(24)
LONGER(32)
LONGER(64)

void pli_cursor_kernel_strided(char *dst, ptrdiff_t dst_step, const char *src, ptrdiff_t src_step,
                               size_t len, size_t n)
{
    switch (len) {
#define CASE(N)                                                                                    \
    case N:                                                                                        \
        strided_##N(dst, dst_step, src, src_step, n);                                              \
        break;
        CASE(1)
        CASE(2)
        CASE(4)
        CASE(8)
        CASE(12)
        CASE(16)
        CASE(24)
        CASE(32)
        CASE(64)
#undef CASE
    default:
        for (size_t i = 0; i < n; i++) {
            pli_cursor_block(dst + (ptrdiff_t)i * dst_step, src + (ptrdiff_t)i * src_step, len);
        }
    }
}

#define INDEXED(N)                                                                                 \
    static void gather_##N(char *restrict dst, const char *restrict base,                          \
                           const MPI_Count *restrict places, size_t n)                             \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            memcpy(dst + i * N, pli_cursor_at(base, places[i]), N);                                \
        }                                                                                          \
    }                                                                                              \
    static void scatter_##N(char *restrict base, const MPI_Count *restrict places,                 \
                            const char *restrict src, size_t n)                                    \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            memcpy(pli_cursor_at(base, places[i]), src + i * N, N);                                \
        }                                                                                          \
    }
#define EACH_INDEXED(DO) DO(1) DO(2) DO(4) DO(8) DO(16) DO(24) DO(32)
EACH_INDEXED(INDEXED)

void pli_cursor_kernel_gather(char *dst, const char *base, const MPI_Count *places, size_t len,
                              size_t n)
{
    switch (len) {
#define CASE(N)                                                                                    \
    case N:                                                                                        \
        gather_##N(dst, base, places, n);                                                          \
        break;
        EACH_INDEXED(CASE)
#undef CASE
    default:
        for (size_t i = 0; i < n; i++) {
            pli_cursor_block(dst + i * len, pli_cursor_at(base, places[i]), len);
        }
    }
}

void pli_cursor_kernel_scatter(char *base, const MPI_Count *places, const char *src, size_t len,
                               size_t n)
{
    switch (len) {
#define CASE(N)                                                                                    \
    case N:                                                                                        \
        scatter_##N(base, places, src, n);                                                         \
        break;
        EACH_INDEXED(CASE)
#undef CASE
    default:
        for (size_t i = 0; i < n; i++) {
            pli_cursor_block(pli_cursor_at(base, places[i]), src + i * len, len);
        }
    }
}
