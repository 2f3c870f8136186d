// SPDX-License-Identifier: BSD-3-Clause
// Descriptors handed to another process beside a message on a socket of this host. Both functions
// may be called in a signal handler.
#ifndef PLI_BASE_FDPASS_H
#define PLI_BASE_FDPASS_H

#include <stddef.h>
#include <sys/types.h>

enum { PLI_FDPASS_MOST = 4 };

// What sendmsg returns. n may be 0.
ssize_t pli_fdpass_over(int to, const void *msg, size_t len, const int *fds, size_t n, int flags);

// What recvmsg returns; the descriptor, closed on exec, or -1: none came. -1 with EMFILE: one was
// sent, but this process may have no more, so it is lost.
ssize_t pli_fdpass_take(int from, void *msg, size_t len, int *fd_out, int flags);

#endif
