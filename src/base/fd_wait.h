// SPDX-License-Identifier: BSD-3-Clause
// Waiting for one descriptor, whatever signals come.
#ifndef PLI_BASE_FD_WAIT_H
#define PLI_BASE_FD_WAIT_H

#include <stdbool.h>

// Whether it is ready for the events of poll within so many milliseconds (-1: whenever). False with
// errno, which is ETIMEDOUT where nothing happened. Safe in signal handlers.
bool pli_fd_wait_wait(int fd, short events, int ms);

#endif
