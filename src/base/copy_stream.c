// SPDX-License-Identifier: BSD-3-Clause
// Copies a run that with its copy is about as large as the second-level cache, or larger. On ARM
// (Neoverse V1, glibc 2.36) memcpy() waits for the third level there: loads that are asked for
// 1 KiB ahead and stores that need not stay in the cache take 0.78 of its time for 512 KiB, 0.87
// for 1 MiB and 0.96 for 2 MiB. From 4 MiB on memory is the limit. Elsewhere memmove() does it: on
// x86_64 the C library chooses the instructions for long runs by the sizes of the caches.
#include "base/copy_stream.h"

#include <stdint.h>
#include <string.h>

// Sanitizers see what memmove() reads and writes, and would not see this.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_STREAM 0
#elif defined(__aarch64__)
#define HAS_STREAM 1
#else
#define HAS_STREAM 0
#endif

#if HAS_STREAM
enum {
    LINE = 64,
    GROUP = 4 * LINE, // asked for together
    AHEAD = 1024,
    END = 4 << 20
};

static inline void copy_line(char *to, const char *from)
{
    __asm__ volatile("ldp q0, q1, [%1]\n\tldp q2, q3, [%1, #32]\n\t"
                     "stnp q0, q1, [%0]\n\tstnp q2, q3, [%0, #32]"
                     :
                     : "r"(to), "r"(from)
                     : "v0", "v1", "v2", "v3", "memory");
}

static inline void copy_group(char *to, const char *from)
{
    for (int i = 0; i < GROUP; i += LINE) {
        copy_line(to + i, from + i);
    }
}

// The two runs do not overlap.
static void stream(char *to, const char *from, size_t n)
{
    size_t head = (size_t)(-(uintptr_t)to % LINE), at = head;
    memcpy(to, from, head);
    for (; at + GROUP + AHEAD <= n; at += GROUP) {
        for (int i = 0; i < GROUP; i += LINE) {
            __builtin_prefetch(from + at + AHEAD + i);
        }
        copy_group(to + at, from + at);
    }
    memcpy(to + at, from + at, n - at);
}
#endif

void pli_copy_stream_long(void *to, const void *from, size_t n)
{
#if HAS_STREAM
    uintptr_t apart = (uintptr_t)to > (uintptr_t)from ? (uintptr_t)to - (uintptr_t)from
                                                      : (uintptr_t)from - (uintptr_t)to;
    if (n < END && apart >= n) {
        stream(to, from, n);
        return;
    }
#endif
    memmove(to, from, n);
}
