// SPDX-License-Identifier: BSD-3-Clause
// Makes the address out of the process number and its namespace.
#include "boot/ctl_addr.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

socklen_t pli_ctl_addr(pid_t pid, int nth, struct sockaddr_un *out)
{
    struct stat space = { 0 }; // without /proc all are taken for one namespace
    stat("/proc/self/ns/pid", &space);
    memset(out, 0, sizeof *out);
    out->sun_family = AF_UNIX;
    int n = snprintf(out->sun_path + 1, sizeof out->sun_path - 1, "pliant-mpiexec-%llu-%d",
                     (unsigned long long)space.st_ino, (int)pid);
    if (nth > 0) {
        n += snprintf(out->sun_path + 1 + n, sizeof out->sun_path - 1 - (size_t)n, "-%d", nth);
    }
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}
