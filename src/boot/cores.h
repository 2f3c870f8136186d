// SPDX-License-Identifier: BSD-3-Clause
// How many cores this process may really use.
#ifndef PLI_BOOT_CORES_H
#define PLI_BOOT_CORES_H

#include <stdint.h>

// Processors in the affinity mask, less when a control group grants less time; at least 1.
uint32_t pli_cores_usable(void);

#endif
