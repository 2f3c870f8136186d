// SPDX-License-Identifier: BSD-3-Clause
// Reads the launcher's description of which rank is on which host: "(vector,(0,2,4),(2,1,3))",
// blocks of the first host, how many hosts, and processes on each.
#ifndef PLI_BOOT_PMI_PMI_MAP_H
#define PLI_BOOT_PMI_PMI_MAP_H

#include <stdbool.h>
#include <stdint.h>

// The host of each of n processes; false: the text says nothing, or not that. When the blocks are
// used up they begin again.
bool pli_pmi_map_read(const char *text, uint32_t *host_of, uint32_t n);

#endif
