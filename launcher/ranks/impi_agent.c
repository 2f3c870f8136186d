// SPDX-License-Identifier: BSD-3-Clause
// Starts and watches the agent of an IMPI client.
#include "launcher/ranks/impi_agent.h"

#include "launcher/base/launcher.h"
#include "launcher/job/role.h"
#include "impi/agent_native/native_agent.h"
#include "boot/gateway_wire.h"
#include "launcher/job/job.h"
#include "launcher/base/loop.h"
#include "launcher/base/say.h"
#include "launcher/ranks/failure_text.h"
#include "launcher/ranks/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LEAVE_MS = 1000 }; // to tell the other clients why

static void agent_fire(struct pli_watch *w, uint32_t events);
static void control_fire(struct pli_watch *w, uint32_t events);
static void said_fire(struct pli_watch *w, uint32_t events);

static _Noreturn void become_agent(struct pli_job *job, char **argv, int control, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM); // the agent tells the other clients before it ends
    if (getppid() != parent) {
        _exit(1); // mpiexec died before the line above
    }
    setpgid(0, 0); // ^C is mpiexec's business
    size_t room = strlen(argv[0]);
    memset(argv[0], 0, room);
    snprintf(argv[0], room + 1, "pliant-impi");
    prctl(PR_SET_NAME, "pliant-impi");
    signal(SIGPIPE, SIG_IGN);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    char rank[16];
    snprintf(rank, sizeof rank, "%u", job->opt.impi_rank);
    if (getenv("IMPI_TOKEN") == NULL) {
        setenv("IMPI_SERVER", job->opt.impi_server, 1); // where agents of all MPIs look
        setenv("IMPI_CLIENT", rank, 1);
    }
    struct pli_native_agent_conf conf = { .server = job->opt.impi_server,
                                          .client = job->opt.impi_rank,
                                          .host = job->here,
                                          .n_host = job->n_host > 0 ? job->n_host : 1,
                                          .node = &job->node,
                                          .node_fd = job->node_fd,
                                          .wake_fd = job->wake_fd,
                                          .control_fd = control,
                                          .is_verbose = job->opt.is_verbose,
                                          .is_recorded = job->trace_fd > 0 };
    _exit(pli_native_agent_run(&conf));
}

bool pli_impi_agent_start(struct pli_job *job, char **argv)
{
    struct pli_impi_agent_state *self = pli_launcher.impi_agent;
    int fds[2] = { -1, -1 }, err[2] = { -1, STDERR_FILENO };
    if (job->opt.impi_server == NULL) {
        return true;
    }
    job->wake_fd = eventfd(0, EFD_NONBLOCK); // the ranks inherit it
    if (job->wake_fd < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0 ||
        !pli_launcher.role->open_agent_stderr(err)) {
        pli_say("cannot start: %s", strerror(errno));
        return false;
    }
    pid_t parent = getpid();
    self->pid = fork();
    if (self->pid == 0) {
        close(fds[0]);
        dup2(err[1], STDERR_FILENO);
        become_agent(job, argv, fds[1], parent);
    }
    close(fds[1]);
    if (err[0] >= 0) {
        close(err[1]);
        self->said.fd = err[0];
        pli_loop_watch(&self->said, EPOLLIN);
    }
    self->watch.fd = self->pid > 0 ? (int)syscall(SYS_pidfd_open, self->pid, 0) : -1;
    if (self->watch.fd < 0) {
        pli_say("cannot start the agent: %s", strerror(errno));
        return false;
    }
    self->control.fd = fds[0];
    pli_loop_watch(&self->watch, EPOLLIN);
    pli_loop_watch(&self->control, EPOLLIN);
    if (job->opt.is_verbose) {
        pli_say("agent %d meets the other clients at %s", (int)self->pid, job->opt.impi_server);
    }
    return true;
}

uint64_t pli_impi_agent_memory(const struct pli_job *job)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    uint64_t all = pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0;
    return job->opt.impi_server == NULL ? 0 : all > (uint64_t)1 << 30 ? all : (uint64_t)1 << 30;
}

void pli_impi_agent_tell(char word, const void *data, size_t len)
{
    struct pli_impi_agent_state *self = pli_launcher.impi_agent;
    if (word == PLI_NATIVE_AGENT_WHY && len == PLI_NATIVE_AGENT_WHY_TEXT) {
        char why[PLI_NATIVE_AGENT_WHY_TEXT];
        memcpy(why, data, len);
        why[len - 1] = '\0';
        pli_impi_agent_why(why);
        return;
    }
    if (self->pid <= 0 || self->is_over ||
        len > pli_node_gateway(&pli_launcher.job->node)->heap_size / 2) {
        return;
    }
    if (len > 0) {
        struct pli_native_agent_mail *mail = pli_native_agent_mail(&pli_launcher.job->node);
        mail->len = len;
        memcpy(mail->data, data, len);
    }
    ssize_t n = send(self->control.fd, &word, 1, MSG_NOSIGNAL);
    (void)n; // it is gone: the other descriptor tells
}

static void now_up(struct pli_job *job)
{
    struct pli_impi_agent_state *self = pli_launcher.impi_agent;
    const struct pli_gateway *g = pli_node_gateway(&job->node);
    self->is_up = true;
    job->base = g->clients[g->client].first;
    if (job->opt.is_verbose && job->here == 0) {
        pli_say("this is client %u of %u with ranks %u to %u of %u", g->client, g->n_client,
                job->base, job->base + job->n_rank - 1, job->node.header->n_joint);
    }
    pli_launcher.role->agent_up(job);
}

static void said_fire(struct pli_watch *w, uint32_t events)
{
    char text[4096];
    (void)events;
    ssize_t n = read(w->fd, text, sizeof text);
    if (n > 0) {
        pli_launcher.role->agent_said(text, (size_t)n);
    } else if (n == 0) {
        pli_loop_close(w);
    }
}

static void control_fire(struct pli_watch *w, uint32_t events)
{
    char word;
    (void)events;
    ssize_t n = recv(w->fd, &word, 1, MSG_DONTWAIT);
    if (n == 1 && word == PLI_NATIVE_AGENT_UP) {
        now_up(pli_launcher.job);
    } else if (n == 1) {
        const struct pli_native_agent_mail *mail = pli_native_agent_mail(&pli_launcher.job->node);
        pli_launcher.role->agent_message(word, mail->data, mail->len);
    } else if (n == 0) {
        pli_loop_close(w); // its end is told by the other descriptor
    }
}

static void agent_fire(struct pli_watch *w, uint32_t events)
{
    struct pli_impi_agent_state *self = pli_launcher.impi_agent;
    int status;
    (void)events;
    if (waitpid(self->pid, &status, WNOHANG) == 0) {
        return;
    }
    pli_loop_close(w);
    pli_loop_close(&self->control);
    if (self->said.fd >= 0) { // its last message comes before its end
        said_fire(&self->said, 0);
    }
    self->is_over = true;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        pli_launcher.role->agent_over();
        return;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == PLI_NATIVE_AGENT_HAS_SAID) {
        pli_supervisor_fail(1, false);
        pli_launcher.role->cannot_go_on(1);
        return;
    }
    char why[128];
    if (WIFSIGNALED(status)) {
        snprintf(why, sizeof why, "the agent (process %d) was killed by %s", (int)self->pid,
                 pli_failure_text_signal(WTERMSIG(status)));
    } else {
        snprintf(why, sizeof why, "the agent (process %d) gave up", (int)self->pid);
    }
    pli_supervisor_lose(why);
    pli_launcher.role->cannot_go_on(1);
}

void pli_impi_agent_why(const char *why)
{
    struct pli_impi_agent_state *self = pli_launcher.impi_agent;
    char text[1 + PLI_NATIVE_AGENT_WHY_TEXT] = { PLI_NATIVE_AGENT_WHY };
    if (self->is_over || self->has_why || getenv("IMPI_TOKEN") == NULL) {
        return;
    }
    self->has_why = true;
    snprintf(text + 1, sizeof text - 1, "%s", why);
    if (self->pid <= 0) { // the agents are those of other hosts
        pli_launcher.role->agent_message(PLI_NATIVE_AGENT_WHY, text + 1, sizeof text - 1);
        return;
    }
    ssize_t n = send(self->control.fd, text, sizeof text, MSG_NOSIGNAL);
    (void)n; // it is gone: the other descriptor tells
}

bool pli_impi_agent_is_up(const struct pli_job *job)
{
    struct pli_impi_agent_state *self = pli_launcher.impi_agent;
    return job->opt.impi_server == NULL || self->is_up;
}

bool pli_impi_agent_is_over(struct pli_job *job)
{
    struct pli_impi_agent_state *self = pli_launcher.impi_agent;
    return job->opt.impi_server == NULL || self->is_over || pli_launcher.role->end_agents(job);
}

bool pli_impi_agent_leave(struct pli_job *job)
{
    struct pli_impi_agent_state *self = pli_launcher.impi_agent;
    (void)job;
    if (!self->is_told) {
        self->is_told = true;
        pli_impi_agent_tell(PLI_NATIVE_AGENT_END, NULL, 0);
    }
    return self->is_over;
}

void pli_impi_agent_kill(void)
{
    struct pli_impi_agent_state *self = pli_launcher.impi_agent;
    if (self->pid > 0 && !self->is_over && !self->has_why) { // else it ends by itself
        kill(self->pid, SIGKILL);
    }
}

void pli_impi_agent_end(void)
{
    struct pli_impi_agent_state *self = pli_launcher.impi_agent;
    if (self->pid > 0 && !self->is_over) {
        struct pollfd end = { .fd = self->watch.fd, .events = POLLIN };
        if (!self->has_why || poll(&end, 1, LEAVE_MS) != 1) {
            kill(self->pid, SIGKILL);
        }
        waitpid(self->pid, NULL, 0);
        self->is_over = true;
    }
}

void pli_impi_agent_init(void)
{
    struct pli_impi_agent_state *self = pli_launcher.impi_agent;
    self->watch = (struct pli_watch){ .fd = -1, .fire = agent_fire };
    self->control = (struct pli_watch){ .fd = -1, .fire = control_fire };
    self->said = (struct pli_watch){ .fd = -1, .fire = said_fire };
}
