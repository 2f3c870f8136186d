// SPDX-License-Identifier: BSD-3-Clause
// The hardware tree of the machine from hwloc. hwloc is loaded, and the machine read, when the tree
// is first needed; a program that never needs it pays nothing. hwloc's environment variables
// (HWLOC_XMLFILE, HWLOC_SYNTHETIC, HWLOC_COMPONENTS) have their usual effect.
#ifndef PLI_COMM_HWTREE_H
#define PLI_COMM_HWTREE_H

#include "base/err.h"
#include "comm/locality.h"

#include <stdbool.h>
#include <stdint.h>

// Load hwloc and read the machine, unless that was done. An error says what is missing.
// Context: any thread; takes milliseconds the first time.
enum pli_err pli_hwtree_load(void);

// Whether the machine has a piece of this level. Context: loaded, any thread.
bool pli_hwtree_has(enum pli_locality_level level);

// The piece of every level that a set of processors lies in, by hwloc's logical number;
// PLI_LOCALITY_ANY where it lies in none or in several. Context: loaded, any thread.
enum pli_err pli_hwtree_find(const uint64_t mask[], uint32_t n_word, uint32_t at_out[PLI_N_PLACE]);

// Free the tree. Context: no other thread uses it.
void pli_hwtree_unload(void);

#endif
