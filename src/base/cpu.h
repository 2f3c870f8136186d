// SPDX-License-Identifier: BSD-3-Clause
// What differs between processors.
#ifndef PLI_BASE_CPU_H
#define PLI_BASE_CPU_H

#include <stdbool.h>
#include <stdint.h>

#define PLI_CACHE_LINE 64

// Whether ThreadSanitizer watches, which knows no order that the kernel or another process makes.
#if defined(__SANITIZE_THREAD__)
#define PLI_IS_TSAN 1
#elif defined(__has_feature)
#define PLI_IS_TSAN __has_feature(thread_sanitizer)
#else
#define PLI_IS_TSAN 0
#endif

// Runs once, when the library is first called. Such functions lie together, so that a start touches
// few pages of code: a page fault costs as much as ten system calls.
#define PLI_START __attribute__((section(".text.startup")))

// Written then: lies on a page that the loader has written to already.
#define PLI_START_VAR __attribute__((section(".data.startup")))

// Tell the core that this is a waiting loop.
static inline void pli_cpu_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield" ::: "memory");
#endif
}

// This line will be written soon. On x86_64 a locked instruction waits for all stores before it, so
// that each line which another core has costs its whole way. Elsewhere nothing waits for stores.
static inline void pli_cpu_will_write(const void *at)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" ::"m"(*(const char *)at));
#else
    (void)at;
#endif
}

// Let other threads run that want this core. False, and nothing was done: that would cost too much
// now; better sleep. Context: any thread.
bool pli_cpu_give_way(void);
// The same for a loop that does little between two calls: *at is 0 at first, then the time when the
// last one was over, which need not be asked for again.
bool pli_cpu_give_way_at(uint64_t *at);
// The same for a loop that waits for something that will not wake it: then it sleeps a little.
void pli_cpu_rest(void);
// The same where the time is known, by pli_clock_ns; returns what it is afterwards.
uint64_t pli_cpu_rest_at(uint64_t now_ns);

#endif
