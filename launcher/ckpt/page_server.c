// SPDX-License-Identifier: BSD-3-Clause
// The receiving end of "criu dump --page-server": CRIU sends a command for every run of pages and
// the pages after it. Here they become pagemap-ID.img and pages-N.img in the format of CRIU, which
// finds a page that is marked as the parent's in the images that the link "parent" leads to, or in
// those of that one's parent. So CRIU restores such a chain without knowing who made it.
#include "launcher/ckpt/page_server.h"

#include "launcher/base/fd_io.h"
#include "launcher/ckpt/page_hashes.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The protocol of CRIU: a command since 4.2, and before.
struct command {
    uint32_t what;
    uint64_t n_page, at, target;
};
struct short_command {
    uint32_t what, n_page;
    uint64_t at, target;
};
_Static_assert(sizeof(struct command) == 32 && sizeof(struct short_command) == 24, "as CRIU's");
enum { ADD = 1, HOLE = 2, OPEN = 3, OPEN_ANSWER = 4, PARENT = 5, ADD_FLAGS = 6 };
enum { CLOSE = 0x1023, FORCE_CLOSE = 0x1024 };
enum { WHAT_BITS = 16, TYPE_BITS = 8, TYPE_PROCESS = 1, TYPE_SHARED = 2 };
// The images of CRIU.
enum { IS_PARENT = 1, IS_LAZY = 2, IS_PRESENT = 4 };
enum { HEAD_PAGES = 1, ENTRY_AT = 1, ENTRY_N = 2, ENTRY_FLAGS = 4 };
#define IMAGE_MAGIC 0x54564319u
#define PAGEMAP_MAGIC 0x56084025u

enum { CHUNK = 1 << 20 };

// One memory: that of a process, or one that processes share.
struct memory {
    struct pli_page_server_plan *plan;
    size_t page;
    size_t command_len; // bytes that CRIU sends of a command; 0: not known yet
    uint32_t number;    // of the file with its pages
    int pages;          // -1: none is open
    FILE *map, *hashes;
    struct pli_page_hashes base;
    uint64_t run_at, run_n; // the entry that is being put together
    uint32_t run_flags;     // 0: there is none
    unsigned char *buf;
    struct pli_page_hash *hash; // of the pages in buf
    char failed[PATH_MAX + 128];
};

static bool receive(int fd, void *to, size_t len)
{
    errno = ECONNRESET; // unless there is another reason
    return pli_fd_io_read(fd, to, len) == len;
}

static size_t add_number(uint8_t *to, uint32_t field, uint64_t value)
{
    size_t n = 0;
    to[n++] = (uint8_t)(field << 3);
    for (; value >= 0x80; value >>= 7) {
        to[n++] = (uint8_t)(value & 0x7f) | 0x80;
    }
    to[n++] = (uint8_t)value;
    return n;
}

static void put_record(FILE *to, const uint8_t *data, size_t len)
{
    uint32_t n = (uint32_t)len;
    fwrite(&n, sizeof n, 1, to);
    fwrite(data, 1, len, to);
}

static void end_run(struct memory *m)
{
    uint8_t entry[40];
    if (m->run_flags != 0) {
        size_t n = add_number(entry, ENTRY_AT, m->run_at);
        n += add_number(entry + n, ENTRY_N, m->run_n);
        n += add_number(entry + n, ENTRY_FLAGS, m->run_flags);
        put_record(m->map, entry, n);
    }
    m->run_flags = 0;
}

static void add_run(struct memory *m, uint64_t at, uint64_t n, uint32_t flags)
{
    if (m->run_flags != flags || m->run_at + m->run_n * m->page != at ||
        m->run_n + n > UINT32_MAX) {
        end_run(m);
        m->run_at = at;
        m->run_n = 0;
        m->run_flags = flags;
    }
    m->run_n += n;
}

static FILE *create(struct memory *m, const char *name, int *fd_out)
{
    snprintf(m->failed, sizeof m->failed, "%s/%s", m->plan->dir, name);
    int fd = open(m->failed, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd_out != NULL) {
        *fd_out = fd;
        return NULL;
    }
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (f == NULL && fd >= 0) {
        close(fd);
    }
    return f;
}

static bool end_memory(struct memory *m)
{
    bool is_good = true;
    int error = 0;
    if (m->pages >= 0) {
        end_run(m);
        is_good = fflush(m->map) == 0 && fflush(m->hashes) == 0;
        error = errno;
        is_good = fclose(m->map) == 0 && is_good;
        is_good = fclose(m->hashes) == 0 && is_good;
        close(m->pages);
        m->pages = -1;
    }
    pli_page_hashes_close(&m->base);
    errno = error;
    return is_good;
}

static bool begin_memory(struct memory *m, uint64_t target)
{
    char id[48], name[80], path[PATH_MAX + 128];
    uint8_t head[16];
    const uint32_t magic[] = { IMAGE_MAGIC, PAGEMAP_MAGIC };
    unsigned type = (unsigned)(target & ((1 << TYPE_BITS) - 1));
    if (type != TYPE_PROCESS && type != TYPE_SHARED) {
        snprintf(m->failed, sizeof m->failed, "a memory of type %u, which CRIU sent,", type);
        errno = EPROTO;
        return false;
    }
    uint64_t number = target >> TYPE_BITS;
    if (type == TYPE_PROCESS && number == m->plan->copy) {
        number = m->plan->original;
    }
    snprintf(id, sizeof id, "%s%" PRIu64, type == TYPE_SHARED ? "shmem-" : "", number);
    snprintf(name, sizeof name, "pagehash-%s", id);
    snprintf(path, sizeof path, "%s/parent/%s", m->plan->dir, name);
    m->base = (struct pli_page_hashes){ .page = m->page };
    if (m->plan->has_base) {
        pli_page_hashes_open(path, m->page, &m->base); // else all pages are new
    }
    if ((m->hashes = create(m, name, NULL)) == NULL) {
        return false;
    }
    snprintf(name, sizeof name, "pagemap-%s.img", id);
    if ((m->map = create(m, name, NULL)) == NULL) {
        fclose(m->hashes);
        return false;
    }
    snprintf(name, sizeof name, "pages-%" PRIu32 ".img", ++m->number);
    create(m, name, &m->pages);
    if (m->pages < 0) {
        fclose(m->hashes);
        fclose(m->map);
        return false;
    }
    pli_page_hashes_begin(m->hashes, m->page);
    fwrite(magic, sizeof magic, 1, m->map);
    put_record(m->map, head, add_number(head, HEAD_PAGES, m->number));
    return true;
}

// A page that the base has, too, is only mentioned.
static void see_page(void *arg, uint64_t at, const uint64_t *index, bool is_same)
{
    (void)index;
    add_run(arg, at, 1, is_same ? IS_PARENT : IS_PRESENT);
}

static bool write_changed(void *arg, uint64_t at, const void *data, size_t len)
{
    (void)at;
    return pli_fd_io_write(((struct memory *)arg)->pages, data, len);
}

// Pages that are in the buffer.
static bool store(struct memory *m, uint64_t at, size_t n)
{
    const struct pli_page_store s = { &m->base, m->hashes, m->hash, m, see_page, write_changed };
    return pli_page_hashes_store(&s, at, m->buf, n) && !ferror(m->hashes) && !ferror(m->map);
}

static bool take_pages(struct memory *m, const struct command *c, uint32_t flags)
{
    uint64_t at = c->at, left = c->n_page;
    if (m->pages < 0 || (flags & IS_PRESENT) == 0) { // it was told that there is no parent
        snprintf(m->failed, sizeof m->failed, "a run of pages with flags %u, which CRIU sent,",
                 flags);
        errno = EPROTO;
        return false;
    }
    while (left > 0) {
        size_t most = CHUNK / m->page, n = left < most ? (size_t)left : most;
        if (!receive(m->plan->fd, m->buf, n * m->page) || !store(m, at, n)) {
            return false;
        }
        at += n * m->page;
        left -= n;
    }
    return true;
}

// CRIU waits for an answer to its first command, so that one is all there is to read.
static bool receive_first(struct memory *m, void *to)
{
    ssize_t n;
    do {
        n = read(m->plan->fd, to, sizeof(struct command));
    } while (n < 0 && errno == EINTR);
    m->command_len = n > 0 ? (size_t)n : 0;
    if (n == (ssize_t)sizeof(struct command) || n == (ssize_t)sizeof(struct short_command)) {
        return true;
    }
    if (n > 0) {
        snprintf(m->failed, sizeof m->failed, "a first command of %zd bytes, which CRIU sent,", n);
        errno = EPROTO;
    } else if (n == 0) {
        errno = ECONNRESET;
    }
    return false;
}

static bool receive_command(struct memory *m, struct command *c)
{
    union {
        struct command now;
        struct short_command then;
    } got;
    if (m->command_len == 0 ? !receive_first(m, &got)
                            : !receive(m->plan->fd, &got, m->command_len)) {
        return false;
    }
    const struct short_command *s = &got.then;
    *c = m->command_len == sizeof got.now
             ? got.now
             : (struct command){ s->what, s->n_page, s->at, s->target };
    return true;
}

// One command. False: it failed.
static bool obey(struct memory *m, const struct command *c, bool *is_end_out)
{
    const char no_parent = 0;
    const int32_t none = 0;
    uint32_t what = c->what & ((1u << WHAT_BITS) - 1), flags = c->what >> WHAT_BITS;
    switch (what) {
    case OPEN:
    case OPEN_ANSWER:
        return end_memory(m) && begin_memory(m, c->target) &&
               (what == OPEN || pli_fd_io_write(m->plan->fd, &no_parent, 1));
    case PARENT:
        return pli_fd_io_write(m->plan->fd, &none, sizeof none);
    case ADD:
    case ADD_FLAGS:
        return take_pages(m, c, what == ADD ? IS_PRESENT : flags);
    case CLOSE:
    case FORCE_CLOSE:
        *is_end_out = true;
        return end_memory(m) && pli_fd_io_write(m->plan->fd, &none, sizeof none);
    default:
        snprintf(m->failed, sizeof m->failed, "command %u, which CRIU sent,", what);
        errno = EPROTO;
        return false;
    }
}

bool pli_page_server_run(void *arg, int report)
{
    struct pli_page_server_plan *plan = arg;
    struct command c;
    bool is_end = false, is_good = true;
    struct memory m = { .plan = plan, .pages = -1, .page = (size_t)sysconf(_SC_PAGESIZE) };
    close(plan->other);
    m.buf = malloc(CHUNK);
    m.hash = calloc(CHUNK / m.page, sizeof *m.hash);
    snprintf(m.failed, sizeof m.failed, "%s", plan->dir);
    is_good = m.buf != NULL && m.hash != NULL;
    while (is_good && !is_end) {
        is_good = receive_command(&m, &c) && obey(&m, &c, &is_end);
    }
    if (!is_good) {
        dprintf(report, "%s cannot be written: %s", m.failed, strerror(errno));
        end_memory(&m);
    }
    free(m.buf);
    free(m.hash);
    return is_good;
}
