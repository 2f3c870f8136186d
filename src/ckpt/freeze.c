// SPDX-License-Identifier: BSD-3-Clause
// The process's side of a checkpoint. One thread takes the signal and leads: it brings the others
// into the handler, gives up what cannot be dumped, and waits at a pipe that the launcher writes
// to. Everything here runs in a signal handler: system calls and plain memory only.
#include "ckpt/freeze.h"

#include "base/cpu.h"
#include "base/fault.h"
#include "base/futex.h"
#include "base/text.h"
#include "boot/boot.h"
#include "boot/ctl.h"
#include "base/fdpass.h"
#include "ckpt/freeze_hold.h"
#include "ckpt/freeze_wire.h"
#include "ckpt/sock.h"

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

enum {
    MAX_MAP = 64,
    MAX_THREAD = 4096,
    STOP_TURNS = 20000, // of STOP_NS: how long threads may take to come
    STOP_NS = 100000
};

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
    uint32_t round;     // the last one this process was frozen for
    _Atomic int leader; // thread that freezes the process, 0: none
    _Atomic int shut;   // the round for which the other threads sleep on it, 0: none
    _Atomic int n_here; // of them
    _Atomic pid_t here[MAX_THREAD];
    pid_t called[MAX_THREAD];
    int n_called;
    struct map maps[MAX_MAP];
    int n_map;
    bool has_net;   // of the job; read while its memory is mapped
    uintptr_t home; // an address of the node memory, while it is looked for; else 0
} p;

static pid_t my_tid(void)
{
    return (pid_t)syscall(SYS_gettid);
}

bool pli_freeze_is_open(void)
{
    return p.boot != NULL;
}

PLI_START void pli_freeze_on_ask(bool (*fn)(void))
{
    p.on_ask = fn;
}

PLI_START void pli_freeze_on_move(void (*fn)(bool is_leaving))
{
    p.on_move = fn;
}

bool pli_freeze_ask(void)
{
    return pli_ctl_say(p.boot->control, PLI_CTL_SAVE, p.boot->row, NULL, 0);
}

static bool is_here(pid_t tid)
{
    int n = atomic_load(&p.n_here);
    for (int i = 0; i < n && i < MAX_THREAD; i++) {
        if (atomic_load(&p.here[i]) == tid) {
            return true;
        }
    }
    return false;
}

// Send the signal to a thread once.
static void call_thread(pid_t tid)
{
    for (int i = 0; i < p.n_called; i++) {
        if (p.called[i] == tid) {
            return;
        }
    }
    if (p.n_called < MAX_THREAD) {
        p.called[p.n_called++] = tid;
        syscall(SYS_tgkill, getpid(), tid, PLI_FREEZE_SIGNAL);
    }
}

// A thread that is not here yet, 0: all were here before this look began. -1: nobody can say.
static pid_t missing(void)
{
    char buf[4096];
    pid_t found = 0, me = my_tid();
    int fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    long n = fd >= 0 ? syscall(SYS_getdents64, fd, buf, sizeof buf) : -1;
    for (; n > 0; n = syscall(SYS_getdents64, fd, buf, sizeof buf)) {
        for (long at = 0; at < n;) {
            const struct dirent64 *d = (const struct dirent64 *)(buf + at);
            pid_t tid = (pid_t)atoi(d->d_name);
            if (tid > 0 && tid != me && !is_here(tid)) {
                call_thread(tid);
                found = tid;
            }
            at += d->d_reclen;
        }
    }
    if (fd >= 0) {
        close(fd);
    }
    return n < 0 ? -1 : found;
}

// Bring all other threads here. 0: they are; else one that does not come.
static pid_t stop_others(void)
{
    pid_t tid = missing();
    for (int i = 0; tid != 0 && i < STOP_TURNS; i++) {
        nanosleep(&(struct timespec){ .tv_nsec = STOP_NS }, NULL);
        tid = missing();
    }
    return tid;
}

static void release_others(void)
{
    p.n_called = 0;
    for (int i = 0; i < MAX_THREAD && i < atomic_load(&p.n_here); i++) {
        atomic_store(&p.here[i], 0);
    }
    atomic_store(&p.n_here, 0);
    // Before the others wake: the first of them that leaves the handler may take the signal of the
    // next round, and must find that nobody leads.
    atomic_store(&p.leader, 0);
    atomic_store(&p.shut, 0);
    pli_futex_wake(&p.shut, INT_MAX, true);
    pli_fault_hold("freeze_released", p.boot->index);
}

// One line of the list of mappings: "from-to rwxs offset major:minor inode name".
static void note_map(const char *line)
{
    char *s;
    unsigned long from = strtoul(line, &s, 16), to = strtoul(s + 1, &s, 16);
    const char *mode = s + 1;
    unsigned long offset = strtoul(s + 5, &s, 16);
    unsigned long major_no = strtoul(s, &s, 16), minor_no = strtoul(s + 1, &s, 16);
    unsigned long ino = strtoul(s, NULL, 10);
    if (p.home - from < to - from) {
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
    char buf[4096];
    size_t have = 0;
    ssize_t n = 0;
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    p.n_map = 0;
    while (fd >= 0 && (n = read(fd, buf + have, sizeof buf - 1 - have)) > 0) {
        have += (size_t)n;
        buf[have] = '\0';
        char *line = buf;
        for (char *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
            *end = '\0';
            note_map(line);
        }
        have -= (size_t)(line - buf);
        memmove(buf, line, have);
    }
    if (fd >= 0) {
        close(fd);
    }
    return fd >= 0 && n == 0 && p.n_map > 0 && p.n_map <= MAX_MAP;
}

static void unmap(void)
{
    for (int i = 0; i < p.n_map; i++) {
        munmap(p.maps[i].at, p.maps[i].len);
    }
    if (p.on_move != NULL) {
        p.on_move(true);
    }
}

// Tell the launcher: with the end of a pipe, that this process is about to stand still; else why
// not.
static bool tell(int code, const char *text, int resume_fd)
{
    struct pli_ctl_msg msg = { .kind = PLI_CTL_FROZEN, .row = p.boot->row, .code = code };
    pli_text_add(msg.text, sizeof msg.text, text);
    return pli_ctl_send(p.boot->control, &msg, &resume_fd, resume_fd >= 0 ? 1 : 0);
}

static _Noreturn void die(const char *what)
{
    char text[240] = "rank ";
    const char *why = strerrordesc_np(errno);
    pli_text_add_number(text, sizeof text, p.boot->index);
    pli_text_add(text, sizeof text, " cannot go on after a checkpoint: ");
    pli_text_add(text, sizeof text, what);
    pli_text_add(text, sizeof text, ": ");
    pli_text_add(text, sizeof text, why != NULL ? why : "for a reason without a name");
    pli_text_add(text, sizeof text, "\n");
    ssize_t done = write(STDERR_FILENO, text, strlen(text));
    (void)done;
    kill(getpid(), SIGKILL);
    _exit(1);
}

static bool has_net(void)
{
    return (p.boot->node.header->net & PLI_NODE_HAS_DOOR) != 0;
}

static bool tell_drained(void)
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
        kill(getpid(), SIGKILL); // the launcher is gone
    }
}

// Give up all connections, unless the launcher says that nothing is to be given up.
static bool drain(int resume_fd)
{
    struct pli_freeze_word w = { .what = PLI_FREEZE_STAY };
    read_word(resume_fd, &w);
    if (w.what != PLI_FREEZE_DRAIN) {
        return false;
    }
    pli_fault("freeze_drain", p.boot->index);
    if (!pli_sock_drain(resume_fd, tell_drained)) {
        die("its connections cannot be given up");
    }
    pli_fault("freeze_drained", p.boot->index);
    return true;
}

// Give up what cannot be dumped; the pipe to wait at, -1: nothing was changed.
static int leave(void)
{
    int resume_pipe[2];
    if (!list_maps() || pipe2(resume_pipe, O_CLOEXEC) != 0) {
        tell(errno, "its mappings or a pipe cannot be had", -1);
        return -1;
    }
    bool is_told = tell(0, "", resume_pipe[1]);
    pli_fault("freeze_told", p.boot->index);
    close(resume_pipe[1]);
    p.has_net = has_net();
    if (!is_told || (p.has_net && !drain(resume_pipe[0]))) {
        close(resume_pipe[0]);
        return -1;
    }
    unmap();
    close(p.boot->control); // the launcher sees this, and knows that all is done
    pli_fault("freeze_left", p.boot->index);
    return resume_pipe[0];
}

static int take_descriptor(int s)
{
    char byte;
    int fd;
    ssize_t n;
    do {
        n = pli_fdpass_take(s, &byte, 1, &fd, 0);
    } while (n < 0 && errno == EINTR);
    if (n == 0) {
        errno = ECONNRESET; // it does not know us
    }
    return fd;
}

static void map_again(int fd)
{
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0) {
        die("the launcher sent no memory");
    }
    p.dev = st.st_dev;
    p.ino = st.st_ino;
    for (int i = 0; i < p.n_map; i++) {
        const struct map *m = &p.maps[i];
        if (mmap(m->at, m->len, m->prot, MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, fd,
                 m->offset) != m->at) {
            die("its shared memory cannot be mapped where it was");
        }
        madvise(m->at, m->len, MADV_DONTDUMP);
    }
    close(fd);
}

// Connect to where the launcher listens, and say which row this is; -1: that cannot be.
static int call_back(const struct pli_freeze_word *w, uint32_t row)
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

static void come_back(int resume_fd)
{
    struct pli_freeze_word w = { .what = PLI_FREEZE_BACK };
    char why[120] = "";
    read_word(resume_fd, &w);
    close(resume_fd);
    pli_fault("freeze_called", p.boot->index);
    int s = call_back(&w, p.boot->row);
    if (s < 0) {
        die("the launcher cannot be reached");
    }
    pli_fault("freeze_back", p.boot->index);
    map_again(take_descriptor(s));
    int accept_fd = p.has_net ? take_descriptor(s) : -1;
    pli_fault("freeze_mapped", p.boot->index);
    // Some thread may be about to use the number it has read.
    if (s != p.boot->control && (dup3(s, p.boot->control, O_CLOEXEC) < 0 || close(s) != 0)) {
        die("the control socket cannot be used");
    }
    if (pli_ctl_guard(p.boot->control) != PLI_OK) {
        die("the control socket cannot be used");
    }
    if (p.on_move != NULL) {
        p.on_move(false);
    }
    if (p.has_net && !pli_sock_reconnect(accept_fd, why, sizeof why)) {
        die(why);
    }
}

static bool unmap_all(const struct pli_node *node)
{
    p.home = (uintptr_t)node->base;
    list_maps(); // to know whose they are
    p.home = 0;
    bool is_found = p.ino != 0 && list_maps();
    if (is_found) {
        unmap();
    }
    return is_found;
}

// Where the old memory was nothing is for now: who still has an address of it must not find
// something else there.
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
    out->control = call_back(&w, w.row);
    int fd = out->control >= 0 ? take_descriptor(out->control) : -1;
    if (fd < 0 || fstat(fd, &st) != 0) {
        return pli_fail(PLI_ERR_OTHER, "the launcher cannot be reached: %s", strerror(errno));
    }
    p.dev = st.st_dev;
    p.ino = st.st_ino;
    enum pli_err err = map_elsewhere(fd, node_out);
    close(fd);
    out->accept_fd = err == PLI_OK ? take_descriptor(out->control) : -1;
    if (err == PLI_OK && out->accept_fd < 0) {
        err = pli_fail(PLI_ERR_OTHER, "the launcher sent no socket for incoming connections: %s",
                       strerror(errno));
    }
    if (err == PLI_OK && p.on_move != NULL) {
        p.on_move(false);
    }
    return err;
}

static bool is_calm(void)
{
    return p.on_ask == NULL || p.on_ask();
}

// Whether the process may be dumped now; else the launcher hears why not.
static bool may_leave(void)
{
    static const char held[] = "it has a request open at mpiexec, or is inside io_uring";
    char text[120] = "thread ";
    const char *why;
    if (!is_calm()) {
        tell(EAGAIN, "it has not left UCX", -1);
        return false;
    }
    if (pli_freeze_is_held()) { // then it may have threads of the kernel, which take no signals
        pli_freeze_note_wait();
        tell(EAGAIN, held, -1);
        return false;
    }
    pid_t tid = stop_others();
    if (tid == 0 && !is_calm()) { // a thread has made a lane
        tell(EAGAIN, "it has not left UCX", -1);
    } else if (pli_freeze_is_held()) {
        pli_freeze_note_wait();
        tell(EAGAIN, held, -1);
    } else if (tid != 0) {
        pli_text_add_number(text, sizeof text, (uint64_t)tid);
        pli_text_add(text, sizeof text, " does not take signal ");
        pli_text_add_number(text, sizeof text, (uint64_t)PLI_FREEZE_SIGNAL);
        pli_text_add(text, sizeof text, ": it blocks it");
        tell(EBUSY, text, -1);
    } else if (pli_freeze_is_forbidden(&why)) {
        tell(ENOTSUP, why, -1);
    } else if (atomic_load(&p.boot->is_linked)) {
        tell(ENOTSUP, "it is connected with another job", -1);
    } else {
        return true;
    }
    return false;
}

static void lead(void)
{
    uint32_t round = (uint32_t)atomic_load(&p.boot->node.header->freeze);
    if (round == 0 || round == p.round) { // taken back, or not from the launcher
        atomic_store(&p.leader, 0);
        return;
    }
    p.round = round;
    pli_fault("freeze_signal", p.boot->index);
    atomic_store(&p.shut, (int)round);
    if (may_leave()) {
        int resume_fd = leave();
        if (resume_fd >= 0) {
            come_back(resume_fd);
        }
    }
    release_others();
}

static void follow(void)
{
    int round = atomic_load(&p.shut);
    int i = round != 0 ? atomic_fetch_add(&p.n_here, 1) : MAX_THREAD;
    if (i < MAX_THREAD) {
        atomic_store(&p.here[i], my_tid());
        while (atomic_load(&p.shut) == round) {
            pli_futex_wait(&p.shut, round, true, 0);
        }
    }
}

static void handler(int sig, siginfo_t *info, void *context)
{
    (void)sig;
    (void)info;
    (void)context;
    int saved = errno, nobody = 0;
    if (atomic_compare_exchange_strong(&p.leader, &nobody, my_tid())) {
        lead();
    } else {
        follow();
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
