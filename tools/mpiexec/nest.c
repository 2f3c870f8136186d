// SPDX-License-Identifier: BSD-3-Clause
// The nest's first process only sleeps; when it ends, with mpiexec, the kernel ends all in there.
// It has its own view of the file system with the nest's own /proc, which CRIU reads.
#include "nest.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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

static int mount_fd = -1;
static char where[PATH_MAX]; // setns leaves a process in the root directory

static _Noreturn void be_first(int ready)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "pliant-nest");
    signal(SIGCHLD, SIG_IGN); // orphans come here, and nobody asks how they ended
    setsid();
    char ok = unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) == 0 &&
              mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0;
    if (!ok || write(ready, &ok, 1) != 1) {
        _exit(1);
    }
    syscall(SYS_close_range, 0, ~0U, 0);
    for (;;) {
        pause();
    }
}

bool pli_nest_open(void)
{
    int fds[2], old = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
    char path[64], byte;
    if (old < 0 || getcwd(where, sizeof where) == NULL || unshare(CLONE_NEWPID) != 0 ||
        pipe2(fds, O_CLOEXEC) != 0) {
        return false;
    }
    pid_t pid = fork();
    if (pid == 0) {
        be_first(fds[1]);
    }
    close(fds[1]);
    bool is_good = pid > 0 && read(fds[0], &byte, 1) == 1;
    close(fds[0]);
    if (is_good) {
        snprintf(path, sizeof path, "/proc/%d/ns/mnt", (int)pid);
        mount_fd = open(path, O_RDONLY | O_CLOEXEC);
    }
    if (mount_fd < 0) {
        if (pid > 0) {
            kill(pid, SIGKILL);
            waitpid(pid, NULL, 0);
        }
        setns(old, CLONE_NEWPID);
        errno = EPERM;
    }
    close(old);
    return mount_fd >= 0;
}

bool pli_nest_is_open(void)
{
    return mount_fd >= 0;
}

void pli_nest_enter(void)
{
    if (mount_fd >= 0 && (setns(mount_fd, CLONE_NEWNS) != 0 || chdir(where) != 0)) {
        _exit(127);
    }
}

// Whether a process is a child of ours with this number in the nest.
static bool is_it(const char *pid, pid_t inner)
{
    char path[64], line[256];
    long parent = 0;
    bool is_found = false;
    snprintf(path, sizeof path, "/proc/%.16s/status", pid);
    FILE *f = fopen(path, "re");
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        if (strncmp(line, "PPid:", 5) == 0) {
            parent = strtol(line + 5, NULL, 10);
        } else if (strncmp(line, "NSpid:", 6) == 0) {
            const char *last = strrchr(line, '\t');
            is_found = last != NULL && strtol(last + 1, NULL, 10) == inner;
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    return is_found && parent == getpid();
}

pid_t pli_nest_find(pid_t inner)
{
    pid_t found = 0;
    DIR *d = opendir("/proc");
    for (struct dirent *e; found == 0 && d != NULL && (e = readdir(d)) != NULL;) {
        if (isdigit((unsigned char)e->d_name[0]) && is_it(e->d_name, inner)) {
            found = (pid_t)atoi(e->d_name);
        }
    }
    if (d != NULL) {
        closedir(d);
    }
    return found;
}
