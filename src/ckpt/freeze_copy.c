// SPDX-License-Identifier: BSD-3-Clause
// Copies a frozen process by fork, unless it has something that fork does not copy or that the two
// would share.
#include "ckpt/freeze_copy.h"

#include "boot/boot.h"
#include "boot/ctl.h"
#include "ckpt/freeze_wire.h"
#include "ckpt/proc_maps.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
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
        return (flags & O_ACCMODE) == O_RDONLY && st.st_nlink > 0 && !has_lock(fd);
    }
    // A pipe of the process itself has an end to read from, too.
    return S_ISCHR(st.st_mode) ||
           (S_ISFIFO(st.st_mode) && ((flags & O_ACCMODE) == O_WRONLY || is_standard_pipe(&st)));
}

// The descriptors of a copy share the places in files with those of the process, so it opens them
// anew.
static bool reopen_fd(int fd, const int *own)
{
    char path[64];
    struct stat st;
    (void)own;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        return true;
    }
    int flags = fcntl(fd, F_GETFL), mode = fcntl(fd, F_GETFD);
    off_t at = lseek(fd, 0, SEEK_CUR);
    fd_path("/proc/self/fd/", fd, path);
    int again = open(path, (flags & ~(O_CREAT | O_EXCL | O_TRUNC)) | O_NOCTTY | O_CLOEXEC);
    bool is_good = again >= 0 && lseek(again, at, SEEK_SET) == at &&
                   dup3(again, fd, (mode & FD_CLOEXEC) != 0 ? O_CLOEXEC : 0) == fd;
    if (again >= 0) {
        close(again);
    }
    return is_good;
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

static bool has_threads(void)
{
    struct stat st;
    enum { OWN_LINKS = 2 }; // of the folder; each thread adds one
    return stat("/proc/self/task", &st) != 0 || st.st_nlink != OWN_LINKS + 1;
}

static uint64_t map_sum; // of the process, which a copy compares with its own

bool pli_freeze_copy_is_possible(const struct pli_boot *boot, int resume_fd)
{
    const int own[] = { boot->control, resume_fd, -1 };
    struct seen s = { 0, false };
    bool is_possible = !has_threads() && !has_uncopied() && each_fd(may_copy_fd, own) &&
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
    return set_thread(t) && pli_proc_maps_each(see_map, &s) && s.sum == map_sum &&
           each_fd(reopen_fd, NULL);
}

int pli_freeze_copy_make(const struct pli_boot *boot, int resume_fd)
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
        close(resume_fd);
        bool is_good = complete(&thread);
        msg.code = is_good ? (int)syscall(SYS_getpid) : 0;
        bool is_told = pli_ctl_send(boot->control, &msg, &own_pipe[1], is_good ? 1 : 0);
        if (!is_good || !is_told) {
            kill((pid_t)syscall(SYS_getpid), SIGKILL);
        }
        close(boot->control);
        close(own_pipe[1]);
        return own_pipe[0];
    }
    close(own_pipe[0]);
    close(own_pipe[1]);
    return -1;
}
