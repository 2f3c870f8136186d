// SPDX-License-Identifier: BSD-3-Clause
// Reads the mappings of this process, line by line.
#include "ckpt/proc_maps.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

bool pli_proc_maps_each(void (*fn)(const char *line, void *arg), void *arg)
{
    char buf[4096 + 512]; // a line has the longest path and more
    size_t have = 0;
    ssize_t n = 0;
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && (n = read(fd, buf + have, sizeof buf - 1 - have)) > 0) {
        have += (size_t)n;
        buf[have] = '\0';
        char *line = buf;
        for (char *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
            *end = '\0';
            fn(line, arg);
        }
        have -= (size_t)(line - buf);
        memmove(buf, line, have);
    }
    if (fd >= 0) {
        close(fd);
    }
    return fd >= 0 && n == 0;
}
