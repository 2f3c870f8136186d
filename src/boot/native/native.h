// SPDX-License-Identifier: BSD-3-Clause
// The bootstrap of a process that our own mpiexec started.
#ifndef PLI_BOOT_NATIVE_NATIVE_H
#define PLI_BOOT_NATIVE_NATIVE_H

#include "boot/boot.h"

extern const struct pli_boot_ops pli_native_ops;

#endif
