// SPDX-License-Identifier: BSD-3-Clause
// Starts daemons: one process of ssh (or the like) for each host that is started from here, or one
// srun for all.
#include "launcher/hosts/ssh.h"

#include "launcher/base/launcher.h"
#include "launcher/job/allocation.h"
#include "base/clock.h"
#include "launcher/hosts/ssh_error.h"
#include "launcher/job/hosts.h"
#include "launcher/job/job.h"
#include "launcher/base/say.h"
#include "launcher/hosts/daemon_spec.h"
#include "launcher/hosts/daemon_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TAIL = 2048, TIMEOUT_S = 30, LEAVE_MS = 1000 };

// One such process.
struct pli_ssh_runner {
    struct pli_watch watch; // its pidfd
    struct pli_watch in;    // what it is told
    struct pli_watch out;   // what it says
    struct pli_timer timer;
    struct pli_ssh_runner *next;
    struct pli_pack spec;
    size_t done; // of the spec
    pid_t pid;
    uint32_t host;             // UINT32_MAX: all
    const struct pli_host *at; // NULL: all
    void (*failed)(uint32_t host, const char *why);
    bool has_come, is_over;
    char tail[TAIL];
    size_t tail_len;
};

static const char unreachable[] = "cannot reach other hosts: %s";

char *pli_ssh_self(void)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0) {
        pli_say_bad("mpiexec cannot find itself in /proc: %s", strerror(errno));
    }
    path[n] = '\0';
    return pli_say_need(strdup(path));
}

static char **split(const char *text)
{
    char *copy = pli_say_need(strdup(text)), *save = NULL;
    size_t n = 0;
    char **words = pli_say_need(calloc(strlen(text) + 16, sizeof *words));
    for (char *w = strtok_r(copy, " \t", &save); w != NULL; w = strtok_r(NULL, " \t", &save)) {
        words[n++] = w;
    }
    return words;
}

// ssh cannot ask the user anything here, and a host that is down should be known in seconds.
// Options of the user come first, and count.
static void add_ssh_options(char **words)
{
    static char *const options[] = { "-x", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", NULL };
    size_t n = 0;
    while (words[n] != NULL) {
        n++;
    }
    for (int i = 0; options[i] != NULL; i++) {
        words[n++] = options[i];
    }
}

char **pli_ssh_words(const struct pli_job *job)
{
    if (pli_allocation_is_by_srun(job)) {
        return NULL;
    }
    char **words = split(pli_allocation_launcher(job));
    if (words[0] == NULL) {
        pli_say_bad(
            "--launcher needs ssh, slurm or a command that takes a host and a command line");
    }
    const char *slash = strrchr(words[0], '/');
    if (strcmp(slash != NULL ? slash + 1 : words[0], "ssh") == 0) {
        add_ssh_options(words);
    }
    return words;
}

static void fail(struct pli_ssh_runner *r, int status)
{
    char why[4096];
    const char *name = r->at != NULL ? r->at->name : NULL;
    const char *tool =
        pli_launcher.ssh->spec->launcher != NULL ? pli_launcher.ssh->spec->launcher[0] : "srun";
    if (r->at != NULL && r->at->is_local) {
        tool = pli_launcher.ssh->spec->agent;
    }
    pli_ssh_error_write(name, tool, pli_launcher.ssh->spec->agent, status, r->tail, why,
                        sizeof why);
    r->has_come = true; // said once
    r->failed(r->host, why);
}

static void out_fire(struct pli_watch *w, uint32_t events)
{
    (void)events;
    struct pli_ssh_runner *r =
        (struct pli_ssh_runner *)((char *)w - offsetof(struct pli_ssh_runner, out));
    char buf[TAIL];
    ssize_t n = read(w->fd, buf, sizeof buf - 1);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (n <= 0) {
        pli_loop_close(w);
        return;
    }
    size_t len = (size_t)n;
    if (r->tail_len + len >= TAIL) { // keep the end, which tells
        size_t drop = r->tail_len + len - (TAIL - 1);
        drop = drop < r->tail_len ? drop : r->tail_len;
        memmove(r->tail, r->tail + drop, r->tail_len - drop);
        r->tail_len -= drop;
    }
    memcpy(r->tail + r->tail_len, buf, len);
    r->tail_len += len;
    r->tail[r->tail_len] = '\0';
    if (pli_launcher.job->opt.is_verbose) {
        buf[len] = '\0';
        pli_say("%s said: %s", r->at != NULL ? r->at->name : "srun", buf);
    }
}

static void in_fire(struct pli_watch *w, uint32_t events)
{
    (void)events;
    struct pli_ssh_runner *r =
        (struct pli_ssh_runner *)((char *)w - offsetof(struct pli_ssh_runner, in));
    while (r->done < r->spec.len) {
        ssize_t n = write(w->fd, r->spec.data + r->done, r->spec.len - r->done);
        if (n < 0 && errno == EAGAIN) {
            pli_loop_watch(w, EPOLLOUT);
            return;
        }
        if (n < 0 && errno != EINTR) {
            break; // it has gone; its exit status tells
        }
        r->done += n > 0 ? (size_t)n : 0;
    }
    explicit_bzero(r->spec.data, r->spec.len);
    pli_pack_fini(&r->spec);
    r->done = 0;
    // Kept open: there are programs that take the end of their input for the end of all.
    pli_loop_watch(w, 0);
}

static void pid_fire(struct pli_watch *w, uint32_t events)
{
    struct pli_ssh_state *self = pli_launcher.ssh;
    (void)events;
    struct pli_ssh_runner *r = (struct pli_ssh_runner *)w; // its first member
    int status = 0;
    if (waitpid(r->pid, &status, WNOHANG) == 0) {
        return;
    }
    r->is_over = true;
    pli_loop_close(w);
    pli_loop_close(&r->in);
    while (r->out.fd >= 0) { // its last output; other holders of the pipe are not waited for
        struct pollfd p = { .fd = r->out.fd, .events = POLLIN };
        if (poll(&p, 1, 0) <= 0) {
            break;
        }
        out_fire(&r->out, EPOLLIN);
    }
    if (!r->has_come || (r->host == UINT32_MAX && self->n_wanted > 0)) {
        fail(r, status);
    }
}

static void too_late(struct pli_timer *t)
{
    struct pli_ssh_state *self = pli_launcher.ssh;
    struct pli_ssh_runner *r =
        (struct pli_ssh_runner *)((char *)t - offsetof(struct pli_ssh_runner, timer));
    if (!r->is_over && (!r->has_come || (r->host == UINT32_MAX && self->n_wanted > 0))) {
        fail(r, -1);
    }
}

static _Noreturn void child(char **argv, const int *fds, pid_t parent)
{
    setpgid(0, 0); // ^C is for mpiexec to handle
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (getppid() == parent && dup2(fds[0], 0) == 0 && dup2(fds[3], 1) == 1 &&
        dup2(fds[3], 2) == 2) {
        execvp(argv[0], argv);
        dprintf(2, "cannot run %s: %s\n", argv[0], strerror(errno));
    }
    _exit(127);
}

// For -v: what can be typed by hand to see what is wrong.
static void tell(const struct pli_ssh_runner *r, char **argv)
{
    char text[1024] = "";
    size_t len = 0;
    for (int i = 0; argv[i] != NULL && len < sizeof text; i++) {
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%s", i > 0 ? " " : "", argv[i]);
    }
    pli_say("starting the daemon of %s%s: %s", r->host != UINT32_MAX ? "host " : "all hosts",
            r->host != UINT32_MAX ? pli_launcher.job->hosts[r->host].name : "", text);
}

static bool start(struct pli_ssh_runner *r, char **argv)
{
    struct pli_ssh_state *self = pli_launcher.ssh;
    int fds[4] = { -1, -1, -1, -1 }; // its input, ours; its output: ours, its
    pid_t parent = getpid();
    r->in.fd = r->out.fd = r->watch.fd = -1;
    if (pli_launcher.job->opt.is_verbose) {
        tell(r, argv);
    }
    bool is_piped = pipe2(&fds[0], O_CLOEXEC) == 0 && pipe2(&fds[2], O_CLOEXEC) == 0;
    r->pid = is_piped ? fork() : -1;
    if (r->pid == 0) {
        child(argv, fds, parent);
    }
    close(fds[0]);
    close(fds[3]);
    fcntl(fds[1], F_SETFL, O_NONBLOCK);
    fcntl(fds[2], F_SETFL, O_NONBLOCK);
    r->watch.fd = r->pid > 0 ? (int)syscall(SYS_pidfd_open, r->pid, 0) : -1;
    if (r->watch.fd < 0) {
        close(fds[1]);
        close(fds[2]);
        return false;
    }
    r->watch.fire = pid_fire;
    r->in = (struct pli_watch){ .fd = fds[1], .fire = in_fire };
    r->out = (struct pli_watch){ .fd = fds[2], .fire = out_fire };
    r->timer.fire = too_late;
    r->next = self->runners;
    self->runners = r;
    pli_loop_watch(&r->watch, EPOLLIN);
    pli_loop_watch(&r->out, EPOLLIN);
    pli_loop_timer(&r->timer, (uint64_t)TIMEOUT_S * 1000 * PLI_MS);
    in_fire(&r->in, EPOLLOUT);
    return true;
}

// The command line for the shell of another host: the path between quotes that every shell knows.
static char *command_for(const struct pli_daemon_spec *spec, uint32_t host)
{
    char *text;
    bool is_plain = spec->agent[strcspn(spec->agent, " \t'\"\\$&;()<>|*?[]#~`!")] == '\0';
    int n = is_plain ? asprintf(&text, "%s --as-daemon %u", spec->agent, host)
                     : asprintf(&text, "'%s' --as-daemon %u", spec->agent, host);
    return pli_say_need(n >= 0 ? text : NULL);
}

// The words that start the daemon of a host which is there; one of them is the caller's to free.
static char **words_for(const struct pli_daemon_spec *spec, uint32_t host,
                        const struct pli_host *at, char **own_out)
{
    static char number[16];
    snprintf(number, sizeof number, "%u", host);
    size_t n = 0;
    while (spec->launcher != NULL && spec->launcher[n] != NULL) {
        n++;
    }
    char **argv = pli_say_need(calloc(n + 4, sizeof *argv));
    if (at->is_local) {
        char *words[] = { pli_ssh_self(), "--as-daemon", number };
        memcpy(argv, words, sizeof words);
        *own_out = argv[0];
    } else {
        memcpy(argv, spec->launcher, n * sizeof *argv);
        argv[n] = at->name;
        argv[n + 1] = *own_out = command_for(spec, host);
    }
    return argv;
}

bool pli_ssh_one(const struct pli_daemon_spec *spec, uint32_t host, const struct pli_host *at,
                 const struct pli_daemon_addr *place,
                 void (*failed)(uint32_t host, const char *why))
{
    struct pli_ssh_runner *r = pli_say_need(calloc(1, sizeof *r));
    r->host = host;
    r->at = at;
    r->failed = failed;
    pli_daemon_spec_write(spec, place, &r->spec);
    char *own, **argv = words_for(spec, host, at, &own);
    bool is_started = start(r, argv);
    free(argv);
    free(own);
    return is_started;
}

static void start_srun(const struct pli_daemon_addr *place,
                       void (*failed)(uint32_t host, const char *why))
{
    struct pli_ssh_state *self = pli_launcher.ssh;
    struct pli_ssh_runner *r = pli_say_need(calloc(1, sizeof *r));
    r->host = UINT32_MAX;
    r->failed = failed;
    self->n_wanted = pli_launcher.job->n_host;
    pli_daemon_spec_write(pli_launcher.ssh->spec, place, &r->spec);
    struct pli_pack list = { 0 };
    for (uint32_t h = 0; h < pli_launcher.job->n_host; h++) {
        pli_pack_bytes(&list, h > 0 ? "," : "--nodelist=", h > 0 ? 1 : 11);
        pli_pack_bytes(&list, pli_launcher.job->hosts[h].name,
                       strlen(pli_launcher.job->hosts[h].name));
    }
    pli_pack_bytes(&list, "", 1);
    char n_node[32], n_task[32];
    snprintf(n_node, sizeof n_node, "--nodes=%u", pli_launcher.job->n_host);
    snprintf(n_task, sizeof n_task, "--ntasks=%u", pli_launcher.job->n_host);
    char *argv[] = { "srun",
                     "--quiet",
                     "--overlap",
                     "--mpi=none",
                     "--ntasks-per-node=1",
                     n_node,
                     n_task,
                     "--no-kill",
                     "--kill-on-bad-exit=0",
                     "--cpu-bind=none",
                     "--mem=0",
                     "--export=ALL",
                     (char *)list.data,
                     pli_launcher.ssh->spec->agent,
                     "--as-daemon",
                     "slurm",
                     NULL };
    if (!start(r, argv)) {
        pli_say_bad(unreachable, strerror(errno));
    }
    pli_pack_fini(&list);
}

void pli_ssh_begin(const struct pli_job *job, const struct pli_daemon_spec *spec, int64_t me,
                   const struct pli_daemon_addr *place,
                   void (*failed)(uint32_t host, const char *why))
{
    pli_launcher.ssh->spec = spec;
    if (spec->launcher == NULL) {
        start_srun(place, failed);
        return;
    }
    uint64_t end = pli_daemon_tree_end(me, spec->tree);
    for (uint64_t h = pli_daemon_tree_first(me, spec->tree); h < end; h++) {
        if (!job->hosts[h].is_lost &&
            !pli_ssh_one(spec, (uint32_t)h, &job->hosts[h], place, failed)) {
            pli_say_bad(unreachable, strerror(errno));
        }
    }
}

void pli_ssh_came(uint32_t host)
{
    struct pli_ssh_state *self = pli_launcher.ssh;
    for (struct pli_ssh_runner *r = self->runners; r != NULL; r = r->next) {
        if (r->host == host || r->host == UINT32_MAX) {
            r->has_come = true;
            self->n_wanted -= r->host == UINT32_MAX && self->n_wanted > 0;
            return;
        }
    }
}

void pli_ssh_drop(uint32_t host)
{
    struct pli_ssh_state *self = pli_launcher.ssh;
    struct pli_ssh_runner *r = self->runners;
    while (r != NULL && r->host != host) {
        r = r->next;
    }
    if (r != NULL && !r->has_come && !r->is_over && kill(-r->pid, SIGKILL) != 0) {
        kill(r->pid, SIGKILL); // it has no group of its own yet
    }
    if (r != NULL) {
        r->has_come = true;
    }
}

void pli_ssh_end(void)
{
    struct pli_ssh_state *self = pli_launcher.ssh;
    uint64_t until = pli_clock_ns() + (uint64_t)LEAVE_MS * PLI_MS;
    for (struct pli_ssh_runner *r = self->runners; r != NULL; r = r->next) {
        pli_loop_close(&r->in);
    }
    for (struct pli_ssh_runner *r = self->runners; r != NULL; r = r->next) {
        struct pollfd p = { .fd = r->watch.fd, .events = POLLIN };
        uint64_t now = pli_clock_ns();
        // A host that is gone keeps ssh for minutes.
        if (!r->is_over && (now >= until || poll(&p, 1, (int)((until - now) / PLI_MS) + 1) == 0)) {
            kill(-r->pid, SIGKILL);
        }
        if (!r->is_over) {
            waitpid(r->pid, NULL, 0);
        }
        r->is_over = true;
    }
}
