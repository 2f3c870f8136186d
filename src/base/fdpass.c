// SPDX-License-Identifier: BSD-3-Clause
// Passes descriptors by SCM_RIGHTS.
#include "base/fdpass.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

union space {
    char bytes[CMSG_SPACE(PLI_FDPASS_MOST * sizeof(int))];
    struct cmsghdr align;
};

ssize_t pli_fdpass_over(int to, const void *msg, size_t len, const int *fds, size_t n, int flags)
{
    struct iovec iov = { (void *)(uintptr_t)msg, len };
    union space u = { .bytes = { 0 } };
    struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };
    if (n > 0) {
        mh.msg_control = u.bytes;
        mh.msg_controllen = CMSG_SPACE(n * sizeof(int));
        struct cmsghdr *c = CMSG_FIRSTHDR(&mh);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(n * sizeof(int));
        memcpy(CMSG_DATA(c), fds, n * sizeof *fds);
    }
    return sendmsg(to, &mh, flags | MSG_NOSIGNAL);
}

ssize_t pli_fdpass_take(int from, void *msg, size_t len, int *fd_out, int flags)
{
    struct iovec iov = { msg, len };
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } u;
    struct msghdr mh = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = u.bytes, .msg_controllen = sizeof u.bytes
    };
    *fd_out = -1;
    ssize_t n = recvmsg(from, &mh, flags | MSG_CMSG_CLOEXEC);
    const struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&mh) : NULL;
    if (c != NULL && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
        c->cmsg_len >= CMSG_LEN(sizeof *fd_out)) {
        memcpy(fd_out, CMSG_DATA(c), sizeof *fd_out);
    }
    if (n >= 0 && *fd_out < 0 && (mh.msg_flags & MSG_CTRUNC) != 0) {
        errno = EMFILE;
        return -1;
    }
    return n;
}
