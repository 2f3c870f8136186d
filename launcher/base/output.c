// SPDX-License-Identifier: BSD-3-Clause
// Bounded, line-preserving output that does not block.
#include "launcher/base/output.h"

#include "launcher/base/launcher.h"
#include "launcher/base/say.h"
#include "launcher/base/output_lines.h"
#include "launcher/base/tty.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BOUND = 256 * 1024 };

static void fire(struct pli_watch *w, uint32_t events)
{
    (void)w;
    (void)events; // every turn of the loop ends with a flush
}

// O_NONBLOCK belongs to the open file, which the shell and others share with us: it is only set on
// one that we opened ourselves.
static void open_sink(struct pli_output *k, int fd, const struct stat *st)
{
    *k = (struct pli_output){ .watch = { .fd = fd, .fire = fire }, .last_byte = '\n' };
    k->is_tty = isatty(fd);
    if (S_ISSOCK(st->st_mode)) {
        k->kind = PLI_OUTPUT_SOCKET;
    } else if (S_ISFIFO(st->st_mode) || k->is_tty) {
        char path[32];
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        int own = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        k->kind = own >= 0 ? PLI_OUTPUT_OPENED : PLI_OUTPUT_PIECES;
        k->watch.fd = own >= 0 ? own : fd;
    }
}

static void say_put(const char *text, unsigned long len)
{
    struct pli_output_state *self = pli_launcher.output;
    pli_output_put(self->err, &self->own_err, "", text, len);
}

// Messages that are written just before the end must be shown.
static void last_flush(int status)
{
    (void)status;
    pli_output_flush();
}

void pli_output_open(void)
{
    struct pli_output_state *self = pli_launcher.output;
    struct stat out, err;
    if (fstat(STDOUT_FILENO, &out) != 0 || fstat(STDERR_FILENO, &err) != 0) {
        return; // main made sure that both are open
    }
    open_sink(&self->out, STDOUT_FILENO, &out);
    if (out.st_dev == err.st_dev && out.st_ino == err.st_ino) {
        self->err = &self->out;
    } else {
        open_sink(&self->own_err, STDERR_FILENO, &err);
    }
    pli_say_through(say_put);
    pli_say_at_exit(last_flush);
}

bool pli_output_fits(const struct pli_output *k, size_t len)
{
    return k->len + len <= BOUND;
}

static bool grow(struct pli_output *k, size_t len)
{
    if (k->head + k->len + len <= k->cap) {
        return true;
    }
    if (k->head > 0) {
        memmove(k->buf, k->buf + k->head, k->len);
        k->head = 0;
    }
    if (k->len + len > k->cap) {
        size_t cap = k->len + len + 16384;
        char *buf = realloc(k->buf, cap);
        if (buf == NULL) {
            return false;
        }
        k->buf = buf;
        k->cap = cap;
    }
    return true;
}

#define ERASE "\r\033[K" // the line that the cursor is in

static void append(struct pli_output *k, const char *data, size_t len)
{
    if (k->has_progress && grow(k, sizeof ERASE)) {
        memcpy(k->buf + k->head + k->len, ERASE, sizeof ERASE - 1);
        k->len += sizeof ERASE - 1;
        k->has_progress = false;
    }
    if (len > 0 && !k->is_gone && grow(k, len)) {
        memcpy(k->buf + k->head + k->len, data, len);
        k->len += len;
        k->last_byte = data[len - 1];
    }
}

void pli_output_put(struct pli_output *k, const void *who, const char *label, const char *data,
                    size_t len)
{
    if (k->last != who && k->last_byte != '\n') {
        append(k, "\n", 1);
    }
    k->last = who;
    if (label[0] == '\0') {
        append(k, data, len);
        return;
    }
    while (len > 0) {
        const char *end = memchr(data, '\n', len);
        size_t n = end != NULL ? (size_t)(end - data) + 1 : len;
        if (k->last_byte == '\n') {
            append(k, label, strlen(label));
        }
        append(k, data, n);
        data += n;
        len -= n;
    }
}

static ssize_t write_some(struct pli_output *k)
{
    const char *data = k->buf + k->head;
    switch (k->kind) {
    case PLI_OUTPUT_SOCKET:
        return send(k->watch.fd, data, k->len, MSG_DONTWAIT | MSG_NOSIGNAL);
    case PLI_OUTPUT_PIECES: {
        // A pipe that poll calls writable takes this much whole.
        struct pli_watch *w = &k->watch;
        if (!pli_loop_writable(w->fd)) {
            errno = EAGAIN;
            return -1;
        }
        return write(w->fd, data, k->len < PIPE_BUF ? k->len : PIPE_BUF);
    }
    default:
        return write(k->watch.fd, data, k->len);
    }
}

static void flush_one(struct pli_output *k)
{
    while (k->len > 0 && !k->is_gone) {
        ssize_t n = write_some(k);
        if (n > 0) {
            k->head += (size_t)n;
            k->len -= (size_t)n;
            continue;
        }
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0 && errno == EAGAIN) {
            break;
        }
        k->is_gone = true;
        k->error = n < 0 ? errno : EIO;
        k->len = 0;
    }
    if (k->len == 0) {
        k->head = 0;
    }
    pli_loop_watch(&k->watch, k->len > 0 ? EPOLLOUT : 0);
}

// Flush, let waiting streams fill the room, and so on until no stream can go on.
static void pump(struct pli_output *k)
{
    bool is_moving = true;
    while (is_moving) {
        flush_one(k);
        is_moving = false;
        struct pli_output_lines *s = k->waiting;
        k->waiting = NULL;
        while (s != NULL) {
            struct pli_output_lines *next = s->next_waiting;
            is_moving |= pli_output_lines_resume(s);
            s = next;
        }
    }
}

void pli_output_flush(void)
{
    struct pli_output_state *self = pli_launcher.output;
    pump(&self->out);
    if (self->err != &self->out) {
        pump(self->err);
    }
}

void pli_output_progress(const char *fmt, ...)
{
    struct pli_output *k = pli_launcher.output->err;
    char text[512];
    struct winsize size = { 0 };
    if (!k->is_tty || k->len > 0 || k->last_byte != '\n' || !pli_tty_knows_escapes()) {
        return;
    }
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    ioctl(k->watch.fd, TIOCGWINSZ, &size);
    size_t most = size.ws_col > 1 ? size.ws_col - 1u : 79; // a line that wraps cannot be erased
    size_t len = n < 0 ? 0 : strnlen(text, most < sizeof text ? most : sizeof text - 1);
    append(k, "", 0);
    if (len > 0) {
        append(k, text, len);
        k->has_progress = true;
        k->last_byte = '\n'; // of what stays
    }
    flush_one(k);
}

bool pli_output_is_empty(void)
{
    struct pli_output_state *self = pli_launcher.output;
    return self->out.len == 0 && self->err->len == 0;
}

void pli_output_init(void)
{
    struct pli_output_state *self = pli_launcher.output;
    self->err = &self->own_err;
}
