// SPDX-License-Identifier: BSD-3-Clause
// The environment of a client.
#include "engine/impi_env.h"
#include "engine/impi_sock.h"
#include "wire/impi_cmd_wire.h"
#include "wire/impi_label_wire.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static enum pli_impi_err number(const struct pli_impi_log *log, const char *name, long long min,
                                long long max, long long otherwise, long long *out)
{
    const char *text = getenv(name);
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
    const char *text = getenv("IMPI_HOST_NAME");
    if (text == NULL) {
        return PLI_IMPI_OK;
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
                     "IMPI_HOST_NAME is name, name:port or "
                     "[address]:port, not '%s'",
                     text);
        return PLI_IMPI_ERR_ARG;
    }
    memcpy(out->name, text + is_bracketed, len);
    out->told_port = (uint16_t)v;
    return PLI_IMPI_OK;
}

enum pli_impi_err pli_impi_env_read(const struct pli_impi_log *log, struct pli_impi_env *out)
{
    struct row {
        const char *name;
        long long min, max, otherwise;
    };
    static const struct row row[] = {
        { "IMPI_CLIENT", 0, PLI_IMPI_MAX_CLIENT - 1, -1 },
        { "IMPI_HOST_PORT", 0, 65535, 0 },
        { "IMPI_TIMEOUT", 0, 1000000, 0 },
        { "IMPI_DATALEN", 1, 1 << 30, 262144 },
        { "IMPI_ACKMARK", 1, 1 << 30, 64 },
        { "IMPI_HIWATER", 1, 1 << 30, 2048 },
        { "IMPI_COLL_XSIZE", -1, INT32_MAX, -1 },
        { "IMPI_COLL_MAXLINEAR", -1, INT32_MAX, -1 },
    };
    long long v[sizeof row / sizeof *row];
    *out = (struct pli_impi_env){ .server = getenv("IMPI_SERVER"),
                                  .bind = getenv("IMPI_HOST_BIND"),
                                  .tls_file = getenv("IMPI_TLS"),
                                  .has_none = getenv("IMPI_AUTH_NONE") != NULL,
                                  .is_verbose = getenv("IMPI_VERBOSE") != NULL };
    if (out->server == NULL) {
        return PLI_IMPI_OK;
    }
    enum pli_impi_err err = read_key(log, out);
    if (err == PLI_IMPI_OK) {
        err = read_name(log, out);
    }
    for (size_t i = 0; err == PLI_IMPI_OK && i < sizeof row / sizeof *row; i++) {
        err = number(log, row[i].name, row[i].min, row[i].max, row[i].otherwise, &v[i]);
    }
    if (err != PLI_IMPI_OK) {
        return err;
    }
    if (v[0] < 0) {
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
    if (v[4] > v[5]) {
        pli_impi_log(log, PLI_IMPI_LOG_ERROR, "IMPI_ACKMARK is above IMPI_HIWATER");
        return PLI_IMPI_ERR_ARG;
    }
    out->rank = (uint32_t)v[0];
    out->port = (uint16_t)v[1];
    out->timeout_s = (int)v[2];
    out->datalen = (uint32_t)v[3];
    out->ackmark = (uint32_t)v[4];
    out->hiwater = (uint32_t)v[5];
    out->coll_xsize = (int32_t)v[6];
    out->coll_maxlinear = (int32_t)v[7];
    return PLI_IMPI_OK;
}

enum pli_impi_err pli_impi_env_address(const struct pli_impi_env *env,
                                       const struct pli_impi_log *log,
                                       unsigned char out[PLI_IMPI_HOSTID])
{
    return env->name[0] != '\0' ? pli_impi_sock_find(env->name, log, out)
                                : pli_impi_sock_toward(env->server, log, out);
}
