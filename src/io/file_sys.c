// SPDX-License-Identifier: BSD-3-Clause
// Reads, writes and locks files with POSIX calls, and turns errno into classes of MPI errors.
#include "io/file_sys.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

// One system call moves at most 2 GiB.
enum { MOST = 1 << 30 };

static enum pli_err class_of(int error)
{
    switch (error) {
    case EACCES:
    case EPERM:
        return PLI_ERR_ACCESS;
    case EROFS:
        return PLI_ERR_READ_ONLY;
    case ENOENT:
    case ENOTDIR:
        return PLI_ERR_NO_SUCH_FILE;
    case EEXIST:
        return PLI_ERR_FILE_EXISTS;
    case ENAMETOOLONG:
    case EISDIR:
    case ELOOP:
        return PLI_ERR_BAD_FILE;
    case ENOSPC:
    case EFBIG:
        return PLI_ERR_NO_SPACE;
    case EDQUOT:
        return PLI_ERR_QUOTA;
    case ETXTBSY:
    case EBUSY:
        return PLI_ERR_FILE_IN_USE;
    case ENOMEM:
        return PLI_ERR_NOMEM;
    default:
        return PLI_ERR_IO;
    }
}

enum pli_err pli_file_sys_fail(int error, const char *what, const char *name, MPI_Offset at,
                               long long len)
{
    if (len < 0) {
        return pli_fail(class_of(error), "cannot %s file %s: %s", what, name, strerror(error));
    }
    return pli_fail(class_of(error), "cannot %s %lld bytes at offset %lld of file %s: %s", what,
                    len, (long long)at, name, strerror(error));
}

uint32_t pli_file_sys_type(int fd)
{
    struct statfs s;
    return fstatfs(fd, &s) == 0 ? (uint32_t)s.f_type : 0;
}

enum pli_err pli_file_sys_read(int fd, const char *name, void *buf, size_t len, MPI_Offset at,
                               size_t *done_out)
{
    struct iovec iov = { .iov_base = buf, .iov_len = len };
    return pli_file_sys_readv(fd, name, &iov, 1, at, done_out);
}

enum pli_err pli_file_sys_write(int fd, const char *name, const void *buf, size_t len,
                                MPI_Offset at, size_t *done_out)
{
    struct iovec iov = { .iov_base = (void *)(uintptr_t)buf, .iov_len = len };
    return pli_file_sys_writev(fd, name, &iov, 1, at, done_out);
}

// Pass `n` bytes of the list; returns how many pieces are used up.
static int pass(struct iovec *iov, int n_iov, size_t n)
{
    int i = 0;
    while (i < n_iov && n >= iov[i].iov_len) {
        n -= iov[i++].iov_len;
    }
    if (i < n_iov) {
        iov[i].iov_base = (char *)iov[i].iov_base + n;
        iov[i].iov_len -= n;
    }
    return i;
}

// How many pieces one system call takes; a piece that is too large for one is cut, and *cut_out
// says by how much.
static int fit(struct iovec *iov, int n_iov, size_t *cut_out)
{
    size_t sum = 0;
    int n = 0;
    *cut_out = 0;
    while (n < n_iov && n < IOV_MAX && sum < MOST) {
        sum += iov[n++].iov_len;
    }
    if (n == 1 && sum > MOST) {
        *cut_out = sum - MOST;
        iov[0].iov_len = MOST;
    } else if (n > 1 && sum > MOST) {
        n--;
    }
    return n;
}

// One piece is mostly all there is, and takes the system less time than a list.
static ssize_t move_once(bool is_write, int fd, const struct iovec *iov, int n, MPI_Offset at)
{
    if (n == 1) {
        return is_write ? pwrite(fd, iov->iov_base, iov->iov_len, at)
                        : pread(fd, iov->iov_base, iov->iov_len, at);
    }
    return is_write ? pwritev(fd, iov, n, at) : preadv(fd, iov, n, at);
}

static enum pli_err move(bool is_write, int fd, const char *name, struct iovec *iov, int n_iov,
                         MPI_Offset at, size_t *done_out)
{
    *done_out = 0;
    while (n_iov > 0) {
        size_t cut;
        int n = fit(iov, n_iov, &cut);
        MPI_Offset here = at + (MPI_Offset)*done_out;
        ssize_t moved = move_once(is_write, fd, iov, n, here);
        int error = errno;
        iov[0].iov_len += cut;
        if (moved < 0 && error == EINTR) {
            continue;
        }
        if (moved < 0) {
            return pli_file_sys_fail(error, is_write ? "write" : "read", name, here,
                                     (long long)iov[0].iov_len);
        }
        if (moved == 0 && iov[0].iov_len > 0) {
            return is_write ? pli_file_sys_fail(EIO, "write", name, here, (long long)iov[0].iov_len)
                            : PLI_OK; // the end of the file
        }
        *done_out += (size_t)moved;
        int used = pass(iov, n_iov, (size_t)moved);
        iov += used;
        n_iov -= used;
    }
    return PLI_OK;
}

enum pli_err pli_file_sys_readv(int fd, const char *name, struct iovec *iov, int n, MPI_Offset at,
                                size_t *done_out)
{
    return move(false, fd, name, iov, n, at, done_out);
}

enum pli_err pli_file_sys_writev(int fd, const char *name, struct iovec *iov, int n, MPI_Offset at,
                                 size_t *done_out)
{
    return move(true, fd, name, iov, n, at, done_out);
}

bool pli_file_sys_has_room(int fd, MPI_Offset len)
{
    struct stat s;
    struct statvfs fs;
    if (fstat(fd, &s) != 0 || fstatvfs(fd, &fs) != 0 || fs.f_blocks == 0) {
        return true; // not known
    }
    return (uint64_t)len / fs.f_frsize <= fs.f_bavail + (uint64_t)s.st_blocks * 512 / fs.f_frsize;
}

bool pli_file_sys_is_allowed(MPI_Offset hi)
{
    struct rlimit most;
    return getrlimit(RLIMIT_FSIZE, &most) != 0 || most.rlim_cur == RLIM_INFINITY ||
           (rlim_t)hi <= most.rlim_cur;
}

enum pli_err pli_file_sys_check_room(int fd, const char *name, MPI_Offset lo, MPI_Offset hi)
{
    if (!pli_file_sys_is_allowed(hi)) {
        return pli_file_sys_fail(EFBIG, "write", name, lo, hi - lo);
    }
    return pli_file_sys_has_room(fd, hi - lo)
               ? PLI_OK
               : pli_file_sys_fail(ENOSPC, "write", name, lo, hi - lo);
}

enum pli_err pli_file_sys_reserve(int fd, const char *name, MPI_Offset lo, MPI_Offset hi)
{
    enum pli_err err = pli_file_sys_check_room(fd, name, lo, hi);
    if (err != PLI_OK) {
        return err;
    }
    int rc;
    do {
        rc = fallocate(fd, FALLOC_FL_KEEP_SIZE, lo, hi - lo);
    } while (rc != 0 && errno == EINTR);
    return rc == 0 || (errno != ENOSPC && errno != EDQUOT)
               ? PLI_OK
               : pli_file_sys_fail(errno, "write", name, lo, hi - lo);
}

// Locks that belong to the open file, not to the process: threads that are ranks exclude each
// other.
static int lock(int fd, int how, short type, MPI_Offset at, MPI_Offset len)
{
    struct flock f = { .l_type = type, .l_whence = SEEK_SET, .l_start = at, .l_len = len };
    int rc;
    do {
        rc = fcntl(fd, how, &f);
    } while (rc < 0 && errno == EINTR);
    return rc;
}

enum pli_err pli_file_sys_lock(int fd, const char *name, bool is_write, MPI_Offset at,
                               MPI_Offset len)
{
    if (lock(fd, F_OFD_SETLKW, is_write ? F_WRLCK : F_RDLCK, at, len) == 0) {
        return PLI_OK;
    }
    return pli_file_sys_fail(errno, "lock", name, at, (long long)len);
}

bool pli_file_sys_try_lock(int fd, MPI_Offset at, MPI_Offset len)
{
    return lock(fd, F_OFD_SETLK, F_WRLCK, at, len) == 0;
}

void pli_file_sys_unlock(int fd, MPI_Offset at, MPI_Offset len)
{
    lock(fd, F_OFD_SETLKW, F_UNLCK, at, len);
}

// Flags that say how, not whether, a file is opened go with it.
void pli_file_sys_part(int fd)
{
    char path[32];
    struct stat s;
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fstat(fd, &s) != 0 || !S_ISREG(s.st_mode)) {
        return;
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int own = open(path, (flags & ~(O_CREAT | O_EXCL | O_TRUNC)) | O_CLOEXEC);
    if (own >= 0) {
        dup3(own, fd, O_CLOEXEC);
        close(own);
    }
}
