// SPDX-License-Identifier: BSD-3-Clause
// How much memory there is left, for calls that are asked for absurd amounts.
#ifndef PLI_BASE_MEMORY_H
#define PLI_BASE_MEMORY_H

#include <stdint.h>

// Bytes that can still be used before the system, or the container, ends processes for want of
// memory; UINT64_MAX: not known. Reads files: not for what is done often. Context: any thread.
uint64_t pli_memory_left(void);

#endif
