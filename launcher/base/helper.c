// SPDX-License-Identifier: BSD-3-Clause
// Processes that work for mpiexec while it looks after the ranks. They die with it.
#include "launcher/base/helper.h"

#include "base/glibc.h"
#include "launcher/base/pidns.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void begin_child(pid_t parent)
{
    sigset_t none;
    sigemptyset(&none);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!pli_pidns_is_open() && getppid() != parent) {
        _exit(127);
    }
    for (int sig = 1; sig < 32; sig++) {
        signal(sig, SIG_DFL);
    }
    sigprocmask(SIG_SETMASK, &none, NULL);
}

// is_apart: it begins a session of its own.
static bool follow(struct pli_helper *h, pid_t pid, int report, bool is_apart)
{
    int fd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
    if (pid > 0 && !is_apart) {
        setpgid(pid, pid); // ^C is for mpiexec alone
    }
    if (fd < 0) {
        int error = errno;
        if (pid > 0) {
            kill(pid, SIGKILL);
            waitpid(pid, NULL, 0);
        }
        errno = error;
        return false;
    }
    h->pid = pid;
    h->report = report;
    h->watch.fd = fd;
    return true;
}

bool pli_helper_fork(struct pli_helper *h, bool (*fn)(void *arg, int report), void *arg)
{
    int fds[2];
    pid_t parent = getpid();
    if (pipe2(fds, O_CLOEXEC) != 0) {
        return false;
    }
    pid_t pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        begin_child(parent);
        _exit(fn(arg, fds[1]) ? 0 : 1);
    }
    close(fds[1]);
    if (!follow(h, pid, fds[0], false)) {
        close(fds[0]);
        return false;
    }
    return true;
}

// A CRIU that is killed in the moment in which its code is in a rank costs that rank its life: a
// system that runs out of memory should kill another process. A restored process keeps its own
// setting.
static void spare(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? write(fd, "-1000", 5) : -1;
    (void)n; // it may not be allowed to
    if (fd >= 0) {
        close(fd);
    }
}

static _Noreturn void become(const char *const argv[], int null, const int *keep)
{
    dup2(null, 0);
    dup2(null, 1);
    dup2(null, 2);
    for (; keep != NULL && *keep >= 0; keep++) {
        fcntl(*keep, F_SETFD, 0);
    }
    pli_pidns_enter();
    execvp(argv[0], (char *const *)(uintptr_t)argv);
    _exit(127);
}

enum { KILLED = 128, N_SIGNAL = 64 }; // exit status: and the signal, as shells have it

// This process stays between mpiexec and the program: CRIU changes its credentials, and the kernel
// then forgets which signal it should get when its parent dies. It ends as the program does, and
// kills the program when mpiexec is gone.
static _Noreturn void run_guarded(const char *const argv[], int null, int life_pipe,
                                  const int *keep)
{
    int status = 1;
    pid_t me = getpid(), pid = fork();
    if (pid == 0) {
        begin_child(me);
        spare();
        become(argv, null, keep);
    }
    dup2(life_pipe, 0);
    syscall(SYS_close_range, 1, ~0U, 0); // ranks must see that mpiexec is gone
    int fd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
    struct pollfd p[] = { { .fd = fd, .events = POLLIN }, { .fd = 0, .events = POLLIN } };
    while (fd >= 0 && poll(p, 2, -1) < 0 && errno == EINTR) {
    }
    if (pid > 0 && p[0].revents == 0) {
        kill(0, SIGKILL); // with children of its own, and this process
    }
    if (pid > 0) {
        waitpid(pid, &status, 0);
    }
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : KILLED + WTERMSIG(status));
}

static bool start(struct pli_helper *h, const char *const argv[], const int *keep, bool is_guarded)
{
    pid_t parent = getpid();
    int life_pipe[2] = { -1, -1 }, null = open("/dev/null", O_RDWR | O_CLOEXEC);
    bool is_made = null >= 0 && (!is_guarded || pipe2(life_pipe, O_CLOEXEC) == 0);
    // What is restored is in CRIU's session, and can be dumped again if that is in sight there.
    bool is_apart = !is_guarded && (pli_pidns_is_open() || getsid(0) == 0);
    pid_t pid = is_made ? fork() : -1;
    if (pid == 0 && is_apart) {
        setsid();
    } else if (pid == 0) {
        setpgid(0, 0);
    }
    if (pid == 0 && !is_guarded) {
        begin_child(parent);
        become(argv, null, keep);
    } else if (pid == 0) {
        close(life_pipe[1]);
        run_guarded(argv, null, life_pipe[0], keep);
    }
    close(null);
    close(life_pipe[0]);
    if (!follow(h, pid, life_pipe[1], is_apart)) {
        close(life_pipe[1]);
        return false;
    }
    return true;
}

bool pli_helper_exec(struct pli_helper *h, const char *const argv[], const int *keep)
{
    return start(h, argv, keep, keep == NULL);
}

bool pli_helper_exec_guarded(struct pli_helper *h, const char *const argv[], const int *keep)
{
    return start(h, argv, keep, true);
}

static bool collect(struct pli_helper *h)
{
    int status = 1;
    waitpid(h->pid, &status, 0);
    h->pid = 0;
    pli_loop_close(&h->watch);
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : KILLED + WTERMSIG(status);
    h->killed_by = code > KILLED && code <= KILLED + N_SIGNAL ? code - KILLED : 0;
    return code == 0;
}

static void fire(struct pli_watch *w, uint32_t events)
{
    (void)events;
    struct pli_helper *h = (struct pli_helper *)w; // its first member
    bool is_good = collect(h);
    h->done(h, is_good);
    if (h->pid == 0 && h->report >= 0) {
        close(h->report);
        h->report = -1;
    }
}

void pli_helper_watch(struct pli_helper *h)
{
    h->watch.fire = fire;
    pli_loop_watch(&h->watch, EPOLLIN);
}

void pli_helper_kill(struct pli_helper *h)
{
    if (h->pid > 0) {
        kill(-h->pid, SIGKILL); // with what it started
        kill(h->pid, SIGKILL);
        collect(h);
        if (h->report >= 0) {
            close(h->report);
            h->report = -1;
        }
    }
}

void pli_helper_reason(struct pli_helper *h, char *to, size_t cap)
{
    ssize_t n = h->report >= 0 ? read(h->report, to, cap - 1) : 0;
    to[n > 0 ? n : 0] = '\0';
    if (n <= 0) {
        snprintf(to, cap, "a process that worked on it for mpiexec was killed");
    }
}
