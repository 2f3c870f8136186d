// SPDX-License-Identifier: BSD-3-Clause
// Makes and maps the host's shared memory.
#include "boot/node.h"
#include "base/cpu.h"

#include "base/clock.h"
#include "base/limits.h"
#include "boot/failure_wire.h"
#include "boot/gateway_wire.h"
#include "boot/node_lock.h"
#include "boot/pset_wire.h"
#include "boot/jobtab_wire.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 65536, MAX_ROW = 1 << 20 }; // offsets suit 64 KiB pages too
#define SEG_MOST ((uint64_t)128 << 30)    // of one process
#define SEG_ALL ((uint64_t)32 << 40)      // of all together: addresses are not endless
#define SEG_LATE ((uint64_t)4 << 30)      // of one that comes later, of which there may be many
// Its search for leaks reads all that is mapped, which makes memory of it.
#define SEG_VALGRIND ((uint64_t)64 << 20)
enum { N_VALGRIND = 4 };

static size_t round_up(size_t n)
{
    return (n + PAGE - 1) / PAGE * PAGE;
}

// A second mapping of the last page. Where all is mapped it is there already.
PLI_START static char *map_tail(int fd, size_t size, const struct pli_node *node)
{
    if (node->mapped == size) {
        return node->base + size - PAGE;
    }
    void *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd,
                   (off_t)(size - PAGE));
    return p != MAP_FAILED ? p : NULL;
}

// Map the first part of a memory that has this size in all. False with errno: less may do.
PLI_START static bool attach(int fd, size_t part, size_t size, struct pli_node *node)
{
    void *p = mmap(NULL, part, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (p == MAP_FAILED) {
        return false;
    }
    madvise(p, part, MADV_DONTDUMP); // a core file of its holes would take minutes
    node->base = p;
    node->header = p;
    node->mapped = part;
    node->tail = map_tail(fd, size, node);
    return true;
}

static enum pli_err fail_map(uint64_t part)
{
    return pli_fail(PLI_ERR_NOMEM,
                    "cannot map the memory that the processes of this host share (%llu MiB of "
                    "addresses, of which few are used): %s%s",
                    (unsigned long long)(part >> 20), strerror(errno),
                    errno == ENOMEM ? "; is there a limit on address space (ulimit -v)?"
                    : errno == ENOSYS || errno == EPERM
                        ? "; does the seccomp profile of a container forbid memfd_create?"
                        : "");
}

// Where the parts of the memory begin, and how large all is.
PLI_START static void lay_out(const struct pli_node_plan *plan, struct pli_node_header *h)
{
    h->n_row = plan->n_row;
    h->n_world = plan->n_world;
    h->n_host = plan->n_host;
    h->n_more = PLI_NODE_N_MORE;
    h->n_file = plan->n_file;
    uint64_t n_row = (uint64_t)plan->n_row + h->n_more;
    uint64_t n_proc = (uint64_t)plan->n_world + h->n_more;
    h->rows = PLI_NODE_HEADER;
    h->hosts = h->rows + n_row * sizeof(struct pli_node_row);
    h->cap_host = plan->n_host + plan->n_late;
    h->procs = h->hosts + (uint64_t)h->cap_host * sizeof(struct pli_node_host);
    h->psets = round_up(h->procs + n_proc * sizeof(struct pli_node_proc));
    h->jobtab = h->psets + round_up(sizeof(struct pli_pset_table));
    h->failures = h->jobtab + round_up(sizeof(struct pli_jobtab_table));
    h->areas = h->failures + round_up(sizeof(struct pli_failure_table));
    h->area_size = (uint64_t)PLI_NODE_N_LANE * PLI_NODE_LANE + PLI_NODE_ARENA;
    if (plan->heap > 0) {
        h->agent = h->areas;
        h->gateway = h->agent + h->area_size;
        h->gateway_heap = plan->heap;
        h->areas = h->gateway + round_up(sizeof(struct pli_gateway)) + round_up(plan->heap);
    }
    h->size = h->areas + ((uint64_t)plan->n_row + plan->n_file) * h->area_size;
}

// Later processes whose areas this process may map, of so many.
PLI_START static uint32_t n_may_map(uint32_t n_file, uint64_t area_size)
{
    uint64_t n = pli_limits_share() / area_size;
    n = n < n_file ? n : n_file;
    return pli_limits_is_valgrind() && n > N_VALGRIND ? N_VALGRIND : (uint32_t)n;
}

// Segments behind all that is mapped at once; sparse, so that only what is used costs memory.
PLI_START static void add_segments(struct pli_node_header *h)
{
    uint64_t limit = pli_limits_file(h->size), share = pli_limits_share();
    uint64_t room = limit > h->size ? limit - h->size : 0;
    uint64_t most = share < SEG_ALL ? share : SEG_ALL;
    uint64_t all = room < most ? room : most;
    uint64_t each = h->n_row > 0 ? all / h->n_row : 0;
    uint64_t one = pli_limits_is_valgrind() ? SEG_VALGRIND : SEG_MOST;
    h->segs = h->size;
    h->seg_size = (each < one ? each : one) / PAGE * PAGE;
    uint64_t left = all - h->n_row * h->seg_size;
    uint64_t late = h->n_file > 0 && !pli_limits_is_valgrind() ? left / h->n_file : 0;
    h->late_size = (late < SEG_LATE ? late : SEG_LATE) / PAGE * PAGE;
}

PLI_START static void find_tables(struct pli_node *node)
{
    node->rows = (struct pli_node_row *)(node->base + node->header->rows);
    node->hosts = (struct pli_node_host *)(node->base + node->header->hosts);
    node->procs = (struct pli_node_proc *)(node->base + node->header->procs);
}

static void format(struct pli_node *node, const struct pli_node_plan *plan)
{
    struct pli_node_header *h = node->header;
    h->version = PLI_NODE_VERSION;
    lay_out(plan, h);
    atomic_store_explicit(&h->n_used, plan->n_row, memory_order_relaxed);
    atomic_store_explicit(&h->n_room, plan->n_file, memory_order_relaxed);
    add_segments(h);
    h->launcher = (uint32_t)getpid();
    h->epoch_ns = pli_clock_ns();
    while (h->job == 0) {
        if (getrandom(&h->job, sizeof h->job, 0) != (ssize_t)sizeof h->job) {
            h->job = (uint64_t)getpid() << 32 ^ h->epoch_ns;
        }
    }
    if (getrandom(h->secret, sizeof h->secret, 0) != (ssize_t)sizeof h->secret) {
        memset(h->secret, 0, sizeof h->secret); // no secret: a caller that needs one must refuse
    }
    gethostname(h->host, sizeof h->host - 1);
    find_tables(node);
    pli_node_lock_init(((struct pli_pset_table *)(node->base + h->psets))->owner);
    pli_node_lock_init(((struct pli_jobtab_table *)(node->base + h->jobtab))->owner);
    struct pli_gateway *gateway = pli_node_gateway(node);
    if (gateway != NULL) {
        gateway->heap = h->gateway + round_up(sizeof *gateway);
        gateway->heap_size = round_up(h->gateway_heap);
    }
    h->magic = PLI_NODE_MAGIC;
}

// Bytes of all segments.
PLI_START static uint64_t segments(const struct pli_node_header *h)
{
    return h->n_row * h->seg_size + h->n_file * h->late_size;
}

// A memory of this shape, mapped but for the segments; the descriptor, or -1 with errno.
static int make(const struct pli_node_header *shape, struct pli_node *node)
{
    uint64_t all = shape->size + segments(shape);
    int fd = memfd_create("pliant", 0);
    if (fd >= 0 && pli_limits_resize(fd, all) &&
        attach(fd, (size_t)shape->size, (size_t)shape->size, node)) {
        return fd;
    }
    int error = errno;
    if (fd >= 0) {
        close(fd);
    }
    errno = error;
    return -1;
}

// The shape with areas for this many processes that come later.
static void shape_for(struct pli_node_plan *plan, uint32_t n_file, struct pli_node_header *out)
{
    *out = (struct pli_node_header){ 0 };
    plan->n_file = n_file;
    lay_out(plan, out);
    add_segments(out);
}

enum pli_err pli_node_create_for(const struct pli_node_plan *plan, struct pli_node *node_out,
                                 int *fd_out)
{
    if (plan->n_world == 0 || plan->n_world > MAX_ROW || plan->n_row > plan->n_world ||
        plan->n_host == 0) {
        return pli_fail(PLI_ERR_ARG, "cannot make a job of %u processes, %u here, on %u hosts",
                        plan->n_world, plan->n_row, plan->n_host);
    }
    struct pli_node node = { 0 };
    struct pli_node_header shape;
    struct pli_node_plan fits = *plan;
    int fd = -1;
    shape_for(&fits, 0, &shape);
    uint64_t limit = pli_limits_file(shape.size);
    if (shape.size > limit) {
        return pli_fail(PLI_ERR_NOMEM,
                        "the memory that the job's processes share is a file (of %llu KiB, not on "
                        "a disk), and the limit on the size of files is %llu KiB; raise it: "
                        "ulimit -f unlimited",
                        (unsigned long long)(shape.size >> 10), (unsigned long long)(limit >> 10));
    }
    for (uint32_t n = n_may_map(PLI_NODE_N_MORE, shape.area_size); fd < 0; n /= 2) {
        shape_for(&fits, n, &shape);
        fd = n == 0 || shape.size <= limit / 2 ? make(&shape, &node) : -1;
        if (n == 0) {
            break;
        }
    }
    if (fd < 0) {
        return fail_map(shape.size);
    }
    format(&node, &fits);
    node.header->memory = (uint32_t)fd;
    *node_out = node;
    *fd_out = fd;
    return PLI_OK;
}

enum pli_err pli_node_create(uint32_t n_row, struct pli_node *node_out, int *fd_out)
{
    return pli_node_create_gateway(n_row, 0, node_out, fd_out);
}

enum pli_err pli_node_create_gateway(uint32_t n_row, uint64_t heap, struct pli_node *node_out,
                                     int *fd_out)
{
    const struct pli_node_plan plan = {
        .n_row = n_row, .n_world = n_row, .n_host = 1, .heap = heap
    };
    enum pli_err err = pli_node_create_for(&plan, node_out, fd_out);
    if (err != PLI_OK) {
        return err;
    }
    snprintf(node_out->hosts[0].name, sizeof node_out->hosts[0].name, "%s", node_out->header->host);
    node_out->hosts[0].n_proc = n_row;
    for (uint32_t i = 0; i < n_row; i++) {
        node_out->rows[i].index = i;
        node_out->rows[i].n_app = n_row;
        node_out->procs[i].row = i;
    }
    return PLI_OK;
}

uint32_t pli_node_beside(const struct pli_node *node)
{
    const struct pli_node_header *h = node->header;
    const struct pli_node_host *here = &node->hosts[h->host_index];
    uint32_t n = 0;
    for (uint32_t i = 0; i < h->n_host; i++) {
        const struct pli_node_host *there = &node->hosts[i];
        n += there != here && there->cores != 0 && there->cores == here->cores ? there->n_proc : 0;
    }
    return n;
}

enum pli_err pli_node_check(const struct pli_node *node)
{
    const struct pli_node_header *h = node->header;
    if (h->host_index >= h->n_host) {
        return pli_fail(PLI_ERR_INTERN, "host %u of %u cannot be", h->host_index, h->n_host);
    }
    for (uint32_t i = 0; i < h->n_world; i++) {
        if (node->procs[i].host >= h->n_host) {
            return pli_fail(PLI_ERR_INTERN, "process %u is on host %u of %u", i,
                            node->procs[i].host, h->n_host);
        }
    }
    for (uint32_t r = 0; r < h->n_row; r++) {
        uint32_t i = node->rows[r].index - h->base;
        if (i >= h->n_world || node->procs[i].row != r) {
            return pli_fail(PLI_ERR_INTERN, "row %u says it is process %u", r, i);
        }
    }
    return PLI_OK;
}

// Whether all is where this version puts it.
PLI_START static bool is_laid_out(const struct pli_node_header *h)
{
    struct pli_node_header want = { 0 };
    const struct pli_node_plan plan = { .n_row = h->n_row,
                                        .n_world = h->n_world,
                                        .n_host = h->cap_host,
                                        .n_file = h->n_file,
                                        .heap = h->gateway_heap };
    lay_out(&plan, &want);
    return h->n_more == want.n_more && h->agent == want.agent && h->rows == want.rows &&
           h->hosts == want.hosts && h->procs == want.procs && h->psets == want.psets &&
           h->jobtab == want.jobtab && h->failures == want.failures && h->areas == want.areas &&
           h->area_size == want.area_size && h->size == want.size;
}

int pli_node_open(long pid, long descriptor)
{
    char path[64];
    struct stat process, before, after;
    snprintf(path, sizeof path, "/proc/%ld", pid);
    if (stat(path, &process) != 0) {
        return -1;
    }
    snprintf(path, sizeof path, "/proc/%ld/fd/%ld", pid, descriptor);
    if (stat(path, &before) != 0) {
        return -1;
    }
    errno = EPERM;
    if (process.st_uid != geteuid() || before.st_uid != geteuid() || !S_ISREG(before.st_mode)) {
        return -1;
    }
    int fd = open(path, O_RDWR | O_CLOEXEC);
    // Another file may have that number by now.
    if (fd >= 0 && (fstat(fd, &after) != 0 || after.st_dev != before.st_dev ||
                    after.st_ino != before.st_ino || after.st_uid != geteuid())) {
        close(fd);
        errno = EPERM;
        return -1;
    }
    return fd;
}

PLI_START static enum pli_err read_header(int fd, struct pli_node_header *head)
{
    off_t end = lseek(fd, 0, SEEK_END);
    if (end < 0 || pread(fd, head, sizeof *head, 0) != (ssize_t)sizeof *head) {
        return pli_fail(PLI_ERR_OTHER, "descriptor %d is not the shared memory of a job", fd);
    }
    if (head->magic != PLI_NODE_MAGIC || head->version != PLI_NODE_VERSION || head->n_world == 0 ||
        head->n_host > head->cap_host || head->n_file > PLI_NODE_N_MORE || !is_laid_out(head) ||
        head->segs != head->size || head->size + segments(head) != (uint64_t)end) {
        return pli_fail(PLI_ERR_OTHER,
                        "the shared memory of the job was made by another version of Pliant MPI "
                        "(mine is %d); use mpiexec and library of one installation",
                        PLI_NODE_VERSION);
    }
    return PLI_OK;
}

// Map as much of it as this process may; *n_out: areas of later processes that are mapped.
PLI_START static enum pli_err map_most(int fd, const struct pli_node_header *head,
                                       struct pli_node *node, uint32_t *n_out)
{
    size_t part;
    bool is_there;
    uint32_t n = n_may_map(head->n_file, head->area_size);
    do {
        part = (size_t)(head->areas + ((uint64_t)head->n_row + n) * head->area_size);
        is_there = attach(fd, part, (size_t)head->size, node);
        *n_out = n;
        n /= 2;
    } while (!is_there && *n_out > 0);
    if (!is_there) {
        return fail_map(part);
    }
    find_tables(node);
    return PLI_OK;
}

// Whether a process of this host has an area that is not mapped.
static bool misses_one(const struct pli_node *node, uint32_t n_mapped)
{
    const struct pli_node_header *h = node->header;
    for (uint32_t row = h->n_row + n_mapped; row < pli_node_n_used(node); row++) {
        const struct pli_node_proc *p = &node->procs[h->n_world + row - h->n_row];
        if (p->host == h->host_index && atomic_load(&node->rows[row].has_ended) == 0) {
            return true;
        }
    }
    return false;
}

PLI_START enum pli_err pli_node_map(int fd, struct pli_node *node_out)
{
    struct pli_node_header head;
    struct pli_node node = { 0 };
    uint32_t n;
    enum pli_err err = read_header(fd, &head);
    err = err == PLI_OK ? map_most(fd, &head, &node, &n) : err;
    if (err != PLI_OK) {
        return err;
    }
    if (n < head.n_file) {
        pli_node_limit_room(node.header, n);
        if (misses_one(&node, n)) {
            pli_node_unmap(&node);
            return pli_fail(PLI_ERR_NOMEM,
                            "this process can map the memory of %u processes that came later, and "
                            "there are more; it runs under valgrind or with a limit on address "
                            "space (ulimit -v)",
                            n);
        }
    }
    *node_out = node;
    return PLI_OK;
}

enum pli_err pli_node_map_to_look(int fd, struct pli_node *node_out)
{
    struct pli_node_header head;
    struct pli_node node = { 0 };
    uint32_t n;
    enum pli_err err = read_header(fd, &head);
    err = err == PLI_OK ? map_most(fd, &head, &node, &n) : err;
    if (err == PLI_OK) {
        *node_out = node;
    }
    return err;
}

void pli_node_limit_room(struct pli_node_header *header, uint32_t n_room)
{
    uint32_t was = atomic_load_explicit(&header->n_room, memory_order_relaxed);
    while (n_room < was && !atomic_compare_exchange_weak(&header->n_room, &was, n_room)) {
    }
}

void pli_node_unmap(struct pli_node *node)
{
    if (node->base != NULL) {
        bool has_tail = node->tail != NULL && node->mapped < node->header->size;
        munmap(node->base, node->mapped);
        if (has_tail) {
            munmap(node->tail, PAGE);
        }
    }
    memset(node, 0, sizeof *node);
}

// Map what lies behind the last page that is mapped. The descriptor is closed; a second mapping of
// that page leads on in the file.
static enum pli_err map_behind(const struct pli_node *node, uint64_t at, uint64_t len, char **out)
{
    if (len == 0) {
        return pli_fail(PLI_ERR_NOMEM,
                        "there is no room for shared segments: the limit on the size of files "
                        "(ulimit -f) is too low");
    }
    size_t before = (size_t)(PAGE + at);
    char *p = node->tail != NULL ? mremap(node->tail, 0, before + len, MREMAP_MAYMOVE) : MAP_FAILED;
    if (p == MAP_FAILED) {
        return pli_fail(PLI_ERR_NOMEM,
                        "cannot map the shared segments of processes (%llu GiB of addresses, not "
                        "of memory): %s; %s",
                        (unsigned long long)((before + len) >> 30), strerror(errno),
                        errno == EINVAL
                            ? "valgrind does not let memory be mapped twice; compile with "
                              "-fsanitize=address instead"
                            : "is there a limit on address space (ulimit -v)?");
    }
    munmap(p, before);
    madvise(p + before, len, MADV_DONTDUMP); // a core file would take all of it for real
    *out = p + before;
    return PLI_OK;
}

enum pli_err pli_node_map_segments(const struct pli_node *node, char **out)
{
    return map_behind(node, 0, node->header->n_row * node->header->seg_size, out);
}

enum pli_err pli_node_map_late(const struct pli_node *node, uint32_t i, char **out)
{
    const struct pli_node_header *h = node->header;
    uint64_t at = h->n_row * h->seg_size + i * h->late_size;
    return map_behind(node, at, i < h->n_file ? h->late_size : 0, out);
}

void pli_node_set_state(struct pli_node *node, uint32_t row, enum pli_node_state state)
{
    uint32_t was =
        atomic_exchange_explicit(&node->rows[row].state, (uint32_t)state, memory_order_acq_rel);
    if (was != PLI_NODE_RUNNING && state == PLI_NODE_RUNNING) {
        atomic_fetch_add_explicit(&node->header->n_running, 1, memory_order_relaxed);
    } else if (was == PLI_NODE_RUNNING && state != PLI_NODE_RUNNING) {
        atomic_fetch_sub_explicit(&node->header->n_running, 1, memory_order_relaxed);
    }
}

void pli_node_set_ended(struct pli_node *node, uint32_t index)
{
    const struct pli_node_proc *p = pli_node_find(node, index);
    uint32_t row = pli_node_row_of(node, index);
    if (p != NULL) {
        atomic_store_explicit(&node->procs[p - node->procs].has_ended, 1, memory_order_release);
    }
    if (row != UINT32_MAX) {
        atomic_store_explicit(&node->rows[row].has_ended, 1, memory_order_release);
    }
}

bool pli_node_has_ended(const struct pli_node *node, uint32_t index)
{
    const struct pli_node_proc *p = pli_node_find(node, index);
    return p != NULL && atomic_load_explicit(&p->has_ended, memory_order_acquire) != 0;
}
