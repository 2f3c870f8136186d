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
    free(peer);
}

// A client that had joined is no more. `what` completes "client 3 (address) ...".
static void leave(struct pli_srv_job *job, struct pli_srv_peer *peer, const char *what)
{
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
        pli_srv_collate_forget(&job->collate, peer->rank);
        job->n_joined--;
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
    if (is_pending(peer)) {
        pli_srv_log(PLI_SRV_WARN, "%s: %s; connection closed", peer->name, what);
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
        peer->n_out += pli_impi_cmd_put_method(peer->out + peer->n_out, (uint32_t)m, 0);
        if (m == PLI_IMPI_AUTH_NONE) {
            pli_srv_log(PLI_SRV_WARN, "%s: admitted without authentication", peer->name);
        }
        pli_srv_job_peer_go(peer, m == PLI_IMPI_AUTH_KEY ? P_KEY : P_RANK);
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

void pli_srv_job_on_rank(struct pli_srv_job *job, struct pli_srv_peer *peer, int32_t rank)
{
    int n = job->conf->n_client;
    peer->n_out += pli_impi_cmd_put_impi(peer->out + peer->n_out, n);
    bool is_valid = rank >= 0 && rank < n;
    if (!is_valid || job->slot[rank] != NULL) {
        char what[80];
        snprintf(what, sizeof what,
                 is_valid ? "wants rank %d, which is taken" : "wants rank %d of %d", rank, n);
        pli_srv_job_on_violation(job, peer, what); // it still gets the size, and can see why
        return;
    }
    job->slot[rank] = peer;
    peer->rank = rank;
    peer->has_stream = true;
    pli_srv_job_peer_go(peer, P_LABELS);
    if (++job->n_joined == n) {
        job_go(job, J_COLLATE);
        for (struct pli_srv_peer *p = job->peer; p != NULL; p = p->next) {
            if (is_pending(p)) {
                pli_srv_job_on_violation(job, p, "came too late, all clients have joined");
            }
        }
        // labels and DONEs that came before the last client are in the collation already
    }
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

size_t pli_srv_job_output(const struct pli_srv_job *job, const struct pli_srv_peer *peer,
                          const unsigned char **out)
{
    if (peer->at_out < peer->n_out) {
        *out = peer->out + peer->at_out;
        return peer->n_out - peer->at_out;
    }
    if (!peer->has_stream || peer->at_stream == job->collate.len) {
        return 0;
    }
    *out = job->collate.stream + peer->at_stream;
    return job->collate.len - peer->at_stream;
}

void pli_srv_job_wrote(struct pli_srv_peer *peer, size_t len)
{
    if (peer->at_out < peer->n_out) {
        peer->at_out += len;
    } else {
        peer->at_stream += len;
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

int pli_srv_job_tick(struct pli_srv_job *job, uint64_t now_ms)
{
    uint64_t next = 0;
    if (job->deadline_ms != 0 && (job->state == J_JOIN || job->state == J_COLLATE)) {
        if (now_ms >= job->deadline_ms) {
            time_out(job);
            return 0;
        }
        next = job->deadline_ms;
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
    return job->state == J_JOIN;
}

bool pli_srv_job_is_over(const struct pli_srv_job *job, enum pli_srv_exit *exit_out)
{
    if (job->state != J_OVER) {
        return false;
    }
    *exit_out = job->exit;
    return true;
}
