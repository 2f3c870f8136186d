// SPDX-License-Identifier: BSD-3-Clause
// Freezes this process for a checkpoint. The thread that gets the signal first is the leader: it
// brings the other threads into the signal handler, unmaps and closes what cannot be dumped, and
// waits at a pipe that the launcher writes to. Everything here runs in a signal handler, with
// system calls and plain memory only.
#include "ckpt/freeze.h"

#include "base/glibc.h"
#include "base/cpu.h"
#include "base/fault.h"
#include "base/futex.h"
#include "base/text.h"
#include "boot/boot.h"
#include "boot/ckpt_wire.h"
#include "boot/ctl.h"
#include "base/fdpass.h"
#include "ckpt/freeze_copy.h"
#include "ckpt/freeze_hold.h"
#include "ckpt/freeze_wire.h"
#include "ckpt/proc_maps.h"
#include "ckpt/sock.h"
#include "ckpt/thread_stop.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { MAX_MAP = 4096 };

struct map {
    char *at;
    size_t len;
    off_t offset;
    int prot;
};

static struct {
    struct pli_boot *boot;
    dev_t dev;
    ino_t ino;
    void (*on_move)(bool is_leaving);
    bool (*on_ask)(void);
    _Atomic(void (*)(void)) on_drop;
    uint32_t round; // the last round that this process was frozen for
    struct map maps[MAX_MAP];
    int n_map;
    bool has_net; // whether the job has a network; read while the node memory is mapped
    // an address in the node memory while its mappings are searched, otherwise 0
    uintptr_t node_addr;
} p;

bool pli_freeze_is_open(void)
{
    return p.boot != NULL;
}

bool pli_freeze_is_moving(void)
{
    return atomic_load_explicit(pli_node_moving(pli_boot.node.header), memory_order_relaxed) != 0;
}

PLI_START void pli_freeze_on_ask(bool (*fn)(void))
{
    p.on_ask = fn;
}

PLI_START void pli_freeze_on_move(void (*fn)(bool is_leaving))
{
    p.on_move = fn;
}

void pli_freeze_on_drop(void (*fn)(void))
{
    atomic_store(&p.on_drop, fn);
}

bool pli_freeze_ask(void)
{
    return pli_ctl_say(p.boot->control, PLI_CTL_SAVE, p.boot->row, NULL, 0);
}

static void release_others(void)
{
    pli_thread_stop_release();
    pli_fault_hold("freeze_released", p.boot->index);
}

// One line of the list of mappings: "from-to rwxs offset major:minor inode name".
static void note_map(const char *line, void *arg)
{
    char *s;
    (void)arg;
    unsigned long from = strtoul(line, &s, 16), to = strtoul(s + 1, &s, 16);
    const char *mode = s + 1;
    unsigned long offset = strtoul(s + 5, &s, 16);
    unsigned long major_no = strtoul(s, &s, 16), minor_no = strtoul(s + 1, &s, 16);
    unsigned long ino = strtoul(s, NULL, 10);
    if (p.node_addr - from < to - from) {
        p.dev = makedev(major_no, minor_no);
        p.ino = ino;
    }
    if (makedev(major_no, minor_no) == p.dev && ino == p.ino) {
        if (p.n_map < MAX_MAP) {
            p.maps[p.n_map] = (struct map){ (char *)from, to - from, (off_t)offset,
                                            (mode[0] == 'r' ? PROT_READ : 0) |
                                                (mode[1] == 'w' ? PROT_WRITE : 0) };
        }
        p.n_map++;
    }
}

// Find every place where the node memory is mapped.
static bool list_maps(void)
{
    p.n_map = 0;
    return pli_proc_maps_each(note_map, NULL) && p.n_map > 0 && p.n_map <= MAX_MAP;
}

static void unmap(void)
{
    for (int i = 0; i < p.n_map; i++) {
        munmap(p.maps[i].at, p.maps[i].len);
    }
    void (*drop)(void) = atomic_load(&p.on_drop);
    if (drop != NULL) {
        drop();
    }
    if (p.on_move != NULL) {
        p.on_move(true);
    }
}

// Report to the launcher: with the write end of the resume pipe, that this process is frozen;
// without it, why it is not.
static bool report(int code, const char *text, int resume_fd)
{
    struct pli_ctl_msg msg = { .kind = PLI_CTL_FROZEN, .row = p.boot->row, .code = code };
    pli_text_add(msg.text, sizeof msg.text, text);
    return pli_ctl_send(p.boot->control, &msg, &resume_fd, resume_fd >= 0 ? 1 : 0);
}

static _Noreturn void end_process(const char *what)
{
    char text[240] = "rank ";
    const char *why = strerrordesc_np(errno);
    pli_text_add_number(text, sizeof text, p.boot->index);
    pli_text_add(text, sizeof text, " cannot go on after a checkpoint: ");
    pli_text_add(text, sizeof text, what);
    pli_text_add(text, sizeof text, ": ");
    pli_text_add(text, sizeof text, why != NULL ? why : "unknown error");
    pli_text_add(text, sizeof text, "\n");
    ssize_t done = write(STDERR_FILENO, text, strlen(text));
    (void)done;
    kill(getpid(), SIGKILL);
    _exit(1);
}

static bool has_net(void)
{
    return (p.boot->node.header->net & PLI_NODE_HAS_NET) != 0;
}

static bool report_drained(void)
{
    return pli_ctl_say(p.boot->control, PLI_CTL_DRAINED, p.boot->row, NULL, 0);
}

static void read_word(int resume_fd, struct pli_freeze_word *w)
{
    ssize_t n;
    do {
        n = read(resume_fd, w, sizeof *w);
    } while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof *w) {
        kill(getpid(), SIGKILL); // the launcher has ended
    }
}

// Drain and close all connections, unless the launcher says that the process is not frozen after
// all.
static bool drain(int resume_fd)
{
    struct pli_freeze_word w = { .what = PLI_FREEZE_STAY };
    read_word(resume_fd, &w);
    if (w.what != PLI_FREEZE_DRAIN) {
        return false;
    }
    pli_fault("freeze_drain", p.boot->index);
    if (!pli_sock_drain(resume_fd, report_drained)) {
        end_process("its connections cannot be drained");
    }
    pli_fault("freeze_drained", p.boot->index);
    return true;
}

// Unmap and close what cannot be dumped. Returns the pipe to wait at; -1: nothing was changed. The
// copy of the process returns too, where the launcher wants one and it can be made.
static int detach_from_job(void)
{
    int resume_pipe[2];
    if (!list_maps() || pipe2(resume_pipe, O_CLOEXEC) != 0) {
        report(errno, "it cannot read its mappings or make a pipe", -1);
        return -1;
    }
    bool is_told = report(0, "", resume_pipe[1]);
    pli_fault("freeze_told", p.boot->index);
    close(resume_pipe[1]);
    p.has_net = has_net();
    bool is_copied = atomic_load(&p.boot->node.header->freeze_copy) != 0;
    if (!is_told || (p.has_net && !drain(resume_pipe[0]))) {
        close(resume_pipe[0]);
        return -1;
    }
    unmap();
    pli_ctl_unguard(p.boot->control);
    struct pli_thread_stopped others = pli_thread_stop_list();
    int copy_fd = is_copied && pli_freeze_copy_is_possible(p.boot, resume_pipe[0], others)
                      ? pli_freeze_copy_make(p.boot, resume_pipe[0], others)
                      : -1;
    if (copy_fd >= 0) {
        return copy_fd;
    }
    // When the process and its copy have closed it, the launcher knows that they can be dumped.
    close(p.boot->control);
    pli_fault("freeze_left", p.boot->index);
    return resume_pipe[0];
}

static int recv_descriptor(int s)
{
    char byte;
    int fd;
    ssize_t n;
    do {
        n = pli_fdpass_take(s, &byte, 1, &fd, 0);
    } while (n < 0 && errno == EINTR);
    if (n == 0) {
        errno = ECONNRESET; // the launcher refused this process
    }
    return fd;
}

static void remap(int fd)
{
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0) {
        end_process("the launcher sent no memory");
    }
    p.dev = st.st_dev;
    p.ino = st.st_ino;
    for (int i = 0; i < p.n_map; i++) {
        const struct map *m = &p.maps[i];
        if (mmap(m->at, m->len, m->prot, MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, fd,
                 m->offset) != m->at) {
            end_process("its shared memory cannot be mapped where it was");
        }
        madvise(m->at, m->len, MADV_DONTDUMP);
    }
    close(fd);
}

// Connect to the launcher's address and send the row of this process; -1: that failed.
static int connect_to_launcher(const struct pli_freeze_word *w, uint32_t row)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    memcpy(a.sun_path + 1, w->name, sizeof w->name);
    socklen_t len =
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strnlen(w->name, sizeof w->name));
    int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (s >= 0 && (connect(s, (struct sockaddr *)&a, len) != 0 ||
                   !pli_ctl_say(s, PLI_CTL_BACK, row, NULL, 0))) {
        close(s);
        s = -1;
    }
    return s;
}

static void resume(int resume_fd)
{
    struct pli_freeze_word w = { .what = PLI_FREEZE_BACK };
    char why[120] = "";
    read_word(resume_fd, &w);
    close(resume_fd);
    pli_fault("freeze_called", p.boot->index);
    pli_fault_hold("freeze_called", p.boot->index);
    int s = connect_to_launcher(&w, p.boot->row);
    if (s < 0) {
        end_process("the launcher cannot be reached");
    }
    pli_fault("freeze_back", p.boot->index);
    remap(recv_descriptor(s));
    int accept_fd = p.has_net ? recv_descriptor(s) : -1;
    pli_fault("freeze_mapped", p.boot->index);
    // The number stays the same: a thread may be about to use the one it has read.
    if (s != p.boot->control && (dup3(s, p.boot->control, O_CLOEXEC) < 0 || close(s) != 0)) {
        end_process("the control socket cannot be used");
    }
    if (pli_ctl_guard(p.boot->control) != PLI_OK) {
        end_process("the control socket cannot be used");
    }
    if (p.on_move != NULL) {
        p.on_move(false);
    }
    if (p.has_net && !pli_sock_reconnect(accept_fd, why, sizeof why)) {
        end_process(why);
    }
}

static bool unmap_all(const struct pli_node *node)
{
    p.node_addr = (uintptr_t)node->base;
    list_maps(); // finds the inode of the node memory
    p.node_addr = 0;
    bool is_found = p.ino != 0 && list_maps();
    if (is_found) {
        unmap();
    }
    return is_found;
}

// The addresses of the old memory stay reserved and inaccessible: code that still has an address
// there must not find other data.
static enum pli_err map_elsewhere(int fd, struct pli_node *out)
{
    for (int i = 0; i < p.n_map; i++) {
        mmap(p.maps[i].at, p.maps[i].len, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    }
    enum pli_err err = pli_node_map(fd, out);
    for (int i = 0; i < p.n_map; i++) {
        munmap(p.maps[i].at, p.maps[i].len);
    }
    return err;
}

static enum pli_err resume_elsewhere(int resume_fd, struct pli_node *node_out,
                                     struct pli_boot_place *out)
{
    struct pli_freeze_word w = { .what = PLI_FREEZE_BACK };
    struct stat st;
    read_word(resume_fd, &w);
    close(resume_fd);
    out->row = w.row;
    out->control = connect_to_launcher(&w, w.row);
    int fd = out->control >= 0 ? recv_descriptor(out->control) : -1;
    if (fd < 0 || fstat(fd, &st) != 0) {
        return pli_fail(PLI_ERR_OTHER, "the launcher cannot be reached: %s", strerror(errno));
    }
    p.dev = st.st_dev;
    p.ino = st.st_ino;
    enum pli_err err = map_elsewhere(fd, node_out);
    close(fd);
    out->accept_fd = err == PLI_OK ? recv_descriptor(out->control) : -1;
    if (err == PLI_OK && out->accept_fd < 0) {
        err = pli_fail(PLI_ERR_OTHER, "the launcher sent no socket for incoming connections: %s",
                       strerror(errno));
    }
    if (err == PLI_OK && p.on_move != NULL) {
        p.on_move(false);
    }
    return err;
}

static bool can_be_dumped(void)
{
    return p.on_ask == NULL || p.on_ask();
}

// Whether the process may be dumped now; if not, the launcher is told why.
static bool may_freeze(void)
{
    static const char held[] = "it has a request open at mpiexec, or is inside io_uring";
    char text[120] = "thread ";
    const char *why;
    if (!can_be_dumped()) {
        report(EAGAIN, "it has not left UCX", -1);
        return false;
    }
    if (pli_freeze_is_held()) { // then it may have threads of the kernel, which take no signals
        pli_freeze_note_wait();
        report(EAGAIN, held, -1);
        return false;
    }
    pid_t tid = pli_thread_stop_others((int)p.round);
    if (tid == 0 && !can_be_dumped()) { // a thread has made a lane
        report(EAGAIN, "it has not left UCX", -1);
    } else if (pli_freeze_is_held()) {
        pli_freeze_note_wait();
        report(EAGAIN, held, -1);
    } else if (tid != 0) {
        pli_text_add_number(text, sizeof text, (uint64_t)tid);
        pli_text_add(text, sizeof text, " does not take signal ");
        pli_text_add_number(text, sizeof text, (uint64_t)PLI_FREEZE_SIGNAL);
        pli_text_add(text, sizeof text, ": it blocks it");
        report(EBUSY, text, -1);
    } else if (pli_freeze_is_forbidden(&why)) {
        report(ENOTSUP, why, -1);
    } else if (atomic_load(&p.boot->is_linked)) {
        report(ENOTSUP, "it is connected with another job", -1);
    } else {
        return true;
    }
    return false;
}

static void freeze_process(void)
{
    uint32_t round = (uint32_t)atomic_load(&p.boot->node.header->freeze);
    if (round == 0 || round == p.round) { // cancelled, or the signal is not from the launcher
        pli_thread_stop_resign();
        return;
    }
    p.round = round;
    pli_fault("freeze_signal", p.boot->index);
    if (may_freeze()) {
        int resume_fd = detach_from_job();
        if (resume_fd >= 0) {
            resume(resume_fd);
        }
    }
    release_others();
}

static void handler(int sig, siginfo_t *info, void *context)
{
    (void)sig;
    (void)info;
    (void)context;
    int saved = errno;
    if (pli_thread_stop_lead()) {
        freeze_process();
    } else {
        pli_thread_stop_wait();
    }
    errno = saved;
}

static const struct pli_boot_freeze freeze_ops = {
    .hold = pli_freeze_hold,
    .let = pli_freeze_let,
    .untaken = pli_sock_untaken,
    .accepted = pli_sock_call,
    .unmap = unmap_all,
    .resume_elsewhere = resume_elsewhere,
};

enum pli_err pli_freeze_open(struct pli_boot *boot)
{
    struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART }, old;
    boot->freeze = &freeze_ops;
    if (boot->node_ino == 0 || p.boot != NULL) {
        return PLI_OK;
    }
    sigfillset(&sa.sa_mask);
    if (sigaction(PLI_FREEZE_SIGNAL, &sa, &old) != 0) {
        return pli_fail(PLI_ERR_OTHER, "cannot prepare for checkpoints: %s", strerror(errno));
    }
    if (old.sa_handler != SIG_DFL && old.sa_handler != SIG_IGN) {
        return pli_fail(PLI_ERR_OTHER,
                        "the program has a handler for signal %d, which checkpoints need; use "
                        "another signal, or start mpiexec without --checkpoint-dir and --movable",
                        PLI_FREEZE_SIGNAL);
    }
    p.boot = boot;
    p.dev = boot->node_dev;
    p.ino = boot->node_ino;
    if (boot->accept_fd >= 0) {
        pli_sock_open(boot);
    }
    return PLI_OK;
}
