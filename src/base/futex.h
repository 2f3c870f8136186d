// SPDX-License-Identifier: BSD-3-Clause
// Sleeping and waking on a word of memory, in this process or shared with others.
#ifndef PLI_BASE_FUTEX_H
#define PLI_BASE_FUTEX_H

#include <stdbool.h>
#include <stdint.h>

// Sleep while *word == expect, at most timeout_ns (0: for ever). May return early.
void pli_futex_wait(_Atomic int *word, int expect, bool is_private, uint64_t timeout_ns);
// Sleep while all of the shared words have their values; n <= 8.
void pli_futex_wait_any(_Atomic int *const words[], const int expect[], int n, uint64_t timeout_ns);
void pli_futex_wake(_Atomic int *word, int n, bool is_private);

#endif
