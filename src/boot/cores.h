// SPDX-License-Identifier: BSD-3-Clause
// Counts the cores that this process may really use, and names the processes that share them.
#ifndef PLI_BOOT_CORES_H
#define PLI_BOOT_CORES_H

#include <stdint.h>

// Processors in the affinity mask, less when a control group grants less time; at least 1.
uint32_t pli_cores_usable(void);

// A number that is the same where two processes have the same kernel and the same processors, as
// containers have that pass for hosts; 0: it is not known, or a control group sees to it that they
// do not take each other's time.
uint64_t pli_cores_key(void);

#endif
