// SPDX-License-Identifier: BSD-3-Clause
// Asks for the resource limits of this process, and recognizes valgrind.
#include "base/limits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { SHARES = 8 };

uint64_t pli_limits_share(void)
{
    struct rlimit r;
    bool is_limited = getrlimit(RLIMIT_AS, &r) == 0 && r.rlim_cur != RLIM_INFINITY;
    return is_limited ? r.rlim_cur / SHARES : UINT64_MAX;
}

bool pli_limits_is_valgrind(void)
{
    // It loads a library of this name into every program it runs, whatever the tool.
    const char *list = getenv("LD_PRELOAD");
    return list != NULL && strstr(list, "vgpreload_core") != NULL;
}

uint64_t pli_limits_file(uint64_t least)
{
    struct rlimit r;
    if (getrlimit(RLIMIT_FSIZE, &r) != 0) {
        return UINT64_MAX;
    }
    rlim_t limit = r.rlim_cur >= least ? r.rlim_cur : r.rlim_max;
    return limit != RLIM_INFINITY ? limit : UINT64_MAX;
}

bool pli_limits_resize(int fd, uint64_t size)
{
    struct rlimit was, more;
    bool is_limited =
        getrlimit(RLIMIT_FSIZE, &was) == 0 && was.rlim_cur != RLIM_INFINITY && size > was.rlim_cur;
    if (!is_limited) {
        return ftruncate(fd, (off_t)size) == 0;
    }
    if (size > was.rlim_max) {
        errno = EFBIG; // the system would say it with SIGXFSZ
        return false;
    }
    more = (struct rlimit){ .rlim_cur = was.rlim_max, .rlim_max = was.rlim_max };
    if (setrlimit(RLIMIT_FSIZE, &more) != 0) {
        return false;
    }
    bool is_done = ftruncate(fd, (off_t)size) == 0;
    int error = errno;
    setrlimit(RLIMIT_FSIZE, &was);
    errno = error;
    return is_done;
}
