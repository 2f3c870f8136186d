// SPDX-License-Identifier: BSD-3-Clause
// What the system says of a process of this machine. Context: any thread.
#ifndef PLI_IMPI_PROC_H
#define PLI_IMPI_PROC_H

#include <stdbool.h>
#include <sys/types.h>

// Whether it is stopped, by a signal or a debugger.
bool pli_impi_proc_is_stopped(pid_t pid);

#endif
