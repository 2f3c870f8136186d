// SPDX-License-Identifier: BSD-3-Clause
// The agent's start-up: sends the labels of this client, and writes for the ranks what the other
// clients sent.
#include "impi/agent_native/native_agent_priv.h"

#include "engine/impi_env.h"
#include "wire/impi_label_wire.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct pli_native_agent_mail *pli_native_agent_mail(const struct pli_node *node)
{
    return (struct pli_native_agent_mail *)(node->base + pli_node_gateway(node)->heap);
}

static bool post(struct pli_native_agent *a, char word, const void *data, size_t len)
{
    struct pli_native_agent_mail *mail = pli_native_agent_mail(a->node);
    if (len > a->gateway->heap_size - sizeof *mail) {
        return false;
    }
    mail->len = len;
    memcpy(mail->data, data, len);
    return send(a->conf->control_fd, &word, 1, MSG_NOSIGNAL) == 1;
}

// Wait for a byte of the process that started the agent; nothing else can happen before it comes.
static bool await(struct pli_native_agent *a, char want)
{
    char word = 0;
    ssize_t n;
    do {
        n = recv(a->conf->control_fd, &word, 1, 0);
    } while (n < 0 && errno == EINTR);
    if (n == 0) {
        _exit(1); // that process has ended
    }
    return n == 1 && word == want;
}

// A number that all clients of the job compute alike, for the identities of processes.
static uint64_t name_of(const struct pli_impi_job *job)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (uint32_t i = 0; i < job->n_proc; i++) {
        const unsigned char *p = (const unsigned char *)job->proc[i].id.host;
        for (int k = 0; k < PLI_IMPI_HOSTID; k++) {
            h = (h ^ p[k]) * 0x100000001b3u;
        }
        for (int k = 0; k < 64; k += 8) {
            h = (h ^ (job->proc[i].id.pid >> k & 255)) * 0x100000001b3u;
        }
    }
    return h >> 32 != 0 ? h : (uint64_t)1 << 32;
}

// Write into the node memory what the ranks, which have not started yet, will read.
static bool publish(struct pli_native_agent *a)
{
    const struct pli_impi_job *job = pli_impi_net_job(a->net);
    struct pli_gateway *g = a->gateway;
    struct pli_node_header *h = a->node->header;
    if (job->n_host > PLI_GATEWAY_N_HOST) {
        pli_native_agent_fail(a, "the job has %u hosts, more than the %d there is room for",
                              job->n_host, PLI_GATEWAY_N_HOST);
        return false;
    }
    uint32_t here = job->client[a->client].first_host + a->conf->host;
    g->client = a->client;
    g->n_client = job->n_client;
    g->n_host = job->n_host;
    g->datalen = job->datalen;
    g->tag_ub = job->tag_ub;
    g->has_long8 = (job->features & PLI_IMPI_HAS_LONG8) != 0;
    g->has_later = (job->features & PLI_IMPI_HAS_LATER) != 0;
    g->has_windows = (job->features & PLI_IMPI_HAS_WINDOWS) != 0;
    g->has_files = g->has_windows && (job->features & PLI_IMPI_HAS_FILES) != 0;
    g->has_atomic = (job->features & PLI_IMPI_HAS_ATOMIC) != 0;
    g->has_made = (job->features & PLI_IMPI_HAS_MADE) != 0;
    g->xsize = job->coll_xsize;
    g->maxlinear = job->coll_maxlinear;
    for (uint32_t i = 0; i < job->n_client; i++) {
        g->clients[i] =
            (struct pli_gateway_client){ job->client[i].first_rank, job->client[i].n_proc };
    }
    for (uint32_t i = 0; i < job->n_host; i++) {
        g->host_first[i] = job->host[i].first_rank;
    }
    a->first = g->host_first[here];
    h->base = g->clients[g->client].first;
    for (uint32_t r = 0; r < a->n_row; r++) {
        a->node->rows[r].index = a->first + r;
    }
    h->n_joint = job->n_proc;
    h->joint = name_of(job);
    pli_native_agent_clock_open(a, job);
    return true;
}

// Write what the server sent, for the agents on other hosts of this client.
static bool pass_on(struct pli_native_agent *a)
{
    const struct pli_impi_collated *c = pli_impi_client_collated(pli_impi_net_client(a->net));
    size_t len = pli_impi_collated_len(c);
    unsigned char *bytes = malloc(1 + len);
    if (bytes == NULL) {
        return false;
    }
    bytes[0] = (unsigned char)a->client;
    pli_impi_collated_put(c, bytes + 1);
    bool is_good = post(a, PLI_NATIVE_AGENT_JOB, bytes, 1 + len);
    free(bytes);
    return is_good;
}

// Who takes part is known. Before any connection is made: messages may come by the first of them
// while others are still missing.
static bool learn_job(struct pli_native_agent *a, bool is_lead)
{
    if (is_lead) {
        a->client = pli_impi_client_rank(pli_impi_net_client(a->net));
    }
    a->engine = pli_impi_net_engine(a->net);
    return publish(a);
}

// Run until messages can be sent; `is_lead`: the other agents of this client wait for what this one
// receives.
static bool connect_all(struct pli_native_agent *a, enum pli_impi_err err, bool is_lead)
{
    bool is_told = a->conf->n_host == 1 || !is_lead, is_known = false;
    if (err == PLI_IMPI_OK) {
        err = pli_impi_net_also(a->net, a->conf->control_fd, &a->is_control_ready);
    }
    while (err == PLI_IMPI_OK && !a->is_control_ready &&
           (pli_impi_net_state(a->net) < PLI_IMPI_NET_RUN || !is_told)) {
        if (!is_known && pli_impi_net_state(a->net) >= PLI_IMPI_NET_MESH) {
            is_known = true;
            if (!learn_job(a, is_lead)) {
                return false;
            }
        }
        if (!is_told && pli_impi_net_state(a->net) >= PLI_IMPI_NET_MESH) {
            is_told = true;
            if (!pass_on(a)) {
                pli_native_agent_fail(a, "the client's other hosts cannot be told of the job");
                return false;
            }
            continue;
        }
        err = pli_impi_net_poll(a->net, -1);
    }
    if (err != PLI_IMPI_OK && pli_native_agent_has_token()) {
        return false;
    }
    if (err != PLI_IMPI_OK) {
        pli_native_agent_fail(a, "the job could not be joined as client %u: %s", a->client,
                              pli_impi_err_text(err));
        return false;
    }
    if (a->is_control_ready) { // the launcher has given up waiting
        return false;
    }
    return is_known || learn_job(a, is_lead);
}

// Other clients connect to the address that each host gives: two hosts of a client must not give
// the same.
static bool are_distinct(struct pli_native_agent *a, const struct pli_impi_host *hosts, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < i; k++) {
            if (hosts[i].port == hosts[k].port &&
                memcmp(hosts[i].addr, hosts[k].addr, sizeof hosts[i].addr) == 0) {
                pli_native_agent_fail(
                    a,
                    "hosts %u and %u of the client tell the same address and port %u; "
                    "IMPI_HOST_NAME and IMPI_HOST_PORT take one for each host, with commas",
                    k, i, hosts[i].port);
                return false;
            }
        }
    }
    return true;
}

// The hosts of the client: this one alone, or what all agents of it have sent.
static bool list_hosts(struct pli_native_agent *a, const struct pli_impi_host *own,
                       struct pli_impi_host **out)
{
    uint32_t n = a->conf->n_host;
    const struct pli_native_agent_mail *mail = pli_native_agent_mail(a->node);
    struct pli_impi_host *hosts = calloc(n, sizeof *hosts);
    *out = hosts;
    if (hosts == NULL) {
        pli_native_agent_fail(a, "no memory for %u hosts", n);
        return false;
    }
    hosts[0] = *own;
    if (n == 1) {
        return true;
    }
    if (!await(a, PLI_NATIVE_AGENT_LIST) ||
        mail->len != n * sizeof(struct pli_native_agent_place)) {
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        struct pli_native_agent_place p;
        memcpy(&p, mail->data + i * sizeof p, sizeof p);
        hosts[i] = (struct pli_impi_host){
            .port = p.port, .n_proc = p.n_proc, .ackmark = p.ackmark, .hiwater = p.hiwater
        };
        memcpy(hosts[i].addr, p.addr, sizeof hosts[i].addr);
    }
    return are_distinct(a, hosts, n);
}

// On the first host, which connects to the server.
static bool lead(struct pli_native_agent *a, const struct pli_impi_env *env,
                 const struct pli_impi_host *own, const struct pli_impi_log *log)
{
    struct pli_impi_host *hosts;
    uint32_t n = a->node->header->n_world, at = 0;
    struct pli_impi_proc_id *procs = calloc(n, sizeof *procs);
    bool is_good = list_hosts(a, own, &hosts) && procs != NULL;
    for (uint32_t h = 0; is_good && h < a->conf->n_host; h++) {
        for (uint32_t i = 0; i < hosts[h].n_proc && at < n; i++, at++) {
            memcpy(procs[at].host, hosts[h].addr, sizeof procs[at].host);
            procs[at].pid = (uint64_t)a->node->header->launcher << 24 | at;
        }
    }
    struct pli_impi_version version = { 0, 0 };
    struct pli_impi_client_info info = { .version = &version,
                                         .n_version = 1,
                                         .host = hosts,
                                         .n_host = a->conf->n_host,
                                         .proc = procs,
                                         .n_proc = n,
                                         .datalen = env->datalen,
                                         .tag_ub = INT32_MAX,
                                         .coll_xsize = env->coll_xsize,
                                         .coll_maxlinear = env->coll_maxlinear,
                                         .machine = pli_impi_env_machine(env) };
    char what[160], host_name[64] = "";
    (void)gethostname(host_name, sizeof host_name - 1);
    snprintf(what, sizeof what, "mpiexec on %s, process %u", host_name, a->node->header->launcher);
    struct pli_impi_client_conf client = { .rank = a->client,
                                           .joins = env->has_token ? what : NULL,
                                           .takes_any_rank = env->takes_any_rank,
                                           .has_none = env->has_none,
                                           .has_key = env->has_key,
                                           .key = env->key,
                                           .info = &info,
                                           .log = *log };
    is_good = is_good && pli_impi_env_features(log, env->may_tls, &info) == PLI_IMPI_OK;
    info.features |= PLI_IMPI_HAS_CLOCK;
    is_good = is_good && connect_all(a, pli_impi_net_start(a->net, env->server, &client, 0), true);
    free(procs);
    free(hosts);
    return is_good;
}

// On another host of the client. The job is never freed.
static bool follow(struct pli_native_agent *a)
{
    static struct pli_impi_collated collated;
    static struct pli_impi_job *job;
    const struct pli_native_agent_mail *mail = pli_native_agent_mail(a->node);
    char why[256] = "it makes no sense";
    uint32_t mask = 0;
    if (!await(a, PLI_NATIVE_AGENT_JOB)) {
        return false;
    }
    a->client = mail->len > 0 ? mail->data[0] : 0;
    enum pli_impi_err err = mail->len == 0
                                ? PLI_IMPI_ERR_PROTO
                                : pli_impi_collated_get(&collated, mail->data + 1, mail->len - 1);
    for (int i = 0; err == PLI_IMPI_OK && i < PLI_IMPI_N_LABEL; i++) {
        mask |= collated.row[i].mask; // every client has sent some label
    }
    if (err == PLI_IMPI_OK && mask != 0) {
        err = pli_impi_job_create(32 - (uint32_t)__builtin_clz(mask), &collated, why, sizeof why,
                                  &job);
    }
    if (err != PLI_IMPI_OK || job == NULL || a->client >= job->n_client) {
        pli_native_agent_fail(a, "what the first host told of the job cannot be used: %s", why);
        return false;
    }
    uint32_t host = job->client[a->client].first_host + a->conf->host;
    return connect_all(a, pli_impi_net_join(a->net, job, host), false);
}

bool pli_native_agent_join(struct pli_native_agent *a, const struct pli_impi_engine_ops *ops,
                           const struct pli_impi_log *log)
{
    struct pli_impi_env env;
    struct pli_impi_host host = { .n_proc = a->n_row };
    if (pli_impi_env_read(log, a->conf->host, a->conf->n_host, &env) != PLI_IMPI_OK ||
        pli_impi_env_address(&env, log, host.addr) != PLI_IMPI_OK) {
        return false;
    }
    struct pli_impi_net_conf conf = { .bind = env.bind[0] != '\0' ? env.bind : NULL,
                                      .port = env.port,
                                      .timeout_s = env.timeout_s,
                                      .server_s = env.server_s,
                                      .silence_s = env.silence_s,
                                      .n_links = env.n_links,
                                      .takes_any_address = env.takes_any_address,
                                      .tls_file = env.tls_file,
                                      .may_tls = env.may_tls,
                                      .secret = env.token.secret,
                                      .n_secret = env.token.has_tls ? sizeof env.token.secret : 0,
                                      .relay = env.has_token ? env.server : NULL,
                                      .relay_key = env.key,
                                      .ops = ops,
                                      .arg = a,
                                      .log = *log };
    if (pli_impi_net_create(&conf, &a->net) != PLI_IMPI_OK) {
        return false;
    }
    host.port = env.told_port != 0 ? env.told_port : pli_impi_net_port(a->net);
    host.ackmark = env.ackmark;
    host.hiwater = env.hiwater;
    struct pli_native_agent_place place = {
        .port = host.port, .n_proc = host.n_proc, .ackmark = host.ackmark, .hiwater = host.hiwater
    };
    memcpy(place.addr, host.addr, sizeof place.addr);
    if (a->conf->n_host > 1 && !post(a, PLI_NATIVE_AGENT_HERE, &place, sizeof place)) {
        return false;
    }
    return a->conf->host == 0 ? lead(a, &env, &host, log) : follow(a);
}
