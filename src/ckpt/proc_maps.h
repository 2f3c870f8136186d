// SPDX-License-Identifier: BSD-3-Clause
// The mappings of this process, read with system calls and plain memory only.
#ifndef PLI_CKPT_PROC_MAPS_H
#define PLI_CKPT_PROC_MAPS_H

#include <stdbool.h>

// Call fn with every line of /proc/self/maps: "from-to rwxs offset major:minor inode name". False:
// they cannot be read. Async-signal-safe.
bool pli_proc_maps_each(void (*fn)(const char *line, void *arg), void *arg);

#endif
