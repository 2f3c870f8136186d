// SPDX-License-Identifier: BSD-3-Clause
// Commands between an IMPI client and the server: encoding and decoding.
#include "wire/impi_cmd_wire.h"
#include "wire/impi_byte.h"
#include <string.h>

enum pli_impi_err pli_impi_cmd_get_head(const unsigned char *p, size_t len,
                                        struct pli_impi_cmd_head *out)
{
    if (len < PLI_IMPI_CMD_HEAD) {
        return PLI_IMPI_AGAIN;
    }
    uint32_t n = pli_impi_byte_get32(p + 4);
    if (n > INT32_MAX) {
        return PLI_IMPI_ERR_PROTO;
    }
    *out = (struct pli_impi_cmd_head){ .cmd = pli_impi_byte_get32(p), .len = n };
    return PLI_IMPI_OK;
}

// Commands that are the same from a client and from the server. One that is not known is taken and
// says nothing.
static enum pli_impi_err get_both_ways(const struct pli_impi_cmd_head *head,
                                       const unsigned char *payload, struct pli_impi_cmd *cmd)
{
    switch (head->cmd) {
    case PLI_IMPI_CMD_IMPI:
        if (head->len != 4) {
            return PLI_IMPI_ERR_PROTO;
        }
        cmd->value = (int32_t)pli_impi_byte_get32(payload);
        break;
    case PLI_IMPI_CMD_DONE:
        if (head->len != 0) {
            return PLI_IMPI_ERR_PROTO;
        }
        break;
    case PLI_IMPI_CMD_BEAT: // text
    case PLI_IMPI_CMD_SAYS:
    case PLI_IMPI_CMD_OVER:
        cmd->data = payload;
        cmd->len = head->len;
        break;
    default:
        break;
    }
    return PLI_IMPI_OK;
}

enum pli_impi_err pli_impi_cmd_get_client(const struct pli_impi_cmd_head *head,
                                          const unsigned char *payload, struct pli_impi_cmd *out)
{
    struct pli_impi_cmd cmd = { .cmd = head->cmd };
    enum pli_impi_err err = PLI_IMPI_OK;
    switch (head->cmd) {
    case PLI_IMPI_CMD_AUTH:
        if (head->len != 4) {
            return PLI_IMPI_ERR_PROTO;
        }
        cmd.mask = pli_impi_byte_get32(payload);
        break;
    case PLI_IMPI_CMD_COLL:
        if (head->len < 4) {
            return PLI_IMPI_ERR_PROTO;
        }
        cmd.label = pli_impi_byte_get32(payload);
        cmd.data = payload + 4;
        cmd.len = head->len - 4;
        break;
    case PLI_IMPI_CMD_FINI:
        if (head->len != 0) {
            return PLI_IMPI_ERR_PROTO;
        }
        break;
    case PLI_IMPI_CMD_JOIN:
        if (head->len < 8) {
            return PLI_IMPI_ERR_PROTO;
        }
        cmd.version = pli_impi_byte_get32(payload);
        cmd.value = (int32_t)pli_impi_byte_get32(payload + 4);
        cmd.data = payload + 8;
        cmd.len = head->len - 8;
        break;
    case PLI_IMPI_CMD_RLAY:
        if (head->len != PLI_IMPI_CMD_RELAY - PLI_IMPI_CMD_HEAD) {
            return PLI_IMPI_ERR_PROTO;
        }
        cmd.relay =
            (struct pli_impi_relay){ pli_impi_byte_get32(payload), pli_impi_byte_get32(payload + 4),
                                     pli_impi_byte_get32(payload + 8),
                                     pli_impi_byte_get32(payload + 12) != 0 };
        break;
    default:
        err = get_both_ways(head, payload, &cmd);
        break;
    }
    if (err == PLI_IMPI_OK) {
        *out = cmd;
    }
    return err;
}

enum pli_impi_err pli_impi_cmd_get_server(const struct pli_impi_cmd_head *head,
                                          const unsigned char *payload, struct pli_impi_cmd *out)
{
    struct pli_impi_cmd cmd = { .cmd = head->cmd };
    enum pli_impi_err err = PLI_IMPI_OK;
    switch (head->cmd) {
    case PLI_IMPI_CMD_COLL:
        if (head->len < 8) {
            return PLI_IMPI_ERR_PROTO;
        }
        cmd.label = pli_impi_byte_get32(payload);
        cmd.mask = pli_impi_byte_get32(payload + 4);
        cmd.data = payload + 8;
        cmd.len = head->len - 8;
        break;
    case PLI_IMPI_CMD_AUTH:
    case PLI_IMPI_CMD_FINI:
        return PLI_IMPI_ERR_PROTO; // a server never sends these
    case PLI_IMPI_CMD_JOIN:
        if (head->len < 16) {
            return PLI_IMPI_ERR_PROTO;
        }
        cmd.version = pli_impi_byte_get32(payload);
        cmd.value = (int32_t)pli_impi_byte_get32(payload + 4);
        cmd.size = (int32_t)pli_impi_byte_get32(payload + 8);
        cmd.n_joined = (int32_t)pli_impi_byte_get32(payload + 12);
        break;
    case PLI_IMPI_CMD_RLAY:
        if (head->len != PLI_IMPI_CMD_RELAYED - PLI_IMPI_CMD_HEAD) {
            return PLI_IMPI_ERR_PROTO;
        }
        cmd.relay.from = pli_impi_byte_get32(payload);
        cmd.relay.to = pli_impi_byte_get32(payload + 4);
        break;
    default:
        err = get_both_ways(head, payload, &cmd);
        break;
    }
    if (err == PLI_IMPI_OK) {
        *out = cmd;
    }
    return err;
}

enum pli_impi_err pli_impi_cmd_get_method(const unsigned char *p, size_t len, uint32_t *which_out,
                                          uint32_t *len_out)
{
    if (len < PLI_IMPI_CMD_METHOD) {
        return PLI_IMPI_AGAIN;
    }
    uint32_t which = pli_impi_byte_get32(p);
    uint32_t n = pli_impi_byte_get32(p + 4);
    if (which > 31 || n > INT32_MAX) {
        return PLI_IMPI_ERR_PROTO;
    }
    *which_out = which;
    *len_out = n;
    return PLI_IMPI_OK;
}

enum pli_impi_err pli_impi_cmd_get_key(const unsigned char *p, size_t len, uint64_t *key_out)
{
    if (len < PLI_IMPI_CMD_KEY) {
        return PLI_IMPI_AGAIN;
    }
    *key_out = pli_impi_byte_get64(p);
    return PLI_IMPI_OK;
}

static void put_head(unsigned char *p, uint32_t cmd, size_t len)
{
    pli_impi_byte_put32(p, cmd);
    pli_impi_byte_put32(p + 4, (uint32_t)len);
}

size_t pli_impi_cmd_put_auth(unsigned char p[PLI_IMPI_CMD_WORD], uint32_t mask)
{
    put_head(p, PLI_IMPI_CMD_AUTH, 4);
    pli_impi_byte_put32(p + 8, mask);
    return PLI_IMPI_CMD_WORD;
}

size_t pli_impi_cmd_put_method(unsigned char p[PLI_IMPI_CMD_METHOD], uint32_t which, uint32_t len)
{
    put_head(p, which, len);
    return PLI_IMPI_CMD_METHOD;
}

size_t pli_impi_cmd_put_key(unsigned char p[PLI_IMPI_CMD_KEY], uint64_t key)
{
    pli_impi_byte_put64(p, key);
    return PLI_IMPI_CMD_KEY;
}

size_t pli_impi_cmd_put_impi(unsigned char p[PLI_IMPI_CMD_WORD], int32_t value)
{
    put_head(p, PLI_IMPI_CMD_IMPI, 4);
    pli_impi_byte_put32(p + 8, (uint32_t)value);
    return PLI_IMPI_CMD_WORD;
}

size_t pli_impi_cmd_put_coll(unsigned char p[PLI_IMPI_CMD_COLL_HEAD], uint32_t label, size_t len)
{
    put_head(p, PLI_IMPI_CMD_COLL, len + 4);
    pli_impi_byte_put32(p + 8, label);
    return PLI_IMPI_CMD_COLL_HEAD;
}

size_t pli_impi_cmd_put_collall(unsigned char p[PLI_IMPI_CMD_COLLALL_HEAD], uint32_t label,
                                uint32_t mask, size_t len)
{
    put_head(p, PLI_IMPI_CMD_COLL, len + 8);
    pli_impi_byte_put32(p + 8, label);
    pli_impi_byte_put32(p + 12, mask);
    return PLI_IMPI_CMD_COLLALL_HEAD;
}

size_t pli_impi_cmd_put_done(unsigned char p[PLI_IMPI_CMD_HEAD])
{
    put_head(p, PLI_IMPI_CMD_DONE, 0);
    return PLI_IMPI_CMD_HEAD;
}

size_t pli_impi_cmd_put_fini(unsigned char p[PLI_IMPI_CMD_HEAD])
{
    put_head(p, PLI_IMPI_CMD_FINI, 0);
    return PLI_IMPI_CMD_HEAD;
}

static size_t put_tail(unsigned char *p, const char *text)
{
    size_t len = strnlen(text, PLI_IMPI_CMD_TEXT);
    memcpy(p, text, len);
    return len;
}

size_t pli_impi_cmd_put_join(unsigned char p[PLI_IMPI_CMD_TEXT_CAP], int32_t rank, const char *name)
{
    size_t len = put_tail(p + PLI_IMPI_CMD_HEAD + 8, name);
    put_head(p, PLI_IMPI_CMD_JOIN, 8 + len);
    pli_impi_byte_put32(p + PLI_IMPI_CMD_HEAD, PLI_IMPI_JOIN_VERSION);
    pli_impi_byte_put32(p + PLI_IMPI_CMD_HEAD + 4, (uint32_t)rank);
    return PLI_IMPI_CMD_HEAD + 8 + len;
}

size_t pli_impi_cmd_put_joined(unsigned char p[PLI_IMPI_CMD_JOINED], int32_t rank, int32_t size,
                               int32_t n_joined)
{
    put_head(p, PLI_IMPI_CMD_JOIN, 16);
    pli_impi_byte_put32(p + PLI_IMPI_CMD_HEAD, PLI_IMPI_JOIN_VERSION);
    pli_impi_byte_put32(p + PLI_IMPI_CMD_HEAD + 4, (uint32_t)rank);
    pli_impi_byte_put32(p + PLI_IMPI_CMD_HEAD + 8, (uint32_t)size);
    pli_impi_byte_put32(p + PLI_IMPI_CMD_HEAD + 12, (uint32_t)n_joined);
    return PLI_IMPI_CMD_JOINED;
}

size_t pli_impi_cmd_put_relay(unsigned char p[PLI_IMPI_CMD_RELAY], const struct pli_impi_relay *r)
{
    put_head(p, PLI_IMPI_CMD_RLAY, PLI_IMPI_CMD_RELAY - PLI_IMPI_CMD_HEAD);
    pli_impi_byte_put32(p + 8, r->from);
    pli_impi_byte_put32(p + 12, r->to);
    pli_impi_byte_put32(p + 16, r->client);
    pli_impi_byte_put32(p + 20, r->is_called);
    return PLI_IMPI_CMD_RELAY;
}

size_t pli_impi_cmd_put_relayed(unsigned char p[PLI_IMPI_CMD_RELAYED],
                                const struct pli_impi_relay *r)
{
    put_head(p, PLI_IMPI_CMD_RLAY, PLI_IMPI_CMD_RELAYED - PLI_IMPI_CMD_HEAD);
    pli_impi_byte_put32(p + 8, r->from);
    pli_impi_byte_put32(p + 12, r->to);
    return PLI_IMPI_CMD_RELAYED;
}

size_t pli_impi_cmd_put_text(unsigned char p[PLI_IMPI_CMD_TEXT_CAP], uint32_t cmd, const char *text)
{
    size_t len = put_tail(p + PLI_IMPI_CMD_HEAD, text);
    put_head(p, cmd, len);
    return PLI_IMPI_CMD_HEAD + len;
}
