// SPDX-License-Identifier: BSD-3-Clause
// The node memory to a file, and back; holes stay holes.
#ifndef PLI_LAUNCHER_CKPT_NODE_H
#define PLI_LAUNCHER_CKPT_NODE_H

#include <stdbool.h>

bool pli_ckpt_node_write(int memory, const char *path, int report);
bool pli_ckpt_node_read(int memory, const char *path, char *why); // of PLI_CKPT_WHY characters

#endif
