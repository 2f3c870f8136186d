// SPDX-License-Identifier: BSD-3-Clause
// Opens a file for output, which others may have put a link in the place of.
#include "launcher/base/user_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int pli_user_file_open(const char *path, int flags)
{
    struct stat st;
    int fd = open(path, flags | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd >= 0 || errno != ELOOP) {
        return fd;
    }
    if (lstat(path, &st) != 0 || (st.st_uid != geteuid() && st.st_uid != 0)) {
        errno = ELOOP;
        return -1;
    }
    return open(path, flags | O_CREAT | O_CLOEXEC, 0666); // such as /dev/stdout
}

const char *pli_user_file_why(void)
{
    return errno == ELOOP ? "it is a symbolic link of another user, or one that leads to itself"
                          : strerror(errno);
}
