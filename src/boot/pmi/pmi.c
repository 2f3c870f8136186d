// SPDX-License-Identifier: BSD-3-Clause
// Speaks the PMI-1 text protocol with the launcher.
// One line asks and one line answers, over a socket that the launcher left open.
#include "boot/pmi/pmi.h"

#include "boot/pmi/pmi_map.h"
#include "boot/kvs/kvs_listen.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE = 4096 }; // longer than any launcher's answer to what is asked here

static int fd = -1;
static uint32_t my_size;
static char space[256]; // name of the job's key space

// A decimal number from the environment that is at least `least`.
static bool read_env(const char *name, long least, long *out)
{
    const char *text = getenv(name);
    char *end;
    long v = text != NULL ? strtol(text, &end, 10) : -1;
    if (text == NULL || end == text || *end != '\0' || v < least || v > INT_MAX) {
        return false;
    }
    *out = v;
    return true;
}

static bool pmi_is_mine(void)
{
    long descriptor, rank, size;
    return read_env("PMI_FD", 0, &descriptor) && read_env("PMI_RANK", 0, &rank) &&
           read_env("PMI_SIZE", 1, &size) && rank < size;
}

static enum pli_err lost(const char *what)
{
    return pli_fail(PLI_ERR_OTHER, "the launcher's PMI connection cannot be %s: %s", what,
                    errno != 0 ? strerror(errno) : "it was closed");
}

static enum pli_err tell_launcher(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static enum pli_err tell_launcher(const char *fmt, ...)
{
    char line[LINE];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    for (int done = 0; done < n;) {
        ssize_t w = write(fd, line + done, (size_t)(n - done));
        if (w < 0 && errno != EINTR) {
            return lost("written to");
        }
        done += w > 0 ? (int)w : 0;
    }
    return PLI_OK;
}

// One line, without its end. Byte by byte: what follows belongs to the next answer.
static enum pli_err listen_launcher(char line[LINE])
{
    size_t n = 0;
    for (;;) {
        errno = 0;
        ssize_t r = read(fd, line + n, 1);
        if (r < 0 && errno == EINTR) {
            continue;
        }
        if (r <= 0) {
            return lost("read");
        }
        if (line[n] == '\n') {
            line[n] = '\0';
            return PLI_OK;
        }
        if (++n == LINE) {
            return pli_fail(PLI_ERR_OTHER, "the launcher's PMI answer has no end");
        }
    }
}

// The value of a word "key=value" of the line; false: it has none. A value ends at a blank, unless
// it is the line's last one.
static bool find_word(const char *line, const char *key, char *out, size_t room)
{
    size_t len = strlen(key);
    for (const char *s = line; s != NULL; s = strchr(s, ' ')) {
        s += *s == ' ';
        if (strncmp(s, key, len) != 0 || s[len] != '=') {
            continue;
        }
        size_t n = strcspn(s + len + 1, " ");
        if (n >= room) {
            return false;
        }
        memcpy(out, s + len + 1, n);
        out[n] = '\0';
        return true;
    }
    return false;
}

// For messages: a line without the value in it, which may be the job's secret.
static const char *without_value(char line[LINE])
{
    char *value = strstr(line, "value=");
    if (value != NULL && strlen(value) > 9) {
        memcpy(value + 6, "...", 4);
    }
    return line;
}

// The next line must be the answer `cmd`, with rc=0 where it has one.
static enum pli_err expect(const char *cmd, char line[LINE])
{
    char word[256];
    enum pli_err err = listen_launcher(line);
    if (err != PLI_OK) {
        return err;
    }
    if (!find_word(line, "cmd", word, sizeof word) || strcmp(word, cmd) != 0 ||
        (find_word(line, "rc", word, sizeof word) && strcmp(word, "0") != 0)) {
        return pli_fail(PLI_ERR_OTHER, "the launcher answered '%s' over PMI, not %s",
                        without_value(line), cmd);
    }
    return PLI_OK;
}

static void key_for(uint32_t owner, const char *key, char out[128])
{
    snprintf(out, 128, "%s-%u", key, owner);
}

static enum pli_err get_named(const char *key, char *value, size_t room)
{
    char line[LINE];
    enum pli_err err = tell_launcher("cmd=get kvsname=%s key=%s\n", space, key);
    err = err == PLI_OK ? expect("get_result", line) : err;
    if (err == PLI_OK && !find_word(line, "value", value, room)) {
        err = pli_fail(PLI_ERR_OTHER, "the launcher's PMI answer '%s' has no value",
                       without_value(line));
    }
    return err;
}

static struct pli_kvs store;

static enum pli_err pmi_put(const char *key, const char *value)
{
    char line[LINE], name[128];
    key_for(store.rank, key, name);
    enum pli_err err = tell_launcher("cmd=put kvsname=%s key=%s value=%s\n", space, name, value);
    return err == PLI_OK ? expect("put_result", line) : err;
}

static enum pli_err pmi_get(uint32_t owner, const char *key, char *value, size_t room)
{
    char name[128];
    key_for(owner, key, name);
    return get_named(name, value, room);
}

static enum pli_err pmi_fence(void)
{
    char line[LINE];
    enum pli_err err = tell_launcher("cmd=barrier_in\n");
    return err == PLI_OK ? expect("barrier_out", line) : err;
}

static enum pli_err pmi_hosts(uint32_t *host_of)
{
    char text[LINE];
    if (get_named("PMI_process_mapping", text, sizeof text) != PLI_OK ||
        !pli_pmi_map_read(text, host_of, my_size)) {
        return PLI_AGAIN;
    }
    return PLI_OK;
}

static enum pli_err start_protocol(void)
{
    char line[LINE];
    enum pli_err err = tell_launcher("cmd=init pmi_version=1 pmi_subversion=1\n");
    err = err == PLI_OK ? expect("response_to_init", line) : err;
    err = err == PLI_OK ? tell_launcher("cmd=get_my_kvsname\n") : err;
    err = err == PLI_OK ? expect("my_kvsname", line) : err;
    if (err == PLI_OK && !find_word(line, "kvsname", space, sizeof space)) {
        err = pli_fail(PLI_ERR_OTHER, "the launcher's PMI answer '%s' has no kvsname", line);
    }
    return err;
}

static void pmi_finish(void)
{
    char line[LINE];
    if (tell_launcher("cmd=finalize\n") == PLI_OK && expect("finalize_ack", line) == PLI_OK) {
        close(fd);
    }
    fd = -1;
    pli_fail_take(NULL);
}

static void pmi_end(int status, const char *why)
{
    (void)why; // the protocol has no word for it
    tell_launcher("cmd=abort exitcode=%d\n", status);
}

static enum pli_err pmi_open(struct pli_boot *boot)
{
    long descriptor = -1, rank = 0, size = 1;
    if (!read_env("PMI_FD", 0, &descriptor) || !read_env("PMI_RANK", 0, &rank) ||
        !read_env("PMI_SIZE", 1, &size)) {
        return pli_fail(PLI_ERR_OTHER, "PMI_FD, PMI_RANK and PMI_SIZE are not numbers");
    }
    fd = (int)descriptor;
    my_size = (uint32_t)size;
    store = (struct pli_kvs){ .name = "PMI",
                              .rank = (uint32_t)rank,
                              .size = my_size,
                              .put = pmi_put,
                              .fence = pmi_fence,
                              .get = pmi_get,
                              .hosts = pmi_hosts,
                              .finish = pmi_finish,
                              .end = pmi_end };
    enum pli_err err = start_protocol();
    err = err == PLI_OK ? pli_kvs_open(&store, boot) : err;
    if (err == PLI_OK) { // a program that this rank starts is a world of its own
        unsetenv("PMI_FD");
        unsetenv("PMI_RANK");
        unsetenv("PMI_SIZE");
    }
    return err;
}

const struct pli_boot_ops pli_pmi_ops = {
    .name = "pmi",
    .is_mine = pmi_is_mine,
    .open = pmi_open,
    .tell = pli_kvs_tell,
    .abort = pli_kvs_abort,
    .close = pli_kvs_close,
    .ask = pli_boot_no_ask,
    .clone = pli_boot_no_clone,
    .ready = pli_boot_no_ready,
    .agree = pli_boot_no_agree,
    .reach = pli_kvs_reach,
    .accept_fd = pli_kvs_listen_fd,
    .accept = pli_kvs_listen_accept,
};
