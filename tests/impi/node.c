// SPDX-License-Identifier: BSD-3-Clause
// A host of an IMPI job without an MPI behind it: joins through a server with real sockets, then
//   exchange: each of its processes sends N messages to each foreign one, and checks what it gets
//   echo:     returns every message to its sender with the tag one higher; tag 9999 ends it
// usage: node SERVER RANK MODE [name=value...]; prints one line of results, exit 0: all was right
#include "engine/impi_env.h"
#include "engine/impi_net.h"
#include "engine/impi_tls.h"
#include "t.h"
#include "wire/impi_label_wire.h"
#include <arpa/inet.h>
#include <errno.h>
#include <unistd.h>

enum { MAX_PROC = 64 };

struct option {
    const char *name;
    int value;
};

static struct option
    option[] = {
        { "procs", 1 },  { "datalen", 1024 }, { "ackmark", 10 }, { "hiwater", 20 },
        { "msgs", 20 },  { "maxlen", 5000 },  { "timeout", 20 }, { "silence", 60 },
        { "xsize", -1 }, { "port", 0 },       { "links", 0 },    { "verbose", 0 },
        { "wait", 0 },   { "plain", 0 }, // nothing but what IMPI 0.0 has
    };
static const char *bind_to = "127.0.0.1";

static int get(const char *name)
{
    for (size_t i = 0; i < sizeof option / sizeof *option; i++) {
        if (strcmp(option[i].name, name) == 0) {
            return option[i].value;
        }
    }
    abort();
}

struct msg { // one that is being received
    struct pli_impi_arrival a;
    unsigned char *data;
    struct msg *next;
};

struct reply { // one that is being sent
    uint64_t req;
    unsigned char *data;
    struct reply *next;
};

struct node {
    struct pli_impi_net *net;
    bool is_echo, is_ended;
    struct msg *msg;
    struct reply *reply;
    unsigned long n_in, n_out, n_sent, n_matched, n_want_match;
    uint32_t *next_tag; // expected, by source and destination
};

static unsigned char pattern(uint32_t src, uint32_t dst, int32_t tag, uint64_t i)
{
    return (unsigned char)(src * 5 + dst * 3 + (uint32_t)tag * 7 + i + (i >> 8));
}

static uint64_t length(uint32_t src, uint32_t dst, int32_t tag)
{
    uint32_t h = (src * 2654435761u) ^ (dst * 40503u) ^ ((uint32_t)tag * 2246822519u);
    h ^= h >> 15;
    return h % ((unsigned)get("maxlen") + 1);
}

static void post(struct node *n, uint32_t src, uint32_t dst, int32_t tag, unsigned char *data,
                 uint64_t len)
{
    struct reply *r = malloc(sizeof *r);
    T_TRUE(r != NULL);
    struct pli_impi_send s = {
        .env = { .src = src, .dst = dst, .lsrank = (int32_t)src, .tag = tag },
        .data = data,
        .len = len,
        .ready = len,
        .is_sync = tag % 5 == 0
    };
    T_EQ(PLI_IMPI_OK, pli_impi_engine_send(pli_impi_net_engine(n->net), &s, &r->req));
    r->data = data;
    r->next = n->reply;
    n->reply = r;
    n->n_out++;
    n->n_want_match += s.is_sync || len > pli_impi_net_job(n->net)->datalen;
}

static void whole(struct node *n, struct msg *m)
{
    struct pli_impi_envelope *env = &m->a.env;
    n->n_in++;
    if (n->is_echo) {
        if (env->tag == 9999) {
            n->is_ended = true;
            free(m->data);
        } else {
            post(n, env->dst, env->src, env->tag + 1, m->data, m->a.msglen);
        }
        return;
    }
    T_EQ(length(env->src, env->dst, env->tag), m->a.msglen);
    T_EQ(env->src, env->lsrank);
    bool is_same = true;
    for (uint64_t i = 0; i < m->a.msglen; i++) {
        is_same = is_same && pattern(env->src, env->dst, env->tag, i) == m->data[i];
    }
    T_TRUE(is_same);
    free(m->data);
}

static void *room(void *arg, const struct pli_impi_arrival *a)
{
    (void)arg;
    return malloc(a->msglen); // a test may trust its peers
}

static void dropped(void *arg, void *p)
{
    (void)arg;
    free(p);
}

static void arrived(void *arg, const struct pli_impi_arrival *a, void *p)
{
    struct node *n = arg;
    struct msg *m = malloc(sizeof *m);
    T_TRUE(m != NULL);
    *m = (struct msg){ .a = *a, .data = p };
    if (!n->is_echo) {
        uint32_t n_proc = pli_impi_net_job(n->net)->n_proc;
        T_EQ(n->next_tag[a->env.src * n_proc + a->env.dst]++, a->env.tag); // in order
    }
    if (a->handle != 0) {
        T_EQ(PLI_IMPI_OK,
             pli_impi_engine_accept(pli_impi_net_engine(n->net), a->handle, p, a->msglen));
    }
    if (a->len < a->msglen) {
        m->next = n->msg;
        n->msg = m;
        return;
    }
    whole(n, m);
    free(m);
}

static void received(void *arg, uint64_t handle, enum pli_impi_err err)
{
    struct node *n = arg;
    for (struct msg **at = &n->msg; *at != NULL; at = &(*at)->next) {
        struct msg *m = *at;
        if (m->a.handle == handle) {
            *at = m->next;
            if (err == PLI_IMPI_OK) {
                whole(n, m);
            } else {
                free(m->data);
            }
            free(m);
            return;
        }
    }
    abort();
}

static void sent(void *arg, uint64_t req, enum pli_impi_err err)
{
    struct node *n = arg;
    n->n_sent += err == PLI_IMPI_OK;
    for (struct reply **at = &n->reply; *at != NULL; at = &(*at)->next) {
        struct reply *r = *at;
        if (r->req == req) {
            *at = r->next;
            free(r->data);
            free(r);
            return;
        }
    }
}

static void matched(void *arg, uint64_t req)
{
    (void)req;
    ((struct node *)arg)->n_matched++;
}

static void cancel_asked(void *arg, const struct pli_impi_cancel *c)
{
    struct node *n = arg; // everything is matched as it comes
    T_EQ(PLI_IMPI_OK, pli_impi_engine_answer(pli_impi_net_engine(n->net), c, 0, false));
}

static void say(void *arg, enum pli_impi_log_level level, const char *line)
{
    (void)arg;
    if (level != PLI_IMPI_LOG_STEP || get("verbose") > 0) {
        fprintf(stderr, "node: %s\n", line);
    }
}

static void begin(struct node *n)
{
    const struct pli_impi_job *job = pli_impi_net_job(n->net);
    n->next_tag = calloc((size_t)job->n_proc * job->n_proc, sizeof *n->next_tag);
    T_TRUE(n->next_tag != NULL);
}

// Message i of all pairs, if it is our turn to send.
static void send_all(struct node *n, uint32_t first, uint32_t n_own)
{
    const struct pli_impi_job *job = pli_impi_net_job(n->net);
    for (int32_t tag = 0; !n->is_echo && tag < get("msgs"); tag++) {
        for (uint32_t s = first; s < first + n_own; s++) {
            for (uint32_t d = 0; d < job->n_proc; d++) {
                if (d >= first && d < first + n_own) {
                    continue;
                }
                uint64_t len = length(s, d, tag);
                unsigned char *data = malloc(len + 1);
                T_TRUE(data != NULL);
                for (uint64_t i = 0; i < len; i++) {
                    data[i] = pattern(s, d, tag, i);
                }
                post(n, s, d, tag, data, len);
            }
        }
    }
}

static bool is_through(const struct node *n, unsigned long expect)
{
    bool has_in = n->is_echo ? n->is_ended : n->n_in == expect;
    return has_in && n->n_sent == n->n_out && n->n_matched == n->n_want_match;
}

static int run(struct node *n, const char *server, const struct pli_impi_client_conf *client)
{
    enum pli_impi_err err = pli_impi_net_start(n->net, server, client, 0);
    enum pli_impi_net_state last = PLI_IMPI_NET_IDLE;
    unsigned long expect = 0;
    while (err == PLI_IMPI_OK && pli_impi_net_state(n->net) != PLI_IMPI_NET_DONE) {
        err = pli_impi_net_poll(n->net, 1000);
        enum pli_impi_net_state now = pli_impi_net_state(n->net);
        if (n->next_tag == NULL && pli_impi_net_job(n->net) != NULL) {
            begin(n);
        }
        if (now == PLI_IMPI_NET_RUN && last < PLI_IMPI_NET_RUN) {
            const struct pli_impi_job_client *me = &pli_impi_net_job(n->net)->client[client->rank];
            expect = (unsigned long)get("msgs") * me->n_proc *
                     (pli_impi_net_job(n->net)->n_proc - me->n_proc);
            send_all(n, me->first_rank, me->n_proc);
        }
        if (now == PLI_IMPI_NET_RUN && is_through(n, expect)) {
            err = pli_impi_net_finish(n->net);
        }
        if (now == PLI_IMPI_NET_QUIET) {
            err = pli_impi_net_bye(n->net);
        }
        last = now;
    }
    if (err != PLI_IMPI_OK) {
        printf("failed: %s\n", pli_impi_err_text(err));
        return 1;
    }
    const struct pli_impi_job *job = pli_impi_net_job(n->net);
    printf("ok in=%lu out=%lu datalen=%u ackmark=%u hiwater=%u\n", n->n_in, n->n_out, job->datalen,
           job->ackmark, job->hiwater);
    return 0;
}

static void parse(int argc, char **argv)
{
    for (int i = 4; i < argc; i++) {
        char *eq = strchr(argv[i], '=');
        T_TRUE(eq != NULL);
        *eq = '\0';
        if (strcmp(argv[i], "bind") == 0) {
            bind_to = eq + 1;
            continue;
        }
        bool has = false;
        for (size_t k = 0; k < sizeof option / sizeof *option; k++) {
            if (strcmp(option[k].name, argv[i]) == 0) {
                option[k].value = atoi(eq + 1);
                has = true;
            }
        }
        T_TRUE(has);
    }
}

int main(int argc, char **argv)
{
    struct node n = { 0 };
    static struct pli_impi_proc_id proc[MAX_PROC];
    struct pli_impi_version version = { 0, 0 };
    T_TRUE(argc >= 4);
    parse(argc, argv);
    n.is_echo = strcmp(argv[3], "echo") == 0;
    struct pli_impi_engine_ops ops = pli_impi_engine_quiet;
    ops.room = room;
    ops.dropped = dropped;
    ops.arrived = arrived;
    ops.received = received;
    ops.sent = sent;
    ops.matched = matched;
    ops.cancel_asked = cancel_asked;
    const char *tls = getenv("IMPI_TLS");
    bool is_off = tls != NULL && strcmp(tls, "off") == 0;
    bool may_tls = tls == NULL && get("plain") == 0 && pli_impi_tls_is_here();
    tls = is_off ? NULL : tls;
    struct pli_impi_net_conf conf = { .bind = bind_to,
                                      .port = (uint16_t)get("port"),
                                      .timeout_s = get("timeout"),
                                      .server_s = get("wait"),
                                      .silence_s = get("silence"),
                                      .n_links = (uint32_t)get("links"),
                                      .takes_any_address = getenv("IMPI_ANY_ADDRESS") != NULL,
                                      .tls_file = tls,
                                      .may_tls = may_tls,
                                      .ops = &ops,
                                      .arg = &n,
                                      .log = { say, NULL } };
    T_EQ(PLI_IMPI_OK, pli_impi_net_create(&conf, &n.net));
    struct pli_impi_host host = { .port = pli_impi_net_port(n.net),
                                  .n_proc = (uint32_t)get("procs"),
                                  .ackmark = (uint32_t)get("ackmark"),
                                  .hiwater = (uint32_t)get("hiwater") };
    unsigned char v4[4];
    if (inet_pton(AF_INET, bind_to, v4) == 1) {
        pli_impi_label_put_ipv4(v4, host.addr);
    } else {
        T_EQ(1, inet_pton(AF_INET6, bind_to, host.addr));
    }
    T_TRUE(host.n_proc <= MAX_PROC);
    for (uint32_t i = 0; i < host.n_proc; i++) {
        memcpy(proc[i].host, host.addr, sizeof proc[i].host);
        proc[i].pid = (uint64_t)getpid() * MAX_PROC + i;
    }
    struct pli_impi_client_info info = { .version = &version,
                                         .n_version = 1,
                                         .host = &host,
                                         .n_host = 1,
                                         .proc = proc,
                                         .n_proc = host.n_proc,
                                         .datalen = (uint32_t)get("datalen"),
                                         .tag_ub = INT32_MAX,
                                         .coll_xsize = get("xsize"),
                                         .coll_maxlinear = -1 };
    const char *key = getenv("IMPI_AUTH_KEY");
    struct pli_impi_client_conf client = { .rank = (uint32_t)atoi(argv[2]),
                                           .has_none = getenv("IMPI_AUTH_NONE") != NULL,
                                           .has_key = key != NULL,
                                           .key = key == NULL ? 0 : strtoull(key, NULL, 10),
                                           .info = &info,
                                           .log = { say, NULL } };
    if (get("plain") == 0) {
        T_EQ(PLI_IMPI_OK, pli_impi_env_features(&client.log, may_tls, &info));
    }
    int rc = run(&n, argv[1], &client);
    pli_impi_net_destroy(n.net);
    free(n.next_tag);
    return rc;
}
