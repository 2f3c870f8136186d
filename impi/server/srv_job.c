// SPDX-License-Identifier: BSD-3-Clause
// The job as the server sees it: which clients have joined, what they sent, how it ends. Until all
// clients have joined, the rank of a client that disconnects is free again; after that the loss
// ends the startup. After the startup a lost client is reported, and the server goes on for the
// others.
#include "server/srv_job.h"
#include "server/srv_conf.h"
#include "server/srv_job_priv.h"
#include "server/srv_log.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void job_go(struct pli_srv_job *job, enum job_state to)
{
    static const bool may_go[N_JOB_STATE][N_JOB_STATE] = {
        // [from][to]
        [J_JOIN] = { [J_COLLATE] = true, [J_OVER] = true },
        [J_COLLATE] = { [J_RUN] = true, [J_OVER] = true },
        [J_RUN] = { [J_OVER] = true },
    };
    static const char *const said[N_JOB_STATE] = { "", "all clients have joined",
                                                   "startup is over, the job runs",
                                                   "the job is over" };
    if (!may_go[job->state][to]) {
        pli_srv_log(PLI_SRV_ERROR, "cannot go from state %d to %d", job->state, to);
        abort(); // a mistake of ours
    }
    pli_srv_log(PLI_SRV_INFO, "%s", said[to]);
    job->state = to;
}

static void end(struct pli_srv_job *job, enum pli_srv_exit code)
{
    job->exit = code;
    job_go(job, J_OVER);
}

enum pli_impi_err pli_srv_job_create(const struct pli_srv_conf *conf, uint64_t now_ms,
                                     struct pli_srv_job **out)
{
    struct pli_srv_job *job = calloc(1, sizeof *job);
    if (job == NULL) {
        return PLI_IMPI_ERR_NOMEM;
    }
    job->conf = conf;
    job->now_ms = now_ms;
    job->deadline_ms = conf->timeout_s == 0 ? 0 : now_ms + 1000 * (uint64_t)conf->timeout_s;
    pli_srv_collate_init(&job->collate, conf->n_client);
    *out = job;
    return PLI_IMPI_OK;
}

void pli_srv_job_destroy(struct pli_srv_job *job)
{
    if (job == NULL) {
        return;
    }
    while (job->peer != NULL) {
        pli_srv_job_reap(job, job->peer);
    }
    pli_srv_collate_fini(&job->collate);
    free(job);
}

static bool is_pending(const struct pli_srv_peer *peer)
{
    return peer->state < P_LABELS;
}

static void drop_oldest(struct pli_srv_job *job)
{
    struct pli_srv_peer *oldest = NULL;
    int n = 0;
    for (struct pli_srv_peer *p = job->peer; p != NULL; p = p->next) {
        if (is_pending(p)) {
            oldest = p;
            n++;
        }
    }
    if (n > PLI_SRV_MAX_PENDING) {
        pli_srv_log(PLI_SRV_WARN, "%s: dropped, too many connections wait", oldest->name);
        pli_srv_job_peer_drop(oldest);
    }
}

enum pli_impi_err pli_srv_job_admit(struct pli_srv_job *job, const char *name, uint64_t now_ms,
                                    struct pli_srv_peer **out)
{
    struct pli_srv_peer *peer = calloc(1, sizeof *peer);
    if (peer == NULL) {
        pli_srv_log(PLI_SRV_WARN, "%s: no memory for another connection", name);
        return PLI_IMPI_ERR_NOMEM;
    }
    peer->rank = -1;
    peer->heard_ms = job->now_ms = now_ms;
    snprintf(peer->name, sizeof peer->name, "%s", name);
    peer->deadline_ms = now_ms + 1000 * (uint64_t)job->conf->handshake_s;
    peer->next = job->peer;
    job->peer = peer;
    pli_srv_log(PLI_SRV_INFO, "%s: connected", name);
    drop_oldest(job);
    *out = peer;
    return PLI_IMPI_OK;
}

void pli_srv_job_reap(struct pli_srv_job *job, struct pli_srv_peer *peer)
{
    pli_srv_job_peer_drop(peer);
    for (struct pli_srv_peer **at = &job->peer; *at != NULL; at = &(*at)->next) {
        if (*at == peer) {
            *at = peer->next;
            break;
        }
    }
    free(peer->out);
    free(peer);
}

// Bytes for one peer. One that does not read, and so has much waiting, gets no more.
static void put_out(struct pli_srv_peer *peer, const unsigned char *p, size_t len)
{
    enum { MAX_OUT = 65536 };
    if (peer->n_out + len > MAX_OUT) {
        return;
    }
    if (peer->n_out + len > peer->cap_out) {
        size_t cap = peer->n_out + len + 64;
        unsigned char *bigger = realloc(peer->out, cap);
        if (bigger == NULL) {
            pli_srv_log(PLI_SRV_WARN, "%s: no memory for what it is to be told", peer->name);
            return;
        }
        peer->out = bigger;
        peer->cap_out = cap;
    }
    memcpy(peer->out + peer->n_out, p, len);
    peer->n_out += len;
}

static void put_text(struct pli_srv_peer *peer, uint32_t cmd, const char *text)
{
    unsigned char buf[PLI_IMPI_CMD_TEXT_CAP];
    put_out(peer, buf, pli_impi_cmd_put_text(buf, cmd, text));
}

// To all that joined by a token but one.
static void put_all(struct pli_srv_job *job, const struct pli_srv_peer *but, uint32_t cmd,
                    const char *text)
{
    for (int r = 0; r < job->conf->n_client; r++) {
        if (job->slot[r] != NULL && job->slot[r] != but && job->slot[r]->has_joined) {
            put_text(job->slot[r], cmd, text);
        }
    }
    if (cmd != PLI_IMPI_CMD_BEAT) {
        pli_srv_log(job->conf->is_hosted ? PLI_SRV_INFO : PLI_SRV_WARN, "%s", text);
    }
}

// How many have joined, to those that wait.
static void tell_joined(struct pli_srv_job *job)
{
    unsigned char buf[PLI_IMPI_CMD_JOINED];
    for (int r = 0; r < job->conf->n_client; r++) {
        if (job->slot[r] != NULL && job->slot[r]->has_joined) {
            put_out(job->slot[r], buf,
                    pli_impi_cmd_put_joined(buf, r, job->conf->n_client, job->n_joined));
        }
    }
}

// One that had joined has left while others are waited for: its rank is free again.
static void forget_joined(struct pli_srv_job *job, int rank)
{
    pli_srv_collate_forget(&job->collate, rank);
    job->n_joined--;
    tell_joined(job);
}

static const char *name_in_world(const struct pli_srv_peer *peer, char out[256])
{
    snprintf(out, 256, "client %d (%s)", peer->rank,
             peer->what[0] != '\0' ? peer->what : peer->name);
    return out;
}

// In a world that is joined by a token no client goes on without another.
static void end_world(struct pli_srv_job *job, const struct pli_srv_peer *but, const char *why)
{
    put_all(job, but, PLI_IMPI_CMD_OVER, why);
    end(job, job->state == J_RUN ? PLI_SRV_EXIT_LOST : PLI_SRV_EXIT_STARTUP);
}

// A client has ended the world before all have joined. Those that have joined are told, and those
// that still come: the job that hosts the world does for sure, others may be on their way.
static void never_begin(struct pli_srv_job *job, const char *why)
{
    enum { HOST_MS = 10000, OTHERS_MS = 1000 };
    bool is_host_here = job->conf->is_hosted && job->slot[0] != NULL;
    bool has_pending = false;
    for (const struct pli_srv_peer *p = job->peer; p != NULL; p = p->next) {
        has_pending = has_pending || is_pending(p);
    }
    put_all(job, NULL, PLI_IMPI_CMD_OVER, why);
    snprintf(job->why, sizeof job->why, "%s", why);
    job->why_ms = job->now_ms + (is_host_here && !has_pending            ? 0
                                 : job->conf->is_hosted && !is_host_here ? HOST_MS
                                                                         : OTHERS_MS);
}

void pli_srv_job_stop(struct pli_srv_job *job, const char *why)
{
    if (job->state != J_OVER) {
        end_world(job, NULL, why);
    }
}

// A client that had joined is no more. `what` completes "client 3 (address) ...".
static void leave(struct pli_srv_job *job, struct pli_srv_peer *peer, const char *what)
{
    if (peer->has_joined && job->state != J_JOIN) {
        char why[PLI_IMPI_CMD_TEXT], name[256];
        snprintf(why, sizeof why, "%s was lost: its agent %s", name_in_world(peer, name), what);
        job->slot[peer->rank] = NULL;
        pli_srv_job_peer_drop(peer);
        end_world(job, peer, why);
        return;
    }
    if (job->state == J_RUN) {
        pli_srv_log(PLI_SRV_WARN, "%s %s before it said FINI; counted as finished",
                    pli_srv_job_peer_name(peer), what);
    } else if (job->state == J_COLLATE) {
        pli_srv_log(PLI_SRV_ERROR, "%s %s during startup; the job cannot start",
                    pli_srv_job_peer_name(peer), what);
    } else {
        pli_srv_log(PLI_SRV_WARN, "%s %s before all had joined; its rank is free again",
                    pli_srv_job_peer_name(peer), what);
    }
    job->slot[peer->rank] = NULL;
    pli_srv_job_peer_drop(peer);
    if (job->state == J_JOIN) {
        forget_joined(job, peer->rank);
    } else if (job->state == J_COLLATE) {
        end(job, PLI_SRV_EXIT_STARTUP);
    } else {
        job->n_lost++;
        job->n_finished++;
        if (job->n_finished == job->conf->n_client) {
            end(job, PLI_SRV_EXIT_LOST);
        }
    }
}

void pli_srv_job_on_violation(struct pli_srv_job *job, struct pli_srv_peer *peer, const char *what)
{
    if (is_pending(peer) || peer->state == P_RELAY) {
        pli_srv_log(peer->state == P_RELAY ? PLI_SRV_INFO : PLI_SRV_WARN,
                    "%s: %s; connection closed", peer->name, what);
        pli_srv_job_peer_drop(peer);
    } else {
        leave(job, peer, what);
    }
}

void pli_srv_job_lost(struct pli_srv_job *job, struct pli_srv_peer *peer, const char *why)
{
    char what[160];
    if (peer->state == P_CLOSED || job->state == J_OVER) {
        return;
    }
    snprintf(what, sizeof what, "went away (%s)", why != NULL ? why : "end of stream");
    pli_srv_job_on_violation(job, peer, what);
}

void pli_srv_job_input(struct pli_srv_job *job, struct pli_srv_peer *peer, const unsigned char *p,
                       size_t len)
{
    if (job->state != J_OVER) {
        pli_srv_job_peer_input(job, peer, p, len);
    }
}

void pli_srv_job_on_auth(struct pli_srv_job *job, struct pli_srv_peer *peer, uint32_t mask)
{
    for (int i = 0; i < job->conf->n_method; i++) {
        int m = job->conf->method[i];
        if ((mask >> m & 1) == 0) {
            continue;
        }
        unsigned char buf[PLI_IMPI_CMD_METHOD];
        bool is_tls = m == PLI_IMPI_AUTH_KEY && job->conf->key_tls != NULL &&
                      (mask >> PLI_IMPI_AUTH_TLS & 1) != 0;
        put_out(peer, buf,
                pli_impi_cmd_put_method(buf, is_tls ? PLI_IMPI_AUTH_TLS : (uint32_t)m, 0));
        if (m == PLI_IMPI_AUTH_NONE) {
            pli_srv_log(PLI_SRV_WARN, "%s: admitted without authentication", peer->name);
        }
        pli_srv_job_peer_go(peer, is_tls ? P_TLS : m == PLI_IMPI_AUTH_KEY ? P_KEY : P_RANK);
        return;
    }
    char what[80];
    snprintf(what, sizeof what, "offers no authentication method of ours (its mask is 0x%x)", mask);
    pli_srv_job_on_violation(job, peer, what);
}

void pli_srv_job_on_key(struct pli_srv_job *job, struct pli_srv_peer *peer, uint64_t key)
{
    // one comparison of a word takes the same time however much of it is right
    if ((key ^ job->conf->key) != 0) {
        pli_srv_job_on_violation(job, peer, "has the wrong key");
        return;
    }
    pli_srv_job_peer_go(peer, P_RANK);
}

bool pli_srv_job_turns_to_tls(const struct pli_srv_peer *peer)
{
    return peer->state == P_TLS;
}

void pli_srv_job_is_tls(struct pli_srv_peer *peer)
{
    pli_srv_job_peer_go(peer, P_RANK);
}

// It has a rank, and its labels come.
static void seat(struct pli_srv_job *job, struct pli_srv_peer *peer, int rank)
{
    job->slot[rank] = peer;
    peer->rank = rank;
    peer->has_stream = true;
    pli_srv_job_peer_go(peer, P_LABELS);
    job->n_joined++;
    tell_joined(job);
    if (job->n_joined == job->conf->n_client) {
        job_go(job, J_COLLATE);
        for (struct pli_srv_peer *p = job->peer; p != NULL; p = p->next) {
            if (is_pending(p) && !job->conf->has_token) { // with one it is told so when it joins
                pli_srv_job_on_violation(job, p, "came too late, all clients have joined");
            }
        }
        // labels and DONEs that came before the last client are in the collation already
    }
}

static void refuse(struct pli_srv_job *job, struct pli_srv_peer *peer, const char *sentence)
{
    put_text(peer, PLI_IMPI_CMD_OVER, sentence);
    pli_srv_log(PLI_SRV_INFO, "%s is refused: %s", peer->name, sentence);
    (void)job;
    pli_srv_job_peer_drop(peer);
}

void pli_srv_job_on_join(struct pli_srv_job *job, struct pli_srv_peer *peer,
                         const struct pli_impi_cmd *cmd)
{
    char why[200];
    int n = job->conf->n_client, rank = cmd->value;
    if (cmd->version != PLI_IMPI_JOIN_VERSION) {
        snprintf(why, sizeof why,
                 "the server joins worlds by version %d and this client by version %u; install "
                 "the same Pliant MPI on both sides",
                 PLI_IMPI_JOIN_VERSION, cmd->version);
        refuse(job, peer, why);
        return;
    }
    if (job->why[0] != '\0') {
        bool is_host = cmd->value == 0 && job->conf->is_hosted;
        refuse(job, peer, job->why);
        if (is_host) {
            end(job, PLI_SRV_EXIT_STARTUP);
        }
        return;
    }
    if (rank == PLI_IMPI_RANK_ENDED) {
        snprintf(why, sizeof why, "%.*s has ended before any of its processes has called MPI_Init",
                 (int)cmd->len, (const char *)cmd->data);
        refuse(job, peer, why);
        if (job->state == J_JOIN) { // nobody knows of another that would come in its place
            never_begin(job, why);
        }
        return;
    }
    // the process that hosts the world is client 0, whoever comes first
    for (rank = rank >= 0 ? rank : job->conf->is_hosted; cmd->value < 0 && rank < n; rank++) {
        if (job->slot[rank] == NULL) {
            break;
        }
    }
    if (rank >= n || job->slot[rank] != NULL) {
        snprintf(why, sizeof why,
                 cmd->value < 0 ? "the world has its %d clients already"
                                : "the world has client %2$d of %1$d already",
                 n, cmd->value);
        refuse(job, peer, why);
        return;
    }
    peer->has_joined = true;
    snprintf(peer->what, sizeof peer->what, "%.*s", (int)cmd->len, (const char *)cmd->data);
    seat(job, peer, rank);
}

void pli_srv_job_on_relay(struct pli_srv_job *job, struct pli_srv_peer *peer,
                          const struct pli_impi_relay *relay)
{
    unsigned char buf[PLI_IMPI_CMD_RELAYED];
    size_t len = pli_impi_cmd_put_relayed(buf, relay);
    if (!job->conf->has_token || job->state == J_JOIN ||
        relay->client >= (uint32_t)job->conf->n_client) {
        pli_srv_job_on_violation(job, peer, "asks for a relay that there cannot be");
        return;
    }
    struct pli_srv_peer *mate = job->peer;
    while (mate != NULL &&
           (mate->state != P_RELAY || mate->mate != NULL || mate->relay.from != relay->from ||
            mate->relay.to != relay->to || mate->relay.is_called == relay->is_called)) {
        mate = mate->next;
    }
    pli_srv_job_peer_go(peer, P_RELAY);
    peer->relay = *relay;
    if (mate != NULL) {
        peer->mate = mate;
        mate->mate = peer;
        put_out(peer, buf, len);
        put_out(mate, buf, len);
        return;
    }
    struct pli_srv_peer *called = job->slot[relay->client];
    if (!relay->is_called && called != NULL && called->has_joined) {
        put_out(called, buf, len);
    }
}

struct pli_srv_peer *pli_srv_job_mate(const struct pli_srv_peer *peer)
{
    return peer->mate;
}

void pli_srv_job_on_beat(struct pli_srv_job *job, struct pli_srv_peer *peer, const char *trouble)
{
    char text[PLI_IMPI_CMD_TEXT], name[256];
    if (strcmp(peer->trouble, trouble) == 0) {
        return;
    }
    snprintf(text, sizeof text, "%s: %s", name_in_world(peer, name),
             trouble[0] != '\0' ? trouble : "its processes run again");
    snprintf(peer->trouble, sizeof peer->trouble, "%s", trouble);
    put_all(job, NULL, PLI_IMPI_CMD_SAYS, text);
}

void pli_srv_job_on_over(struct pli_srv_job *job, struct pli_srv_peer *peer, const char *why)
{
    char text[PLI_IMPI_CMD_TEXT], name[256];
    snprintf(text, sizeof text, "%s: %s", name_in_world(peer, name), why);
    job->slot[peer->rank] = NULL;
    pli_srv_job_peer_drop(peer);
    if (job->state == J_JOIN) {
        forget_joined(job, peer->rank);
        return;
    }
    end_world(job, peer, text);
}

void pli_srv_job_on_rank(struct pli_srv_job *job, struct pli_srv_peer *peer, int32_t rank)
{
    int n = job->conf->n_client;
    unsigned char buf[PLI_IMPI_CMD_WORD];
    put_out(peer, buf, pli_impi_cmd_put_impi(buf, n));
    bool is_valid = rank >= 0 && rank < n;
    if (!is_valid || job->slot[rank] != NULL) {
        char what[80];
        snprintf(what, sizeof what,
                 is_valid ? "wants rank %d, which is taken" : "wants rank %d of %d", rank, n);
        pli_srv_job_on_violation(job, peer, what); // it still gets the size, and can see why
        return;
    }
    seat(job, peer, rank);
}

static void after_collation(struct pli_srv_job *job, struct pli_srv_peer *peer,
                            enum pli_impi_err err)
{
    if (err == PLI_IMPI_ERR_NOMEM) {
        pli_srv_job_on_violation(job, peer, "sent more than the limit or memory allows");
    } else if (job->collate.is_over && job->state == J_COLLATE) {
        job_go(job, J_RUN);
    }
}

void pli_srv_job_on_label(struct pli_srv_job *job, struct pli_srv_peer *peer, uint32_t label,
                          unsigned char *data, size_t len)
{
    size_t limit = (size_t)job->conf->limit_mib << 20;
    enum pli_impi_err err = pli_srv_collate_add(&job->collate, peer->rank, label, data, len, limit);
    if (err == PLI_IMPI_AGAIN) {
        if (pli_srv_job_peer_is_unknown(peer)) {
            pli_srv_log(PLI_SRV_WARN,
                        "%s: label 0x%x dropped, it is out of order, late or a duplicate",
                        pli_srv_job_peer_name(peer), label);
        }
        return;
    }
    pli_srv_log(PLI_SRV_INFO, "%s: label 0x%x, %zu bytes", pli_srv_job_peer_name(peer), label, len);
    after_collation(job, peer, err);
}

void pli_srv_job_on_done(struct pli_srv_job *job, struct pli_srv_peer *peer)
{
    if (peer->state == P_RUN) {
        if (pli_srv_job_peer_is_unknown(peer)) {
            pli_srv_log(PLI_SRV_WARN, "%s: said DONE again", pli_srv_job_peer_name(peer));
        }
        return;
    }
    pli_srv_job_peer_go(peer, P_RUN);
    after_collation(job, peer, pli_srv_collate_done(&job->collate, peer->rank));
}

void pli_srv_job_on_fini(struct pli_srv_job *job, struct pli_srv_peer *peer)
{
    if (job->state != J_RUN) {
        leave(job, peer, "said FINI");
        return;
    }
    pli_srv_log(PLI_SRV_INFO, "%s: finished", pli_srv_job_peer_name(peer));
    job->slot[peer->rank] = NULL;
    pli_srv_job_peer_drop(peer);
    if (++job->n_finished == job->conf->n_client) {
        end(job, job->n_lost == 0 ? PLI_SRV_EXIT_OK : PLI_SRV_EXIT_LOST);
    }
}

size_t pli_srv_job_output(const struct pli_srv_job *job, struct pli_srv_peer *peer,
                          const unsigned char **out)
{
    bool has_out = peer->at_out < peer->n_out;
    bool has_stream = peer->has_stream && peer->at_stream < job->collate.len;
    if (has_out && !(peer->writes == W_STREAM && has_stream)) {
        peer->writes = W_OUT;
        *out = peer->out + peer->at_out;
        return peer->n_out - peer->at_out;
    }
    if (!has_stream) {
        peer->writes = W_NONE;
        return 0;
    }
    peer->writes = W_STREAM;
    *out = job->collate.stream + peer->at_stream;
    return job->collate.len - peer->at_stream;
}

void pli_srv_job_wrote(struct pli_srv_peer *peer, size_t len)
{
    if (peer->writes == W_STREAM) {
        peer->at_stream += len;
        return;
    }
    peer->at_out += len;
    if (peer->at_out == peer->n_out) {
        peer->at_out = peer->n_out = 0;
    }
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

static void time_out(struct pli_srv_job *job)
{
    char missing[160] = "";
    size_t at = 0;
    for (int r = 0; r < job->conf->n_client; r++) {
        const char *what = job->slot[r] == NULL           ? "not joined"
                           : job->collate.from[r].is_done ? NULL
                                                          : "no DONE";
        if (what != NULL && at < sizeof missing - 32) {
            at += (size_t)snprintf(missing + at, sizeof missing - at, "%s%d (%s)",
                                   at == 0 ? "" : ", ", r, what);
        }
    }
    pli_srv_log(PLI_SRV_ERROR, "startup is not over after %d s; missing clients: %s",
                job->conf->timeout_s, missing);
    end(job, PLI_SRV_EXIT_TIMEOUT);
}

// Ask each client that joined by a token for a sign of life. One that gives none is named, and
// given up after silence_s.
static void beat(struct pli_srv_job *job)
{
    enum { QUIET_MS = 4000 };
    for (int r = 0; r < job->conf->n_client && job->state == J_RUN; r++) {
        struct pli_srv_peer *p = job->slot[r];
        char text[PLI_IMPI_CMD_TEXT], name[256];
        if (p == NULL || !p->has_joined) {
            continue;
        }
        put_text(p, PLI_IMPI_CMD_BEAT, "");
        uint64_t ms = job->now_ms - p->heard_ms;
        if (ms > 1000 * (uint64_t)job->conf->silence_s) {
            snprintf(text, sizeof text, "%s has not answered for %d s", name_in_world(p, name),
                     job->conf->silence_s);
            end_world(job, NULL, text);
        } else if ((ms > QUIET_MS) != p->is_silent) {
            p->is_silent = !p->is_silent;
            snprintf(text, sizeof text,
                     p->is_silent ? "%s does not answer; is its agent stopped? The job ends "
                                    "after %d s without an answer (IMPI_SILENCE)"
                                  : "%s answers again",
                     name_in_world(p, name), job->conf->silence_s);
            put_all(job, p, PLI_IMPI_CMD_SAYS, text);
        }
    }
}

int pli_srv_job_tick(struct pli_srv_job *job, uint64_t now_ms)
{
    enum { BEAT_MS = 1000 };
    uint64_t next = 0;
    job->now_ms = now_ms;
    if (job->conf->has_token && job->state == J_RUN) {
        if (now_ms >= job->beat_ms) {
            job->beat_ms = now_ms + BEAT_MS;
            beat(job);
            if (job->state == J_OVER) {
                return 0;
            }
        }
        next = job->beat_ms;
    }
    if (job->why[0] != '\0') {
        if (now_ms >= job->why_ms) {
            end(job, PLI_SRV_EXIT_STARTUP);
            return 0;
        }
        next = sooner(next, job->why_ms);
    }
    if (job->deadline_ms != 0 && (job->state == J_JOIN || job->state == J_COLLATE)) {
        if (now_ms >= job->deadline_ms) {
            time_out(job);
            return 0;
        }
        next = sooner(next, job->deadline_ms);
    }
    for (struct pli_srv_peer *p = job->peer; p != NULL; p = p->next) {
        if (!is_pending(p)) {
            continue;
        }
        if (now_ms >= p->deadline_ms) {
            pli_srv_job_on_violation(job, p, "was too slow to give a rank");
        } else {
            next = sooner(next, p->deadline_ms);
        }
    }
    return next == 0 ? -1 : (int)(next - now_ms);
}

bool pli_srv_job_is_open(const struct pli_srv_peer *peer)
{
    return peer->state != P_CLOSED;
}

bool pli_srv_job_wants_more(const struct pli_srv_job *job)
{
    return job->state == J_JOIN || (job->conf->has_token && job->state != J_OVER);
}

bool pli_srv_job_is_over(const struct pli_srv_job *job, enum pli_srv_exit *exit_out)
{
    if (job->state != J_OVER) {
        return false;
    }
    *exit_out = job->exit;
    return true;
}
