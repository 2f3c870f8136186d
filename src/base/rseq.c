// SPDX-License-Identifier: BSD-3-Clause
// Registers the area that the C library has in every thread; earlier ones have none.
#include "base/rseq.h"

#include <sys/syscall.h>
#include <unistd.h>

#if defined(__has_include)
#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#define HAS_RSEQ 1
#endif
#endif
#ifndef HAS_RSEQ
#define HAS_RSEQ 0
#endif

#if HAS_RSEQ
void pli_rseq_register(void)
{
    if (__rseq_size > 0) {
        enum { LEN = 32 };
        syscall(SYS_rseq, (char *)__builtin_thread_pointer() + __rseq_offset, LEN, 0, RSEQ_SIG);
    }
}
#else
void pli_rseq_register(void)
{
}
#endif
