// SPDX-License-Identifier: BSD-3-Clause
// The futex system call.
#include "base/futex.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void pli_futex_wait(_Atomic int *word, int expect, bool is_private, uint64_t timeout_ns)
{
    struct timespec t = { .tv_sec = (time_t)(timeout_ns / 1000000000u),
                          .tv_nsec = (long)(timeout_ns % 1000000000u) };
    syscall(SYS_futex, word, is_private ? FUTEX_WAIT_PRIVATE : FUTEX_WAIT, expect,
            timeout_ns ? &t : NULL, NULL, 0);
}

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

// As the kernel wants it; headers older than Linux 5.16 do not have it.
struct wait_for {
    uint64_t val, uaddr;
    uint32_t flags, reserved;
};

void pli_futex_wait_any(_Atomic int *const words[], const int expect[], int n, uint64_t timeout_ns)
{
    enum { SIZE_32 = 2, NAP_NS = 1000000 };
    static _Atomic bool is_missing;
    struct wait_for list[8];
    struct timespec until;
    for (int i = 0; i < n; i++) {
        list[i] = (struct wait_for){ (uint32_t)expect[i], (uintptr_t)words[i], SIZE_32, 0 };
    }
    if (timeout_ns != 0) {
        clock_gettime(CLOCK_MONOTONIC, &until);
        uint64_t at = (uint64_t)until.tv_nsec + timeout_ns;
        until.tv_sec += (time_t)(at / 1000000000u);
        until.tv_nsec = (long)(at % 1000000000u);
    }
    if (!atomic_load_explicit(&is_missing, memory_order_relaxed) &&
        (syscall(SYS_futex_waitv, list, n, 0, timeout_ns != 0 ? &until : NULL, CLOCK_MONOTONIC) >=
             0 ||
         errno != ENOSYS)) {
        return;
    }
    // An old kernel: sleep at the first, and not for long.
    atomic_store_explicit(&is_missing, true, memory_order_relaxed);
    pli_futex_wait(words[0], expect[0], false, NAP_NS);
}

void pli_futex_wake(_Atomic int *word, int n, bool is_private)
{
    syscall(SYS_futex, word, is_private ? FUTEX_WAKE_PRIVATE : FUTEX_WAKE, n, NULL, NULL, 0);
}
