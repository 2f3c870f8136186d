// SPDX-License-Identifier: BSD-3-Clause
// Reads and writes whole buffers over blocking descriptors.
#include "launcher/base/fd_io.h"

#include <errno.h>
#include <unistd.h>

bool pli_fd_io_write(int fd, const void *data, size_t len)
{
    for (const char *at = data; len > 0;) {
        ssize_t n = write(fd, at, len);
        if (n < 0 && errno != EINTR) {
            return false;
        }
        at += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

size_t pli_fd_io_read(int fd, void *data, size_t len)
{
    size_t have = 0;
    while (have < len) {
        ssize_t n = read(fd, (char *)data + have, len - have);
        if (n == 0 || (n < 0 && errno != EINTR)) {
            break;
        }
        have += n > 0 ? (size_t)n : 0;
    }
    return have;
}
