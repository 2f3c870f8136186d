// SPDX-License-Identifier: BSD-3-Clause
// Reads and raises the limit of open descriptors.
// RLIMIT_NOFILE.
#include "base/nofile.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

void pli_nofile_raise(uint64_t want)
{
    struct rlimit r;
    if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < want && r.rlim_cur < r.rlim_max) {
        r.rlim_cur = want < r.rlim_max ? want : r.rlim_max;
        setrlimit(RLIMIT_NOFILE, &r); // if that fails the limit is the one that messages name
    }
}

uint64_t pli_nofile_limit(void)
{
    struct rlimit r;
    return getrlimit(RLIMIT_NOFILE, &r) == 0 ? r.rlim_cur : 0;
}

bool pli_nofile_is_reached(int any)
{
    int fd = fcntl(any, F_DUPFD_CLOEXEC, 0);
    if (fd >= 0) {
        close(fd);
    }
    return fd < 0 && pli_nofile_is_why(errno);
}

bool pli_nofile_is_why(int error)
{
    return error == EMFILE || error == ENFILE;
}
