// SPDX-License-Identifier: BSD-3-Clause
// One connection of the server: collects commands from bytes that come in any portions. Before a
// client has joined nothing is allocated for it; after that only as its bytes arrive.
#include "server/srv_conf.h"
#include "server/srv_job_priv.h"
#include "server/srv_log.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const bool may_go[N_PEER_STATE][N_PEER_STATE] = {
    // [from][to]
    [P_AUTH] = { [P_KEY] = true, [P_TLS] = true, [P_RANK] = true, [P_CLOSED] = true },
    [P_KEY] = { [P_RANK] = true, [P_CLOSED] = true },
    [P_TLS] = { [P_RANK] = true, [P_CLOSED] = true },
    [P_RANK] = { [P_LABELS] = true, [P_RELAY] = true, [P_CLOSED] = true },
    [P_LABELS] = { [P_RUN] = true, [P_CLOSED] = true },
    [P_RUN] = { [P_CLOSED] = true },
    [P_RELAY] = { [P_CLOSED] = true },
};

void pli_srv_job_peer_go(struct pli_srv_peer *peer, enum peer_state to)
{
    static const char *const name[N_PEER_STATE] = { "authentication", "key", "TLS",   "rank",
                                                    "labels",         "run", "relay", "closed" };
    if (!may_go[peer->state][to]) {
        pli_srv_log(PLI_SRV_ERROR, "%s: cannot go from %s to %s", pli_srv_job_peer_name(peer),
                    name[peer->state], name[to]);
        abort(); // a mistake of ours, whatever the client sent
    }
    pli_srv_log(PLI_SRV_INFO, "%s: %s -> %s", pli_srv_job_peer_name(peer), name[peer->state],
                name[to]);
    peer->state = to;
}

const char *pli_srv_job_peer_name(const struct pli_srv_peer *peer)
{
    static char line[120]; // one thread, one line at a time
    if (peer->rank < 0) {
        return peer->name;
    }
    snprintf(line, sizeof line, "client %d (%s)", peer->rank, peer->name);
    return line;
}

// A client may send any number of unknown but harmless commands, but must not fill the log with
// them.
bool pli_srv_job_peer_is_unknown(struct pli_srv_peer *peer)
{
    enum { MAX_UNKNOWN = 10 };
    if (++peer->n_odd == MAX_UNKNOWN) {
        pli_srv_log(PLI_SRV_WARN, "%s: further unknown commands are not reported",
                    pli_srv_job_peer_name(peer));
    }
    return peer->n_odd < MAX_UNKNOWN;
}

void pli_srv_job_peer_drop(struct pli_srv_peer *peer)
{
    if (peer->state != P_CLOSED) {
        pli_srv_job_peer_go(peer, P_CLOSED);
    }
    if (peer->mate != NULL) { // without one side the other is of no use
        struct pli_srv_peer *mate = peer->mate;
        peer->mate = mate->mate = NULL;
        pli_srv_job_peer_drop(mate);
    }
    pli_impi_body_fini(&peer->body);
    peer->has_body = false;
}

// Whether a command is allowed in this state. If not, it is a violation of the protocol, but for
// two that may come late.
static bool is_expected(const struct pli_srv_peer *peer, uint32_t cmd)
{
    switch (peer->state) {
    case P_AUTH:
        return cmd == PLI_IMPI_CMD_AUTH;
    case P_RANK:
        return cmd == PLI_IMPI_CMD_IMPI || cmd == PLI_IMPI_CMD_JOIN || cmd == PLI_IMPI_CMD_RLAY;
    case P_LABELS:
    case P_RUN:
        return cmd != PLI_IMPI_CMD_AUTH && cmd != PLI_IMPI_CMD_IMPI && cmd != PLI_IMPI_CMD_JOIN &&
               cmd != PLI_IMPI_CMD_RLAY;
    default:
        return false;
    }
}

static void handle_command(struct pli_srv_job *job, struct pli_srv_peer *peer,
                           const struct pli_impi_cmd_head *head)
{
    struct pli_impi_cmd cmd;
    if (pli_impi_cmd_get_client(head, peer->small + PLI_IMPI_CMD_HEAD, &cmd) != PLI_IMPI_OK) {
        pli_srv_job_on_violation(job, peer, "sent a command of a wrong length");
        return;
    }
    switch (cmd.cmd) {
    case PLI_IMPI_CMD_AUTH:
        pli_srv_job_on_auth(job, peer, cmd.mask);
        break;
    case PLI_IMPI_CMD_IMPI:
        pli_srv_job_on_rank(job, peer, cmd.value);
        break;
    case PLI_IMPI_CMD_DONE:
        pli_srv_job_on_done(job, peer);
        break;
    case PLI_IMPI_CMD_FINI:
        pli_srv_job_on_fini(job, peer);
        break;
    default:
        break;
    }
}

static void begin_body(struct pli_srv_peer *peer, const struct pli_impi_cmd_head *head)
{
    peer->has_body = true;
    peer->body_cmd = head->cmd;
    pli_impi_body_begin(&peer->body, head->len);
    peer->n_small = 0;
}

// A command of a client that joins, or has joined, by a token.
static bool is_text(const struct pli_srv_peer *peer, uint32_t cmd)
{
    return cmd == PLI_IMPI_CMD_JOIN || cmd == PLI_IMPI_CMD_RLAY ||
           (peer->has_joined && (cmd == PLI_IMPI_CMD_BEAT || cmd == PLI_IMPI_CMD_OVER));
}

static void handle_text(struct pli_srv_job *job, struct pli_srv_peer *peer, uint32_t kind,
                        const unsigned char *data, size_t len)
{
    struct pli_impi_cmd_head head = { kind, (uint32_t)len };
    struct pli_impi_cmd cmd = { 0 };
    char text[PLI_IMPI_CMD_TEXT + 16];
    if (pli_impi_cmd_get_client(&head, data, &cmd) != PLI_IMPI_OK) {
        pli_srv_job_on_violation(job, peer, "sent a command of a wrong length");
        return;
    }
    if (kind == PLI_IMPI_CMD_RLAY) {
        pli_srv_job_on_relay(job, peer, &cmd.relay);
        return;
    }
    snprintf(text, sizeof text, "%.*s", (int)cmd.len, cmd.len > 0 ? (const char *)cmd.data : "");
    for (char *c = text; *c != '\0'; c++) {
        *c = (unsigned char)*c < ' ' || *c == 127 ? '?' : *c; // it is printed elsewhere
    }
    if (kind == PLI_IMPI_CMD_JOIN) {
        cmd.data = (const unsigned char *)text;
        pli_srv_job_on_join(job, peer, &cmd);
    } else if (kind == PLI_IMPI_CMD_BEAT) {
        pli_srv_job_on_beat(job, peer, text);
    } else {
        pli_srv_job_on_over(job, peer, text);
    }
}

// A head is complete: see what follows it.
static void begin(struct pli_srv_job *job, struct pli_srv_peer *peer)
{
    struct pli_impi_cmd_head head;
    if (pli_impi_cmd_get_head(peer->small, peer->n_small, &head) != PLI_IMPI_OK) {
        pli_srv_job_on_violation(job, peer, "sent a command of negative length");
        return;
    }
    if (!is_expected(peer, head.cmd)) {
        pli_srv_job_on_violation(job, peer,
                                 peer->state == P_AUTH   ? "did not begin with AUTH"
                                 : peer->state == P_RANK ? "did not go on with IMPI"
                                                         : "sent AUTH or IMPI a second time");
        return;
    }
    if (head.cmd == PLI_IMPI_CMD_COLL) {
        if (head.len < 4) {
            pli_srv_job_on_violation(job, peer, "sent COLL without a label");
        } else if (head.len - 4 > (size_t)job->conf->limit_mib << 20) {
            pli_srv_job_on_violation(job, peer, "sent a label above the limit (see -limit)");
        } else {
            begin_body(peer, &head);
        }
        return;
    }
    if (is_text(peer, head.cmd)) {
        if (head.len > PLI_IMPI_CMD_TEXT + 8 || (head.cmd == PLI_IMPI_CMD_JOIN && head.len < 8)) {
            pli_srv_job_on_violation(job, peer, "sent JOIN, BEAT or OVER of a wrong length");
        } else if (head.len == 0) {
            peer->n_small = 0;
            handle_text(job, peer, head.cmd, NULL, 0);
        } else {
            begin_body(peer, &head);
        }
        return;
    }
    bool is_word = head.cmd == PLI_IMPI_CMD_AUTH || head.cmd == PLI_IMPI_CMD_IMPI;
    bool is_bare = head.cmd == PLI_IMPI_CMD_DONE || head.cmd == PLI_IMPI_CMD_FINI;
    if (!is_word && !is_bare) {
        if (pli_srv_job_peer_is_unknown(peer)) {
            pli_srv_log(PLI_SRV_WARN, "%s: skipping unknown command 0x%08x of %u bytes",
                        pli_srv_job_peer_name(peer), head.cmd, head.len);
        }
        peer->skip = head.len;
        peer->n_small = 0;
    } else if (is_bare || head.len != 4 || peer->n_small == PLI_IMPI_CMD_WORD) {
        peer->n_small = 0;
        handle_command(job, peer, &head);
    }
}

// Bytes of a payload.
static size_t take_body(struct pli_srv_job *job, struct pli_srv_peer *peer, const unsigned char *p,
                        size_t len)
{
    size_t n = len;
    enum pli_impi_err err = pli_impi_body_take(&peer->body, p, len, &n);
    if (err == PLI_IMPI_ERR_NOMEM) {
        pli_srv_job_on_violation(job, peer, "sent more than there is memory for");
    } else if (err == PLI_IMPI_OK) {
        struct pli_impi_cmd_head head = { PLI_IMPI_CMD_COLL, (uint32_t)peer->body.want };
        struct pli_impi_cmd cmd = { 0 };
        unsigned char *data = pli_impi_body_release(&peer->body);
        if (peer->body_cmd != PLI_IMPI_CMD_COLL) {
            peer->has_body = false;
            handle_text(job, peer, peer->body_cmd, data, head.len);
            free(data);
            return n;
        }
        (void)pli_impi_cmd_get_client(&head, data, &cmd); // has its label, see begin
        memmove(data, cmd.data, cmd.len);
        peer->has_body = false;
        pli_srv_job_on_label(job, peer, cmd.label, data, cmd.len);
    }
    return n;
}

// Bytes of a head, a word or the key.
static size_t take_small(struct pli_srv_job *job, struct pli_srv_peer *peer, const unsigned char *p,
                         size_t len)
{
    size_t want = peer->n_small < PLI_IMPI_CMD_HEAD ? PLI_IMPI_CMD_HEAD : PLI_IMPI_CMD_WORD;
    size_t n = want - peer->n_small;
    n = n < len ? n : len;
    memcpy(peer->small + peer->n_small, p, n);
    peer->n_small += n;
    if (peer->n_small < want) {
        return n;
    }
    if (peer->state == P_KEY) {
        uint64_t key = 0;
        (void)pli_impi_cmd_get_key(peer->small, peer->n_small, &key); // all 8 bytes are there
        memset(peer->small, 0, sizeof peer->small);
        peer->n_small = 0;
        pli_srv_job_on_key(job, peer, key);
    } else {
        begin(job, peer);
    }
    return n;
}

void pli_srv_job_peer_input(struct pli_srv_job *job, struct pli_srv_peer *peer,
                            const unsigned char *p, size_t len)
{
    peer->heard_ms = job->now_ms;
    while (len > 0 && peer->state != P_CLOSED) {
        size_t n;
        if (peer->state == P_RELAY) { // it must wait until the other side is there
            pli_srv_job_on_violation(job, peer, "sent something before it was relayed");
            return;
        }
        if (peer->state == P_TLS) { // it would be taken for what came by TLS
            pli_srv_job_on_violation(job, peer, "sent something before TLS");
            return;
        }
        if (peer->skip > 0) {
            n = len < peer->skip ? len : peer->skip;
            peer->skip -= (uint32_t)n;
        } else if (peer->has_body) {
            n = take_body(job, peer, p, len);
        } else {
            n = take_small(job, peer, p, len);
        }
        p += n;
        len -= n;
    }
}
