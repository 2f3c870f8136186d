// SPDX-License-Identifier: BSD-3-Clause
// The hardware tree of the machine from hwloc. hwloc is loaded, and the machine read, when the tree
// is first needed; a program that never needs it pays nothing. hwloc's environment variables
// (HWLOC_XMLFILE, HWLOC_SYNTHETIC, HWLOC_COMPONENTS) have their usual effect.
#ifndef PLI_BOOT_HWTREE_H
#define PLI_BOOT_HWTREE_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

// From the largest to the smallest on most machines.
enum pli_hwtree_level {
    PLI_HWTREE_MACHINE,
    PLI_HWTREE_PACKAGE,
    PLI_HWTREE_DIE,
    PLI_HWTREE_NUMA,
    PLI_HWTREE_L4,
    PLI_HWTREE_L3,
    PLI_HWTREE_L2,
    PLI_HWTREE_L1,
    PLI_HWTREE_CORE,
    PLI_HWTREE_PU,
    PLI_N_HWTREE
};

#define PLI_HWTREE_ANY UINT32_MAX // not bound to one piece of this level, or not known

// Load hwloc and read the machine, unless that was done. An error says what is missing.
// Context: any thread; takes milliseconds the first time.
enum pli_err pli_hwtree_load(void);

// Whether the machine has a piece of this level. Context: loaded, any thread.
bool pli_hwtree_has(enum pli_hwtree_level level);

// The piece of every level that a set of processors lies in, by hwloc's logical number;
// PLI_HWTREE_ANY where it lies in none or in several. Context: loaded, any thread.
enum pli_err pli_hwtree_find(const uint64_t mask[], uint32_t n_word, uint32_t at_out[PLI_N_HWTREE]);

// Free the tree. Context: no other thread uses it.
void pli_hwtree_unload(void);

#endif
