// SPDX-License-Identifier: BSD-3-Clause
// The server's options and authentication settings.
#include "server/srv_conf.h"
#include "engine/impi_tls.h"
#include "server/srv_log.h"
#include "wire/impi_cmd_wire.h"
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum opt_kind { OPT_INT, OPT_TEXT, OPT_FLAG };

struct opt {
    const char *name, *alias; // each is taken after one dash or two
    enum opt_kind kind;
    size_t at;    // offset in struct pli_srv_conf
    int min, max; // OPT_INT
    const char *arg, *help;
};

static const struct opt table[] = {
    { "server", NULL, OPT_INT, offsetof(struct pli_srv_conf, n_client), 1, PLI_IMPI_MAX_CLIENT, "N",
      "number of clients in the job, 1 to 32; required" },
    { "port", "p", OPT_INT, offsetof(struct pli_srv_conf, port), 0, 65535, "PORT",
      "TCP port to listen on; any free one if it is 0 or not given" },
    { "auth", NULL, OPT_TEXT, offsetof(struct pli_srv_conf, auth), 0, 0, "LIST",
      "authentication methods in order of preference, by number or name, such as 1,0 or key,none "
      "or 0-1; default: key, then none, as far as they are enabled" },
    { "keyfile", NULL, OPT_TEXT, offsetof(struct pli_srv_conf, keyfile), 0, 0, "FILE",
      "read the key from the first line of FILE; comes before IMPI_AUTH_KEY" },
    { "tls", NULL, OPT_TEXT, offsetof(struct pli_srv_conf, tls_file), 0, 0, "FILE",
      "take TLS connections only; the secret that all clients share is in FILE, 32 to 128 "
      "hexadecimal digits; comes before IMPI_TLS, which names such a file too" },
    { "bind", NULL, OPT_TEXT, offsetof(struct pli_srv_conf, bind), 0, 0, "ADDRESS",
      "listen on this IPv4 or IPv6 address only; default: all addresses of both" },
    { "address", NULL, OPT_TEXT, offsetof(struct pli_srv_conf, address), 0, 0, "ADDRESS",
      "print this address instead of our own, for clients beyond an address translator" },
    { "timeout", NULL, OPT_INT, offsetof(struct pli_srv_conf, timeout_s), 0, 1000000, "SECONDS",
      "give up if startup is not over in this time; 0, the default, waits for ever" },
    { "handshake", NULL, OPT_INT, offsetof(struct pli_srv_conf, handshake_s), 1, 1000000, "SECONDS",
      "drop a connection that has not given a valid rank in this time; default 30" },
    { "limit", NULL, OPT_INT, offsetof(struct pli_srv_conf, limit_mib), 1, 1024, "MIB",
      "startup data taken from one client, in MiB; default 64" },
    { "fork", NULL, OPT_FLAG, offsetof(struct pli_srv_conf, is_fork), 0, 0, NULL,
      "go to the background once the address is printed" },
    { "v", "verbose", OPT_FLAG, offsetof(struct pli_srv_conf, is_verbose), 0, 0, NULL,
      "log every step" },
    { "h", "help", OPT_FLAG, offsetof(struct pli_srv_conf, is_help), 0, 0, NULL,
      "print this help" },
    { "man-options", NULL, OPT_FLAG, offsetof(struct pli_srv_conf, is_man), 0, 0, NULL,
      "print this list in the form the man page has it" },
};
enum { N_OPT = sizeof table / sizeof *table };

static const struct opt *find(const char *word)
{
    if (*word != '-') {
        return NULL;
    }
    word += word[1] == '-' ? 2 : 1;
    for (int i = 0; i < N_OPT; i++) {
        const struct opt *o = &table[i];
        if (strcmp(word, o->name) == 0 || (o->alias != NULL && strcmp(word, o->alias) == 0)) {
            return o;
        }
    }
    return NULL;
}

static enum pli_impi_err set_int(const struct opt *o, const char *text, void *field)
{
    char *end;
    errno = 0;
    long v = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || v < o->min || v > o->max) {
        pli_srv_log(PLI_SRV_ERROR, "-%s takes a number from %d to %d, not '%s'", o->name, o->min,
                    o->max, text);
        return PLI_IMPI_ERR_ARG;
    }
    *(int *)field = (int)v;
    return PLI_IMPI_OK;
}

enum pli_impi_err pli_srv_conf_parse(int argc, char **argv, struct pli_srv_conf *out)
{
    struct pli_srv_conf conf = { .handshake_s = 30, .limit_mib = 64 };
    for (int i = 1; i < argc; i++) {
        const struct opt *o = find(argv[i]);
        if (o == NULL) {
            pli_srv_log(PLI_SRV_ERROR, "'%s' is no option; try -h", argv[i]);
            return PLI_IMPI_ERR_ARG;
        }
        void *field = (char *)&conf + o->at;
        if (o->kind == OPT_FLAG) {
            *(bool *)field = true;
            continue;
        }
        if (++i == argc) {
            pli_srv_log(PLI_SRV_ERROR, "-%s needs a value: -%s %s", o->name, o->name, o->arg);
            return PLI_IMPI_ERR_ARG;
        }
        if (o->kind == OPT_TEXT) {
            *(const char **)field = argv[i];
        } else if (set_int(o, argv[i], field) != PLI_IMPI_OK) {
            return PLI_IMPI_ERR_ARG;
        }
    }
    if (conf.n_client == 0 && !conf.is_help && !conf.is_man) {
        pli_srv_log(PLI_SRV_ERROR, "how many clients? Give -server N, N from 1 to 32");
        return PLI_IMPI_ERR_ARG;
    }
    *out = conf;
    return PLI_IMPI_OK;
}

enum pli_impi_err pli_srv_conf_key(const char *text, uint64_t *out)
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
                        f == NULL ? strerror(errno) : "it is empty");
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
    if (pli_srv_conf_key(text, &conf->key) != PLI_IMPI_OK) {
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

enum pli_impi_err pli_srv_conf_auth(struct pli_srv_conf *conf)
{
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
    const char *file = conf->tls_file != NULL ? conf->tls_file : getenv("IMPI_TLS");
    return file == NULL ? PLI_IMPI_OK : pli_impi_tls_create(file, &log, &conf->tls);
}

void pli_srv_conf_help(FILE *to)
{
    fprintf(to, "usage: impi-server -server N [options]\n"
                "The meeting point of the clients of one IMPI job. Prints address:port.\n\n");
    for (int i = 0; i < N_OPT; i++) {
        const struct opt *o = &table[i];
        char left[48];
        snprintf(left, sizeof left, "-%s%s%s%s%s", o->name, o->alias != NULL ? ", -" : "",
                 o->alias != NULL ? o->alias : "", o->arg != NULL ? " " : "",
                 o->arg != NULL ? o->arg : "");
        fprintf(to, "  %-20s %s\n", left, o->help);
    }
    fprintf(to, "\nIMPI_AUTH_NONE (set to anything) and IMPI_AUTH_KEY (a decimal number) in the\n"
                "environment enable the authentication methods. IMPI_TLS names a file with a "
                "secret for TLS.\n"
                "Exit: 0 all clients finished, 1 bad usage or no start, 2 timed out,\n"
                "3 a client was lost during startup, 4 a client was lost after it.\n");
}

void pli_srv_conf_man(FILE *to)
{
    for (int i = 0; i < N_OPT; i++) {
        const struct opt *o = &table[i];
        fprintf(to, ".TP\n.B \\-%s", o->name);
        if (o->alias != NULL) {
            fprintf(to, "\\fR, \\fB\\-%s", o->alias);
        }
        fprintf(to, "%s%s%s\n%s\n", o->arg != NULL ? " \\fI" : "", o->arg != NULL ? o->arg : "",
                o->arg != NULL ? "\\fR" : "", o->help);
    }
}
