// SPDX-License-Identifier: BSD-3-Clause
// The agent from start to end: its processes connect, it connects to the other clients for them,
// relays messages, and ends when all have finalized. If a connection is lost it reports that to all
// its processes and ends.
#include "agent/agent.h"
#include "agent/agent_priv.h"
#include "engine/impi_poll.h"
#include "engine/impi_proc.h"
#include "engine/impi_sock.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
    KEY_NET = 1, // epoll data
    KEY_TCP,
    KEY_UNIX,
    KEY_PROC,         // and above: one for each process
    TICK_MS = 100,    // until the job runs: deadlines of the net
    MAX_EXTRA = 64,   // connections that may wait to be accepted
    LOOK_MS = 1000,   // in a world that was joined by a token: who is stopped?
    PARTING_MS = 1000 // for processes to read the report of a failure
};

static void set_state(struct agent *a, enum agent_state to)
{
    static const bool may_go[N_AGENT_STATE][N_AGENT_STATE] = {
        // [from][to]
        [A_GATHER] = { [A_MEET] = true, [A_FAILED] = true },
        [A_MEET] = { [A_RUN] = true, [A_FAILED] = true },
        [A_RUN] = { [A_FINISH] = true, [A_FAILED] = true },
        [A_FINISH] = { [A_OVER] = true, [A_FAILED] = true },
    };
    if (!may_go[a->state][to]) {
        abort(); // a mistake in this program
    }
    a->state = to;
}

static void watch(struct agent *a, int op, int fd, uint64_t key, bool out)
{
    struct epoll_event ev = { .events = EPOLLIN | (out ? EPOLLOUT : 0u), .data.u64 = key };
    if (epoll_ctl(a->epoll_fd, op, fd, &ev) != 0) {
        pli_agent_fail(a, "cannot watch a socket: %s", strerror(errno));
    }
}

void pli_agent_fail(struct agent *a, const char *fmt, ...)
{
    char line[256];
    va_list ap;
    if (a->state == A_FAILED || a->state == A_OVER) {
        return;
    }
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    if (pli_impi_net_state(a->net) != PLI_IMPI_NET_FAILED || !a->conf.env.has_token) {
        pli_impi_log(&a->conf.log, PLI_IMPI_LOG_ERROR, "%s; the job ends", line);
    } // else the net has said why, and asked the server before
    pli_impi_net_give_up(a->net, line);
    set_state(a, A_FAILED);
    struct pli_agent_frame f = { .type = PLI_AGENT_OVER, .len = strlen(line) };
    for (uint32_t i = 0; i < a->conf.n_proc; i++) {
        if (a->proc[i] != NULL) {
            char *own = strdup(line);
            if (own != NULL) {
                pli_agent_put(a->proc[i], &f, own, own);
            }
        }
    }
}

static void settle(struct proc *p)
{
    bool out = p->link != NULL && pli_agent_link_has_output(p->link);
    if (p->link != NULL && out != p->wants_out) {
        p->wants_out = out;
        watch(p->a, EPOLL_CTL_MOD, pli_agent_link_fd(p->link), p->key, out);
    }
}

void pli_agent_put(struct proc *p, const struct pli_agent_frame *f, const void *data, void *own)
{
    if (p->link == NULL) {
        free(own); // the process has disconnected
        return;
    }
    if (pli_agent_link_put(p->link, f, data, own) != PLI_IMPI_OK) {
        pli_agent_fail(p->a, "out of memory");
        return;
    }
    (void)pli_agent_link_write(p->link); // the end of the connection is noticed when reading
    settle(p);
}

static struct proc *add_proc(struct agent *a, int fd)
{
    struct proc *p = a->n_pending < a->conf.n_proc + MAX_EXTRA ? calloc(1, sizeof *p) : NULL;
    if (p == NULL || pli_agent_link_create(fd, &pli_agent_relay_link, p, &p->link) != PLI_IMPI_OK) {
        free(p);
        close(fd);
        return NULL;
    }
    p->a = a;
    p->memory.fd = -1;
    p->key = KEY_PROC + a->n_key++;
    p->index = UINT32_MAX;
    p->next = a->pending;
    a->pending = p;
    a->n_pending++;
    watch(a, EPOLL_CTL_ADD, fd, p->key, false);
    return p;
}

// NULL: it has disconnected.
static struct proc *find_proc(const struct agent *a, uint64_t key)
{
    for (struct proc *p = a->pending; p != NULL; p = p->next) {
        if (p->key == key) {
            return p;
        }
    }
    for (uint32_t i = 0; i < a->conf.n_proc; i++) {
        if (a->proc[i] != NULL && a->proc[i]->key == key) {
            return a->proc[i];
        }
    }
    return NULL;
}

// A copy of a socket in another process would keep it in the epoll.
static void unwatch(struct agent *a, int fd)
{
    (void)epoll_ctl(a->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

static void unlink_pending(struct proc *p)
{
    struct proc **at = &p->a->pending;
    while (*at != p) {
        at = &(*at)->next;
    }
    *at = p->next;
    p->a->n_pending--;
}

static void meet(struct agent *a)
{
    const struct pli_impi_env *env = &a->conf.env;
    uint32_t n = a->conf.n_proc;
    struct pli_impi_version version = { 0, 0 };
    struct pli_impi_host host = { .port = env->told_port != 0 ? env->told_port
                                                              : pli_impi_net_port(a->net),
                                  .n_proc = n,
                                  .ackmark = env->ackmark,
                                  .hiwater = env->hiwater };
    struct pli_impi_proc_id *proc = calloc(n, sizeof *proc);
    enum pli_impi_err err =
        proc == NULL ? PLI_IMPI_ERR_NOMEM : pli_impi_env_address(env, &a->conf.log, host.addr);
    for (uint32_t i = 0; err == PLI_IMPI_OK && i < n; i++) {
        memcpy(proc[i].host, host.addr, sizeof proc[i].host);
        proc[i].pid = (uint64_t)getpid() << 32 | i; // unique on this machine
    }
    struct pli_impi_client_info info = { .version = &version,
                                         .n_version = 1,
                                         .host = &host,
                                         .n_host = 1,
                                         .proc = proc,
                                         .n_proc = n,
                                         .datalen = env->datalen,
                                         .tag_ub = a->conf.tag_ub,
                                         .coll_xsize = env->coll_xsize,
                                         .coll_maxlinear = env->coll_maxlinear,
                                         .machine = pli_impi_env_machine(env) };
    char what[160], host_name[64] = "";
    (void)gethostname(host_name, sizeof host_name - 1);
    snprintf(what, sizeof what, "%u processes on %s, agent %d", n, host_name, (int)getpid());
    struct pli_impi_client_conf client = { .rank = env->rank,
                                           .joins = env->has_token ? what : NULL,
                                           .takes_any_rank = env->takes_any_rank,
                                           .has_none = env->has_none,
                                           .has_key = env->has_key,
                                           .key = env->key,
                                           .info = &info,
                                           .log = a->conf.log };
    set_state(a, A_MEET);
    if (err == PLI_IMPI_OK) {
        err = pli_impi_env_features(&a->conf.log, a->conf.env.may_tls, &info);
    }
    if (err == PLI_IMPI_OK) {
        err = pli_impi_net_start(a->net, env->server, &client, 0);
    }
    free(proc);
    if (err != PLI_IMPI_OK) {
        pli_agent_fail(a, "client %u cannot join the job: %s", env->rank, pli_impi_err_text(err));
    }
}

// Compare in constant time.
static bool is_token(const struct agent *a, const unsigned char *token)
{
    unsigned char diff = 0;
    for (int i = 0; i < PLI_AGENT_TOKEN; i++) {
        diff |= token[i] ^ a->where->token[i];
    }
    return diff == 0;
}

bool pli_agent_hello(struct proc *p, const struct pli_agent_frame *f, const unsigned char *token)
{
    struct agent *a = p->a;
    if (token == NULL || !is_token(a, token) || a->state != A_GATHER || f->n >= a->conf.n_proc ||
        a->proc[f->n] != NULL) {
        pli_impi_log(&a->conf.log, PLI_IMPI_LOG_WARN, "a stranger called and was turned away");
        return false;
    }
    int fd = pli_agent_link_take_fd(p->link);
    if (fd >= 0) { // where it cannot be used, data goes through the socket
        (void)pli_agent_memory_attach(&p->memory, fd);
    }
    unlink_pending(p);
    p->index = f->n;
    a->proc[f->n] = p;
    if (++a->n_here == a->conf.n_proc) {
        meet(a);
    }
    return true;
}

static void finish_if_all(struct agent *a)
{
    if (a->state == A_RUN && a->n_final == a->conf.n_proc &&
        pli_impi_net_state(a->net) == PLI_IMPI_NET_RUN) {
        set_state(a, A_FINISH);
        (void)pli_impi_net_finish(a->net);
    }
}

void pli_agent_final(struct proc *p)
{
    if (!p->is_final) {
        p->is_final = true;
        p->a->n_final++;
        finish_if_all(p->a);
    }
}

// The process behind a connection on this machine; 0: on another.
static pid_t pid_of(const struct proc *p)
{
    struct ucred who = { 0 };
    socklen_t len = sizeof who;
    bool is_known =
        getsockopt(pli_agent_link_fd(p->link), SOL_SOCKET, SO_PEERCRED, &who, &len) == 0;
    return is_known && who.pid > 0 ? who.pid : 0;
}

static void gone(struct proc *p)
{
    struct agent *a = p->a;
    pid_t pid = pid_of(p);
    unwatch(a, pli_agent_link_fd(p->link));
    pli_agent_link_destroy(p->link);
    p->link = NULL;
    if (p->index == UINT32_MAX) {
        unlink_pending(p);
        free(p);
        return;
    }
    a->n_gone++;
    if (!p->is_final && a->conf.env.has_token && a->state >= A_RUN) {
        pli_agent_fail(a, "rank %u of the world (process %d) ended without MPI_Finalize",
                       a->first_rank + p->index, (int)pid);
    } else if (!p->is_final) {
        pli_agent_fail(a, "process %u of client %u ended without MPI_Finalize", p->index,
                       a->conf.env.rank);
    }
}

static void proc_event(struct proc *p, uint32_t events)
{
    enum pli_impi_err err = PLI_IMPI_OK;
    if (p == NULL || p->link == NULL) {
        return;
    }
    if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) {
        err = pli_agent_link_read(p->link);
    }
    if (err < 0 || p->is_bad) {
        gone(p);
        return;
    }
    if ((events & EPOLLOUT) != 0) {
        (void)pli_agent_link_write(p->link);
    }
    settle(p);
}

// The job is known: the processes may begin. Not all connections need be there yet; but a process
// that has all of its own may send already.
void pli_agent_begin(struct agent *a)
{
    if (a->state != A_MEET) {
        return;
    }
    const struct pli_impi_collated *c = pli_impi_client_collated(pli_impi_net_client(a->net));
    a->conf.env.rank = pli_impi_client_rank(pli_impi_net_client(a->net));
    size_t len = pli_impi_collated_len(c);
    a->first_rank = pli_impi_net_job(a->net)->client[a->conf.env.rank].first_rank;
    set_state(a, A_RUN);
    for (uint32_t i = 0; i < a->conf.n_proc; i++) {
        unsigned char *data = malloc(len);
        if (data == NULL) {
            pli_agent_fail(a, "out of memory");
            return;
        }
        pli_impi_collated_put(c, data);
        struct pli_agent_frame f = { .type = PLI_AGENT_JOB,
                                     .len = len,
                                     .flags = a->proc[i]->memory.fd >= 0 ? PLI_AGENT_IS_SHARED : 0,
                                     .n = a->first_rank,
                                     .peer = pli_impi_net_job(a->net)->n_client };
        pli_agent_put(a->proc[i], &f, data, data);
    }
}

static void net_event(struct agent *a)
{
    enum pli_impi_err err = pli_impi_net_poll(a->net, 0);
    enum pli_impi_net_state state = pli_impi_net_state(a->net);
    if (err != PLI_IMPI_OK) {
        pli_agent_fail(a, "client %u: %s", a->conf.env.rank, pli_impi_err_text(err));
        return;
    }
    if (pli_impi_net_job(a->net) != NULL) {
        pli_agent_begin(a);
    }
    finish_if_all(a);
    if (a->state == A_FINISH && state == PLI_IMPI_NET_QUIET && a->n_gone == a->conf.n_proc) {
        (void)pli_impi_net_bye(a->net);
        state = pli_impi_net_state(a->net);
    }
    if (a->state == A_FINISH && state == PLI_IMPI_NET_DONE) {
        set_state(a, A_OVER);
    }
}

// All processes have connected: accept no more connections. Called where no event of a pending
// connection is left.
static void close_listeners(struct agent *a)
{
    if (a->unix_fd >= 0) {
        unwatch(a, a->unix_fd);
        close(a->unix_fd);
        a->unix_fd = -1;
    }
    if (a->tcp_fd >= 0) {
        unwatch(a, a->tcp_fd);
        close(a->tcp_fd);
        a->tcp_fd = -1;
    }
    while (a->pending != NULL) {
        gone(a->pending);
    }
}

// Without a free descriptor the listener stays ready: wait for a moment instead of asking at once.
static void accept_proc(struct agent *a, int listen_fd)
{
    int fd;
    enum pli_impi_err err = listen_fd >= 0 ? PLI_IMPI_OK : PLI_IMPI_AGAIN;
    while (err == PLI_IMPI_OK) {
        err = pli_impi_sock_accept(listen_fd, &fd);
        if (err == PLI_IMPI_OK) {
            (void)add_proc(a, fd);
        }
    }
    if (err == PLI_IMPI_ERR_SYS) {
        (void)poll(NULL, 0, TICK_MS);
    }
}

// A process that is stopped keeps those of the other clients waiting: they are told. One on another
// machine is not seen from here.
static void look_for_stopped(struct agent *a)
{
    char text[160] = "";
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    if (!a->conf.env.has_token || a->state != A_RUN || t.tv_sec == a->looked_s) {
        return;
    }
    a->looked_s = t.tv_sec;
    for (uint32_t i = 0; i < a->conf.n_proc && text[0] == '\0'; i++) {
        pid_t pid = a->proc[i] != NULL && a->proc[i]->link != NULL ? pid_of(a->proc[i]) : 0;
        if (pid > 0 && pli_impi_proc_is_stopped(pid)) {
            snprintf(text, sizeof text, "rank %u of the world (process %d) is stopped",
                     a->first_rank + i, (int)pid);
        }
    }
    pli_impi_net_trouble(a->net, text);
}

// Before it sleeps: give memory back that was not used for a while.
static int trimmed(struct agent *a, int timeout_ms)
{
    for (uint32_t i = 0; i < a->conf.n_proc; i++) {
        int ms = a->proc[i] != NULL ? pli_agent_memory_trim(&a->proc[i]->memory) : -1;
        timeout_ms = ms >= 0 && (timeout_ms < 0 || ms < timeout_ms) ? ms : timeout_ms;
    }
    return timeout_ms;
}

static void turn(struct agent *a, int timeout_ms)
{
    struct epoll_event ev[64];
    uint64_t before = a->net != NULL ? pli_impi_net_n_event(a->net) : 0;
    bool looks = a->n_idle++ < PLI_IMPI_POLL_LOOKS && pli_impi_poll_give_way();
    int n = epoll_wait(a->epoll_fd, ev, 64, looks ? 0 : trimmed(a, timeout_ms));
    for (int i = 0; i < n; i++) {
        switch (ev[i].data.u64) {
        case KEY_NET:
            break;
        case KEY_TCP:
            accept_proc(a, a->tcp_fd);
            break;
        case KEY_UNIX:
            accept_proc(a, a->unix_fd);
            break;
        default:
            proc_event(find_proc(a, ev[i].data.u64), ev[i].events);
        }
    }
    if (a->state != A_GATHER) {
        close_listeners(a);
    }
    look_for_stopped(a);
    if (a->state != A_FAILED && a->state != A_GATHER) {
        net_event(a); // costs nothing if there is nothing, and writes what frames have brought
    }
    if (n > 0 || (a->net != NULL && pli_impi_net_n_event(a->net) != before)) {
        a->n_idle = 0;
    }
}

// Send the processes the reason. Those that do not read it see the end of the connection.
static void part(struct agent *a)
{
    uint64_t until = 0;
    struct timespec t;
    for (;;) {
        clock_gettime(CLOCK_MONOTONIC, &t);
        uint64_t now = (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
        until = until == 0 ? now + PARTING_MS : until;
        bool has_any = false;
        for (uint32_t i = 0; i < a->conf.n_proc; i++) {
            has_any = has_any || (a->proc[i] != NULL && a->proc[i]->link != NULL);
        }
        if (!has_any || now >= until) {
            break;
        }
        turn(a, TICK_MS);
    }
}

static enum pli_impi_err listen_unix(struct agent *a)
{
    struct sockaddr_un un = { .sun_family = AF_UNIX };
    size_t len = strlen(a->where->unix_name);
    memcpy(un.sun_path + 1, a->where->unix_name, len); // abstract: no file is left behind
    a->unix_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (a->unix_fd < 0 ||
        bind(a->unix_fd, (struct sockaddr *)&un,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len)) != 0 ||
        listen(a->unix_fd, SOMAXCONN) != 0) {
        pli_impi_log(&a->conf.log, PLI_IMPI_LOG_ERROR, "no local socket: %s", strerror(errno));
        return PLI_IMPI_ERR_SYS;
    }
    watch(a, EPOLL_CTL_ADD, a->unix_fd, KEY_UNIX, false);
    return PLI_IMPI_OK;
}

static void read_boot(char out[PLI_AGENT_ADDRESS])
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, out, PLI_AGENT_ADDRESS - 1);
    out[n < 0 ? 0 : n] = '\0';
    if (fd >= 0) {
        close(fd);
    }
}

static enum pli_impi_err open_listeners(struct agent *a)
{
    struct pli_agent_where *w = a->where;
    uint64_t random[2];
    uint16_t port = 0;
    if (getrandom(w->token, sizeof w->token, 0) != (ssize_t)sizeof w->token ||
        getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) {
        return PLI_IMPI_ERR_SYS;
    }
    w->version = PLI_AGENT_VERSION;
    snprintf(w->unix_name, sizeof w->unix_name, "pliant-impi-%016llx%016llx",
             (unsigned long long)random[0], (unsigned long long)random[1]);
    read_boot(w->boot);
    if (gethostname(w->address, sizeof w->address - 1) != 0) {
        return PLI_IMPI_ERR_SYS;
    }
    enum pli_impi_err err = listen_unix(a);
    if (err == PLI_IMPI_OK) {
        err = pli_impi_sock_listen(NULL, 0, &a->conf.log, &a->tcp_fd, &port);
    }
    if (err == PLI_IMPI_OK) {
        w->port = port;
        watch(a, EPOLL_CTL_ADD, a->tcp_fd, KEY_TCP, false);
    }
    return err;
}

static enum pli_impi_err set_up(struct agent *a)
{
    struct pli_impi_net_conf net = { .bind = a->conf.env.bind[0] != '\0' ? a->conf.env.bind : NULL,
                                     .port = a->conf.env.port,
                                     .timeout_s = a->conf.env.timeout_s,
                                     .server_s = a->conf.env.server_s,
                                     .silence_s = a->conf.env.silence_s,
                                     .n_links = a->conf.env.n_links,
                                     .takes_any_address = a->conf.env.takes_any_address,
                                     .tls_file = a->conf.env.tls_file,
                                     .may_tls = a->conf.env.may_tls,
                                     .secret = a->conf.env.token.secret,
                                     .n_secret = a->conf.env.token.has_tls
                                                     ? sizeof a->conf.env.token.secret
                                                     : 0,
                                     .relay = a->conf.env.has_token ? a->conf.env.server : NULL,
                                     .relay_key = a->conf.env.key,
                                     .ops = &pli_agent_relay_ops,
                                     .arg = a,
                                     .log = a->conf.log };
    a->proc = calloc(a->conf.n_proc, sizeof(struct proc *));
    a->where = calloc(1, sizeof *a->where);
    a->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (a->proc == NULL || a->where == NULL || a->epoll_fd < 0) {
        return PLI_IMPI_ERR_NOMEM;
    }
    enum pli_impi_err err = open_listeners(a);
    if (err == PLI_IMPI_OK) {
        err = pli_impi_net_create(&net, &a->net);
    }
    if (err != PLI_IMPI_OK) {
        return err;
    }
    watch(a, EPOLL_CTL_ADD, pli_impi_net_fd(a->net), KEY_NET, false);
    (void)fcntl(a->conf.parent_fd, F_SETFL, O_NONBLOCK);
    struct proc *first = add_proc(a, a->conf.parent_fd);
    if (first == NULL) {
        return PLI_IMPI_ERR_NOMEM;
    }
    struct pli_agent_frame f = { .type = PLI_AGENT_READY, .len = sizeof *a->where };
    pli_agent_put(first, &f, a->where, NULL);
    return PLI_IMPI_OK;
}

static void free_agent(struct agent *a)
{
    pli_impi_net_destroy(a->net);
    pli_agent_relay_clear(a);
    for (uint32_t i = 0; a->proc != NULL && i < a->conf.n_proc; i++) {
        if (a->proc[i] != NULL) {
            pli_agent_link_destroy(a->proc[i]->link);
            pli_impi_idmap_fini(&a->proc[i]->sends);
            pli_agent_memory_close(&a->proc[i]->memory);
            free(a->proc[i]);
        }
    }
    close_listeners(a);
    free(a->proc);
    free(a->where);
}

// Whether deadlines of the network must be checked.
static bool is_early(const struct agent *a)
{
    return a->state < A_RUN || pli_impi_net_state(a->net) < PLI_IMPI_NET_RUN;
}

int pli_agent_run(const struct pli_agent_conf *conf)
{
    struct agent a = { .conf = *conf, .epoll_fd = -1, .tcp_fd = -1, .unix_fd = -1 };
    int rc = 1;
    if (set_up(&a) == PLI_IMPI_OK) {
        while (a.state != A_OVER && a.state != A_FAILED) {
            turn(&a, is_early(&a) ? TICK_MS : a.conf.env.has_token ? LOOK_MS : -1);
            if (a.state == A_GATHER && a.pending == NULL && a.n_here == 0) {
                break; // the process that started the agent ended before it sent anything
            }
        }
        if (a.state == A_FAILED) {
            part(&a);
        }
        rc = a.state == A_OVER ? 0 : 1;
    }
    free_agent(&a);
    return rc;
}
