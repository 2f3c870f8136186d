// SPDX-License-Identifier: BSD-3-Clause
// The client's side of startup. Labels go out in ascending order, all at once, which the server's
// rule allows and which costs one round trip instead of fourteen. DONE follows when all labels of
// IMPI have come back: the reference server forgets what a client has sent that is DONE.
#include "engine/impi_client.h"
#include "wire/impi_body.h"
#include "wire/impi_cmd_wire.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_LIMIT = 256 << 20 };

struct pli_impi_client {
    enum pli_impi_client_state state;
    struct pli_impi_log log;
    uint32_t rank, n_client;
    uint32_t mask; // methods
    uint64_t key;
    size_t limit;
    unsigned char small[PLI_IMPI_CMD_HEAD]; // the head of a command, or the method
    size_t n_small;
    uint32_t skip; // bytes of method data or an unknown command
    bool has_body;
    struct pli_impi_cmd_head head;
    struct pli_impi_body body;
    unsigned char *label; // COLL commands, made at the start
    bool is_done;         // DONE is queued or sent
    bool turns_to_tls;    // the server has chosen it, and the stream is plain as yet
    size_t n_label;
    unsigned char *out;
    size_t at_out, n_out, cap_out;
    struct pli_impi_collated collated;
    struct pli_impi_job *job;
    bool joins, takes_any_rank, has_ended;
    struct pli_impi_relay *relay; // hosts that wait at the server
    uint32_t n_relay;
    uint64_t n_beat;
    char name[160], trouble[160], over[PLI_IMPI_CMD_TEXT + 1];
};

static void set_state(struct pli_impi_client *c, enum pli_impi_client_state to)
{
    static const bool may_go[PLI_IMPI_N_CLIENT_STATE][PLI_IMPI_N_CLIENT_STATE] = {
        // [from][to]
        [PLI_IMPI_CLIENT_METHOD] = { [PLI_IMPI_CLIENT_SIZE] = true,
                                     [PLI_IMPI_CLIENT_FAILED] = true },
        [PLI_IMPI_CLIENT_SIZE] = { [PLI_IMPI_CLIENT_LABELS] = true,
                                   [PLI_IMPI_CLIENT_FAILED] = true },
        [PLI_IMPI_CLIENT_LABELS] = { [PLI_IMPI_CLIENT_RUN] = true,
                                     [PLI_IMPI_CLIENT_FAILED] = true },
        [PLI_IMPI_CLIENT_RUN] = { [PLI_IMPI_CLIENT_FINISHED] = true,
                                  [PLI_IMPI_CLIENT_FAILED] = true },
        [PLI_IMPI_CLIENT_FINISHED] = { [PLI_IMPI_CLIENT_FAILED] = true },
    };
    static const char *const name[PLI_IMPI_N_CLIENT_STATE] = { "method", "size",     "labels",
                                                               "run",    "finished", "failed" };
    if (!may_go[c->state][to]) {
        abort(); // a mistake of ours, whatever the server sent
    }
    pli_impi_log(&c->log, PLI_IMPI_LOG_STEP, "client %u: %s -> %s", c->rank, name[c->state],
                 name[to]);
    c->state = to;
}

static enum pli_impi_err fail(struct pli_impi_client *c, enum pli_impi_err err, const char *why)
{
    pli_impi_log(&c->log, PLI_IMPI_LOG_ERROR, "client %u and the server: %s", c->rank, why);
    set_state(c, PLI_IMPI_CLIENT_FAILED);
    return err;
}

static enum pli_impi_err queue(struct pli_impi_client *c, const unsigned char *p, size_t len)
{
    if (c->n_out + len > c->cap_out) {
        unsigned char *bigger = realloc(c->out, c->n_out + len);
        if (bigger == NULL) {
            return PLI_IMPI_ERR_NOMEM;
        }
        c->out = bigger;
        c->cap_out = c->n_out + len;
    }
    memcpy(c->out + c->n_out, p, len);
    c->n_out += len;
    return PLI_IMPI_OK;
}

// All labels as they will be sent.
static enum pli_impi_err make_labels(struct pli_impi_client *c,
                                     const struct pli_impi_client_info *info)
{
    size_t len = 0, at = 0;
    for (int i = 0; i < PLI_IMPI_N_LABEL; i++) {
        len += PLI_IMPI_CMD_COLL_HEAD + pli_impi_label_len(info, i);
    }
    c->label = malloc(len);
    if (c->label == NULL) {
        return PLI_IMPI_ERR_NOMEM;
    }
    for (int i = 0; i < PLI_IMPI_N_LABEL; i++) {
        size_t n = pli_impi_label_len(info, i);
        if (n == 0) {
            continue; // X_PLIANT, of a client without its features
        }
        at += pli_impi_cmd_put_coll(c->label + at, pli_impi_label_table[i].label, n);
        pli_impi_label_put(info, i, c->label + at);
        at += n;
    }
    c->n_label = at;
    return PLI_IMPI_OK;
}

enum pli_impi_err pli_impi_client_create(const struct pli_impi_client_conf *conf,
                                         struct pli_impi_client **out)
{
    const char *why;
    enum pli_impi_err err = pli_impi_label_check(conf->info, &why);
    if (err == PLI_IMPI_OK && !conf->has_none && !conf->has_key) {
        why = "no authentication method is enabled; set IMPI_AUTH_KEY or IMPI_AUTH_NONE";
        err = PLI_IMPI_ERR_AUTH;
    }
    if (err == PLI_IMPI_OK && conf->rank >= PLI_IMPI_MAX_CLIENT) {
        why = "a client's rank is 0 to 31";
        err = PLI_IMPI_ERR_ARG;
    }
    if (err != PLI_IMPI_OK) {
        pli_impi_log(&conf->log, PLI_IMPI_LOG_ERROR, "client %u: %s", conf->rank, why);
        return err;
    }
    struct pli_impi_client *c = calloc(1, sizeof *c);
    if (c == NULL) {
        return PLI_IMPI_ERR_NOMEM;
    }
    c->log = conf->log;
    c->rank = conf->rank;
    c->joins = conf->joins != NULL;
    c->takes_any_rank = conf->takes_any_rank;
    c->has_ended = conf->has_ended;
    snprintf(c->name, sizeof c->name, "%s", c->joins ? conf->joins : "");
    c->key = conf->key;
    c->limit = conf->limit != 0 ? conf->limit : DEFAULT_LIMIT;
    c->mask = (conf->has_none ? 1u << PLI_IMPI_AUTH_NONE : 0) |
              (conf->has_key ? 1u << PLI_IMPI_AUTH_KEY : 0) |
              (conf->has_key && conf->may_tls ? 1u << PLI_IMPI_AUTH_TLS : 0);
    unsigned char auth[PLI_IMPI_CMD_WORD];
    err = make_labels(c, conf->info);
    if (err == PLI_IMPI_OK) {
        err = queue(c, auth, pli_impi_cmd_put_auth(auth, c->mask));
    }
    if (err != PLI_IMPI_OK) {
        pli_impi_client_destroy(c);
        return err;
    }
    *out = c;
    return PLI_IMPI_OK;
}

void pli_impi_client_destroy(struct pli_impi_client *c)
{
    if (c == NULL) {
        return;
    }
    pli_impi_job_destroy(c->job);
    pli_impi_collated_fini(&c->collated);
    pli_impi_body_fini(&c->body);
    free(c->label);
    free(c->out);
    free(c->relay);
    free(c);
}

// The server chose a method: answer it and give our rank.
static enum pli_impi_err on_method(struct pli_impi_client *c)
{
    uint32_t which, len;
    unsigned char buf[PLI_IMPI_CMD_KEY + PLI_IMPI_CMD_TEXT_CAP];
    size_t n = 0;
    if (pli_impi_cmd_get_method(c->small, c->n_small, &which, &len) != PLI_IMPI_OK) {
        return fail(c, PLI_IMPI_ERR_PROTO, "its choice of a method makes no sense");
    }
    if ((c->mask >> which & 1) == 0) {
        return fail(c, PLI_IMPI_ERR_AUTH, "it chose a method that was not offered");
    }
    c->skip = len;
    c->turns_to_tls = which == PLI_IMPI_AUTH_TLS;
    if (c->turns_to_tls && len > 0) {
        return fail(c, PLI_IMPI_ERR_PROTO, "its choice of TLS makes no sense");
    }
    if (which == PLI_IMPI_AUTH_KEY) {
        n = pli_impi_cmd_put_key(buf, c->key);
    }
    int32_t rank = c->has_ended        ? PLI_IMPI_RANK_ENDED
                   : c->takes_any_rank ? PLI_IMPI_RANK_ANY
                                       : (int32_t)c->rank;
    n += c->joins ? pli_impi_cmd_put_join(buf + n, rank, c->name)
                  : pli_impi_cmd_put_impi(buf + n, rank);
    set_state(c, PLI_IMPI_CLIENT_SIZE);
    return queue(c, buf, n);
}

static enum pli_impi_err on_size(struct pli_impi_client *c, const struct pli_impi_cmd *cmd)
{
    if (c->state != PLI_IMPI_CLIENT_SIZE) {
        return fail(c, PLI_IMPI_ERR_PROTO, "it sent the number of clients twice");
    }
    if (cmd->value < 1 || cmd->value > PLI_IMPI_MAX_CLIENT) {
        return fail(c, PLI_IMPI_ERR_PROTO, "the number of clients is not in 1..32");
    }
    if (c->rank >= (uint32_t)cmd->value) {
        return fail(c, PLI_IMPI_ERR_ARG, "the job has fewer clients than our rank needs");
    }
    c->n_client = (uint32_t)cmd->value;
    set_state(c, PLI_IMPI_CLIENT_LABELS);
    enum pli_impi_err err = queue(c, c->label, c->n_label);
    free(c->label);
    c->label = NULL;
    return err;
}

// The server answers JOIN, and says so again whenever another client has come.
static enum pli_impi_err on_joined(struct pli_impi_client *c, const struct pli_impi_cmd *cmd)
{
    if (!c->joins || cmd->version != PLI_IMPI_JOIN_VERSION || cmd->size < 1 ||
        cmd->size > PLI_IMPI_MAX_CLIENT || cmd->value < 0 || cmd->value >= cmd->size) {
        return fail(c, PLI_IMPI_ERR_PROTO, "its answer to JOIN makes no sense");
    }
    int32_t left = cmd->size - cmd->n_joined;
    char text[120] = "";
    if (left > 0) {
        snprintf(text, sizeof text, "%d of %d jobs have joined; waiting for %d more", cmd->n_joined,
                 cmd->size, left);
    }
    pli_impi_log(&c->log, PLI_IMPI_LOG_WAIT, "%s", text);
    if (c->state != PLI_IMPI_CLIENT_SIZE) {
        return PLI_IMPI_OK;
    }
    struct pli_impi_cmd size = { .value = cmd->size };
    c->rank = (uint32_t)cmd->value;
    return on_size(c, &size);
}

static enum pli_impi_err on_relay(struct pli_impi_client *c, const struct pli_impi_relay *relay)
{
    enum { MAX = 4096 };
    struct pli_impi_relay *more =
        c->n_relay < MAX ? realloc(c->relay, (c->n_relay + 1) * sizeof *more) : NULL;
    if (more == NULL) {
        return fail(c, PLI_IMPI_ERR_NOMEM, "too many hosts cannot be reached");
    }
    c->relay = more;
    c->relay[c->n_relay++] = *relay;
    return PLI_IMPI_OK;
}

bool pli_impi_client_take_relay(struct pli_impi_client *c, struct pli_impi_relay *out)
{
    if (c->n_relay == 0) {
        return false;
    }
    *out = c->relay[--c->n_relay];
    return true;
}

// A command of a world that was joined by a token.
static enum pli_impi_err on_world(struct pli_impi_client *c, const struct pli_impi_cmd *cmd)
{
    unsigned char buf[PLI_IMPI_CMD_TEXT_CAP];
    char text[PLI_IMPI_CMD_TEXT + 1];
    if (cmd->cmd == PLI_IMPI_CMD_JOIN) {
        return on_joined(c, cmd);
    }
    if (cmd->cmd == PLI_IMPI_CMD_RLAY) {
        return on_relay(c, &cmd->relay);
    }
    snprintf(text, sizeof text, "%.*s", (int)cmd->len, cmd->len > 0 ? (const char *)cmd->data : "");
    if (cmd->cmd == PLI_IMPI_CMD_BEAT) {
        c->n_beat++;
        return c->state == PLI_IMPI_CLIENT_RUN
                   ? queue(c, buf, pli_impi_cmd_put_text(buf, PLI_IMPI_CMD_BEAT, c->trouble))
                   : PLI_IMPI_OK;
    }
    if (cmd->cmd == PLI_IMPI_CMD_SAYS) {
        pli_impi_log(&c->log, PLI_IMPI_LOG_NOTE, "%s", text);
        return PLI_IMPI_OK;
    }
    pli_impi_log(&c->log, PLI_IMPI_LOG_WAIT, "%s", "");
    snprintf(c->over, sizeof c->over, "%s", text);
    pli_impi_log(&c->log, PLI_IMPI_LOG_ERROR, "%s", text);
    set_state(c, PLI_IMPI_CLIENT_FAILED);
    return PLI_IMPI_ERR_PEER;
}

static enum pli_impi_err on_label(struct pli_impi_client *c, const struct pli_impi_cmd *cmd)
{
    unsigned char done[PLI_IMPI_CMD_HEAD];
    enum pli_impi_err err = pli_impi_collated_add(&c->collated, cmd);
    if (err != PLI_IMPI_OK) {
        return fail(c, err, "it sent a label twice, or memory is short");
    }
    for (int i = 0; i < PLI_IMPI_N_STANDARD; i++) {
        if (c->collated.row[i].data == NULL) {
            return PLI_IMPI_OK;
        }
    }
    if (c->is_done) {
        return PLI_IMPI_OK;
    }
    c->is_done = true;
    return queue(c, done, pli_impi_cmd_put_done(done));
}

static enum pli_impi_err on_done(struct pli_impi_client *c)
{
    char why[200];
    enum pli_impi_err err =
        pli_impi_job_create(c->n_client, &c->collated, why, sizeof why, &c->job);
    if (err != PLI_IMPI_OK) {
        return fail(c, err, why);
    }
    set_state(c, PLI_IMPI_CLIENT_RUN);
    return PLI_IMPI_OK;
}

static bool is_of_world(uint32_t cmd)
{
    return cmd == PLI_IMPI_CMD_JOIN || cmd == PLI_IMPI_CMD_BEAT || cmd == PLI_IMPI_CMD_SAYS ||
           cmd == PLI_IMPI_CMD_OVER || cmd == PLI_IMPI_CMD_RLAY;
}

static enum pli_impi_err on_command(struct pli_impi_client *c)
{
    struct pli_impi_cmd cmd;
    enum pli_impi_err err = pli_impi_cmd_get_server(&c->head, c->body.data, &cmd);
    if (err != PLI_IMPI_OK) {
        return fail(c, err, "it sent a command that it never sends, or of a wrong length");
    }
    if (cmd.cmd == PLI_IMPI_CMD_IMPI) {
        return on_size(c, &cmd);
    }
    if (is_of_world(cmd.cmd)) {
        return on_world(c, &cmd);
    }
    if (c->state != PLI_IMPI_CLIENT_LABELS) {
        return fail(c, PLI_IMPI_ERR_PROTO, "it sent labels before the number of clients, or late");
    }
    if (cmd.cmd == PLI_IMPI_CMD_DONE) {
        return on_done(c);
    }
    return on_label(c, &cmd);
}

static bool is_known(uint32_t cmd)
{
    return cmd == PLI_IMPI_CMD_AUTH || cmd == PLI_IMPI_CMD_IMPI || cmd == PLI_IMPI_CMD_COLL ||
           cmd == PLI_IMPI_CMD_DONE || cmd == PLI_IMPI_CMD_FINI;
}

// The 8 bytes of a head, or of the method, are there.
static enum pli_impi_err on_small(struct pli_impi_client *c)
{
    if (c->state == PLI_IMPI_CLIENT_METHOD) {
        return on_method(c);
    }
    if (pli_impi_cmd_get_head(c->small, c->n_small, &c->head) != PLI_IMPI_OK) {
        return fail(c, PLI_IMPI_ERR_PROTO, "it sent a command of negative length");
    }
    if (!is_known(c->head.cmd) && !(c->joins && is_of_world(c->head.cmd))) {
        c->skip = c->head.len;
        return PLI_IMPI_OK;
    }
    if (c->head.len > c->limit) {
        return fail(c, PLI_IMPI_ERR_NOMEM, "it sent a label above the limit");
    }
    c->has_body = c->head.len > 0;
    pli_impi_body_begin(&c->body, c->head.len);
    return c->has_body ? PLI_IMPI_OK : on_command(c);
}

static enum pli_impi_err take(struct pli_impi_client *c, const unsigned char *p, size_t len,
                              size_t *n_out)
{
    if (c->skip > 0) {
        *n_out = len < c->skip ? len : c->skip;
        c->skip -= (uint32_t)*n_out;
        return PLI_IMPI_OK;
    }
    if (c->has_body) {
        enum pli_impi_err err = pli_impi_body_take(&c->body, p, len, n_out);
        if (err == PLI_IMPI_OK) {
            c->has_body = false;
            err = on_command(c);
        }
        return err == PLI_IMPI_AGAIN ? PLI_IMPI_OK : err;
    }
    size_t n = sizeof c->small - c->n_small;
    n = n < len ? n : len;
    memcpy(c->small + c->n_small, p, n);
    c->n_small += n;
    *n_out = n;
    if (c->n_small < sizeof c->small) {
        return PLI_IMPI_OK;
    }
    enum pli_impi_err err = on_small(c);
    c->n_small = 0;
    return err;
}

enum pli_impi_err pli_impi_client_input(struct pli_impi_client *c, const unsigned char *p,
                                        size_t len)
{
    enum pli_impi_err err = PLI_IMPI_OK;
    while (len > 0 && err == PLI_IMPI_OK) {
        size_t n = 0;
        if (c->state == PLI_IMPI_CLIENT_FAILED) {
            return PLI_IMPI_ERR_PROTO;
        }
        if (c->turns_to_tls) { // somebody on the way has added it
            return fail(c, PLI_IMPI_ERR_PROTO, "something came between its choice of TLS and TLS");
        }
        err = take(c, p, len, &n);
        p += n;
        len -= n;
    }
    if (err == PLI_IMPI_ERR_NOMEM && c->state != PLI_IMPI_CLIENT_FAILED) {
        return fail(c, err, "out of memory");
    }
    return err;
}

bool pli_impi_client_turns_to_tls(struct pli_impi_client *c)
{
    bool does = c->turns_to_tls && c->state != PLI_IMPI_CLIENT_FAILED;
    c->turns_to_tls = false;
    return does;
}

enum pli_impi_err pli_impi_client_eof(struct pli_impi_client *c)
{
    switch (c->state) {
    case PLI_IMPI_CLIENT_METHOD:
        if (c->joins) {
            return fail(c, PLI_IMPI_ERR_AUTH,
                        "it closed the connection: it is no server of a "
                        "world that is joined by a token");
        }
        return fail(c, PLI_IMPI_ERR_AUTH, "it closed the connection: no method in common?");
    case PLI_IMPI_CLIENT_SIZE:
        return fail(c, PLI_IMPI_ERR_AUTH,
                    c->joins ? "it closed the connection: the world has ended, or the token is of "
                               "another one"
                             : "it closed the connection: wrong key?");
    case PLI_IMPI_CLIENT_LABELS:
        return fail(c, PLI_IMPI_ERR_PEER,
                    "it closed the connection: our rank is taken, or another client was lost");
    case PLI_IMPI_CLIENT_RUN:
        if (c->joins) {
            pli_impi_log(&c->log, PLI_IMPI_LOG_ERROR,
                         "the server of the world was lost: its process has ended, or the way to "
                         "it is cut");
            set_state(c, PLI_IMPI_CLIENT_FAILED);
            return PLI_IMPI_ERR_PEER;
        }
        pli_impi_log(&c->log, PLI_IMPI_LOG_WARN, "client %u: the server is gone; the job goes on",
                     c->rank);
        return PLI_IMPI_OK;
    case PLI_IMPI_CLIENT_FAILED:
        return PLI_IMPI_ERR_PEER;
    default:
        return PLI_IMPI_OK;
    }
}

size_t pli_impi_client_output(const struct pli_impi_client *c, const unsigned char **out)
{
    *out = c->out + c->at_out;
    return c->n_out - c->at_out;
}

void pli_impi_client_wrote(struct pli_impi_client *c, size_t len)
{
    c->at_out += len;
    if (c->at_out == c->n_out) {
        c->at_out = c->n_out = 0;
    }
}

enum pli_impi_client_state pli_impi_client_state(const struct pli_impi_client *c)
{
    return c->state;
}

const struct pli_impi_job *pli_impi_client_job(const struct pli_impi_client *c)
{
    return c->job;
}

const struct pli_impi_collated *pli_impi_client_collated(const struct pli_impi_client *c)
{
    return &c->collated;
}

uint32_t pli_impi_client_rank(const struct pli_impi_client *c)
{
    return c->rank;
}

bool pli_impi_client_has_joined(const struct pli_impi_client *c)
{
    return c->joins;
}

uint64_t pli_impi_client_n_beat(const struct pli_impi_client *c)
{
    return c->n_beat;
}

const char *pli_impi_client_over(const struct pli_impi_client *c)
{
    return c->over[0] != '\0' ? c->over : NULL;
}

void pli_impi_client_trouble(struct pli_impi_client *c, const char *text)
{
    snprintf(c->trouble, sizeof c->trouble, "%s", text);
}

void pli_impi_client_give_up(struct pli_impi_client *c, const char *why)
{
    unsigned char buf[PLI_IMPI_CMD_TEXT_CAP];
    if (c->joins && (c->state == PLI_IMPI_CLIENT_RUN || c->state == PLI_IMPI_CLIENT_LABELS)) {
        (void)queue(c, buf, pli_impi_cmd_put_text(buf, PLI_IMPI_CMD_OVER, why));
    }
}

enum pli_impi_err pli_impi_client_finish(struct pli_impi_client *c)
{
    unsigned char fini[PLI_IMPI_CMD_HEAD];
    if (c->state != PLI_IMPI_CLIENT_RUN) {
        return PLI_IMPI_ERR_ARG;
    }
    enum pli_impi_err err = queue(c, fini, pli_impi_cmd_put_fini(fini));
    if (err == PLI_IMPI_OK) {
        set_state(c, PLI_IMPI_CLIENT_FINISHED);
    }
    return err;
}
