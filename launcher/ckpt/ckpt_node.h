// SPDX-License-Identifier: BSD-3-Clause
// The node memory to a file, and back; holes stay holes.
#ifndef PLI_LAUNCHER_CKPT_NODE_H
#define PLI_LAUNCHER_CKPT_NODE_H

#include <stdbool.h>

bool pli_ckpt_node_write(int memory, const char *path, int report);
// The same with a file of hashes of its pages beside it. With base, the hashes of an earlier one
// that the link PATH.parent leads to, only the pages that have changed are written.
bool pli_ckpt_node_write_hashed(int memory, const char *path, const char *hashes, const char *base,
                                int report);
bool pli_ckpt_node_read(int memory, const char *path, char *why); // of PLI_CKPT_WHY characters

#endif
