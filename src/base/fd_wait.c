// SPDX-License-Identifier: BSD-3-Clause
// Calls poll(2) for one descriptor until it answers, also when signals interrupt it.
#include "base/fd_wait.h"

#include <errno.h>
#include <poll.h>

bool pli_fd_wait_wait(int fd, short events, int ms)
{
    struct pollfd p = { .fd = fd, .events = events };
    int n;
    do {
        n = poll(&p, 1, ms);
    } while (n < 0 && errno == EINTR);
    errno = n == 0 ? ETIMEDOUT : errno;
    return n > 0;
}
