// SPDX-License-Identifier: BSD-3-Clause
// Ends what is left of a job.
//
// Direct children die with mpiexec by their parent-death signal, and ranks by their control socket.
// What remains are helpers started by wrapper scripts: these are in a task's process group, or at
// least carry the job's cookie in the environment they were started with. The cookie names the
// launcher too, because after a daemon was killed its host may join again before this has ended.
#include "launcher/ranks/watchdog.h"

#include "base/glibc.h"
#include "base/process_stat.h"
#include "launcher/base/launcher.h"
#include "launcher/job/ckpt_hooks.h"
#include "launcher/job/environment.h"
#include "launcher/job/job.h"
#include "launcher/base/say.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
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

// Whether the launcher that the rest of a cookie names, "job.number.start", is not the one of
// `mine` and lives.
static bool is_of_another(const char *rest, const char *mine)
{
    uint32_t pid = 0;
    uint64_t start = 0;
    return strcmp(rest, mine) != 0 &&
           sscanf(rest, "%*16[0-9a-f].%" SCNx32 ".%" SCNx64, &pid, &start) == 2 &&
           pli_process_stat(pid, PLI_PROCESS_STAT_START) == (int64_t)start;
}

// Whether a process is of the job and not of another launcher of the job on this host: one that
// joined again after its daemon was killed, or a pretended host.
static bool is_ours(pid_t pid, const char *cookie)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    FILE *f = fopen(path, "re");
    if (f == NULL) {
        return false;
    }
    size_t name = strcspn(cookie, "=") + 1, to_job = strcspn(cookie, "."), cap = 0;
    char *variable = NULL;
    bool is_found = false;
    while (!is_found && getdelim(&variable, &cap, '\0', f) > 0) {
        is_found = strncmp(variable, cookie, to_job) == 0;
    }
    is_found = is_found && !is_of_another(variable + name, cookie + name);
    free(variable);
    fclose(f);
    return is_found;
}

static bool kill_if_of_job(pid_t pid, const char *cookie)
{
    // The descriptor is opened first: then it is the same process that is looked at and killed.
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pidfd < 0) {
        return false;
    }
    bool is_hit =
        is_ours(pid, cookie) && syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0) == 0;
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
    for (struct dirent *d; (d = readdir(proc)) != NULL;) {
        pid_t pid = (pid_t)atoi(d->d_name); // 0: not a process
        if (pid > 0 && pid != getpid()) {
            n += kill_if_of_job(pid, cookie);
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

// All but those up to the first one and these.
static void close_others(int first, const struct pli_watchdog_after *after)
{
    int from = first;
    bool is_more = true;
    while (is_more) { // up to the lowest of them that is not below
        int next = INT_MAX;
        for (int i = 0; after != NULL && i < after->n_fd; i++) {
            next = after->fds[i] >= from && after->fds[i] < next ? after->fds[i] : next;
        }
        is_more = next != INT_MAX;
        if (next > from) {
            syscall(SYS_close_range, (unsigned)from, is_more ? (unsigned)next - 1 : ~0U, 0);
        }
        from = is_more ? next + 1 : from;
    }
}

static void open_null(void)
{
    int fd;
    do {
        fd = open("/dev/null", O_RDWR);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    close(fd);
}

// cookie NULL: no other process is looked for.
// claim: the lock of the folder of checkpoints, held until the last process has ended; or -1.
static _Noreturn void keep(int fd, int claim, const char *cookie,
                           const struct pli_watchdog_after *after)
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
    close_others(claim >= 0 && dup2(claim, 1) == 1 ? 2 : 1, after);
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
        if (after != NULL) {
            open_null(); // for what it says, and so that its files do not get these numbers
            after->fn(pli_launcher.job);
        }
    }
    _exit(0);
}

bool pli_watchdog_start(struct pli_job *job, char **argv, const struct pli_watchdog_after *after)
{
    struct pli_watchdog_state *self = pli_launcher.watchdog;
    char cookie[64];
    int fds[2];
    pli_environment_cookie(job, cookie, sizeof cookie);
    bool has_ranks = after == NULL || !after->has_no_ranks;
    int claim = has_ranks && job->opt.ckpt_dir != NULL
                    ? pli_launcher.ckpt_hooks->lock_dir(job->opt.ckpt_dir)
                    : -1;
    self->n_group = has_ranks ? job->n_first + job->node.header->n_more : 1;
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
        keep(fds[0], claim, job->opt.takes_moved || !has_ranks ? NULL : cookie, after);
    }
    close(fds[0]);
    self->pipe_fd = fds[1];
    if (self->pid < 0) {
        pli_say("cannot start the watchdog process: %s%s", strerror(errno),
                errno == EAGAIN ? " (the limit on processes, see ulimit -u)" : "");
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
        close(self->pipe_fd);
        self->pid = 0;
    }
}
