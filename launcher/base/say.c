// SPDX-License-Identifier: BSD-3-Clause
// Formats and writes mpiexec's own messages.
#include "launcher/base/say.h"

#include "launcher/base/fd_io.h"
#include "launcher/base/launcher.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WIDTH = 80, TEXT = 8192 };

const char *pli_say_name = "mpiexec";

static void put_stderr(const char *text, unsigned long len)
{
    (void)pli_fd_io_write(STDERR_FILENO, text, len); // it may be closed
}

static void put(const char *text, unsigned long len)
{
    const struct pli_say_state *self = pli_launcher.say;
    (self->put != NULL ? self->put : put_stderr)(text, len);
}

void pli_say_through(void (*fn)(const char *text, unsigned long len))
{
    pli_launcher.say->put = fn;
}

// Break at spaces; a word longer than a line stays whole, so that commands can be copied.
static size_t wrap(const char *text, char *to, size_t cap)
{
    size_t len = 0, column = 0;
    while (*text != '\0') {
        size_t word = strcspn(text, " ");
        if (column > 0 && column + 1 + word > WIDTH) {
            to[len++] = '\n';
            column = 0;
        } else if (column > 0) {
            to[len++] = ' ';
            column++;
        }
        if (len + word + 3 > cap) {
            break;
        }
        memcpy(to + len, text, word);
        len += word;
        column += word;
        text += word;
        text += strspn(text, " ");
    }
    to[len++] = '\n';
    return len;
}

void pli_say_where(const char *host)
{
    struct pli_say_state *self = pli_launcher.say;
    self->where = host;
}

void pli_say_at_exit(void (*fn)(int status))
{
    struct pli_say_state *self = pli_launcher.say;
    self->at_exit = fn;
}

// A message may quote a file or another program: nothing in it steers the terminal.
static void make_plain(char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        *text = (c < ' ' && c != '\n' && c != '\t') || c == 0x7f ? '?' : *text;
    }
}

static void say(const char *fmt, va_list ap)
{
    char text[TEXT], wrapped[TEXT + 8];
    int n = snprintf(text, sizeof text, "%s: ", pli_say_name);
    vsnprintf(text + n, sizeof text - (size_t)n, fmt, ap);
    make_plain(text);
    if (pli_launcher.say->note != NULL) {
        pli_launcher.say->note(text + n);
    }
    put(wrapped, wrap(text, wrapped, sizeof wrapped));
}

void pli_say_record(void (*note)(const char *text))
{
    pli_launcher.say->note = note;
}

void pli_say_note(const char *fmt, ...)
{
    char text[512];
    va_list ap;
    if (pli_launcher.say->note == NULL) {
        return;
    }
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    pli_launcher.say->note(text);
}

void pli_say(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    say(fmt, ap);
    va_end(ap);
}

void pli_say_bad(const char *fmt, ...)
{
    struct pli_say_state *self = pli_launcher.say;
    char text[TEXT];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    pli_say("%s%s%s%s", self->where != NULL ? "host " : "", self->where != NULL ? self->where : "",
            self->where != NULL ? ": " : "", text);
    if (self->at_exit != NULL) {
        self->at_exit(PLI_USAGE);
    }
    exit(PLI_USAGE);
}

void *pli_say_need(void *p)
{
    if (p == NULL) {
        pli_say("out of memory");
        exit(1);
    }
    return p;
}

void pli_say_plain(const char *fmt, ...)
{
    char text[TEXT];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (n > 0) {
        put(text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
    }
}

void pli_say_bare(const char *text, size_t len, char *to, size_t cap)
{
    const char *colon = memchr(text, ':', len), *end = text + len;
    const char *at = colon != NULL && colon + 2 < end ? colon + 2 : text;
    size_t n = 0;
    for (; at < end && n + 1 < cap; at++) {
        to[n++] = *at == '\n' ? ' ' : *at;
    }
    while (n > 0 && to[n - 1] == ' ') {
        n--;
    }
    to[n] = '\0';
}
