// SPDX-License-Identifier: BSD-3-Clause
// The bootstrap of a process that no launcher started: a world of one.
#ifndef PLI_BOOT_SOLO_SOLO_H
#define PLI_BOOT_SOLO_SOLO_H

#include "boot/boot.h"

extern const struct pli_boot_ops pli_solo_ops;

#endif
