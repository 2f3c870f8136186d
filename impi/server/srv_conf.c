// SPDX-License-Identifier: BSD-3-Clause
// The server's authentication and encryption: what the options, the environment and the files say.
#include "server/srv_conf.h"
#include "engine/impi_tls.h"
#include "server/srv_log.h"
#include "wire/impi_cmd_wire.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Parse a decimal 64-bit key, signed or not, blanks around it allowed. ERR_ARG otherwise.
static enum pli_impi_err parse_key(const char *text, uint64_t *out)
{
    text += strspn(text, " \t");
    bool is_negative = *text == '-';
    const char *digits = text + is_negative;
    if (*digits < '0' || *digits > '9') { // strtoull would take blanks and a sign of its own
        return PLI_IMPI_ERR_ARG;
    }
    char *end;
    errno = 0;
    unsigned long long v = strtoull(digits, &end, 10);
    end += strspn(end, " \t\r\n");
    if (errno != 0 || *end != '\0' || (is_negative && v > (uint64_t)INT64_MAX + 1)) {
        return PLI_IMPI_ERR_ARG;
    }
    *out = is_negative ? 0 - (uint64_t)v : (uint64_t)v;
    return PLI_IMPI_OK;
}

// The words keep the key itself out of the log.
static enum pli_impi_err read_key(struct pli_srv_conf *conf, const char *from_env, bool *has_out)
{
    char line[64] = "";
    const char *text = from_env, *where = "IMPI_AUTH_KEY";
    if (conf->keyfile != NULL) {
        FILE *f = fopen(conf->keyfile, "r");
        struct stat st;
        if (f == NULL || fgets(line, sizeof line, f) == NULL) {
            pli_srv_log(PLI_SRV_ERROR, "cannot read a key from %s: %s", conf->keyfile,
                        f == NULL || ferror(f) ? strerror(errno) : "it is empty");
            if (f != NULL) {
                fclose(f);
            }
            return PLI_IMPI_ERR_AUTH;
        }
        if (fstat(fileno(f), &st) == 0 && (st.st_mode & 077) != 0) {
            pli_srv_log(PLI_SRV_WARN, "%s can be read by others; try chmod 600", conf->keyfile);
        }
        fclose(f);
        text = line;
        where = conf->keyfile;
    }
    if (text == NULL) {
        *has_out = false;
        return PLI_IMPI_OK;
    }
    if (parse_key(text, &conf->key) != PLI_IMPI_OK) {
        pli_srv_log(PLI_SRV_ERROR, "%s holds no decimal 64-bit number", where);
        return PLI_IMPI_ERR_AUTH;
    }
    *has_out = true;
    return PLI_IMPI_OK;
}

// One method: a number or a name. Returns the end of it, or NULL.
static const char *method_of(const char *s, int *out)
{
    if (strncmp(s, "none", 4) == 0 || strncmp(s, "key", 3) == 0) {
        *out = *s == 'k' ? PLI_IMPI_AUTH_KEY : PLI_IMPI_AUTH_NONE;
        return s + (*s == 'k' ? 3 : 4);
    }
    char *end;
    long v = *s >= '0' && *s <= '9' ? strtol(s, &end, 10) : -1;
    if (v < 0 || v > 31) {
        return NULL;
    }
    *out = (int)v;
    return end;
}

static void add_method(struct pli_srv_conf *conf, int m, uint32_t enabled)
{
    for (int i = 0; i < conf->n_method; i++) {
        if (conf->method[i] == m) {
            return;
        }
    }
    if (m >= PLI_IMPI_N_AUTH) {
        pli_srv_log(PLI_SRV_WARN, "authentication method %d does not exist here; left out", m);
    } else if ((enabled >> m & 1) == 0) {
        pli_srv_log(PLI_SRV_INFO, "authentication method %d is not enabled; left out", m);
    } else {
        conf->method[conf->n_method++] = m;
    }
}

static enum pli_impi_err read_list(struct pli_srv_conf *conf, uint32_t enabled)
{
    const char *s = conf->auth;
    for (;;) {
        int from, to;
        s = method_of(s, &from);
        to = from;
        if (s != NULL && *s == '-') {
            s = method_of(s + 1, &to);
        }
        if (s == NULL || (*s != ',' && *s != '\0') || to < from) {
            pli_srv_log(PLI_SRV_ERROR, "-auth takes a list such as 1,0 or key,none, not '%s'",
                        conf->auth);
            return PLI_IMPI_ERR_ARG;
        }
        for (int m = from; m <= to; m++) {
            add_method(conf, m, enabled);
        }
        if (*s++ == '\0') {
            return PLI_IMPI_OK;
        }
    }
}

// The key and the secret of a token are random; its address is filled in when the port is known.
static enum pli_impi_err make_token(struct pli_srv_conf *conf)
{
    const char *tls = getenv("IMPI_TLS");
    conf->token.has_tls = tls == NULL || strcmp(tls, "off") != 0;
    if ((tls != NULL && conf->token.has_tls) || conf->tls_file != NULL) {
        pli_srv_log(PLI_SRV_ERROR, "a token has a secret of its own, so %s cannot name another one",
                    tls != NULL ? "IMPI_TLS" : "-tls");
        return PLI_IMPI_ERR_ARG;
    }
    if (getentropy(&conf->token.key, sizeof conf->token.key) != 0 ||
        getentropy(conf->token.secret, sizeof conf->token.secret) != 0) {
        pli_srv_log(PLI_SRV_ERROR, "no random numbers: %s", strerror(errno));
        return PLI_IMPI_ERR_SYS;
    }
    conf->key = conf->token.key;
    conf->method[0] = PLI_IMPI_AUTH_KEY;
    conf->n_method = 1;
    const char *silence = getenv("IMPI_SILENCE");
    conf->silence_s = silence != NULL && atoi(silence) > 0 ? atoi(silence) : 60;
    return PLI_IMPI_OK;
}

enum pli_impi_err pli_srv_conf_auth(struct pli_srv_conf *conf)
{
    if (conf->has_token) {
        return make_token(conf);
    }
    bool has_key;
    enum pli_impi_err err = read_key(conf, getenv("IMPI_AUTH_KEY"), &has_key);
    if (err != PLI_IMPI_OK) {
        return err;
    }
    uint32_t enabled = (getenv("IMPI_AUTH_NONE") != NULL ? 1u << PLI_IMPI_AUTH_NONE : 0) |
                       (has_key ? 1u << PLI_IMPI_AUTH_KEY : 0);
    conf->n_method = 0;
    if (conf->auth != NULL) {
        err = read_list(conf, enabled);
    } else {
        for (int m = PLI_IMPI_N_AUTH - 1; m >= 0; m--) {
            if ((enabled >> m & 1) != 0) {
                add_method(conf, m, enabled);
            }
        }
    }
    if (err == PLI_IMPI_OK && conf->n_method == 0) {
        pli_srv_log(PLI_SRV_ERROR,
                    "no authentication method is enabled%s; set IMPI_AUTH_KEY to a "
                    "number, or IMPI_AUTH_NONE to admit anybody",
                    conf->auth != NULL ? " of those -auth lists" : "");
        return PLI_IMPI_ERR_AUTH;
    }
    return err;
}

static void to_log(void *arg, enum pli_impi_log_level level, const char *line)
{
    (void)arg;
    pli_srv_log(level == PLI_IMPI_LOG_ERROR ? PLI_SRV_ERROR : PLI_SRV_INFO, "%s", line);
}

enum pli_impi_err pli_srv_conf_tls(struct pli_srv_conf *conf)
{
    struct pli_impi_log log = { to_log, NULL };
    if (conf->has_token) {
        return !conf->token.has_tls
                   ? PLI_IMPI_OK
                   : pli_impi_tls_create_from(conf->token.secret, sizeof conf->token.secret, &log,
                                              &conf->tls);
    }
    const char *file = conf->tls_file != NULL ? conf->tls_file : getenv("IMPI_TLS");
    for (int i = 0; file == NULL && i < conf->n_method; i++) {
        if (conf->method[i] == PLI_IMPI_AUTH_KEY) {
            conf->key_tls = pli_impi_tls_create_key(conf->key);
        }
    }
    return file == NULL || strcmp(file, "off") == 0 ? PLI_IMPI_OK
                                                    : pli_impi_tls_create(file, &log, &conf->tls);
}
