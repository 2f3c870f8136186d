// SPDX-License-Identifier: BSD-3-Clause
// A rank's control socket to mpiexec.
#ifndef PLI_BOOT_CTL_H
#define PLI_BOOT_CTL_H

#include "base/err.h"
#include "boot/ctl_wire.h"

#include <stdbool.h>
#include <stddef.h>

// Send a word to mpiexec, with up to three descriptors. False: mpiexec is gone.
bool pli_ctl_say(int ctl, enum pli_ctl_kind kind, uint32_t row, const int *fds, size_t n);
bool pli_ctl_send(int ctl, const struct pli_ctl_msg *msg, const int *fds, size_t n);

// Ask the kernel to kill this process when mpiexec's end of the socket closes, however it dies.
enum pli_err pli_ctl_guard(int ctl);
// No longer. To close the socket is not enough where a child or a copy of the process has it too.
// Context: also signal handlers.
void pli_ctl_unguard(int ctl);

#endif
