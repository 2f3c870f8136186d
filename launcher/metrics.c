// SPDX-License-Identifier: BSD-3-Clause
// Answers requests for numbers. Any process that reaches the port may call: a request is read up to
// a limit, within a time, from a few callers at once, and nothing in it but its first line counts.
#include "launcher/metrics.h"

#include "base/clock.h"
#include "launcher/base/accept.h"
#include "launcher/base/pidns.h"
#include "launcher/base/say.h"
#include "launcher/job/job.h"
#include "launcher/job/role.h"
#include "tools/lib/rank_usage.h"
#include "tools/lib/wait_list.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CALL_MS = 10000, AGAIN_MS = 20 };

// What is told of one rank.
struct numbers {
    uint32_t index;
    const char *host;
    struct pli_rank_usage usage;
    struct pli_rank_traffic traffic;
    bool is_running, is_waiting;
    double wait_s;
};

static bool read_rank(const struct pli_node *node, uint32_t row, struct numbers *out)
{
    static struct pli_wait_entry e[PLI_WAIT_LIST_MAX];
    const struct pli_node_header *h = node->header;
    const struct pli_node_row *r = &node->rows[row];
    uint32_t pid = atomic_load(&r->pid);
    bool is_head = (h->net & PLI_NODE_HEAD) != 0;
    if (row >= h->n_row && pid == 0) {
        return false; // no process has had it yet
    }
    memset(out, 0, sizeof *out);
    out->index = r->index;
    out->host = r->host[0] != '\0' ? r->host : h->host;
    out->is_running = atomic_load(&r->state) == PLI_NODE_RUNNING && atomic_load(&r->has_ended) == 0;
    pli_rank_usage_traffic(node, row, &out->traffic);
    if (is_head) {
        out->usage = (struct pli_rank_usage){ r->cpu_ns, r->memory };
    } else {
        pid = h->is_nested != 0 && pid != 0 ? (uint32_t)pli_pidns_find((pid_t)pid) : pid;
        pli_rank_usage_read(out->is_running ? pid : 0, &out->usage);
    }
    uint64_t now = pli_clock_ns();
    uint32_t n = out->is_running ? pli_wait_list(node, row, e) : 0;
    for (uint32_t i = 0; i < n; i++) {
        double s = now > e[i].wait->since_ns ? (double)(now - e[i].wait->since_ns) * 1e-9 : 0;
        out->is_waiting = true;
        out->wait_s = s > out->wait_s ? s : out->wait_s;
    }
    return true;
}

static double value_running(const struct numbers *n)
{
    return n->is_running;
}

static double value_waiting(const struct numbers *n)
{
    return n->is_waiting;
}

static double value_wait(const struct numbers *n)
{
    return n->wait_s;
}

static double value_sent(const struct numbers *n)
{
    return (double)n->traffic.n_sent;
}

static double value_sent_bytes(const struct numbers *n)
{
    return (double)n->traffic.sent_bytes;
}

static double value_received(const struct numbers *n)
{
    return (double)n->traffic.n_received;
}

static double value_received_bytes(const struct numbers *n)
{
    return (double)n->traffic.received_bytes;
}

static double value_cpu(const struct numbers *n)
{
    return (double)n->usage.cpu_ns * 1e-9;
}

static double value_memory(const struct numbers *n)
{
    return (double)n->usage.memory;
}

static const struct {
    const char *name, *type, *help;
    double (*value)(const struct numbers *n);
} families[] = {
    { "pliant_rank_running", "gauge", "1 between MPI_Init and MPI_Finalize.", value_running },
    { "pliant_rank_waiting", "gauge", "1 while the rank sleeps inside MPI.", value_waiting },
    { "pliant_rank_wait_seconds", "gauge", "How long it has slept there.", value_wait },
    { "pliant_rank_sent_messages_total", "counter", "Messages sent.", value_sent },
    { "pliant_rank_sent_bytes_total", "counter", "Bytes of messages sent.", value_sent_bytes },
    { "pliant_rank_received_messages_total", "counter", "Messages received.", value_received },
    { "pliant_rank_received_bytes_total", "counter", "Bytes of messages received.",
      value_received_bytes },
    { "pliant_rank_cpu_seconds_total", "counter", "Processor time of the rank.", value_cpu },
    { "pliant_rank_memory_bytes", "gauge", "Memory of the rank that no other shares.",
      value_memory },
};

// The value of a label: names of hosts are not ours.
static void put_label(FILE *f, const char *text)
{
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\') {
            fputc('\\', f);
        }
        fputc((unsigned char)*c < ' ' ? '?' : *c, f);
    }
}

// False: no memory.
static bool put_all(FILE *f)
{
    const struct pli_job *job = pli_launcher.job;
    const struct pli_node *node = &job->node;
    uint32_t n_row = pli_node_n_used(node), n_rank = 0;
    struct numbers *ranks = malloc(((size_t)n_row + 1) * sizeof *ranks);
    if (ranks == NULL) {
        return false;
    }
    // Once: all that is told of a rank is of one moment.
    for (uint32_t row = 0; row < n_row; row++) {
        n_rank += read_rank(node, row, &ranks[n_rank]);
    }
    double seconds = (double)(pli_clock_ns() - node->header->epoch_ns) * 1e-9;
    fprintf(f,
            "# HELP pliant_job_seconds How long the job runs.\n# TYPE pliant_job_seconds gauge\n"
            "pliant_job_seconds %.3f\n",
            seconds);
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        fprintf(f, "# HELP %s %s\n# TYPE %s %s\n", families[i].name, families[i].help,
                families[i].name, families[i].type);
        for (const struct numbers *n = ranks; n < ranks + n_rank; n++) {
            fprintf(f, "%s{rank=\"%u\",host=\"", families[i].name, n->index);
            put_label(f, n->host);
            fprintf(f, "\"} %.17g\n", families[i].value(n));
        }
    }
    free(ranks);
    return true;
}

static void hang_up(struct pli_metrics_caller *c)
{
    pli_loop_close(&c->watch);
    c->timer.at = 0; // off
    free(c->answer);
    c->answer = NULL;
    c->is_open = c->is_waiting = false;
}

static void write_more(struct pli_metrics_caller *c)
{
    while (c->n_written < c->len) {
        ssize_t n = send(c->watch.fd, c->answer + c->n_written, c->len - c->n_written,
                         MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EAGAIN) {
            pli_loop_watch(&c->watch, EPOLLOUT);
            return;
        }
        if (n <= 0) {
            break;
        }
        c->n_written += (size_t)n;
    }
    shutdown(c->watch.fd, SHUT_WR);
    hang_up(c);
}

static void answer(struct pli_metrics_caller *c, const char *status, bool is_good, bool has_body)
{
    char *body = NULL;
    size_t body_len = 0;
    FILE *f = open_memstream(&body, &body_len);
    if (f == NULL) {
        hang_up(c);
        return;
    }
    if (!is_good) {
        fprintf(f, "%s: ask for GET /metrics\n", status);
    }
    bool is_told = !is_good || put_all(f);
    fclose(f);
    f = is_told ? open_memstream(&c->answer, &c->len) : NULL;
    if (f == NULL) {
        free(body);
        hang_up(c);
        return;
    }
    fprintf(f,
            "HTTP/1.1 %s\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
            "Content-Length: %zu\r\nConnection: close\r\n\r\n",
            status, body_len);
    if (has_body) {
        fwrite(body, 1, body_len, f);
    }
    fclose(f);
    free(body);
    c->n_written = 0;
    write_more(c);
}

// What other hosts tell is there.
static void shown(void)
{
    struct pli_metrics_state *self = pli_launcher.metrics;
    for (int i = 0; i < PLI_METRICS_N_CALLER; i++) {
        struct pli_metrics_caller *c = &self->callers[i];
        if (c->is_open && c->is_waiting) {
            c->is_waiting = false;
            answer(c, "200 OK", true, strncmp(c->request, "HEAD", 4) != 0);
        }
    }
}

static bool is_waited_for(const struct pli_metrics_state *self)
{
    bool is = false;
    for (int i = 0; i < PLI_METRICS_N_CALLER; i++) {
        is = is || (self->callers[i].is_open && self->callers[i].is_waiting);
    }
    return is;
}

static void ask_hosts(struct pli_timer *t)
{
    struct pli_metrics_state *self = pli_launcher.metrics;
    if (is_waited_for(self) && !pli_launcher.role->show_ranks(PLI_LOOK_USAGE, shown)) {
        pli_loop_timer(t, (uint64_t)AGAIN_MS * PLI_MS);
    }
}

enum pli_metrics_verdict pli_metrics_judge(const char *request, size_t n)
{
    if (memchr(request, '\0', n) != NULL) {
        return PLI_METRICS_BAD;
    }
    if (strstr(request, "\r\n\r\n") == NULL && strstr(request, "\n\n") == NULL) {
        return n == PLI_METRICS_REQUEST - 1 ? PLI_METRICS_TOO_LONG : PLI_METRICS_MORE;
    }
    // Its first line counts.
    bool is_get = strncmp(request, "GET ", 4) == 0, is_head = strncmp(request, "HEAD ", 5) == 0;
    const char *path = request + (is_get ? 4 : 5);
    if (!is_get && !is_head) {
        return PLI_METRICS_NOT_ALLOWED;
    }
    if (strncmp(path, "/metrics", 8) != 0 || (path[8] != ' ' && path[8] != '?')) {
        return is_get ? PLI_METRICS_NOT_FOUND : PLI_METRICS_NO_BODY;
    }
    return is_get ? PLI_METRICS_GET : PLI_METRICS_HEAD;
}

static void serve(struct pli_metrics_caller *c)
{
    struct pli_metrics_state *self = pli_launcher.metrics;
    enum pli_metrics_verdict v = pli_metrics_judge(c->request, c->n_read);
    if (v == PLI_METRICS_MORE) {
        return;
    }
    pli_loop_watch(&c->watch, 0);
    switch (v) {
    case PLI_METRICS_BAD:
        answer(c, "400 Bad Request", false, true);
        break;
    case PLI_METRICS_TOO_LONG:
        answer(c, "431 Request Header Fields Too Large", false, true);
        break;
    case PLI_METRICS_NOT_ALLOWED:
        answer(c, "405 Method Not Allowed", false, true);
        break;
    case PLI_METRICS_NOT_FOUND:
    case PLI_METRICS_NO_BODY:
        answer(c, "404 Not Found", false, v == PLI_METRICS_NOT_FOUND);
        break;
    default:
        c->is_waiting = true;
        ask_hosts(&self->again);
    }
}

static void fire(struct pli_watch *w, uint32_t events)
{
    struct pli_metrics_caller *c = (struct pli_metrics_caller *)(void *)w;
    if (c->answer != NULL) {
        write_more(c);
        return;
    }
    if (c->is_waiting) {
        if ((events & (EPOLLHUP | EPOLLERR)) != 0) {
            hang_up(c);
        }
        return;
    }
    size_t room = sizeof c->request - 1 - c->n_read;
    ssize_t n = recv(w->fd, c->request + c->n_read, room, MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN) {
        return;
    }
    if (n <= 0) {
        hang_up(c);
        return;
    }
    c->n_read += (size_t)n;
    c->request[c->n_read] = '\0';
    serve(c);
}

static void too_late(struct pli_timer *t)
{
    struct pli_metrics_caller *c =
        (struct pli_metrics_caller *)(void *)((char *)t -
                                              offsetof(struct pli_metrics_caller, timer));
    if (c->is_open) {
        hang_up(c);
    }
}

// Where there is no room the one that has been here longest is hung up on: callers that never ask
// keep no others out.
static struct pli_metrics_caller *find_room(struct pli_metrics_state *self)
{
    struct pli_metrics_caller *oldest = &self->callers[0];
    for (struct pli_metrics_caller *c = self->callers; c < self->callers + PLI_METRICS_N_CALLER;
         c++) {
        if (!c->is_open) {
            return c;
        }
        oldest = c->timer.at < oldest->timer.at ? c : oldest;
    }
    hang_up(oldest);
    return oldest;
}

static void call(struct pli_watch *w, uint32_t events)
{
    struct pli_metrics_state *self = pli_launcher.metrics;
    (void)events;
    int fd = pli_accept_one(w);
    if (fd < 0) {
        return;
    }
    struct pli_metrics_caller *c = find_room(self);
    c->n_read = 0;
    c->is_open = true;
    c->watch.fd = fd;
    c->watch.fire = fire;
    c->timer.fire = too_late;
    pli_loop_timer(&c->timer, (uint64_t)CALL_MS * PLI_MS);
    pli_loop_watch(&c->watch, EPOLLIN);
}

// "HOST:PORT", "[::1]:PORT", ":PORT" or "PORT".
static bool split(const char *text, char host[256], char port[8])
{
    const char *colon = strrchr(text, ':'), *number = colon != NULL ? colon + 1 : text;
    size_t n = colon != NULL ? (size_t)(colon - text) : 0;
    size_t digits = strspn(number, "0123456789");
    if (digits == 0 || digits > 5 || number[digits] != '\0' || atoi(number) > 65535 || n > 255) {
        return false;
    }
    bool is_bracketed = n > 2 && text[0] == '[' && text[n - 1] == ']';
    snprintf(host, 256, "%.*s", (int)(is_bracketed ? n - 2 : n), text + is_bracketed);
    snprintf(port, 8, "%s", number);
    if (n == 0) {
        strcpy(host, "127.0.0.1");
    }
    return true;
}

static int listen_at(const struct addrinfo *a)
{
    int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), one = 1;
    if (fd >= 0) {
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    }
    if (fd >= 0 && (bind(fd, a->ai_addr, a->ai_addrlen) != 0 || listen(fd, 64) != 0)) {
        int error = errno;
        close(fd);
        errno = error;
        fd = -1;
    }
    return fd;
}

static void say_port(const struct pli_job *job, int fd, const char *host, const char *port)
{
    struct sockaddr_storage a;
    socklen_t len = sizeof a;
    char number[16] = "?";
    bool is_wanted = job->opt.is_verbose || strtol(port, NULL, 10) == 0;
    if (is_wanted && getsockname(fd, (struct sockaddr *)&a, &len) == 0 &&
        getnameinfo((struct sockaddr *)&a, len, NULL, 0, number, sizeof number, NI_NUMERICSERV) ==
            0) {
        bool is_six = strchr(host, ':') != NULL;
        pli_say("metrics are at http://%s%s%s:%s/metrics", is_six ? "[" : "", host,
                is_six ? "]" : "", number);
    }
}

bool pli_metrics_open(struct pli_job *job)
{
    struct pli_metrics_state *self = pli_launcher.metrics;
    const char *where = job->opt.metrics;
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE }, *found = NULL;
    char host[256], port[8];
    self->listener.fd = -1;
    if (where == NULL) {
        return true;
    }
    if (!split(where, host, port)) {
        pli_say("--metrics wants HOST:PORT, such as 127.0.0.1:9100, and not '%s'", where);
        return false;
    }
    int error = getaddrinfo(host, port, &hints, &found);
    if (error != 0) {
        pli_say("--metrics %s: %s", where, gai_strerror(error));
        return false;
    }
    for (const struct addrinfo *a = found; a != NULL && self->listener.fd < 0; a = a->ai_next) {
        self->listener.fd = listen_at(a); // "localhost" may first be an address that is not here
    }
    error = errno;
    freeaddrinfo(found);
    if (self->listener.fd < 0) {
        pli_say("--metrics %s: cannot listen there: %s", where, strerror(error));
        return false;
    }
    self->listener.fire = call;
    self->again.fire = ask_hosts;
    pli_loop_watch(&self->listener, EPOLLIN);
    say_port(job, self->listener.fd, host, port);
    return true;
}
