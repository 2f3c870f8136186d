// SPDX-License-Identifier: BSD-3-Clause
// The sockets of an IMPI host, from the first listen to the last FINI.
#include "engine/impi_net.h"
#include "engine/impi_net_priv.h"
#include "engine/impi_sock.h"
#include "engine/impi_tls.h"
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static void set_state(struct pli_impi_net *net, enum pli_impi_net_state to)
{
    static const bool may_go[PLI_IMPI_N_NET_STATE][PLI_IMPI_N_NET_STATE] = {
        // [from][to]
        [PLI_IMPI_NET_IDLE] = { [PLI_IMPI_NET_SERVER] = true,
                                [PLI_IMPI_NET_MESH] = true,
                                [PLI_IMPI_NET_FAILED] = true },
        [PLI_IMPI_NET_SERVER] = { [PLI_IMPI_NET_MESH] = true, [PLI_IMPI_NET_FAILED] = true },
        [PLI_IMPI_NET_MESH] = { [PLI_IMPI_NET_RUN] = true, [PLI_IMPI_NET_FAILED] = true },
        [PLI_IMPI_NET_RUN] = { [PLI_IMPI_NET_FINISH] = true, [PLI_IMPI_NET_FAILED] = true },
        [PLI_IMPI_NET_FINISH] = { [PLI_IMPI_NET_QUIET] = true, [PLI_IMPI_NET_FAILED] = true },
        [PLI_IMPI_NET_QUIET] = { [PLI_IMPI_NET_BYE] = true,
                                 [PLI_IMPI_NET_DONE] = true,
                                 [PLI_IMPI_NET_FAILED] = true },
        [PLI_IMPI_NET_BYE] = { [PLI_IMPI_NET_DONE] = true, [PLI_IMPI_NET_FAILED] = true },
    };
    static const char *const name[PLI_IMPI_N_NET_STATE] = { "idle", "server", "mesh",
                                                            "run",  "finish", "quiet",
                                                            "bye",  "done",   "failed" };
    if (!may_go[net->state][to]) {
        abort(); // a mistake of ours
    }
    pli_impi_log(&net->conf.log, PLI_IMPI_LOG_STEP, "port %u: %s -> %s", net->port,
                 name[net->state], name[to]);
    net->state = to;
}

uint64_t pli_impi_net_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static bool has_joined(const struct pli_impi_net *net)
{
    return net->client != NULL && pli_impi_client_has_joined(net->client);
}

// In a world that was joined by a token the server knows why a connection has ended: what is seen
// of it here is held back.
static void log_line(void *arg, enum pli_impi_log_level level, const char *line)
{
    struct pli_impi_net *net = arg;
    bool is_held = (has_joined(net) || pli_impi_net_relay_may(net)) &&
                   net->state >= PLI_IMPI_NET_MESH && net->state != PLI_IMPI_NET_FAILED;
    if (is_held && level <= PLI_IMPI_LOG_WARN) {
        if (net->held[0] == '\0') {
            snprintf(net->held, sizeof net->held, "%s", line);
        }
    } else {
        net->outer.fn(net->outer.arg, level, line);
    }
}

static void write_all(struct pli_impi_net *net, uint64_t until)
{
    const unsigned char *p;
    size_t len;
    while (net->server.fd >= 0 && (len = pli_impi_client_output(net->client, &p)) > 0) {
        struct iovec iov = { (void *)(uintptr_t)p, len };
        size_t n = 0;
        enum pli_impi_err err = pli_impi_stream_write(&net->server, &iov, 1, &n);
        uint64_t now = pli_impi_net_clock();
        if (err == PLI_IMPI_AGAIN && now < until) {
            struct pollfd wait = { .fd = net->server.fd, .events = POLLOUT };
            (void)poll(&wait, 1, (int)(until - now));
        } else if (err != PLI_IMPI_OK) {
            return;
        }
        pli_impi_client_wrote(net->client, n);
    }
}

// A host was lost. The server knows what has become of its client, and says so at once; if it does
// not, the others are told what was seen here.
static void ask_server(struct pli_impi_net *net)
{
    uint64_t until = pli_impi_net_clock() + OVER_MS, now;
    unsigned char buf[4096];
    struct iovec iov = { buf, sizeof buf };
    enum pli_impi_err err = PLI_IMPI_OK;
    while (err == PLI_IMPI_OK && net->server.fd >= 0 && pli_impi_client_over(net->client) == NULL &&
           (now = pli_impi_net_clock()) < until) {
        struct pollfd wait = { .fd = net->server.fd, .events = POLLIN };
        size_t n = 0;
        if (!pli_impi_stream_has_more(&net->server) && poll(&wait, 1, (int)(until - now)) != 1) {
            continue;
        }
        err = pli_impi_stream_read(&net->server, &iov, 1, &n);
        if (err == PLI_IMPI_OK) {
            err = pli_impi_client_input(net->client, buf, n); // logs what the server says
        } else if (err == PLI_IMPI_AGAIN) {
            err = PLI_IMPI_OK;
        } else {
            (void)pli_impi_client_eof(net->client); // logs
        }
    }
    if (err == PLI_IMPI_OK) {
        const char *why = net->held[0] != '\0' ? net->held : "a connection was lost";
        pli_impi_client_give_up(net->client, why);
        write_all(net, pli_impi_net_clock() + OVER_MS);
        if (net->server.fd >= 0) { // else it was said
            pli_impi_log(&net->outer, PLI_IMPI_LOG_ERROR, "%s", why);
        }
    }
}

void pli_impi_net_give_up(struct pli_impi_net *net, const char *why)
{
    if (net != NULL && has_joined(net) && net->state != PLI_IMPI_NET_FAILED) {
        pli_impi_client_give_up(net->client, why);
        write_all(net, pli_impi_net_clock() + OVER_MS);
    }
}

void pli_impi_net_trouble(struct pli_impi_net *net, const char *text)
{
    bool lasts = strncmp(net->trouble, text, sizeof net->trouble - 1) == 0;
    snprintf(net->trouble, sizeof net->trouble, "%s", text);
    if (net->client != NULL) {
        pli_impi_client_trouble(net->client, lasts ? text : "");
    }
}

// The caller or the engine has logged the reason.
enum pli_impi_err pli_impi_net_fail(struct pli_impi_net *net, enum pli_impi_err err)
{
    if (net->state != PLI_IMPI_NET_FAILED && net->state != PLI_IMPI_NET_DONE) {
        bool asks = has_joined(net) && net->state >= PLI_IMPI_NET_MESH &&
                    pli_impi_client_state(net->client) == PLI_IMPI_CLIENT_RUN;
        set_state(net, PLI_IMPI_NET_FAILED);
        net->err = err;
        if (asks) {
            ask_server(net);
        }
    }
    return err;
}

static struct epoll_event event_of(enum net_key key, uint32_t index, bool out)
{
    return (struct epoll_event){ .events = EPOLLIN | (out ? EPOLLOUT : 0u),
                                 .data.u64 = (uint64_t)key << 32 | index };
}

static enum pli_impi_err watch(struct pli_impi_net *net, int op, int fd, struct epoll_event ev)
{
    if (epoll_ctl(net->epoll_fd, op, fd, &ev) == 0) {
        return PLI_IMPI_OK;
    }
    if (op == EPOLL_CTL_MOD &&
        errno == ENOENT) { // a pending connection that had to wait is not watched
        return watch(net, EPOLL_CTL_ADD, fd, ev);
    }
    pli_impi_log(&net->conf.log, PLI_IMPI_LOG_ERROR, "port %u: cannot watch a socket: %s",
                 net->port, strerror(errno));
    return pli_impi_net_fail(net, PLI_IMPI_ERR_SYS);
}

enum pli_impi_err pli_impi_net_watch(struct pli_impi_net *net, int fd, enum net_key key,
                                     uint32_t index, bool out)
{
    return watch(net, EPOLL_CTL_ADD, fd, event_of(key, index, out));
}

enum pli_impi_err pli_impi_net_rewatch(struct pli_impi_net *net, int fd, enum net_key key,
                                       uint32_t index, bool out)
{
    return watch(net, EPOLL_CTL_MOD, fd, event_of(key, index, out));
}

enum pli_impi_err pli_impi_net_watch_conn(struct pli_impi_net *net, int fd, uint32_t host,
                                          uint32_t conn, uint32_t events)
{
    uint64_t data = (uint64_t)conn << 40 | (uint64_t)KEY_HOST << 32 | host;
    return watch(net, EPOLL_CTL_MOD, fd,
                 (struct epoll_event){ .events = events, .data.u64 = data });
}

enum pli_impi_err pli_impi_net_also(struct pli_impi_net *net, int fd, bool *is_ready)
{
    if (net->n_also == MAX_ALSO) {
        return PLI_IMPI_ERR_ARG;
    }
    struct epoll_event ev = event_of(KEY_ALSO, net->n_also, false);
    ev.events |= EPOLLET;
    net->also[net->n_also++] = is_ready;
    return watch(net, EPOLL_CTL_ADD, fd, ev);
}

// Until the job is known it is not known either which callers speak TLS: they wait.
static bool is_late_listener(const struct pli_impi_net_conf *conf)
{
    return conf->may_tls || conf->n_secret > 0;
}

enum pli_impi_err pli_impi_net_create(const struct pli_impi_net_conf *conf,
                                      struct pli_impi_net **out)
{
    struct pli_impi_net *net = calloc(1, sizeof *net);
    if (net == NULL) {
        return PLI_IMPI_ERR_NOMEM;
    }
    net->conf = *conf;
    net->outer = conf->log;
    if (conf->log.fn != NULL) {
        net->conf.log = (struct pli_impi_log){ log_line, net };
    }
    net->listen_fd = net->server.fd = -1;
    for (int i = 0; i < MAX_PENDING; i++) {
        net->pending[i].s.fd = -1;
    }
    net->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    enum pli_impi_err err = PLI_IMPI_OK;
    if (net->epoll_fd < 0) {
        pli_impi_log(&conf->log, PLI_IMPI_LOG_ERROR, "no epoll: %s", strerror(errno));
        err = PLI_IMPI_ERR_SYS;
    }
    if (err == PLI_IMPI_OK && conf->n_secret > 0) {
        err = pli_impi_tls_create_from(conf->secret, conf->n_secret, &conf->log, &net->tls);
    } else if (err == PLI_IMPI_OK && conf->tls_file != NULL) {
        err = pli_impi_tls_create(conf->tls_file, &conf->log, &net->tls);
    }
    if (err == PLI_IMPI_OK) {
        err = pli_impi_sock_listen(conf->bind, conf->port, &conf->log, &net->listen_fd, &net->port);
    }
    if (err == PLI_IMPI_OK && !is_late_listener(conf)) {
        err = pli_impi_net_watch(net, net->listen_fd, KEY_LISTEN, 0, false);
    }
    if (err != PLI_IMPI_OK) {
        pli_impi_net_destroy(net);
        return err;
    }
    *out = net;
    return PLI_IMPI_OK;
}

// A copy of a socket in another process would keep it in the epoll.
static void unwatch(struct pli_impi_net *net, int fd)
{
    if (fd >= 0) {
        (void)epoll_ctl(net->epoll_fd, EPOLL_CTL_DEL, fd, NULL); // ENOENT: it was not watched
    }
}

void pli_impi_net_drop(struct pli_impi_net *net, struct pli_impi_stream *s)
{
    int saved = errno;
    unwatch(net, s->fd);
    errno = saved;
    pli_impi_stream_close(s);
}

static void close_fd(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
}

static void close_listener(struct pli_impi_net *net)
{
    unwatch(net, net->listen_fd);
    close_fd(&net->listen_fd);
}

void pli_impi_net_destroy(struct pli_impi_net *net)
{
    if (net == NULL) {
        return;
    }
    pli_impi_net_relay_close(net);
    pli_impi_net_mesh_close(net);
    pli_impi_engine_destroy(net->engine);
    pli_impi_client_destroy(net->client);
    pli_impi_net_drop(net, &net->server);
    close_listener(net);
    close_fd(&net->epoll_fd);
    pli_impi_tls_destroy(net->tls);
    pli_impi_tls_destroy(net->server_tls);
    free(net->where);
    free(net->link);
    free(net->dirty);
    free(net);
}

// In so many seconds, unless there is an earlier one; 0: none.
static void set_deadline(struct pli_impi_net *net, int seconds)
{
    uint64_t at = pli_impi_net_clock() + 1000 * (uint64_t)seconds;
    if (seconds > 0 && (net->deadline_ms == 0 || at < net->deadline_ms)) {
        net->deadline_ms = at;
    }
}

static enum pli_impi_err give_up(struct pli_impi_net *net)
{
    uint32_t h = net->state == PLI_IMPI_NET_MESH ? pli_impi_net_mesh_missing(net) : UINT32_MAX;
    if (h != UINT32_MAX) {
        pli_impi_log(&net->conf.log, PLI_IMPI_LOG_ERROR,
                     "host %u of client %u waits in vain for a connection from host %u of client "
                     "%u",
                     net->host, net->job->host[net->host].client, h, net->job->host[h].client);
    } else if (net->has_said && net->is_server_dialing) {
        pli_impi_log(&net->conf.log, PLI_IMPI_LOG_ERROR,
                     "cannot reach the server: no process listens at %s after %d s", net->where,
                     net->conf.timeout_s);
    } else {
        pli_impi_log(&net->conf.log, PLI_IMPI_LOG_ERROR, "port %u: no job after %d s", net->port,
                     net->conf.timeout_s);
    }
    return pli_impi_net_fail(net, PLI_IMPI_ERR_TIMEOUT);
}

// All clients can do TLS: a secret that they alone know is made of the tokens that they told each
// other.
static enum pli_impi_err choose_tls(struct pli_impi_net *net)
{
    enum { NEEDS = PLI_IMPI_HAS_TLS | PLI_IMPI_HAS_TOKEN };
    unsigned char secret[PLI_IMPI_TOKEN] = { 0 };
    if (net->tls != NULL || (net->job->features & NEEDS) != NEEDS) {
        return PLI_IMPI_OK;
    }
    for (uint32_t c = 0; c < net->job->n_client; c++) {
        for (int i = 0; i < PLI_IMPI_TOKEN; i++) {
            secret[i] ^= net->job->client[c].token[i];
        }
    }
    return pli_impi_tls_create_from(secret, sizeof secret, &net->conf.log, &net->tls);
}

// The job is known: make the connections.
static enum pli_impi_err begin_mesh(struct pli_impi_net *net, const struct pli_impi_job *job,
                                    uint32_t host)
{
    net->job = job;
    net->host = host;
    set_state(net, PLI_IMPI_NET_MESH);
    set_deadline(net,
                 net->conf.silence_s); // all know where all are: a host that does not call has gone
    net->link = calloc(job->n_host, sizeof *net->link);
    net->dirty = calloc(job->n_host, sizeof *net->dirty);
    enum pli_impi_err err =
        net->link == NULL || net->dirty == NULL ? PLI_IMPI_ERR_NOMEM : PLI_IMPI_OK;
    for (uint32_t h = 0; net->link != NULL && h < job->n_host; h++) {
        for (int k = 0; k < MAX_CONN; k++) {
            net->link[h].conn[k].s.fd = -1;
        }
    }
    if (err == PLI_IMPI_OK) {
        err = pli_impi_engine_create(job, host, net->conf.ops, net->conf.arg, &net->conf.log,
                                     &net->engine);
    }
    if (err != PLI_IMPI_OK) {
        pli_impi_log(&net->conf.log, PLI_IMPI_LOG_ERROR, "host %u: %s", host,
                     pli_impi_err_text(err));
        return pli_impi_net_fail(net, err);
    }
    pli_impi_engine_on_write(net->engine, pli_impi_net_link_mark, net);
    err = choose_tls(net);
    if (err != PLI_IMPI_OK) {
        return pli_impi_net_fail(net, err);
    }
    if (is_late_listener(&net->conf)) {
        err = pli_impi_net_watch(net, net->listen_fd, KEY_LISTEN, 0, false);
    }
    return err == PLI_IMPI_OK ? pli_impi_net_mesh_begin(net) : err;
}

static enum pli_impi_err dial_server(struct pli_impi_net *net)
{
    int fd;
    enum pli_impi_err err = pli_impi_sock_dial_name(net->where, &net->conf.log, &fd);
    if (err == PLI_IMPI_OK) {
        err = pli_impi_stream_open(&net->server, fd, net->tls, true);
    }
    net->is_server_dialing = net->has_server_out = true;
    return err == PLI_IMPI_OK ? pli_impi_net_watch(net, net->server.fd, KEY_SERVER, 0, true) : err;
}

// People start clients before the server. It may listen a little later: say so, and try again.
static bool may_redial(struct pli_impi_net *net, int sys)
{
    uint64_t now = pli_impi_net_clock();
    if ((sys != ECONNREFUSED && sys != EHOSTUNREACH && sys != ETIMEDOUT) || now >= net->server_ms) {
        return false;
    }
    if (!net->has_said) {
        pli_impi_log(&net->conf.log, has_joined(net) ? PLI_IMPI_LOG_WAIT : PLI_IMPI_LOG_WARN,
                     "no server listens at %s yet (%s); waiting for it, up to %d s", net->where,
                     strerror(sys), net->conf.server_s);
        net->has_said = true;
    }
    pli_impi_stream_close(&net->server);
    net->redial_ms = now + REDIAL_MS;
    return true;
}

enum pli_impi_err pli_impi_net_start(struct pli_impi_net *net, const char *server,
                                     const struct pli_impi_client_conf *client, uint32_t host)
{
    if (net->state != PLI_IMPI_NET_IDLE || host >= client->info->n_host) {
        return PLI_IMPI_ERR_ARG;
    }
    struct pli_impi_client_conf conf = *client;
    net->server_tls =
        net->conf.may_tls && client->has_key ? pli_impi_tls_create_key(client->key) : NULL;
    conf.may_tls = net->server_tls != NULL;
    enum pli_impi_err err = pli_impi_client_create(&conf, &net->client);
    net->where = strdup(server);
    net->server_ms = pli_impi_net_clock() + 1000 * (uint64_t)net->conf.server_s;
    if (err == PLI_IMPI_OK) {
        err = net->where == NULL ? PLI_IMPI_ERR_NOMEM : dial_server(net);
    }
    if (err != PLI_IMPI_OK) {
        return pli_impi_net_fail(net, err);
    }
    net->host_of_client = host;
    net->host = client->rank; // for the log, until the job is known
    set_deadline(net, net->conf.timeout_s);
    set_state(net, PLI_IMPI_NET_SERVER);
    return PLI_IMPI_OK;
}

enum pli_impi_err pli_impi_net_join(struct pli_impi_net *net, const struct pli_impi_job *job,
                                    uint32_t host)
{
    if (net->state != PLI_IMPI_NET_IDLE || host >= job->n_host) {
        return PLI_IMPI_ERR_ARG;
    }
    set_deadline(net, net->conf.timeout_s);
    return begin_mesh(net, job, host);
}

// The server's connection is no more. Before RUN that is the end; later the job can do without.
static enum pli_impi_err server_gone(struct pli_impi_net *net, int sys)
{
    if (net->is_server_dialing && may_redial(net, sys)) {
        return PLI_IMPI_OK;
    }
    if (net->is_server_dialing) {
        pli_impi_log(&net->conf.log, PLI_IMPI_LOG_WAIT, "%s", "");
        pli_impi_log(&net->conf.log, PLI_IMPI_LOG_ERROR, "cannot reach the server%s%s: %s",
                     has_joined(net) ? " at " : "", has_joined(net) ? net->where : "",
                     strerror(sys));
        return pli_impi_net_fail(net, PLI_IMPI_ERR_SYS);
    }
    pli_impi_net_drop(net, &net->server);
    enum pli_impi_err err = pli_impi_client_eof(net->client);
    if (net->state == PLI_IMPI_NET_BYE) {
        set_state(net, PLI_IMPI_NET_DONE); // it needs nothing of us any more
        return PLI_IMPI_OK;
    }
    return net->state == PLI_IMPI_NET_SERVER || has_joined(net) ? pli_impi_net_fail(net, err)
                                                                : PLI_IMPI_OK;
}

static enum pli_impi_err server_failed(struct pli_impi_net *net, enum pli_impi_err err)
{
    int sys = errno;
    if (err == PLI_IMPI_ERR_AUTH && !has_joined(net)) {
        pli_impi_log(&net->conf.log, PLI_IMPI_LOG_ERROR,
                     net->is_key_proved ? "the server has another IMPI_AUTH_KEY: wrong key?"
                                        : "the server has another TLS secret, or speaks no TLS");
    } else if (err == PLI_IMPI_ERR_AUTH) {
        pli_impi_log(&net->conf.log, PLI_IMPI_LOG_ERROR,
                     "the server at %s refuses the token: it is of another world", net->where);
        if (net->state == PLI_IMPI_NET_SERVER) {
            return pli_impi_net_fail(net, err);
        }
    }
    return server_gone(net, sys);
}

static enum pli_impi_err write_server(struct pli_impi_net *net)
{
    const unsigned char *p;
    size_t len;
    while (net->server.fd >= 0 && !net->is_server_dialing &&
           (len = pli_impi_client_output(net->client, &p)) > 0) {
        struct iovec iov = { (void *)(uintptr_t)p, len };
        size_t n = 0;
        enum pli_impi_err err = pli_impi_stream_write(&net->server, &iov, 1, &n);
        if (err == PLI_IMPI_AGAIN) {
            break;
        }
        if (err != PLI_IMPI_OK) {
            return server_failed(net, err);
        }
        pli_impi_client_wrote(net->client, n);
    }
    if (net->server.fd < 0) {
        return PLI_IMPI_OK;
    }
    bool has_out = pli_impi_client_output(net->client, &p) > 0;
    bool wants_out = net->is_server_dialing || (has_out && !pli_impi_stream_waits(&net->server));
    if (wants_out != net->has_server_out) {
        net->has_server_out = wants_out;
        enum pli_impi_err err = pli_impi_net_rewatch(net, net->server.fd, KEY_SERVER, 0, wants_out);
        if (err != PLI_IMPI_OK) {
            return err;
        }
    }
    if (!has_out && net->state == PLI_IMPI_NET_BYE) {
        pli_impi_net_drop(net, &net->server);
        set_state(net, PLI_IMPI_NET_DONE);
    }
    return PLI_IMPI_OK;
}

// Hosts that could not reach this one, and wait for it at the server.
static enum pli_impi_err meet_relayed(struct pli_impi_net *net)
{
    struct pli_impi_relay r;
    enum pli_impi_err err = PLI_IMPI_OK;
    while (err == PLI_IMPI_OK && net->state == PLI_IMPI_NET_MESH &&
           pli_impi_client_take_relay(net->client, &r)) {
        bool is_ours = r.to == net->host && r.from > net->host && r.from < net->job->n_host &&
                       pli_impi_engine_is_peer(net->engine, r.from) &&
                       pli_impi_net_relay_may(net) && !pli_impi_net_link_is_there(net, r.from);
        err = is_ours ? pli_impi_net_relay_begin(net, r.from, true) : PLI_IMPI_OK;
    }
    return err;
}

static enum pli_impi_err read_server(struct pli_impi_net *net)
{
    unsigned char buf[16384];
    struct iovec iov = { buf, sizeof buf };
    size_t n = 0;
    enum pli_impi_err err = pli_impi_stream_read(&net->server, &iov, 1, &n);
    if (err == PLI_IMPI_AGAIN) {
        return PLI_IMPI_OK;
    }
    if (err != PLI_IMPI_OK) {
        return server_failed(net, err);
    }
    err = pli_impi_client_input(net->client, buf, n);
    if (err != PLI_IMPI_OK && (net->state == PLI_IMPI_NET_SERVER || has_joined(net))) {
        return pli_impi_net_fail(net, err);
    }
    if (err != PLI_IMPI_OK) { // nonsense while the job runs: do without it
        return server_gone(net, 0);
    }
    if (pli_impi_client_turns_to_tls(net->client)) {
        net->is_key_proved = true;
        err = pli_impi_stream_secure(&net->server, net->server_tls, true);
        return err == PLI_IMPI_OK ? err : pli_impi_net_fail(net, err);
    }
    if (net->state == PLI_IMPI_NET_SERVER &&
        pli_impi_client_state(net->client) == PLI_IMPI_CLIENT_RUN) {
        const struct pli_impi_job *job = pli_impi_client_job(net->client);
        uint32_t first = job->client[pli_impi_client_rank(net->client)].first_host;
        err = begin_mesh(net, job, first + net->host_of_client);
    }
    return err == PLI_IMPI_OK ? meet_relayed(net) : err;
}

static enum pli_impi_err server_event(struct pli_impi_net *net, uint32_t events)
{
    if (net->server.fd < 0) {
        return PLI_IMPI_OK;
    }
    if (net->is_server_dialing) {
        int sys = pli_impi_sock_error(net->server.fd);
        if (sys != 0) {
            return server_gone(net, sys);
        }
        net->is_server_dialing = false;
    }
    enum pli_impi_err err = PLI_IMPI_OK;
    if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) {
        do {
            err = read_server(net);
        } while (err == PLI_IMPI_OK && pli_impi_stream_has_more(&net->server));
    }
    return err == PLI_IMPI_OK ? write_server(net) : err;
}

static enum pli_impi_err handle(struct pli_impi_net *net, const struct epoll_event *ev)
{
    uint32_t index = (uint32_t)ev->data.u64;
    switch ((enum net_key)(ev->data.u64 >> 32 & 255)) {
    case KEY_LISTEN:
        if (net->listen_fd >= 0) {
            pli_impi_net_mesh_accept(net);
        }
        break;
    case KEY_SERVER:
        return server_event(net, ev->events);
    case KEY_HOST:
        net->n_event++;
        return pli_impi_net_link_event(net, index, (uint32_t)(ev->data.u64 >> 40), ev->events);
    case KEY_PENDING:
        pli_impi_net_mesh_pending(net, index);
        break;
    case KEY_RELAY:
        return pli_impi_net_relay_event(net, index);
    case KEY_ALSO:
        *net->also[index] = true;
        break;
    }
    return net->err;
}

// The engine has said all, but the sockets have not taken it.
static bool has_tails(const struct pli_impi_net *net)
{
    for (uint32_t h = 0; h < net->job->n_host; h++) {
        if (pli_impi_net_link_has_tail(net, h)) {
            return true;
        }
    }
    return false;
}

// What follows from all that has happened.
static void advance(struct pli_impi_net *net)
{
    if (net->state == PLI_IMPI_NET_MESH && pli_impi_net_mesh_missing(net) == UINT32_MAX) {
        set_state(net, PLI_IMPI_NET_RUN);
        close_listener(net); // no other host is expected
        pli_impi_net_mesh_dismiss(net);
        net->deadline_ms = 0;
    }
    if (net->state == PLI_IMPI_NET_FINISH && pli_impi_engine_is_over(net->engine) &&
        !has_tails(net)) {
        set_state(net, PLI_IMPI_NET_QUIET);
    }
}

// A server that is stopped ends no connection: its signs of life are missed.
static void watch_server(struct pli_impi_net *net, uint64_t now)
{
    uint64_t n = pli_impi_client_n_beat(net->client), ms;
    if (n != net->n_beat || net->beat_ms == 0) {
        net->n_beat = n;
        net->beat_ms = now;
    }
    ms = now - net->beat_ms;
    if ((ms > SILENT_MS) != net->is_server_silent) {
        net->is_server_silent = !net->is_server_silent;
        pli_impi_log(&net->outer, PLI_IMPI_LOG_NOTE, "the server of the world at %s %s", net->where,
                     net->is_server_silent ? "does not answer; is it stopped?" : "answers again");
    }
    if (net->conf.silence_s > 0 && ms > 1000 * (uint64_t)net->conf.silence_s) {
        pli_impi_log(&net->outer, PLI_IMPI_LOG_ERROR,
                     "the server of the world at %s has not answered for %d s", net->where,
                     net->conf.silence_s);
        pli_impi_net_drop(net, &net->server);
        net->held[0] = '\0';
        (void)pli_impi_net_fail(net, PLI_IMPI_ERR_TIMEOUT);
    }
}

static int wait_ms(struct pli_impi_net *net, int timeout_ms)
{
    uint64_t now = pli_impi_net_clock();
    int next = pli_impi_net_mesh_tick(net, now);
    if (has_joined(net) && net->state == PLI_IMPI_NET_RUN) {
        watch_server(net, now);
        next = next < 0 || next > BEAT_MS ? BEAT_MS : next;
    }
    if (net->deadline_ms != 0) {
        uint64_t left = net->deadline_ms > now ? net->deadline_ms - now : 0;
        next = next < 0 || left < (uint64_t)next ? (int)left : next;
    }
    if (net->redial_ms != 0 && (next < 0 || next > REDIAL_MS)) {
        next = REDIAL_MS;
    }
    return timeout_ms < 0 || (next >= 0 && next < timeout_ms) ? next : timeout_ms;
}

// Write now what the engine has, without waiting for anything.
static void flush(struct pli_impi_net *net)
{
    pli_impi_net_link_flush(net);
    if (net->state != PLI_IMPI_NET_FAILED) {
        advance(net);
    }
}

enum pli_impi_err pli_impi_net_poll(struct pli_impi_net *net, int timeout_ms)
{
    struct epoll_event ev[64];
    enum pli_impi_net_state before = net->state;
    if (net->state != PLI_IMPI_NET_FAILED) {
        flush(net);
    }
    if (net->state == PLI_IMPI_NET_FAILED || net->state == PLI_IMPI_NET_DONE) {
        return net->err;
    }
    // a new state is something to do for the caller: not to be slept over
    int n = epoll_wait(net->epoll_fd, ev, 64, net->state != before ? 0 : wait_ms(net, timeout_ms));
    if (n < 0 && errno != EINTR) {
        pli_impi_log(&net->conf.log, PLI_IMPI_LOG_ERROR, "port %u: epoll: %s", net->port,
                     strerror(errno));
        return pli_impi_net_fail(net, PLI_IMPI_ERR_SYS);
    }
    for (int i = 0; i < n && net->err == PLI_IMPI_OK; i++) {
        (void)handle(net, &ev[i]); // net->err has it
    }
    if (net->err == PLI_IMPI_OK) {
        flush(net);
    }
    if (net->err == PLI_IMPI_OK && net->redial_ms != 0 && pli_impi_net_clock() >= net->redial_ms) {
        net->redial_ms = 0;
        enum pli_impi_err err = dial_server(net);
        if (err != PLI_IMPI_OK) {
            return pli_impi_net_fail(net, err);
        }
    }
    if (net->err == PLI_IMPI_OK && net->deadline_ms != 0 &&
        pli_impi_net_clock() >= net->deadline_ms) {
        return give_up(net);
    }
    return net->err;
}

enum pli_impi_net_way pli_impi_net_way(const struct pli_impi_net *net, uint32_t host)
{
    const struct link *l = net->link != NULL ? &net->link[host] : NULL;
    if (l == NULL || l->conn[0].s.fd < 0) {
        return PLI_IMPI_WAY_NONE;
    }
    bool is_near = pli_impi_job_is_near(net->job, net->job->host[net->host].client,
                                        net->job->host[host].client);
    return l->is_relayed              ? PLI_IMPI_WAY_RELAYED
           : l->conn[0].s.tls != NULL ? PLI_IMPI_WAY_TLS
           : is_near                  ? PLI_IMPI_WAY_LOCAL
                                      : PLI_IMPI_WAY_PLAIN;
}

uint32_t pli_impi_net_links(const struct pli_impi_net *net, uint32_t host)
{
    return net->link != NULL ? net->link[host].n_conn : 0;
}

uint64_t pli_impi_net_n_event(const struct pli_impi_net *net)
{
    return net->n_event;
}

uint16_t pli_impi_net_port(const struct pli_impi_net *net)
{
    return net->port;
}

int pli_impi_net_fd(const struct pli_impi_net *net)
{
    return net->epoll_fd;
}

const char *pli_impi_net_held(const struct pli_impi_net *net)
{
    return net != NULL && net->held[0] != '\0' ? net->held : NULL;
}

enum pli_impi_net_state pli_impi_net_state(const struct pli_impi_net *net)
{
    return net->state;
}

struct pli_impi_engine *pli_impi_net_engine(const struct pli_impi_net *net)
{
    return net->engine;
}

const struct pli_impi_job *pli_impi_net_job(const struct pli_impi_net *net)
{
    return net->job;
}

const struct pli_impi_client *pli_impi_net_client(const struct pli_impi_net *net)
{
    return net->client;
}

enum pli_impi_err pli_impi_net_finish(struct pli_impi_net *net)
{
    if (net->state != PLI_IMPI_NET_RUN) {
        return PLI_IMPI_ERR_ARG;
    }
    set_state(net, PLI_IMPI_NET_FINISH);
    pli_impi_engine_finish(net->engine);
    return PLI_IMPI_OK;
}

enum pli_impi_err pli_impi_net_bye(struct pli_impi_net *net)
{
    if (net->state != PLI_IMPI_NET_QUIET) {
        return PLI_IMPI_ERR_ARG;
    }
    if (net->client == NULL || net->server.fd < 0) {
        set_state(net, PLI_IMPI_NET_DONE);
        return PLI_IMPI_OK;
    }
    enum pli_impi_err err = pli_impi_client_finish(net->client);
    if (err != PLI_IMPI_OK) {
        return err;
    }
    set_state(net, PLI_IMPI_NET_BYE);
    return write_server(net);
}
