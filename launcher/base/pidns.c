// SPDX-License-Identifier: BSD-3-Clause
// Makes a PID namespace. Its first process sleeps, and tells how orphans ended, such as clones of
// ranks, whose parent it becomes. When it ends, with mpiexec, the kernel ends all processes of the
// namespace. It has its own view of the file system with the namespace's /proc, which CRIU reads.
#include "launcher/base/pidns.h"

#include "base/glibc.h"
#include "launcher/base/launcher.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TELL_MS = 1000 };

struct pli_pidns_end {
    int32_t pid, status; // pid: in the namespace
};

// Report every process that ends; when the reader is gone, no process needs the reports.
static _Noreturn void tell_ends(int fd)
{
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    for (;;) {
        struct pli_pidns_end e;
        while ((e.pid = waitpid(-1, &e.status, WNOHANG)) > 0) {
            ssize_t n = write(fd, &e, sizeof e);
            (void)n;
        }
        sigwaitinfo(&child, NULL);
    }
}

// A process that is started later gets a higher number: that of a process to be restored must be
// free.
static void begin_above(pid_t last)
{
    char text[16];
    int n = snprintf(text, sizeof text, "%d", (int)last);
    int fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, text, (size_t)n) != n) {
        errno = 0; // CRIU says so if one is taken
    }
    if (fd >= 0) {
        close(fd);
    }
}

static _Noreturn void be_first(int ready, int tell, pid_t last)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "pliant-pidns");
    signal(SIGCHLD, SIG_DFL);
    signal(SIGPIPE, SIG_IGN);
    setsid();
    char ok = unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) == 0 &&
              mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0;
    begin_above(last);
    if (!ok || write(ready, &ok, 1) != 1 || dup2(tell, 0) != 0) {
        _exit(1);
    }
    syscall(SYS_close_range, 1, ~0U, 0);
    tell_ends(0);
}

bool pli_pidns_open(pid_t last)
{
    struct pli_pidns_state *self = pli_launcher.pidns;
    int fds[2], tell[2], old = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
    char path[64], byte;
    if (old < 0 || getcwd(self->where, sizeof self->where) == NULL || unshare(CLONE_NEWPID) != 0 ||
        pipe2(fds, O_CLOEXEC) != 0 || pipe2(tell, O_CLOEXEC | O_NONBLOCK) != 0) {
        return false;
    }
    pid_t pid = self->first = fork();
    if (pid == 0) {
        be_first(fds[1], tell[1], last);
    }
    self->ends = tell[0];
    close(tell[1]);
    close(fds[1]);
    bool is_good = pid > 0 && read(fds[0], &byte, 1) == 1;
    close(fds[0]);
    if (is_good) {
        snprintf(path, sizeof path, "/proc/%d/ns/mnt", (int)pid);
        self->mount_fd = open(path, O_RDONLY | O_CLOEXEC);
    }
    if (self->mount_fd < 0) {
        if (pid > 0) {
            kill(pid, SIGKILL);
            waitpid(pid, NULL, 0);
        }
        setns(old, CLONE_NEWPID);
        close(self->ends);
        self->ends = -1;
        errno = EPERM;
    }
    close(old);
    return self->mount_fd >= 0;
}

void pli_pidns_close(void)
{
    struct pli_pidns_state *self = pli_launcher.pidns;
    if (self->mount_fd < 0) {
        return;
    }
    kill(self->first, SIGKILL);
    waitpid(self->first, NULL, 0);
    int old = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
    setns(old, CLONE_NEWPID);
    close(old);
    close(self->mount_fd);
    close(self->ends);
    self->mount_fd = self->ends = -1;
}

bool pli_pidns_is_open(void)
{
    struct pli_pidns_state *self = pli_launcher.pidns;
    return self->mount_fd >= 0;
}

void pli_pidns_enter(void)
{
    struct pli_pidns_state *self = pli_launcher.pidns;
    if (self->mount_fd >= 0 &&
        (setns(self->mount_fd, CLONE_NEWNS) != 0 || chdir(self->where) != 0)) {
        _exit(127);
    }
}

pid_t pli_pidns_fork_outside(void)
{
    struct pli_pidns_state *self = pli_launcher.pidns;
    int inside =
        self->mount_fd >= 0 ? open("/proc/self/ns/pid_for_children", O_RDONLY | O_CLOEXEC) : -1;
    int outside = inside >= 0 ? open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC) : -1;
    bool is_out = outside >= 0 && setns(outside, CLONE_NEWPID) == 0;
    pid_t pid = fork();
    if (pid != 0) {
        int error = errno;
        if (is_out) {
            setns(inside, CLONE_NEWPID);
        }
        if (inside >= 0) {
            close(inside);
        }
        if (outside >= 0) {
            close(outside);
        }
        errno = error;
    }
    return pid;
}

bool pli_pidns_status(pid_t inner, int *status_out)
{
    struct pli_pidns_state *self = pli_launcher.pidns;
    for (size_t i = 0; i < self->n_other; i++) {
        if (self->others[i].pid == inner) {
            *status_out = self->others[i].status;
            self->others[i] = self->others[--self->n_other];
            return true;
        }
    }
    struct pollfd p = { .fd = self->ends, .events = POLLIN };
    struct pli_pidns_end e;
    while (poll(&p, 1, TELL_MS) == 1 && read(self->ends, &e, sizeof e) == (ssize_t)sizeof e) {
        if (e.pid == inner) {
            *status_out = e.status;
            return true;
        }
        struct pli_pidns_end *more = realloc(self->others, (self->n_other + 1) * sizeof e);
        if (more != NULL) {
            self->others = more;
            self->others[self->n_other++] = e;
        }
    }
    return false;
}

// What /proc tells of a process: its parent, its number in its own namespace, and how many numbers
// it has, which is how deep that is.
struct who {
    long parent, number;
    int depth;
};

static struct who look(const char *pid)
{
    struct who w = { 0 };
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/%.16s/status", pid);
    FILE *f = fopen(path, "re");
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        if (strncmp(line, "PPid:", 5) == 0) {
            w.parent = strtol(line + 5, NULL, 10);
        } else if (strncmp(line, "NSpid:", 6) == 0) {
            for (const char *at = line; (at = strchr(at, '\t')) != NULL; w.depth++) {
                w.number = strtol(++at, NULL, 10);
            }
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    return w;
}

pid_t pli_pidns_find(pid_t inner)
{
    pid_t found = 0;
    int depth = look("self").depth + 1; // a child of ours outside may have the same number there
    DIR *d = opendir("/proc");
    for (struct dirent *e; found == 0 && d != NULL && (e = readdir(d)) != NULL;) {
        if (isdigit((unsigned char)e->d_name[0])) {
            struct who w = look(e->d_name);
            bool is_it = w.parent == getpid() && w.depth == depth && w.number == inner;
            found = is_it ? (pid_t)atoi(e->d_name) : 0;
        }
    }
    if (d != NULL) {
        closedir(d);
    }
    return found;
}

void pli_pidns_init(void)
{
    struct pli_pidns_state *self = pli_launcher.pidns;
    self->mount_fd = self->ends = -1;
}
