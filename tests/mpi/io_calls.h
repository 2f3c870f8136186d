// SPDX-License-Identifier: BSD-3-Clause
// The calls that move data between memory and files, as functions of the test: each is one call of
// its move_data, which stands before the line that includes this.
#ifndef PLI_MPI_IO_CALLS_H
#define PLI_MPI_IO_CALLS_H

#include <stdint.h>
#include <sys/syscall.h>
#include <sys/uio.h>

static ssize_t move_data(long number, int fd, const struct iovec *iov, int n_iov, off_t at);

ssize_t pwrite(int fd, const void *buf, size_t len, off_t at)
{
    struct iovec iov = { (void *)(uintptr_t)buf, len };
    return move_data(SYS_pwritev, fd, &iov, 1, at);
}

ssize_t pwrite64(int fd, const void *buf, size_t len, off_t at);
ssize_t pwrite64(int fd, const void *buf, size_t len, off_t at)
{
    struct iovec iov = { (void *)(uintptr_t)buf, len };
    return move_data(SYS_pwritev, fd, &iov, 1, at);
}

ssize_t pread(int fd, void *buf, size_t len, off_t at)
{
    struct iovec iov = { buf, len };
    return move_data(SYS_preadv, fd, &iov, 1, at);
}

ssize_t pread64(int fd, void *buf, size_t len, off_t at);
ssize_t pread64(int fd, void *buf, size_t len, off_t at)
{
    struct iovec iov = { buf, len };
    return move_data(SYS_preadv, fd, &iov, 1, at);
}

ssize_t pwritev(int fd, const struct iovec *iov, int n_iov, off_t at)
{
    return move_data(SYS_pwritev, fd, iov, n_iov, at);
}

ssize_t preadv(int fd, const struct iovec *iov, int n_iov, off_t at)
{
    return move_data(SYS_preadv, fd, iov, n_iov, at);
}

ssize_t pwritev64(int fd, const struct iovec *iov, int n_iov, off_t at);
ssize_t pwritev64(int fd, const struct iovec *iov, int n_iov, off_t at)
{
    return move_data(SYS_pwritev, fd, iov, n_iov, at);
}

ssize_t preadv64(int fd, const struct iovec *iov, int n_iov, off_t at);
ssize_t preadv64(int fd, const struct iovec *iov, int n_iov, off_t at)
{
    return move_data(SYS_preadv, fd, iov, n_iov, at);
}

#endif
