// SPDX-License-Identifier: BSD-3-Clause
// Removes a directory with all that is in it.
#ifndef PLI_LAUNCHER_REMOVE_TREE_H
#define PLI_LAUNCHER_REMOVE_TREE_H

// What cannot be removed stays. A path that is not there is fine.
void pli_remove_tree(const char *path);

#endif
