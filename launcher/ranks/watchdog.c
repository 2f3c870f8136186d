// SPDX-License-Identifier: BSD-3-Clause
// Ends what is left of a job.
//
// Direct children die with mpiexec by their parent-death signal, and ranks by their control socket.
// What remains are helpers started by wrapper scripts: these are in a task's process group, or at
// least carry the job's cookie in the environment they were started with.
#include "launcher/ranks/watchdog.h"

#include "base/glibc.h"
#include "launcher/base/launcher.h"
#include "launcher/job/ckpt_hooks.h"
#include "launcher/job/environment.h"
#include "launcher/job/job.h"
#include "launcher/base/say.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_ROUND = 500, ROUND_MS = 4, N_SWEEP = 4, SWEEP_MS = 20 };

// Whether the environment of a process has this variable.
static bool carries(int dir, const char *pid, const char *cookie)
{
    char path[64], buf[65536];
    snprintf(path, sizeof path, "%s/environ", pid);
    size_t len = strlen(cookie) + 1, kept = 0; // with the zero at its end
    int fd = len < sizeof buf / 2 ? openat(dir, path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) {
        return false;
    }
    bool is_found = false;
    for (ssize_t n; !is_found && (n = read(fd, buf + kept, sizeof buf - kept)) > 0;) {
        size_t have = kept + (size_t)n;
        is_found = memmem(buf, have, cookie, len) != NULL;
        kept = have < len ? have : len - 1; // it may lie across two reads
        memmove(buf, buf + have - kept, kept);
    }
    close(fd);
    return is_found;
}

static bool kill_if_of_job(int dir, const char *name, const char *cookie)
{
    // The descriptor is opened first: then it is the same process that is looked at and killed.
    int pidfd = (int)syscall(SYS_pidfd_open, (pid_t)atoi(name), 0);
    if (pidfd < 0) {
        return false;
    }
    bool is_hit =
        carries(dir, name, cookie) && syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0) == 0;
    close(pidfd);
    return is_hit;
}

static int sweep_once(const char *cookie)
{
    DIR *proc = opendir("/proc");
    int n = 0;
    if (proc == NULL) {
        return 0;
    }
    char me[16];
    snprintf(me, sizeof me, "%d", (int)getpid());
    for (struct dirent *d; (d = readdir(proc)) != NULL;) {
        if (isdigit((unsigned char)d->d_name[0]) && strcmp(d->d_name, me) != 0) {
            n += kill_if_of_job(dirfd(proc), d->d_name, cookie);
        }
    }
    closedir(proc);
    return n;
}

void pli_watchdog_sweep(const char *cookie)
{
    for (int round = 0; round < MAX_ROUND && sweep_once(cookie) > 0; round++) {
        nanosleep(&(struct timespec){ .tv_nsec = ROUND_MS * 1000000 }, NULL);
    }
}

// A name of its own, so that "killall mpiexec" leaves it its work.
static void rename_self(char **argv)
{
    size_t room = 0;
    for (int i = 0; argv[i] != NULL && (i == 0 || argv[i] == argv[0] + room); i++) {
        room += strlen(argv[i]) + 1;
    }
    if (room > 0) {
        memset(argv[0], 0, room);
        snprintf(argv[0], room, "pliant-watchdog");
    }
    prctl(PR_SET_NAME, "pliant-watchdog");
}

// cookie NULL: no other process is looked for.
// claim: the lock of the folder of checkpoints, held until the last process has ended; or -1.
static _Noreturn void keep(int fd, int claim, const char *cookie)
{
    struct pli_watchdog_state *self = pli_launcher.watchdog;
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setsid();
    if (chdir("/") != 0 || dup2(fd, 0) < 0) {
        _exit(1);
    }
    // Above all the pipes that other processes wait on.
    syscall(SYS_close_range, claim >= 0 && dup2(claim, 1) == 1 ? 2 : 1, ~0U, 0);
    char word;
    ssize_t n;
    do {
        n = read(0, &word, 1);
    } while (n < 0 && errno == EINTR);
    if (n == 0) {
        for (uint32_t i = 0; i < self->n_group; i++) {
            if (self->groups[i] > 1) {
                kill(-self->groups[i], SIGKILL);
            }
        }
        for (int i = 0; i < N_SWEEP && cookie != NULL;
             i++) { // one that execs just then shows no environment
            pli_watchdog_sweep(cookie);
            nanosleep(&(struct timespec){ .tv_nsec = SWEEP_MS * 1000000 }, NULL);
        }
    }
    _exit(0);
}

bool pli_watchdog_start(struct pli_job *job, char **argv)
{
    struct pli_watchdog_state *self = pli_launcher.watchdog;
    char cookie[64];
    int fds[2];
    pli_environment_cookie(job, cookie, sizeof cookie);
    int claim =
        job->opt.ckpt_dir != NULL ? pli_launcher.ckpt_hooks->lock_dir(job->opt.ckpt_dir) : -1;
    self->n_group = job->n_first + job->node.header->n_more;
    self->groups = mmap(NULL, self->n_group * sizeof *self->groups, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (self->groups == MAP_FAILED || pipe2(fds, O_CLOEXEC) != 0) {
        pli_say("cannot start: %s", strerror(errno));
        return false;
    }
    self->pid = fork();
    if (self->pid == 0) {
        close(fds[1]);
        rename_self(argv);
        pli_node_unmap(&job->node);
        // Moved ranks are in a process namespace, which the kernel ends; others of the job may be
        // on this host.
        keep(fds[0], claim, job->opt.takes_moved ? NULL : cookie);
    }
    close(fds[0]);
    self->pipe_fd = fds[1];
    if (self->pid < 0) {
        pli_say("cannot start: %s", strerror(errno));
    }
    return self->pid > 0;
}

void pli_watchdog_note(uint32_t i, pid_t pid)
{
    struct pli_watchdog_state *self = pli_launcher.watchdog;
    self->groups[i] = pid;
}

void pli_watchdog_stop(void)
{
    struct pli_watchdog_state *self = pli_launcher.watchdog;
    if (self->pid > 0) {
        if (write(self->pipe_fd, "q", 1) == 1) {
            waitpid(self->pid, NULL, 0);
        }
        self->pid = 0;
    }
}
