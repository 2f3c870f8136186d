// SPDX-License-Identifier: BSD-3-Clause
// What fuzz targets use, whoever drives them.
#include "fuzz.h"

#include "boot/node.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

jmp_buf fuzz_end;
int fuzz_is_trying, fuzz_is_used_up, fuzz_is_replaced;
unsigned fuzz_n_input;

_Noreturn void __real_exit(int status);
_Noreturn void __real__exit(int status);
_Noreturn void __wrap_exit(int status);
_Noreturn void __wrap__exit(int status);

_Noreturn void __wrap_exit(int status)
{
    if (fuzz_is_trying) {
        longjmp(fuzz_end, 1);
    }
    __real_exit(status);
}

_Noreturn void __wrap__exit(int status)
{
    if (fuzz_is_trying) {
        longjmp(fuzz_end, 1);
    }
    __real__exit(status);
}

// In targets that are linked with --wrap=pli_futex_wait nobody else is there to wait for.
void __wrap_pli_futex_wait(_Atomic int *word, int expect, bool is_private, uint64_t timeout_ns);

void __wrap_pli_futex_wait(_Atomic int *word, int expect, bool is_private, uint64_t timeout_ns)
{
    (void)word;
    (void)expect;
    (void)is_private;
    FUZZ_MUST(timeout_ns != 0); // a wait without a limit would be one for ever
}

struct fuzz_memory {
    int fd;
    off_t len;
    struct part {
        struct part *next;
        off_t at;
        size_t len;
        unsigned char data[];
    } * parts; // those that are not holes
};

struct fuzz_memory *fuzz_memory_keep(int fd)
{
    struct fuzz_memory *m = calloc(1, sizeof *m);
    FUZZ_MUST(m != NULL);
    m->fd = fd;
    m->len = lseek(fd, 0, SEEK_END);
    for (off_t at = lseek(fd, 0, SEEK_DATA), end; at >= 0; at = lseek(fd, end, SEEK_DATA)) {
        end = lseek(fd, at, SEEK_HOLE);
        struct part *p = malloc(sizeof *p + (size_t)(end - at));
        FUZZ_MUST(p != NULL);
        p->next = m->parts;
        p->at = at;
        p->len = (size_t)(end - at);
        FUZZ_MUST(pread(fd, p->data, p->len, at) == (ssize_t)p->len);
        m->parts = p;
    }
    return m;
}

void fuzz_memory_restore(const struct fuzz_memory *m)
{
    FUZZ_MUST(fallocate(m->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, m->len) == 0);
    for (const struct part *p = m->parts; p != NULL; p = p->next) {
        FUZZ_MUST(pwrite(m->fd, p->data, p->len, p->at) == (ssize_t)p->len);
    }
}

// In targets that are linked with --wrap=pli_node_create_for and --wrap=pli_node_unmap a memory is
// made once for each shape, and is as new at each later call. Its descriptor stays open.
enum { MOST_NODE = 64 };
static struct {
    struct pli_node_plan plan;
    struct pli_node node;
    int fd;
    struct fuzz_memory *fresh;
} nodes[MOST_NODE];
static size_t n_node;

enum pli_err __real_pli_node_create_for(const struct pli_node_plan *plan, struct pli_node *node,
                                        int *fd);
enum pli_err __wrap_pli_node_create_for(const struct pli_node_plan *plan, struct pli_node *node,
                                        int *fd);
void __real_pli_node_unmap(struct pli_node *node);
void __wrap_pli_node_unmap(struct pli_node *node);
// Only some targets have these.
#pragma weak __real_pli_node_create_for
#pragma weak __real_pli_node_unmap

static size_t find_node(const struct pli_node_plan *plan)
{
    size_t i = 0;
    while (i < n_node &&
           (nodes[i].plan.n_row != plan->n_row || nodes[i].plan.n_world != plan->n_world ||
            nodes[i].plan.n_host != plan->n_host || nodes[i].plan.n_late != plan->n_late ||
            nodes[i].plan.heap != plan->heap)) {
        i++;
    }
    return i;
}

enum pli_err __wrap_pli_node_create_for(const struct pli_node_plan *plan, struct pli_node *node,
                                        int *fd)
{
    size_t i = find_node(plan);
    if (i == n_node) {
        enum pli_err err = __real_pli_node_create_for(plan, node, fd);
        if (err != PLI_OK || n_node == MOST_NODE) {
            return err;
        }
        int high = fcntl(*fd, F_DUPFD_CLOEXEC, FUZZ_FD_KEPT);
        FUZZ_MUST(high >= 0);
        close(*fd);
        node->header->memory = (uint32_t)high;
        nodes[i].plan = *plan;
        nodes[i].node = *node;
        nodes[i].fd = high;
        nodes[i].fresh = fuzz_memory_keep(high);
        n_node++;
    }
    *node = nodes[i].node;
    *fd = nodes[i].fd;
    fuzz_memory_restore(nodes[i].fresh);
    return PLI_OK;
}

void __wrap_pli_node_unmap(struct pli_node *node)
{
    for (size_t i = 0; i < n_node; i++) {
        if (nodes[i].node.base == node->base) {
            memset(node, 0, sizeof *node);
            return;
        }
    }
    __real_pli_node_unmap(node);
}

void fuzz_close_new(void)
{
    static int first;
    if (first == 0) { // at the first call, before any input
        first = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
        FUZZ_MUST(first > 0);
    }
    close_range((unsigned)first + 1, FUZZ_FD_KEPT - 1, 0);
}

int fuzz_file(const void *data, size_t len)
{
    static int fd = -1;
    if (fd < 0) {
        fd = memfd_create("fuzz", MFD_CLOEXEC);
    }
    FUZZ_MUST(fd >= 0 && ftruncate(fd, 0) == 0 && pwrite(fd, data, len, 0) == (ssize_t)len &&
              lseek(fd, 0, SEEK_SET) == 0);
    return fd;
}

static char dir[64];
static pid_t maker;

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
    (void)st;
    (void)type;
    (void)where;
    return remove(path);
}

static void remove_dir(void)
{
    if (maker == getpid()) {
        nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    }
}

const char *fuzz_dir(void)
{
    if (maker == 0) { // in memory where that can be
        const char *where = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
        snprintf(dir, sizeof dir, "%s/pliant-fuzz-XXXXXX", where);
        FUZZ_MUST(mkdtemp(dir) != NULL && atexit(remove_dir) == 0);
        maker = getpid();
    }
    return dir;
}

const char *fuzz_path(const char *name, const void *data, size_t len)
{
    static char path[128], target[64];
    snprintf(path, sizeof path, "%s/%s", fuzz_dir(), name);
    snprintf(target, sizeof target, "/proc/self/fd/%d", fuzz_file(data, len));
    char is[64] = "";
    ssize_t n = readlink(path, is, sizeof is - 1);
    if (n < 0 || strcmp(is, target) != 0) {
        unlink(path);
        FUZZ_MUST(symlink(target, path) == 0);
    }
    return path;
}
