// SPDX-License-Identifier: BSD-3-Clause
// A checksum against damage, not against malice: eight independent streams of multiplications,
// as fast as memory, so that it costs little beside the writing of what it guards.
#include "launcher/ckpt/ckpt_sum.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK = 1 << 20, WINDOW = 64 * CHUNK, N_STREAM = 8 };
#define ODD1 0x9fb21c651e98df25u
#define ODD2 0xd6e8feb86659fd93u

static uint64_t mix(uint64_t h)
{
    h ^= h >> 32;
    h *= ODD2;
    h ^= h >> 29;
    h *= ODD1;
    return h ^ h >> 32;
}

uint64_t pli_ckpt_hash(uint64_t seed, const void *data, size_t len)
{
    const unsigned char *at = data;
    uint64_t s[N_STREAM];
    for (unsigned i = 0; i < N_STREAM; i++) {
        s[i] = seed + i * ODD2;
    }
    size_t left = len;
    for (; left >= N_STREAM * 8; left -= N_STREAM * 8, at += N_STREAM * 8) {
        uint64_t w[N_STREAM];
        memcpy(w, at, sizeof w);
        for (int i = 0; i < N_STREAM; i++) {
            s[i] = (s[i] ^ w[i]) * ODD1;
            s[i] ^= s[i] >> 31;
        }
    }
    uint64_t h = len;
    for (int i = 0; i < N_STREAM; i++) {
        h = mix(h ^ s[i]);
    }
    for (; left > 0; left--, at++) {
        h = mix(h ^ *at);
    }
    return h;
}

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
            sum = pli_ckpt_hash(sum, buf, have);
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
            sum = pli_ckpt_hash(sum, data + i, len - i < CHUNK ? len - i : CHUNK);
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
