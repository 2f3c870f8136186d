// SPDX-License-Identifier: BSD-3-Clause
// The machine as hwloc knows it. hwloc is loaded into the process, and the machine looked at, with
// the first question; a program that asks none pays nothing. hwloc's variables (HWLOC_XMLFILE,
// HWLOC_SYNTHETIC, HWLOC_COMPONENTS) count as they do everywhere.
#ifndef PLI_COMM_HWTREE_H
#define PLI_COMM_HWTREE_H

#include "base/err.h"
#include "comm/locality.h"

#include <stdbool.h>
#include <stdint.h>

// Be ready for the questions below; at once when we are. An error says what is missing.
// Context: any thread; takes milliseconds the first time.
enum pli_err pli_hwtree_load(void);

// Whether the machine has a piece of this level. Context: loaded, any thread.
bool pli_hwtree_has(enum pli_locality_level level);

// The piece of every level that a set of processors lies in, by hwloc's logical number;
// PLI_LOCALITY_ANY where it lies in none or in several. Context: loaded, any thread.
enum pli_err pli_hwtree_find(const uint64_t mask[], uint32_t n_word, uint32_t at_out[PLI_N_PLACE]);

// Forget the machine. Context: no other thread asks.
void pli_hwtree_unload(void);

#endif
