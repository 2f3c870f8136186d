// SPDX-License-Identifier: BSD-3-Clause
// Reads the environment variables of a client.
#include "engine/impi_env.h"
#include "engine/impi_net.h"
#include "engine/impi_sock.h"
#include "engine/impi_tls.h"
#include "wire/impi_cmd_wire.h"
#include "wire/impi_label_wire.h"
#include <errno.h>
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SERVER_S = 60 }; // unless IMPI_TIMEOUT says how long all may take

// The user's word for this host: of a list the one at its place; an empty one counts as not given.
static enum pli_impi_err pick(const struct pli_impi_log *log, const char *name,
                              const struct pli_impi_env *env, char out[PLI_IMPI_ENV_WORD])
{
    const char *at = getenv(name);
    uint32_t n = 1;
    out[0] = '\0';
    for (const char *c = at; c != NULL && *c != '\0'; c++) {
        n += *c == ',';
    }
    if (n > 1 && n != env->n_host) {
        pli_impi_log(log, PLI_IMPI_LOG_ERROR,
                     "%s is for %u hosts ('%s'), and the client has %u; say one for all, or one "
                     "for each",
                     name, n, at, env->n_host);
        return PLI_IMPI_ERR_ARG;
    }
    for (uint32_t i = 0; n > 1 && i < env->host; i++) {
        at = strchr(at, ',') + 1;
    }
    size_t len = at == NULL ? 0 : strcspn(at, ",");
    if (len >= PLI_IMPI_ENV_WORD) {
        pli_impi_log(log, PLI_IMPI_LOG_ERROR, "%s is longer than %d characters", name,
                     PLI_IMPI_ENV_WORD - 1);
        return PLI_IMPI_ERR_ARG;
    }
    memcpy(out, at != NULL ? at : "", len);
    out[len] = '\0';
    return PLI_IMPI_OK;
}

// `text` may be NULL: not given.
static enum pli_impi_err number(const struct pli_impi_log *log, const char *name, const char *text,
                                long long min, long long max, long long otherwise, long long *out)
{
    char *end;
    *out = otherwise;
    if (text == NULL) {
        return PLI_IMPI_OK;
    }
    errno = 0;
    *out = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || *out < min || *out > max) {
        pli_impi_log(log, PLI_IMPI_LOG_ERROR, "%s is a number from %lld to %lld, not '%s'", name,
                     min, max, text);
        return PLI_IMPI_ERR_ARG;
    }
    return PLI_IMPI_OK;
}

// Signed or unsigned, as the server reads it.
static enum pli_impi_err read_key(const struct pli_impi_log *log, struct pli_impi_env *out)
{
    const char *text = getenv("IMPI_AUTH_KEY");
    char *end;
    if (text == NULL) {
        return PLI_IMPI_OK;
    }
    errno = 0;
    out->key = *text == '-' ? (uint64_t)strtoll(text, &end, 10) : strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0') {
        pli_impi_log(log, PLI_IMPI_LOG_ERROR, "IMPI_AUTH_KEY is no decimal number of 64 bits");
        return PLI_IMPI_ERR_ARG;
    }
    out->has_key = true;
    return PLI_IMPI_OK;
}

// "name:port" or "[address]:port" has a port to tell; a bare name or address has none.
static enum pli_impi_err read_name(const struct pli_impi_log *log, struct pli_impi_env *out)
{
    char text[PLI_IMPI_ENV_WORD];
    enum pli_impi_err err = pick(log, "IMPI_HOST_NAME", out, text);
    if (err != PLI_IMPI_OK || text[0] == '\0') {
        return err;
    }
    bool is_bracketed = text[0] == '[';
    const char *end = is_bracketed ? strchr(text, ']') : strchr(text, ':');
    if (end != NULL && !is_bracketed && strchr(end + 1, ':') != NULL) {
        end = NULL; // a bare IPv6 address
    }
    size_t len = end == NULL ? strlen(text) : (size_t)(end - text) - is_bracketed;
    const char *port = end == NULL ? "" : end + is_bracketed;
    char *rest = NULL;
    long v = *port == ':' ? strtol(port + 1, &rest, 10) : 0;
    bool has_bad_port = *port == ':' && (rest == port + 1 || *rest != '\0' || v < 1 || v > 65535);
    if (len == 0 || len >= sizeof out->name || (*port != ':' && *port != '\0') || has_bad_port) {
        pli_impi_log(log, PLI_IMPI_LOG_ERROR,
                     "IMPI_HOST_NAME is name, name:port or [address]:port, or a list of these, not "
                     "'%s'",
                     text);
        return PLI_IMPI_ERR_ARG;
    }
    memcpy(out->name, text + is_bracketed, len);
    out->name[len] = '\0';
    out->told_port = (uint16_t)v;
    return PLI_IMPI_OK;
}

// What each host of a client may have of its own.
static enum pli_impi_err read_host(const struct pli_impi_log *log, struct pli_impi_env *out)
{
    char text[PLI_IMPI_ENV_WORD];
    long long port = 0;
    enum pli_impi_err err = read_name(log, out);
    if (err == PLI_IMPI_OK) {
        err = pick(log, "IMPI_HOST_BIND", out, out->bind);
    }
    if (err == PLI_IMPI_OK) {
        err = pick(log, "IMPI_HOST_PORT", out, text);
    }
    if (err == PLI_IMPI_OK) {
        err = number(log, "IMPI_HOST_PORT", text[0] != '\0' ? text : NULL, 0, 65535, 0, &port);
    }
    out->port = (uint16_t)port;
    return err;
}

// What a token says takes the place of what the environment says.
static enum pli_impi_err read_token(const struct pli_impi_log *log, const char *text,
                                    struct pli_impi_env *out)
{
    const char *why = pli_impi_token_get(text, &out->token);
    if (why != NULL) {
        pli_impi_log(log, PLI_IMPI_LOG_ERROR, "the token %s", why);
        return PLI_IMPI_ERR_ARG;
    }
    bool is_off = out->tls_file != NULL && strcmp(out->tls_file, "off") == 0;
    if (out->tls_file != NULL && (!is_off || out->token.has_tls)) {
        pli_impi_log(log, PLI_IMPI_LOG_ERROR,
                     is_off ? "IMPI_TLS is off, and the token is of a world with TLS; the process "
                              "that hosts the world must have IMPI_TLS=off too"
                            : "a token has a secret of its own, so IMPI_TLS cannot name another "
                              "one; unset it");
        return PLI_IMPI_ERR_ARG;
    }
    out->has_token = out->has_key = true;
    out->has_none = false;
    out->tls_file = NULL;
    out->key = out->token.key;
    pli_impi_token_where(&out->token, out->where);
    out->server = out->where;
    return PLI_IMPI_OK;
}

enum pli_impi_err pli_impi_env_read(const struct pli_impi_log *log, uint32_t host, uint32_t n_host,
                                    struct pli_impi_env *out)
{
    struct row {
        const char *name;
        long long min, max, otherwise;
    };
    static const struct row row[] = {
        { "IMPI_CLIENT", 0, PLI_IMPI_MAX_CLIENT - 1, -1 },
        { "IMPI_TIMEOUT", 0, 1000000, 0 },
        { "IMPI_DATALEN", 1, 1 << 30, 262144 },
        { "IMPI_ACKMARK", 1, 1 << 30, 64 },
        { "IMPI_HIWATER", 1, 1 << 30, 2048 },
        { "IMPI_COLL_XSIZE", -1, INT32_MAX, -1 },
        { "IMPI_COLL_MAXLINEAR", -1, INT32_MAX, -1 },
        { "IMPI_SILENCE", 0, 1000000, 60 },
        { "IMPI_LINKS", 0, PLI_IMPI_MAX_LINKS, 0 },
    };
    long long v[sizeof row / sizeof *row];
    *out = (struct pli_impi_env){ .server = getenv("IMPI_SERVER"),
                                  .host = host,
                                  .n_host = n_host,
                                  .tls_file = getenv("IMPI_TLS"),
                                  .has_none = getenv("IMPI_AUTH_NONE") != NULL,
                                  .takes_any_address = getenv("IMPI_ANY_ADDRESS") != NULL,
                                  .is_verbose = getenv("IMPI_VERBOSE") != NULL };
    const char *token = getenv("IMPI_TOKEN");
    bool is_off = out->tls_file != NULL && strcmp(out->tls_file, "off") == 0;
    if (out->server == NULL && token == NULL) {
        return PLI_IMPI_OK;
    }
    enum pli_impi_err err = token != NULL ? read_token(log, token, out) : read_key(log, out);
    out->may_tls = token == NULL && out->tls_file == NULL && pli_impi_tls_is_here();
    out->tls_file = is_off ? NULL : out->tls_file;
    if (err == PLI_IMPI_OK) {
        err = read_host(log, out);
    }
    for (size_t i = 0; err == PLI_IMPI_OK && i < sizeof row / sizeof *row; i++) {
        err = number(log, row[i].name, getenv(row[i].name), row[i].min, row[i].max,
                     row[i].otherwise, &v[i]);
    }
    if (err != PLI_IMPI_OK) {
        return err;
    }
    out->takes_any_rank = v[0] < 0 && out->has_token;
    if (v[0] < 0 && !out->has_token) {
        pli_impi_log(log, PLI_IMPI_LOG_ERROR,
                     "IMPI_SERVER is set; IMPI_CLIENT, the rank of this "
                     "client in the job, is missing");
        return PLI_IMPI_ERR_ARG;
    }
    if (!out->has_none && !out->has_key) {
        pli_impi_log(log, PLI_IMPI_LOG_ERROR,
                     "no authentication method is enabled; set IMPI_AUTH_KEY to the server's "
                     "number, or IMPI_AUTH_NONE");
        return PLI_IMPI_ERR_AUTH;
    }
    if (v[3] > v[4]) {
        pli_impi_log(log, PLI_IMPI_LOG_ERROR, "IMPI_ACKMARK is above IMPI_HIWATER");
        return PLI_IMPI_ERR_ARG;
    }
    out->rank = v[0] < 0 ? 0 : (uint32_t)v[0];
    out->timeout_s = (int)v[1];
    out->server_s = v[1] > 0 ? (int)v[1] : SERVER_S;
    out->datalen = (uint32_t)v[2];
    out->ackmark = (uint32_t)v[3];
    out->hiwater = (uint32_t)v[4];
    out->coll_xsize = (int32_t)v[5];
    out->coll_maxlinear = (int32_t)v[6];
    out->silence_s = (int)v[7];
    out->n_links = (uint32_t)v[8];
    return PLI_IMPI_OK;
}

enum pli_impi_err pli_impi_env_features(const struct pli_impi_log *log, bool may_tls,
                                        struct pli_impi_client_info *info)
{
    if (getentropy(info->token, sizeof info->token) != 0) {
        pli_impi_log(log, PLI_IMPI_LOG_ERROR, "no random numbers: %s", strerror(errno));
        return PLI_IMPI_ERR_SYS;
    }
    bool is_usual = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && sizeof(long) == 8 &&
                    sizeof(long double) == 16 && sizeof(wchar_t) == 4;
    info->features = PLI_IMPI_HAS_TOKEN | PLI_IMPI_HAS_LATER | PLI_IMPI_HAS_MADE |
                     PLI_IMPI_HAS_FILES | PLI_IMPI_HAS_LINKS | PLI_IMPI_HAS_ATOMIC;
    info->features |= sizeof(long) == 8 ? PLI_IMPI_HAS_LONG8 : 0;
    info->features |= !is_usual              ? 0
                      : LDBL_MANT_DIG == 64  ? PLI_IMPI_HAS_WINDOWS_64
                      : LDBL_MANT_DIG == 113 ? PLI_IMPI_HAS_WINDOWS_113
                                             : 0;
    info->features |= may_tls ? PLI_IMPI_HAS_TLS : 0;
    return PLI_IMPI_OK;
}

uint32_t pli_impi_env_machine(const struct pli_impi_env *env)
{
    char boot[64] = "";
    struct stat net;
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    bool is_known =
        f != NULL && fgets(boot, sizeof boot, f) != NULL && stat("/proc/self/ns/net", &net) == 0;
    if (f != NULL) {
        fclose(f);
    }
    if (!is_known || env->n_host != 1 || env->name[0] != '\0' || env->tls_file != NULL) {
        return 0;
    }
    uint32_t h = 0x811c9dc5u;
    for (const char *c = boot; *c != '\0'; c++) {
        h = (h ^ (unsigned char)*c) * 0x01000193u;
    }
    for (int k = 0; k < 64; k += 8) {
        h = (h ^ (uint32_t)((uint64_t)net.st_ino >> k & 255)) * 0x01000193u;
    }
    return h != 0 ? h : 1;
}

enum pli_impi_err pli_impi_env_address(const struct pli_impi_env *env,
                                       const struct pli_impi_log *log,
                                       unsigned char out[PLI_IMPI_HOSTID])
{
    return env->name[0] != '\0' ? pli_impi_sock_find(env->name, log, out)
                                : pli_impi_sock_toward(env->server, log, out);
}
