// SPDX-License-Identifier: BSD-3-Clause
// A checksum against damage, not against malice, of files that are read back later.
#ifndef PLI_BASE_CHECKSUM_H
#define PLI_BASE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

// Of these bytes; the seed is the checksum of what comes before them, or 0. Context: any thread.
uint64_t pli_checksum(uint64_t seed, const void *data, size_t len);

#endif
