// SPDX-License-Identifier: BSD-3-Clause
// Sockets that a rank has open while it stands still.
#ifndef PLI_LAUNCHER_CKPT_SOCKETS_H
#define PLI_LAUNCHER_CKPT_SOCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

// A TCP socket, or with is_any any socket: which descriptor, and what it is. False: it has none.
bool pli_ckpt_sockets_find(pid_t pid, bool is_any, char *to, size_t cap);

#endif
