// SPDX-License-Identifier: BSD-3-Clause
// Starts processes with vfork and exec, with all that a rank inherits set up in between.
#include "launcher/ranks/launch.h"

#include "base/limits.h"
#include "launcher/base/launcher.h"
#include "launcher/job/role.h"
#include "launcher/ranks/gdb_ranks.h"
#include "launcher/ranks/listener.h"
#include "launcher/ranks/output_files.h"
#include "launcher/job/environment.h"
#include "launcher/ranks/stdin.h"
#include "launcher/ranks/control_msgs.h"
#include "launcher/job/job.h"
#include "launcher/base/pidns.h"
#include "launcher/job/binding.h"
#include "launcher/base/say.h"
#include "launcher/base/output.h"
#include "launcher/base/tty.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    FDS_PER_TASK = 5, // pidfd, control, output, error, accept socket
    FDS_PER_RANK = 3, // pidfd, control and accept socket, of those that a task starts itself
    FDS_BESIDE = 32
};

// Signals that mean something to mpiexec; one that the shell told us to ignore stays ignored.
static const int handled[] = { SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGTSTP, SIGCONT,
                               SIGUSR1, SIGUSR2, SIGPIPE, SIGXFSZ, SIGCHLD };

static bool is_ignored(int sig)
{
    struct sigaction sa;
    return sigaction(sig, NULL, &sa) == 0 && sa.sa_handler == SIG_IGN;
}

int pli_launch_init(void)
{
    struct pli_launch_state *self = pli_launcher.launch;
    getrlimit(RLIMIT_NOFILE, &self->user_files);
    self->pid = getpid();
    do {
        self->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    } while (self->null_fd >= 0 && self->null_fd <= 2 && fcntl(self->null_fd, F_SETFD, 0) == 0);
    if (self->null_fd < 0) {
        pli_say("cannot open /dev/null: %s", strerror(errno));
        return -1;
    }
    signal(SIGCHLD, SIG_DFL); // ignored, it would take the exit statuses away from us
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof handled / sizeof handled[0]; i++) {
        if (!is_ignored(handled[i])) {
            sigaddset(&set, handled[i]);
        }
    }
    sigprocmask(SIG_BLOCK, &set, &self->user_mask);
    sigdelset(&set, SIGPIPE); // a write tells
    sigdelset(&set, SIGXFSZ);
    int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0) {
        pli_say("cannot wait for signals, by signalfd: %s%s", strerror(errno),
                errno == ENOSYS || errno == EPERM
                    ? "; does the seccomp profile of a container forbid it?"
                    : "");
        return -1;
    }
    return fd;
}

// A sandbox may refuse it, or the system be older than Linux 5.3.
bool pli_launch_can_watch(void)
{
    int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    if (fd < 0 && pli_limits_is_valgrind()) {
        pli_say("this valgrind refuses pidfd_open (%s), by which %s watches the processes it "
                "starts; let it run the program: %s -n 4 valgrind ./a.out",
                strerror(errno), pli_say_name, pli_say_name);
        return false;
    }
    if (fd < 0) {
        pli_say("this system refuses pidfd_open (%s), by which mpiexec watches the processes it "
                "starts; it needs Linux 5.3, and in a container a seccomp profile that allows it "
                "(docker run --security-opt seccomp=unconfined, or a newer profile)",
                strerror(errno));
        return false;
    }
    close(fd);
    return true;
}

bool pli_launch_check(const struct pli_job *job)
{
    struct pli_launch_state *self = pli_launcher.launch;
    if (!pli_launch_can_watch()) {
        return false;
    }
    struct rlimit all = { self->user_files.rlim_max, self->user_files.rlim_max };
    setrlimit(RLIMIT_NOFILE, &all);
    getrlimit(RLIMIT_NOFILE, &all);
    rlim_t n = (rlim_t)job->n_task * FDS_PER_TASK + FDS_BESIDE;
    if (job->n_task < job->n_rank) {
        n += (rlim_t)job->n_rank * FDS_PER_RANK;
    }
    if (job->opt.out_files != NULL || job->opt.err_files != NULL) {
        n += (rlim_t)job->n_task * 2;
    }
    if (all.rlim_cur < n) {
        pli_say(
            "%u processes need %llu open files in mpiexec, but only %llu are allowed; raise the "
            "hard limit (ulimit -Hn), or start fewer",
            job->n_task, (unsigned long long)n, (unsigned long long)all.rlim_cur);
        return false;
    }
    return true;
}

// What the child needs, prepared before: between vfork and exec it only makes system calls.
struct start {
    const struct pli_proc_task *task;
    int in, out, err, ctl, accept_fd;
    volatile int error; // written by the child, in our memory
    const char *volatile step;
};

static _Noreturn void child_fail(struct start *s, const char *step)
{
    s->error = errno;
    s->step = step;
    _exit(127);
}

static bool is_elf(const char *path)
{
    char head[4] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, head, sizeof head) : -1;
    close(fd);
    return n == sizeof head && memcmp(head, "\177ELF", sizeof head) == 0;
}

static _Noreturn void child(struct start *s)
{
    struct pli_launch_state *self = pli_launcher.launch;
    const struct pli_app *app = s->task->app;
    // A group, so that one kill reaches what a wrapper script starts. Where mpiexec's session is
    // out of sight, in a container or a process namespace, a session: CRIU dumps no process whose
    // leader it cannot see.
    const struct pli_gdb_rank *gdb = s->task->gdb;
    if ((gdb == NULL && getsid(0) != 0) || setsid() < 0) {
        setpgid(0, 0);
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != self->pid && !pli_pidns_is_open()) {
        _exit(127); // mpiexec died before the line above
    }
    pli_pidns_enter();
    // In a process namespace as it is there: CRIU finds no other.
    bool is_other = pli_pidns_is_open() && s->in == self->null_fd;
    int in = is_other ? open("/dev/null", O_RDONLY | O_CLOEXEC) : s->in;
    int tty = gdb != NULL ? open(gdb->tty, O_RDWR | O_CLOEXEC) : -1; // becomes that of the session
    int out = gdb != NULL ? tty : s->out, err = gdb != NULL ? tty : s->err;
    if (dup2(gdb != NULL ? tty : in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0 ||
        fcntl(s->ctl, F_SETFD, 0) != 0 ||
        (s->accept_fd >= 0 && fcntl(s->accept_fd, F_SETFD, 0) != 0)) {
        child_fail(s, "cannot set up its descriptors");
    }
    setrlimit(RLIMIT_NOFILE, &self->user_files);
    if (s->task->place != NULL && !pli_binding_apply(s->task->place)) {
        child_fail(s, "cannot bind it");
    }
    if (app->wdir != NULL && chdir(app->wdir) != 0) {
        child_fail(s, "cannot change to its directory");
    }
    sigprocmask(SIG_SETMASK, &self->user_mask, NULL);
    if (gdb != NULL) {
        execve(gdb->path, gdb->argv, gdb->env);
        child_fail(s, "cannot run gdb");
    }
    execve(app->path, app->argv, app->env);
    if (errno == ENOENT && access(app->path, F_OK) == 0) {
        errno = ENOENT;
        child_fail(s, "the interpreter in its first line (#!), or the loader that it was linked "
                      "for, is not there; does that line end in a carriage return?");
    }
    if (errno == ENOEXEC && is_elf(app->path)) {
        errno = ENOEXEC;
        child_fail(s, "it was built for another kind of machine, or is damaged");
    }
    if (errno == ENOEXEC) {
        // A script without #! is one for the shell, as execvp has it.
        size_t n = 0;
        while (app->argv[n] != NULL) {
            n++;
        }
        char **argv = alloca((n + 2) * sizeof *argv);
        argv[0] = "/bin/sh";
        argv[1] = app->path;
        memcpy(argv + 2, app->argv + 1, n * sizeof *argv);
        execve(argv[0], argv, app->env);
    }
    child_fail(s, "cannot run it");
}

static void close_all(const int *fds, int n)
{
    for (int i = 0; i < n; i++) {
        if (fds[i] >= 0) {
            close(fds[i]);
        }
    }
}

static void label_of(const struct pli_job *job, const struct pli_proc_task *task,
                     const struct pli_output *sink, char *to, size_t cap)
{
    char who[24];
    to[0] = '\0';
    if (!job->opt.is_label) {
        return;
    }
    uint32_t rank = pli_task_rank(task);
    snprintf(who, sizeof who, task->n > 1 ? "%u-%u" : "%u", rank, rank + task->n - 1);
    bool is_color = job->opt.color == PLI_WHEN_ALWAYS ||
                    (job->opt.color == PLI_WHEN_AUTO && sink->is_tty && pli_tty_may_color());
    if (is_color) {
        snprintf(to, cap, "\033[3%um[%s]\033[0m ", 1 + rank % 6, who);
    } else {
        snprintf(to, cap, "[%s] ", who);
    }
}

// Where standard error of the ranks goes.
static struct pli_output *error_sink(const struct pli_job *job)
{
    return job->opt.is_merged ? &pli_launcher.output->out : pli_launcher.output->err;
}

void pli_launch_open_remote(struct pli_job *job, struct pli_proc_task *t,
                            void (*took)(struct pli_output_lines *s, size_t n))
{
    char label[40];
    t->out.task = t->err.task = t->number;
    t->out.which = STDOUT_FILENO;
    t->err.which = STDERR_FILENO;
    label_of(job, t, &pli_launcher.output->out, label, sizeof label);
    pli_output_lines_open_remote(&t->out, &pli_launcher.output->out, label, took);
    label_of(job, t, error_sink(job), label, sizeof label);
    pli_output_lines_open_remote(&t->err, error_sink(job), label, took);
    pli_output_files_attach(job, t);
}

void pli_launch_watch(struct pli_job *job, struct pli_proc_task *t, int out, int err)
{
    pli_launcher.role->open_output(job, t, out, err);
}

void pli_launch_print(struct pli_job *job, struct pli_proc_task *t, int out, int err)
{
    char label[40];
    label_of(job, t, &pli_launcher.output->out, label, sizeof label);
    pli_output_lines_open(&t->out, out, &pli_launcher.output->out, label);
    label_of(job, t, error_sink(job), label, sizeof label);
    pli_output_lines_open(&t->err, err, error_sink(job), label);
    pli_output_files_attach(job, t);
}

// Say why a task was not started, or keep the reason for the process that asked.
__attribute__((format(printf, 4, 5))) static void
complain(const struct pli_job *job, const struct pli_proc_task *t, char *why, const char *fmt, ...)
{
    char text[PLI_LAUNCH_WHY], where[300];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (why != NULL) {
        snprintf(why, PLI_LAUNCH_WHY, "%s", text);
    } else {
        pli_launcher.role->where(job, t, where, sizeof where);
        pli_say("cannot start rank %u%s: %s", pli_task_rank(t), where, text);
    }
}

bool pli_launch_start(struct pli_job *job, struct pli_proc_task *t, char *why)
{
    struct pli_launch_state *self = pli_launcher.launch;
    // Ours are even, the child's odd.
    int fds[8] = { -1, -1, -1, -1, -1, -1, -1, -1 };
    bool is_made = pipe2(&fds[0], O_CLOEXEC) == 0 && pipe2(&fds[2], O_CLOEXEC) == 0 &&
                   socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, &fds[4]) == 0 &&
                   pli_listener_pair(&fds[6], &fds[7]);
    int yes = 1;
    struct start s = {
        .task = t, .out = fds[1], .err = fds[3], .ctl = fds[5], .accept_fd = fds[7], .step = ""
    };
    s.in = is_made ? pli_launcher.role->open_input(job, t, self->null_fd) : -1;
    if (s.in < 0 || fcntl(fds[0], F_SETFL, O_NONBLOCK) != 0 ||
        fcntl(fds[2], F_SETFL, O_NONBLOCK) != 0 ||
        setsockopt(fds[4], SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) != 0) {
        complain(job, t, why, "%s", strerror(errno));
        close_all(fds, 8);
        return false;
    }
    setsockopt(fds[4], SOL_SOCKET, PLI_CONTROL_MSGS_PASS_PIDFD, &yes,
               sizeof yes); // from Linux 6.5 on
    pli_environment_fill(job, t, s.ctl, s.accept_fd);
    pid_t pid = vfork();
    if (pid == 0) {
        child(&s);
    }
    int error = pid < 0 ? errno : s.error;
    pli_stdin_started(t, s.in, self->null_fd);
    int pidfd = error == 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
    if (error == 0 && pidfd < 0) {
        error = errno;
        kill(pid, SIGKILL);
    }
    if (error != 0) {
        if (pid > 0) {
            waitpid(pid, NULL, 0);
        }
        complain(job, t, why, "%s%s%s: %s%s", t->app->argv[0], s.step[0] != '\0' ? ": " : "",
                 s.step, strerror(error),
                 error == EAGAIN ? " (the limit on processes, see ulimit -u)" : "");
        close_all(fds, 8);
        return false;
    }
    close(fds[1]);
    close(fds[3]);
    close(fds[5]);
    if (t->n > 1 || t->app->n_upc > 0) { // each process of the task will make one of its own
        close_all(&fds[6], 2);
    } else {
        close_all(&fds[7], 1);
        pli_listener_set(t->first, fds[6]);
    }
    t->pid = pid;
    t->watch.fd = pidfd;
    t->control.fd = fds[4];
    pli_launch_watch(job, t, fds[0], fds[2]);
    return true;
}

int pli_launch_null(void)
{
    struct pli_launch_state *self = pli_launcher.launch;
    return self->null_fd;
}

bool pli_launch_collect(struct pli_proc_task *t)
{
    pid_t got = waitpid(t->pid, &t->status, WNOHANG);
    if (got < 0 && pli_pidns_is_open()) {
        pli_pidns_status((pid_t)t->job->node.rows[t->first].pid, &t->status);
    }
    return got != 0;
}

void pli_launch_undo(void)
{
    struct pli_launch_state *self = pli_launcher.launch;
    setrlimit(RLIMIT_NOFILE, &self->user_files);
    sigprocmask(SIG_SETMASK, &self->user_mask, NULL);
}

void pli_launch_die(int sig)
{
    struct rlimit none = { 0, 0 };
    setrlimit(RLIMIT_CORE, &none);
    signal(sig, SIG_DFL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, sig);
    raise(sig);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    _exit(128 + sig); // the signal was ignored after all
}
