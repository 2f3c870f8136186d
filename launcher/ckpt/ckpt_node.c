// SPDX-License-Identifier: BSD-3-Clause
// Writes the node memory to a file, as runs of bytes, each with its offset before it, and reads it
// back. The memory is sparse, and larger than a file system might allow a file to be. A file that
// holds only what has changed is read after the one it is based on; pages that are no more are runs
// without bytes in it.
#include "launcher/ckpt/ckpt_node.h"

#include "launcher/base/fd_io.h"
#include "launcher/base/say.h"
#include "launcher/ckpt/page_hashes.h"

#include <errno.h>
#include <stdint.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK = 1 << 20, MOST_DEPTH = 1 << 21 };
#define IS_WHOLE UINT64_MAX        // in the place of an offset: the size of the memory follows
#define IS_CHANGE (UINT64_MAX - 1) // the same, of a file that is based on another
#define IS_GONE (1ULL << 63)       // in a length: these pages are no more

struct run {
    uint64_t at, len;
};

static bool write_run(int memory, int fd, const struct run *r, char *buf)
{
    bool is_good = pli_fd_io_write(fd, r, sizeof *r);
    for (uint64_t done = 0; is_good && done < r->len;) {
        size_t want = r->len - done < CHUNK ? (size_t)(r->len - done) : CHUNK;
        ssize_t n = pread(memory, buf, want, (off_t)(r->at + done));
        is_good = n > 0 && pli_fd_io_write(fd, buf, (size_t)n);
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
    struct run size = { .at = IS_WHOLE, .len = is_good ? (uint64_t)st.st_size : 0 };
    is_good = is_good && pli_fd_io_write(fd, &size, sizeof size);
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

// What is written, with hashes.
struct change {
    int memory, fd;
    size_t page;
    FILE *hashes;
    struct pli_page_hashes base;
    unsigned char *is_there; // by page of the base: the memory has it, too
    struct pli_page_hash *hash;
    char *buf;
};

static void see_page(void *arg, uint64_t at, const uint64_t *index, bool is_same)
{
    (void)at, (void)is_same;
    if (index != NULL) {
        ((struct change *)arg)->is_there[*index] = 1;
    }
}

static bool write_changed(void *arg, uint64_t at, const void *data, size_t len)
{
    const struct change *c = arg;
    const struct run r = { at, len };
    return pli_fd_io_write(c->fd, &r, sizeof r) && pli_fd_io_write(c->fd, data, len);
}

static bool write_data(struct change *c, uint64_t from, uint64_t end)
{
    const struct pli_page_store store = {
        &c->base, c->hashes, c->hash, c, see_page, write_changed
    };
    while (from < end) {
        size_t want = end - from < CHUNK ? (size_t)(end - from) : CHUNK, have = 0;
        for (ssize_t n = 1; have < want && n > 0; have += n > 0 ? (size_t)n : 0) {
            n = pread(c->memory, c->buf + have, want - have, (off_t)(from + have));
        }
        size_t n_page = (want + c->page - 1) / c->page;
        memset(c->buf + have, 0, n_page * c->page - have); // after the end of the memory
        if (have < want || !pli_page_hashes_store(&store, from, c->buf, n_page)) {
            return false;
        }
        from += want;
    }
    return true;
}

// Pages of the base that the memory has no more.
static bool write_gone(struct change *c)
{
    bool is_good = true;
    for (size_t i = 0; i < c->base.n_run; i++) {
        const struct pli_page_hash_run *b = &c->base.runs[i];
        for (uint64_t k = 0; k < b->n && is_good; k++) {
            const struct run r = { b->at + k * c->page, c->page | IS_GONE };
            is_good = c->is_there[b->first + k] != 0 || pli_fd_io_write(c->fd, &r, sizeof r);
        }
    }
    return is_good;
}

static bool write_change(struct change *c, bool has_base)
{
    struct stat st;
    bool is_good = fstat(c->memory, &st) == 0;
    const struct run size = { has_base ? IS_CHANGE : IS_WHOLE, is_good ? (uint64_t)st.st_size : 0 };
    is_good = is_good && pli_fd_io_write(c->fd, &size, sizeof size);
    pli_page_hashes_begin(c->hashes, c->page);
    for (off_t at = 0; is_good;) {
        off_t from = lseek(c->memory, at, SEEK_DATA);
        if (from < 0) {
            is_good = errno == ENXIO; // nothing more is there
            break;
        }
        at = lseek(c->memory, from, SEEK_HOLE);
        is_good = at > from && write_data(c, (uint64_t)from, (uint64_t)at);
    }
    return is_good && write_gone(c) && fflush(c->hashes) == 0;
}

bool pli_ckpt_node_write_hashed(int memory, const char *path, const char *hashes, const char *base,
                                int report)
{
    struct change c = { .memory = memory, .page = (size_t)sysconf(_SC_PAGESIZE) };
    c.base.page = c.page;
    bool has_base = base != NULL && pli_page_hashes_open(base, c.page, &c.base);
    c.fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    c.hashes = fopen(hashes, "wxe");
    c.buf = malloc(CHUNK);
    c.hash = calloc(CHUNK / c.page, sizeof *c.hash);
    c.is_there = calloc(c.base.n_page + 1, 1);
    bool is_good = c.fd >= 0 && c.hashes != NULL && c.buf != NULL && c.hash != NULL &&
                   c.is_there != NULL && write_change(&c, has_base);
    int error = errno;
    if (c.hashes != NULL) {
        is_good = fclose(c.hashes) == 0 && is_good;
    }
    if (c.fd >= 0) {
        close(c.fd);
    }
    if (!is_good) {
        dprintf(report, "the shared memory of the job cannot be written to %s: %s", path,
                strerror(error));
    }
    pli_page_hashes_close(&c.base);
    free(c.buf);
    free(c.hash);
    free(c.is_there);
    return is_good;
}

static bool read_all(int fd, void *data, size_t len)
{
    errno = ENODATA; // unless there is another reason
    return pli_fd_io_read(fd, data, len) == len;
}

static bool read_run(int memory, int fd, const struct run *r, uint64_t size, char *buf)
{
    bool is_gone = (r->len & IS_GONE) != 0;
    uint64_t len = r->len & ~IS_GONE;
    bool is_good = r->at < size && len <= size - r->at;
    errno = is_good ? errno : ERANGE;
    if (is_good && is_gone) {
        return fallocate(memory, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)r->at,
                         (off_t)len) == 0;
    }
    for (uint64_t done = 0; is_good && done < r->len;) {
        size_t n = r->len - done < CHUNK ? (size_t)(r->len - done) : CHUNK;
        is_good =
            read_all(fd, buf, n) && pwrite(memory, buf, n, (off_t)(r->at + done)) == (ssize_t)n;
        done += n;
    }
    return is_good;
}

static bool read_file(int memory, const char *path, char *why, uint32_t depth);

// What a file is based on: PATH.parent.
static bool read_base(int memory, const char *path, char *why, uint32_t depth)
{
    char link[PATH_MAX], to[PATH_MAX];
    snprintf(link, sizeof link, "%.*s.parent", PATH_MAX - 16, path);
    if (depth < MOST_DEPTH && realpath(link, to) != NULL) {
        return read_file(memory, to, why, depth + 1);
    }
    snprintf(why, PLI_CKPT_WHY, "%.250s leads to no shared memory of a job: %s", link,
             strerror(errno));
    return false;
}

static bool read_file(int memory, const char *path, char *why, uint32_t depth)
{
    struct run size = { 0, 0 }, r;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *buf = malloc(CHUNK);
    bool is_good = fd >= 0 && buf != NULL && read_all(fd, &size, sizeof size) &&
                   (size.at == IS_WHOLE || size.at == IS_CHANGE) && size.len < INT64_MAX;
    bool is_lost = is_good && size.at == IS_CHANGE && !read_base(memory, path, why, depth);
    is_good = is_good && !is_lost && ftruncate(memory, (off_t)size.len) == 0;
    for (size_t n; is_good && (n = pli_fd_io_read(fd, &r, sizeof r)) > 0;) {
        errno = ENODATA; // it is cut short
        is_good = n == sizeof r && read_run(memory, fd, &r, size.len, buf);
    }
    if (!is_good && !is_lost) {
        snprintf(why, PLI_CKPT_WHY, "%.250s is not the shared memory of a job: %s", path,
                 strerror(errno));
    }
    free(buf);
    if (fd >= 0) {
        close(fd);
    }
    return is_good;
}

bool pli_ckpt_node_read(int memory, const char *path, char *why)
{
    return read_file(memory, path, why, 0);
}
