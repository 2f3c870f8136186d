// SPDX-License-Identifier: BSD-3-Clause
// An mpiexec for a program that was started without one.
#ifndef PLI_BOOT_SINGLETON_LAUNCHER_H
#define PLI_BOOT_SINGLETON_LAUNCHER_H

#include "base/err.h"

// Start mpiexec with the process's node memory; *control_out is a control socket to it. Waits until
// it runs. It ends after this process and all that it was asked to start.
enum pli_err pli_singleton_launcher_start(int memory, int *control_out);

#endif
