// SPDX-License-Identifier: BSD-3-Clause
// Copies a frozen process by fork, unless it has something that fork does not copy or that the two
// would share.
#include "ckpt/freeze_copy.h"

#include "boot/boot.h"
#include "boot/ctl.h"
#include "ckpt/freeze_wire.h"
#include "ckpt/proc_maps.h"
#include "ckpt/thread_copy.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

enum { WORD = 4096 };

// Read the beginning of a small file of /proc; the number of bytes, -1: it cannot be read.
static ssize_t read_start(const char *path, char *to, size_t cap)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, to, cap - 1) : -1;
    if (fd >= 0) {
        close(fd);
    }
    to[n > 0 ? n : 0] = '\0';
    return n;
}

static void fd_path(const char *folder, int fd, char *to)
{
    char digits[16];
    size_t n = 0, len = strlen(folder);
    memcpy(to, folder, len);
    do {
        digits[n++] = (char)('0' + fd % 10);
        fd /= 10;
    } while (fd > 0);
    while (n > 0) {
        to[len++] = digits[--n];
    }
    to[len] = '\0';
}

// Call fn for every open descriptor; false: it returned false for one, or they cannot be listed.
static bool each_fd(bool (*fn)(int fd, const int *own), const int *own)
{
    char buf[WORD];
    bool is_good = true;
    int dir = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    long n = dir >= 0 ? syscall(SYS_getdents64, dir, buf, sizeof buf) : -1;
    for (; n > 0 && is_good; n = syscall(SYS_getdents64, dir, buf, sizeof buf)) {
        for (long at = 0; at < n && is_good;) {
            const struct dirent64 *d = (const struct dirent64 *)(buf + at);
            int fd = d->d_name[0] != '.' ? atoi(d->d_name) : dir;
            is_good = fd == dir || fn(fd, own);
            at += d->d_reclen;
        }
    }
    if (dir >= 0) {
        close(dir);
    }
    return is_good && n == 0;
}

// POSIX locks belong to a process, and a copy would not have them.
static bool has_lock(int fd)
{
    char path[64], text[WORD];
    fd_path("/proc/self/fdinfo/", fd, path);
    return read_start(path, text, sizeof text) < 0 || strstr(text, "\nlock:") != NULL;
}

// The standard streams are pipes of the launcher, which gives a restored process others.
static bool is_standard_pipe(const struct stat *st)
{
    struct stat other;
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fstat(fd, &other) == 0 && other.st_dev == st->st_dev && other.st_ino == st->st_ino) {
            return true;
        }
    }
    return false;
}

// What the kernel makes without a file, that a copy makes anew.
enum anon { ANON_NONE, ANON_EPOLL, ANON_EVENT };
static enum anon anon_of(int fd)
{
    char path[64], link[64];
    fd_path("/proc/self/fd/", fd, path);
    ssize_t n = readlink(path, link, sizeof link - 1);
    link[n > 0 ? n : 0] = '\0';
    return strcmp(link, "anon_inode:[eventpoll]") == 0 ? ANON_EPOLL
           : strcmp(link, "anon_inode:[eventfd]") == 0 ? ANON_EVENT
                                                       : ANON_NONE;
}

// The regular files of the process. They may be written to while the copy is dumped, so the
// launcher is told of them, and notes how long they are; descriptors that share a place in a file
// do so in the copy.
enum { MAX_FILE = 256 };
static struct {
    int fd, first; // the first descriptor of those that share a place
    dev_t dev;
    ino_t ino;
} files[MAX_FILE];
static uint32_t n_file;

static bool note_file(int fd, const struct stat *st)
{
    if (n_file == MAX_FILE) {
        return false;
    }
    int first = fd;
    for (uint32_t i = 0; i < n_file && first == fd; i++) {
        if (files[i].dev == st->st_dev && files[i].ino == st->st_ino) {
            long me = syscall(SYS_getpid);
            long other = syscall(SYS_kcmp, me, me, KCMP_FILE, fd, files[i].fd);
            if (other < 0) {
                return false; // not known
            }
            first = other == 0 ? files[i].first : first;
        }
    }
    files[n_file].fd = fd;
    files[n_file].first = first;
    files[n_file].dev = st->st_dev;
    files[n_file++].ino = st->st_ino;
    return true;
}

// own: the descriptors that a copy gives up or has of its own, and -1.
static bool may_copy_fd(int fd, const int *own)
{
    struct stat st;
    for (; *own >= 0; own++) {
        if (*own == fd) {
            return true;
        }
    }
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fstat(fd, &st) != 0) {
        return false;
    }
    if (S_ISREG(st.st_mode)) {
        return st.st_nlink > 0 && !has_lock(fd) && note_file(fd, &st);
    }
    // A pipe of the process itself has an end to read from, too.
    return S_ISCHR(st.st_mode) || anon_of(fd) != ANON_NONE ||
           (S_ISFIFO(st.st_mode) && ((flags & O_ACCMODE) == O_WRONLY || is_standard_pipe(&st)));
}

// Put a descriptor in the place of another one.
static bool replace_fd(int again, int fd)
{
    int mode = fcntl(fd, F_GETFD);
    bool is_good = again >= 0 && dup3(again, fd, (mode & FD_CLOEXEC) != 0 ? O_CLOEXEC : 0) == fd;
    if (again >= 0) {
        close(again);
    }
    return is_good;
}

// The descriptors of a copy share the counts of events with those of the process, so it makes
// others.
static bool reopen_event(int fd, const int *own)
{
    static const char count[] = "\neventfd-count:", many[] = "\neventfd-semaphore: 1";
    char path[64], text[WORD];
    (void)own;
    if (anon_of(fd) != ANON_EVENT) {
        return true;
    }
    fd_path("/proc/self/fdinfo/", fd, path);
    const char *at = read_start(path, text, sizeof text) > 0 ? strstr(text, count) : NULL;
    uint64_t n = at != NULL ? strtoull(at + sizeof count - 1, NULL, 16) : UINT64_MAX;
    int flags = (fcntl(fd, F_GETFL) & O_NONBLOCK) | (strstr(text, many) ? EFD_SEMAPHORE : 0);
    return n <= UINT32_MAX && replace_fd(eventfd((unsigned)n, flags), fd);
}

// They share the places in files, too.
static bool reopen_file(int fd)
{
    char path[64];
    int flags = fcntl(fd, F_GETFL);
    off_t at = lseek(fd, 0, SEEK_CUR);
    fd_path("/proc/self/fd/", fd, path);
    int again = open(path, (flags & ~(O_CREAT | O_EXCL | O_TRUNC)) | O_NOCTTY | O_CLOEXEC);
    return again >= 0 && lseek(again, at, SEEK_SET) == at && replace_fd(again, fd);
}

static bool reopen_files(void)
{
    bool is_good = true;
    for (uint32_t i = 0; i < n_file && is_good; i++) {
        is_good = files[i].first == files[i].fd
                      ? reopen_file(files[i].fd)
                      : replace_fd(fcntl(files[i].first, F_DUPFD_CLOEXEC, 0), files[i].fd);
    }
    return is_good;
}

// Watch in one epoll what another one watches, which says so in lines such as
// "tfd:        8 events:       19 data:     7f0012345678  pos:0 ino:...".
static bool copy_watches(int to, int info)
{
    char buf[WORD];
    size_t have = 0;
    bool is_good = true;
    for (ssize_t n; is_good && (n = read(info, buf + have, sizeof buf - 1 - have)) > 0;) {
        have += (size_t)n;
        buf[have] = '\0';
        char *line = buf;
        for (char *end; is_good && (end = strchr(line, '\n')) != NULL; line = end + 1) {
            char *s;
            *end = '\0';
            if (strncmp(line, "tfd:", 4) != 0) {
                continue;
            }
            int fd = (int)strtol(line + 4, &s, 10);
            s = strchr(s, ':');
            struct epoll_event e = { .events = s != NULL ? (uint32_t)strtoul(s + 1, &s, 16) : 0 };
            s = s != NULL ? strchr(s, ':') : NULL;
            e.data.u64 = s != NULL ? strtoull(s + 1, NULL, 16) : 0;
            is_good = s != NULL && epoll_ctl(to, EPOLL_CTL_ADD, fd, &e) == 0;
        }
        have -= (size_t)(line - buf);
        memmove(buf, line, have);
    }
    return is_good;
}

static bool reopen_epoll(int fd, const int *own)
{
    char path[64];
    (void)own;
    if (anon_of(fd) != ANON_EPOLL) {
        return true;
    }
    fd_path("/proc/self/fdinfo/", fd, path);
    int to = epoll_create1(EPOLL_CLOEXEC), info = open(path, O_RDONLY | O_CLOEXEC);
    bool is_good = to >= 0 && info >= 0 && copy_watches(to, info);
    if (info >= 0) {
        close(info);
    }
    return is_good ? replace_fd(to, fd) : false;
}

// What is looked for in the list of mappings.
struct seen {
    uint64_t sum;
    bool has_shared; // written by others, too
};

static void see_map(const char *line, void *arg)
{
    struct seen *s = arg;
    const char *mode = strchr(line, ' ');
    if (strstr(line, "[stack]") != NULL || mode == NULL || strlen(mode) < 5) {
        return; // it may grow
    }
    s->has_shared = s->has_shared || (mode[2] == 'w' && mode[4] == 's');
    for (; line < mode + 5; line++) {
        s->sum = (s->sum ^ (unsigned char)*line) * 0x100000001b3u;
    }
}

// Fork clears timers and signals that are pending, and leaves memory unlocked.
static bool has_uncopied(void)
{
    static const char locked[] = "\nVmLck:";
    char text[WORD];
    struct itimerval timer;
    sigset_t pending;
    for (int which = ITIMER_REAL; which <= ITIMER_PROF; which++) {
        if (getitimer((__itimer_which_t)which, &timer) != 0 || timer.it_value.tv_sec != 0 ||
            timer.it_value.tv_usec != 0) {
            return true;
        }
    }
    sigemptyset(&pending);
    sigpending(&pending);
    for (int sig = 1; sig < NSIG; sig++) {
        if (sig != PLI_FREEZE_SIGNAL && sigismember(&pending, sig) == 1) {
            return true;
        }
    }
    if (read_start("/proc/self/timers", text, sizeof text) != 0 ||
        read_start("/proc/thread-self/children", text, sizeof text) != 0 ||
        read_start("/proc/self/status", text, sizeof text) <= 0) {
        return true;
    }
    const char *at = strstr(text, locked);
    return at == NULL || atol(at + sizeof locked - 1) != 0;
}

// Whether all threads can be made anew, and the first of them, which the copy of this one will be,
// is this one.
static bool may_copy_threads(struct pli_thread_stopped others)
{
    struct stat st;
    enum { OWN_LINKS = 2 }; // of the folder; each thread adds one
    bool is_good = stat("/proc/self/task", &st) == 0 &&
                   st.st_nlink == (nlink_t)(OWN_LINKS + 1 + others.n) &&
                   syscall(SYS_gettid) == syscall(SYS_getpid);
    for (int i = 0; i < others.n && is_good; i++) {
        is_good = others.all[i]->is_complete;
    }
    return is_good;
}

static uint64_t map_sum; // of the process, which a copy compares with its own

bool pli_freeze_copy_is_possible(const struct pli_boot *boot, int resume_fd,
                                 struct pli_thread_stopped others)
{
    const int own[] = { boot->control, resume_fd, -1 };
    struct seen s = { 0, false };
    n_file = 0;
    bool is_possible = may_copy_threads(others) && !has_uncopied() && each_fd(may_copy_fd, own) &&
                       pli_proc_maps_each(see_map, &s) && !s.has_shared;
    map_sum = s.sum;
    return is_possible;
}

// What the kernel knows of the thread, and fork does not hand on.
struct thread {
    int *tid_address; // cleared when it ends
    void *robust_list;
    size_t robust_len;
};

static bool read_thread(struct thread *t)
{
    return prctl(PR_GET_TID_ADDRESS, &t->tid_address, 0, 0, 0) == 0 &&
           syscall(SYS_get_robust_list, 0, &t->robust_list, &t->robust_len) == 0;
}

static bool set_thread(const struct thread *t)
{
    syscall(SYS_set_tid_address, t->tid_address);
    return t->robust_list == NULL ||
           syscall(SYS_set_robust_list, t->robust_list, t->robust_len) == 0;
}

// In the copy: be as the process was, but for its number, which the launcher changes in the images.
static bool complete(const struct thread *t)
{
    struct seen s = { 0, false };
    setpgid(0, 0); // as the process has
    return set_thread(t) && pli_proc_maps_each(see_map, &s) && s.sum == map_sum && reopen_files() &&
           each_fd(reopen_event, NULL) &&
           each_fd(reopen_epoll, NULL); // that comes last: it watches others
}

static bool put(int to, const void *data, size_t len)
{
    return write(to, data, len) == (ssize_t)len;
}

// In the copy: make the other threads, and a file that says which is which, and which files it has.
static bool copy_threads(struct pli_thread_stopped others, int *file_out)
{
    const struct pli_freeze_copied head = { (uint32_t)others.n, n_file };
    *file_out = (int)syscall(SYS_memfd_create, "copied", MFD_CLOEXEC);
    bool is_good = *file_out >= 0 && put(*file_out, &head, sizeof head);
    for (int i = 0; i < others.n && is_good; i++) {
        pid_t tid = 0;
        is_good = pli_thread_copy_make(others.all[i], false, &tid);
        const struct pli_freeze_thread pair = { tid, others.all[i]->tid };
        is_good = is_good && put(*file_out, &pair, sizeof pair);
    }
    for (uint32_t i = 0; i < n_file && is_good; i++) {
        const int32_t fd = files[i].fd;
        is_good = put(*file_out, &fd, sizeof fd);
    }
    return is_good;
}

int pli_freeze_copy_make(const struct pli_boot *boot, int resume_fd,
                         struct pli_thread_stopped others)
{
    int own_pipe[2];
    struct thread thread;
    if (!read_thread(&thread) || pipe2(own_pipe, O_CLOEXEC) != 0) {
        return -1;
    }
    // The child of our parent, the launcher, and not seen by a program that waits for children. The
    // C library's fork would wait for locks that an interrupted call may hold.
    long pid = syscall(SYS_clone, (unsigned long)(CLONE_PARENT | SIGCHLD), 0, 0, 0, 0);
    if (pid == 0) {
        struct pli_ctl_msg msg = { .kind = PLI_CTL_COPIED, .row = boot->row };
        int fds[2] = { own_pipe[1], -1 };
        close(resume_fd);
        bool is_good = complete(&thread) && copy_threads(others, &fds[1]);
        msg.code = is_good ? (int)syscall(SYS_getpid) : 0;
        bool is_told = pli_ctl_send(boot->control, &msg, fds, is_good ? 2 : 0);
        if (!is_good || !is_told) {
            kill((pid_t)syscall(SYS_getpid), SIGKILL);
        }
        if (fds[1] >= 0) {
            close(fds[1]);
        }
        close(boot->control);
        close(own_pipe[1]);
        return own_pipe[0];
    }
    close(own_pipe[0]);
    close(own_pipe[1]);
    return -1;
}
