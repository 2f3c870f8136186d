// SPDX-License-Identifier: BSD-3-Clause
// Holds a rank's output until its line is complete, within bounds.
//
// A line longer than the buffer is passed on in pieces, and its stream owns the sink until the line
// ends. An owner that falls silent while others wait loses the sink after a while, for it may
// itself wait for one of them. On a terminal an unfinished line is shown after a moment: it may be
// a prompt.
#include "launcher/base/output_lines.h"

#include "launcher/base/launcher.h"
#include "base/clock.h"
#include "launcher/base/output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { CAP = PLI_OUTPUT_LINES_CAP, PROMPT_MS = 50, SILENCE_MS = 1000 };

static void check_prompts(struct pli_timer *t);
static void check_owners(struct pli_timer *t);

unsigned pli_output_lines_n_open(void)
{
    struct pli_output_lines_state *self = pli_launcher.output_lines;
    return self->n_open;
}

static void wait_for_room(struct pli_output_lines *s)
{
    struct pli_output_lines_state *self = pli_launcher.output_lines;
    if (!s->is_waiting) {
        s->is_waiting = true;
        s->next_waiting = s->sink->waiting;
        s->sink->waiting = s;
    }
    if (s->sink->owner != NULL && self->silence_timer.at == 0) {
        pli_loop_timer(&self->silence_timer, (uint64_t)SILENCE_MS * PLI_MS);
    }
}

// How much may go now: whole lines, or all when the line cannot be waited for.
static size_t ready_len(const struct pli_output_lines *s, const char *data, size_t len)
{
    const char *end = memrchr(data, '\n', len);
    if (end != NULL) {
        return (size_t)(end - data) + 1;
    }
    return s->is_ended || s->sink->owner == s || s->len == CAP ? len : 0;
}

// Labels make lines longer: go line by line then.
static size_t first_line(const struct pli_output_lines *s, const char *data, size_t len)
{
    const char *end = s->label[0] != '\0' ? memchr(data, '\n', len) : NULL;
    return end != NULL ? (size_t)(end - data) + 1 : len;
}

// To the file of the stream. Files are not waited for.
static void write_file(struct pli_output_lines *s, const char *data, size_t len)
{
    struct pli_output_lines_state *self = pli_launcher.output_lines;
    while (len > 0) {
        ssize_t n = write(s->file, data, len);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            self->file_error = self->file_error != 0 ? self->file_error : n < 0 ? errno : EIO;
            close(s->file);
            s->file = -1;
            return;
        }
        data += n;
        len -= (size_t)n;
    }
}

static void put(struct pli_output_lines *s, const char *data, size_t len)
{
    if (s->file > 0) {
        write_file(s, data, len);
    }
    if (!s->is_hidden) {
        pli_output_put(s->sink, s, s->label, data, len);
    }
}

static size_t emit(struct pli_output_lines *s)
{
    struct pli_output *k = s->sink;
    size_t pos = 0;
    while (pos < s->len) {
        size_t n = ready_len(s, s->buf + pos, s->len - pos);
        if (n == 0) {
            break;
        }
        n = first_line(s, s->buf + pos, n);
        if (!s->is_hidden && !k->is_gone &&
            ((k->owner != NULL && k->owner != s) ||
             !pli_output_fits(k, n + strlen(s->label) + 1))) {
            wait_for_room(s);
            break;
        }
        put(s, s->buf + pos, n);
        pos += n;
        if (s->is_hidden) {
            continue;
        }
        bool is_whole = s->buf[pos - 1] == '\n' || s->is_ended;
        k->owner = is_whole || k->is_gone ? NULL : s;
    }
    if (pos > 0) {
        memmove(s->buf, s->buf + pos, s->len - pos);
        s->len -= pos;
    }
    if (pos > 0 && s->took != NULL) {
        s->took(s, pos);
    }
    return pos;
}

// After any change: what to wait for, and whether this stream is over.
static void settle(struct pli_output_lines *s)
{
    struct pli_output_lines_state *self = pli_launcher.output_lines;
    if (s->len == 0) {
        free(s->buf);
        s->buf = NULL;
    } else if (s->sink->is_tty && self->prompt_timer.at == 0) {
        pli_loop_timer(&self->prompt_timer, (uint64_t)PROMPT_MS * PLI_MS);
    }
    if (s->is_ended && s->watch.fd >= 0) {
        pli_loop_close(&s->watch);
    }
    if (s->is_ended && s->len == 0 && !s->is_over) {
        if (s->sink->owner == s) {
            s->sink->owner = NULL;
        }
        s->is_over = true;
        self->n_open--;
        if (s->file > 0) {
            close(s->file);
            s->file = 0;
        }
    }
    pli_loop_watch(&s->watch, s->len < CAP ? EPOLLIN : 0);
}

// Read once; false when nothing more is there for now.
static bool take(struct pli_output_lines *s)
{
    if (s->is_ended || s->len == CAP) {
        return false;
    }
    if (s->buf == NULL) {
        s->buf = malloc(CAP);
        if (s->buf == NULL) {
            return false;
        }
    }
    size_t want = CAP - s->len;
    want = want < s->left ? want : (size_t)s->left;
    ssize_t n = want > 0 ? read(s->watch.fd, s->buf + s->len, want) : 0;
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        if (s->left != UINT64_MAX) {
            s->is_ended = true; // another reader took what the process had left
        }
        return false;
    }
    if (n <= 0) {
        s->is_ended = true;
        return false;
    }
    s->len += (size_t)n;
    s->last_ns = pli_clock_ns();
    if (s->left != UINT64_MAX) {
        s->left -= (uint64_t)n;
        s->is_ended = s->left == 0;
    }
    return true;
}

static void fire(struct pli_watch *w, uint32_t events)
{
    (void)events;
    struct pli_output_lines *s = (struct pli_output_lines *)w; // its first member
    take(s);
    emit(s);
    settle(s);
}

static void add_stream(struct pli_output_lines *s, const char *label)
{
    struct pli_output_lines_state *self = pli_launcher.output_lines;
    snprintf(s->label, sizeof s->label, "%s", label);
    s->next = self->streams;
    self->streams = s;
    self->n_open++;
}

void pli_output_lines_open_remote(struct pli_output_lines *s, struct pli_output *sink,
                                  const char *label,
                                  void (*took)(struct pli_output_lines *s, size_t n))
{
    uint32_t task = s->task;
    uint16_t which = s->which;
    *s = (struct pli_output_lines){ .watch = { .fd = -1 },
                                    .sink = sink,
                                    .left = UINT64_MAX,
                                    .task = task,
                                    .which = which,
                                    .took = took };
    add_stream(s, label);
}

void pli_output_lines_to_file(struct pli_output_lines *s, int file, bool is_copied)
{
    s->file = file;
    s->is_hidden = !is_copied;
}

bool pli_output_lines_feed(struct pli_output_lines *s, const void *data, size_t len)
{
    if (s->is_ended || len > CAP - s->len) {
        return false;
    }
    if (s->buf == NULL) {
        s->buf = malloc(CAP);
        if (s->buf == NULL) {
            return false;
        }
    }
    memcpy(s->buf + s->len, data, len);
    s->len += len;
    s->last_ns = pli_clock_ns();
    emit(s);
    settle(s);
    return true;
}

void pli_output_lines_end(struct pli_output_lines *s)
{
    if (!s->is_ended) {
        s->is_ended = true;
        emit(s);
        settle(s);
    }
}

void pli_output_lines_open(struct pli_output_lines *s, int fd, struct pli_output *sink,
                           const char *label)
{
    *s = (struct pli_output_lines){ .watch = { .fd = fd, .fire = fire },
                                    .sink = sink,
                                    .left = UINT64_MAX };
    add_stream(s, label);
    pli_loop_watch(&s->watch, EPOLLIN);
}

void pli_output_lines_finish(struct pli_output_lines *s)
{
    if (s->watch.fd < 0 || s->is_ended || s->left != UINT64_MAX) {
        return;
    }
    int n = 0;
    s->left = ioctl(s->watch.fd, FIONREAD, &n) == 0 && n > 0 ? (uint64_t)n : 0;
    do {
        emit(s);
    } while (take(s));
    emit(s);
    settle(s);
}

bool pli_output_lines_forget(struct pli_output_lines *s)
{
    struct pli_output_lines_state *self = pli_launcher.output_lines;
    if (s->sink == NULL) {
        return true; // was never opened
    }
    if (!s->is_over || s->is_waiting) {
        return false;
    }
    struct pli_output_lines **at = &self->streams;
    while (*at != NULL && *at != s) {
        at = &(*at)->next;
    }
    if (*at == s) {
        *at = s->next;
    }
    if (s->sink->last == s) {
        s->sink->last = NULL;
    }
    return true;
}

bool pli_output_lines_resume(struct pli_output_lines *s)
{
    s->is_waiting = false;
    size_t moved = emit(s);
    if (s->left != UINT64_MAX && !s->is_ended) {
        take(s); // at its end the stream is not waited for by epoll alone
        moved += emit(s);
    }
    settle(s);
    return moved > 0;
}

static void check_prompts(struct pli_timer *t)
{
    struct pli_output_lines_state *self = pli_launcher.output_lines;
    uint64_t now = pli_clock_ns();
    for (struct pli_output_lines *s = self->streams; s != NULL; s = s->next) {
        if (s->len == 0 || !s->sink->is_tty || s->is_waiting || s->is_hidden) {
            continue;
        }
        if (now - s->last_ns < (uint64_t)PROMPT_MS * PLI_MS || s->sink->owner != NULL) {
            pli_loop_timer(t, (uint64_t)PROMPT_MS * PLI_MS);
            continue;
        }
        put(s, s->buf, s->len);
        if (s->took != NULL) {
            s->took(s, s->len);
        }
        s->len = 0;
        settle(s);
    }
}

static void check_owners(struct pli_timer *t)
{
    uint64_t now = pli_clock_ns();
    struct pli_output *const sinks[] = { &pli_launcher.output->out, pli_launcher.output->err };
    for (int i = 0; i < 2; i++) {
        struct pli_output_lines *s = sinks[i]->owner;
        if (s == NULL || sinks[i]->waiting == NULL) {
            continue;
        }
        if (now - s->last_ns > (uint64_t)SILENCE_MS * PLI_MS && sinks[i]->len == 0) {
            sinks[i]->owner = NULL; // the flush at the end of this turn lets the others go on
        } else {
            pli_loop_timer(t, (uint64_t)SILENCE_MS * PLI_MS);
        }
    }
}

void pli_output_lines_init(void)
{
    struct pli_output_lines_state *self = pli_launcher.output_lines;
    self->prompt_timer.fire = check_prompts;
    self->silence_timer.fire = check_owners;
}
