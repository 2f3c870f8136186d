// SPDX-License-Identifier: BSD-3-Clause
// One process at a time writes a table in the node memory. One that died meanwhile left nothing
// that counts: its place is taken.
#ifndef PLI_BOOT_OWNER_H
#define PLI_BOOT_OWNER_H

#include <stdatomic.h>
#include <stdint.h>

void pli_owner_take(_Atomic uint32_t *owner);
void pli_owner_drop(_Atomic uint32_t *owner);

#endif
