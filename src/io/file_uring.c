// SPDX-License-Identifier: BSD-3-Clause
// Loads liburing when it is wanted first. A ring and the thread that has it live as long as one
// access: making them takes 0.1 ms, and checkpoints wait for the access, not for the file to be
// closed.
#include "io/file_uring.h"

#include "base/conf.h"
#include "base/log.h"
#include "ckpt/freeze_hold.h"
#include "ckpt/freeze_wire.h"
#include "io/file_block.h"

#include <dlfcn.h>
#include <errno.h>
#include <liburing.h>
#include <linux/magic.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum {
    DEPTH = 32,     // pieces under way
    MOST = 1 << 30, // bytes of one of them; the caller does the rest
    LUSTRE_MAGIC = 0x0bd00bd0,
    GPFS_MAGIC = 0x47504653,
    BEEGFS_MAGIC = 0x19830326,
    CEPH_MAGIC = 0x00c36400,
};

// What of liburing is no inline function.
static struct {
    int (*init)(unsigned, struct io_uring *, unsigned);
    void (*exit)(struct io_uring *);
    int (*submit)(struct io_uring *, unsigned);
} lib;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool is_there; // written once
static char why[200];

static bool find(void *from, const char *name, void *to, size_t size)
{
    void *f = dlsym(from, name);
    memcpy(to, &f, size);
    return f != NULL;
}

// The kernel may be too old for it, or a container, seccomp or a sysctl may forbid it.
static void try_once(void)
{
    void *l = dlopen("liburing.so.2", RTLD_NOW | RTLD_LOCAL);
    if (l == NULL) {
        snprintf(why, sizeof why, "liburing cannot be loaded (%s); install it (Debian: liburing2)",
                 dlerror());
        return;
    }
    if (!find(l, "io_uring_queue_init", &lib.init, sizeof lib.init) ||
        !find(l, "io_uring_queue_exit", &lib.exit, sizeof lib.exit) ||
        !find(l, "io_uring_submit_and_wait", &lib.submit, sizeof lib.submit)) {
        snprintf(why, sizeof why, "this liburing lacks a function; version 2.2 has all");
        dlclose(l);
        return;
    }
    struct io_uring ring;
    pli_freeze_hold();
    int rc = lib.init(DEPTH, &ring, 0);
    if (rc == 0) {
        lib.exit(&ring);
    }
    pli_freeze_let();
    if (rc != 0) {
        snprintf(why, sizeof why, "the kernel does not allow it: %s", strerror(-rc));
        return;
    }
    is_there = true;
}

bool pli_file_uring_is_there(const char **why_out)
{
    pthread_once(&once, try_once);
    *why_out = why;
    return is_there;
}

// On file systems of this host the page cache answers: a plain call is as fast for large pieces and
// twice as fast for small ones, which the kernel would hand to a thread of its own.
static bool is_far(uint32_t system)
{
    switch (system) {
    case NFS_SUPER_MAGIC:
    case LUSTRE_MAGIC:
    case GPFS_MAGIC:
    case BEEGFS_MAGIC:
    case CEPH_MAGIC:
        return true;
    default:
        return false;
    }
}

bool pli_file_uring_is_wanted(uint32_t system)
{
    const char *reason;
    bool must = strcmp(pli_conf.file_uring, "always") == 0;
    if (strcmp(pli_conf.file_uring, "never") == 0 || (!must && !is_far(system))) {
        return false;
    }
    bool is = pli_file_uring_is_there(&reason);
    if (!is) {
        pli_log(must ? PLI_WARN : PLI_INFO, "files are accessed without io_uring: %s", reason);
    }
    return is;
}

// Take what is complete.
static unsigned reap(struct io_uring *ring, struct pli_file_piece *pieces)
{
    struct io_uring_cqe *c;
    unsigned head, n = 0;
    io_uring_for_each_cqe(ring, head, c)
    {
        pieces[c->user_data].done = c->res > 0 ? (size_t)c->res : 0;
        n++;
    }
    io_uring_cq_advance(ring, n);
    return n;
}

static void run(struct io_uring *ring, bool is_write, int fd, struct pli_file_piece *pieces, int n)
{
    int next = 0;
    unsigned under_way = 0;
    bool has_failed = false;
    while (under_way > 0 || (next < n && !has_failed)) {
        while (next < n && under_way < DEPTH && !has_failed) {
            struct io_uring_sqe *s = io_uring_get_sqe(ring);
            const struct pli_file_piece *p = &pieces[next];
            if (s == NULL) {
                break;
            }
            unsigned len = p->len < MOST ? (unsigned)p->len : MOST;
            if (is_write) {
                io_uring_prep_write(s, fd, p->buf, len, (uint64_t)p->at);
            } else {
                io_uring_prep_read(s, fd, p->buf, len, (uint64_t)p->at);
            }
            io_uring_sqe_set_data64(s, (uint64_t)next++);
            under_way++;
        }
        int rc = has_failed ? sched_yield() : lib.submit(ring, 1);
        if (rc < 0 && rc != -EINTR && rc != -EAGAIN && rc != -EBUSY && !has_failed) {
            // What the kernel took must be waited for, because it moves memory of the user; the
            // rest it has not seen.
            has_failed = true;
            under_way -= io_uring_sq_ready(ring);
        }
        under_way -= reap(ring, pieces);
    }
}

// What the thread of an access is told.
struct access {
    bool is_write;
    int fd;
    struct pli_file_piece *pieces;
    int n;
};

static void *move(void *arg)
{
    const struct access *a = arg;
    struct io_uring ring;
    if (lib.init(DEPTH, &ring, 0) == 0) { // not: no memory for it now
        run(&ring, a->is_write, a->fd, a->pieces, a->n);
        lib.exit(&ring);
    }
    return NULL;
}

// The kernel gives a thread with a ring helpers, which stay for seconds after the ring is closed
// but not longer than the thread; nobody can dump a process that has them.
void pli_file_uring_move(bool is_write, int fd, struct pli_file_piece *pieces, int n)
{
    struct access a = { is_write, fd, pieces, n };
    sigset_t blocked, old;
    pthread_t thread;
    for (int i = 0; i < n; i++) {
        pieces[i].done = 0;
    }
    if (pli_freeze_is_waited_for()) {
        return;
    }
    sigfillset(&blocked); // signals are the program's
    sigdelset(&blocked, PLI_FREEZE_SIGNAL);
    pli_freeze_hold();
    pthread_sigmask(SIG_SETMASK, &blocked, &old);
    int rc = pthread_create(&thread, NULL, move, &a);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc == 0) {
        pthread_join(thread, NULL);
    }
    pli_freeze_let();
}
