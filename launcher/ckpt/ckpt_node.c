// SPDX-License-Identifier: BSD-3-Clause
// Writes the node memory to a file, as runs of bytes, each with its offset before it, and reads it
// back. The memory is sparse, and larger than a file system might allow a file to be.
#include "launcher/ckpt/ckpt_node.h"

#include "launcher/base/say.h"

#include <errno.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK = 1 << 20 };

struct run {
    uint64_t at, len;
};

static bool write_all(int fd, const void *data, size_t len)
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

static bool write_run(int memory, int fd, const struct run *r, char *buf)
{
    bool is_good = write_all(fd, r, sizeof *r);
    for (uint64_t done = 0; is_good && done < r->len;) {
        size_t want = r->len - done < CHUNK ? (size_t)(r->len - done) : CHUNK;
        ssize_t n = pread(memory, buf, want, (off_t)(r->at + done));
        is_good = n > 0 && write_all(fd, buf, (size_t)n);
        done += n > 0 ? (uint64_t)n : 0;
    }
    return is_good;
}

bool pli_ckpt_node_write(int memory, const char *path, int report)
{
    struct stat st;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    char *buf = malloc(CHUNK);
    bool is_good = fd >= 0 && buf != NULL && fstat(memory, &st) == 0;
    struct run size = { .at = UINT64_MAX, .len = is_good ? (uint64_t)st.st_size : 0 };
    is_good = is_good && write_all(fd, &size, sizeof size);
    for (off_t at = 0; is_good;) {
        off_t from = lseek(memory, at, SEEK_DATA);
        if (from < 0) {
            is_good = errno == ENXIO; // nothing more is there
            break;
        }
        at = lseek(memory, from, SEEK_HOLE);
        struct run r = { (uint64_t)from, (uint64_t)(at - from) };
        is_good = at > from && write_run(memory, fd, &r, buf);
    }
    if (!is_good) {
        dprintf(report, "the shared memory of the job cannot be written to %s: %s", path,
                strerror(errno));
    }
    free(buf);
    if (fd >= 0) {
        close(fd);
    }
    return is_good;
}

// How much was read before the end.
static size_t read_most(int fd, void *data, size_t len)
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

static bool read_all(int fd, void *data, size_t len)
{
    errno = ENODATA; // unless there is another reason
    return read_most(fd, data, len) == len;
}

static bool read_run(int memory, int fd, const struct run *r, uint64_t size, char *buf)
{
    bool is_good = r->at < size && r->len <= size - r->at;
    errno = is_good ? errno : ERANGE;
    for (uint64_t done = 0; is_good && done < r->len;) {
        size_t n = r->len - done < CHUNK ? (size_t)(r->len - done) : CHUNK;
        is_good =
            read_all(fd, buf, n) && pwrite(memory, buf, n, (off_t)(r->at + done)) == (ssize_t)n;
        done += n;
    }
    return is_good;
}

bool pli_ckpt_node_read(int memory, const char *path, char *why)
{
    struct run size = { 0, 0 }, r;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *buf = malloc(CHUNK);
    bool is_good = fd >= 0 && buf != NULL && read_all(fd, &size, sizeof size) &&
                   size.at == UINT64_MAX && size.len < INT64_MAX &&
                   ftruncate(memory, (off_t)size.len) == 0;
    for (size_t n; is_good && (n = read_most(fd, &r, sizeof r)) > 0;) {
        errno = ENODATA; // it is cut short
        is_good = n == sizeof r && read_run(memory, fd, &r, size.len, buf);
    }
    if (!is_good) {
        snprintf(why, PLI_CKPT_WHY, "%s is not the shared memory of a job: %s", path,
                 strerror(errno));
    }
    free(buf);
    if (fd >= 0) {
        close(fd);
    }
    return is_good;
}
