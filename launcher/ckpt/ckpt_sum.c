// SPDX-License-Identifier: BSD-3-Clause
// Reads files for their checksums.
#include "launcher/ckpt/ckpt_sum.h"

#include "base/checksum.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK = 1 << 20, WINDOW = 64 * CHUNK };

bool pli_ckpt_sum(const char *path, uint64_t *sum_out, uint64_t *bytes_out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *buf = malloc(CHUNK);
    uint64_t sum = 0, bytes = 0;
    ssize_t n = -1;
    while (fd >= 0 && buf != NULL) {
        size_t have = 0; // a full chunk each time, whatever read gives: the sum depends on it
        while (have < CHUNK &&
               ((n = read(fd, buf + have, CHUNK - have)) > 0 || (n < 0 && errno == EINTR))) {
            have += n > 0 ? (size_t)n : 0;
        }
        if (have > 0) {
            sum = pli_checksum(sum, buf, have);
            bytes += have;
        }
        if (n <= 0) {
            break;
        }
    }
    int error = errno;
    free(buf);
    if (fd >= 0) {
        close(fd);
    }
    errno = error;
    *sum_out = sum;
    *bytes_out = bytes;
    return n == 0;
}

bool pli_ckpt_sum_fresh(const char *path, uint64_t *sum_out, uint64_t *bytes_out)
{
    struct stat st;
    uint64_t sum = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool is_good = fd >= 0 && fstat(fd, &st) == 0;
    size_t size = is_good ? (size_t)st.st_size : 0;
    for (size_t at = 0; is_good && at < size; at += WINDOW) {
        size_t len = size - at < WINDOW ? size - at : WINDOW;
        char *data = mmap(NULL, len, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, (off_t)at);
        is_good = data != MAP_FAILED;
        for (size_t i = 0; is_good && i < len; i += CHUNK) {
            sum = pli_checksum(sum, data + i, len - i < CHUNK ? len - i : CHUNK);
        }
        if (is_good) {
            munmap(data, len);
        }
    }
    int error = errno;
    if (fd >= 0) {
        close(fd);
    }
    errno = error;
    *sum_out = sum;
    *bytes_out = size;
    return is_good;
}
