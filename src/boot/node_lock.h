// SPDX-License-Identifier: BSD-3-Clause
// One thread at a time writes a table in the node memory. One that died meanwhile left nothing that
// counts: its place is taken. The kernel says which owner has died, so processes may be in PID
// namespaces of their own, where their numbers mean nothing to others.
#ifndef PLI_BOOT_NODE_LOCK_H
#define PLI_BOOT_NODE_LOCK_H

#include <stdbool.h>

enum { PLI_NODE_LOCK_SIZE = 48 }; // bytes of the lock in the table, aligned to 8

// Before others map the memory.
void pli_node_lock_init(void *owner);
void pli_node_lock_take(void *owner);
bool pli_node_lock_try(void *owner); // false: another has it
void pli_node_lock_drop(void *owner);

#endif
