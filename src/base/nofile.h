// SPDX-License-Identifier: BSD-3-Clause
// How many descriptors this process may have open. Context: any thread.
#ifndef PLI_BASE_NOFILE_H
#define PLI_BASE_NOFILE_H

#include <stdbool.h>
#include <stdint.h>

// Raise the soft limit to this many, as far as the hard limit allows. It is never lowered.
void pli_nofile_raise(uint64_t want);
// The soft limit.
uint64_t pli_nofile_limit(void);
// Whether no descriptor is free now; `any` is one that is open.
bool pli_nofile_is_reached(int any);
// Whether a call failed because of that, by its errno.
bool pli_nofile_is_why(int error);

#endif
