// SPDX-License-Identifier: BSD-3-Clause
// Expands the brackets of such lists, and the lists of counts beside them.
#include "launcher/job/hostlist.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { MAX_NAME = 256, MAX_DIGIT = 9, MAX_SLOT = 1 << 20 };

struct reader {
    bool (*fn)(const char *name, void *arg);
    void *arg;
    uint32_t n;
    bool is_over; // fn wants no more
};

static const char bad[] = "is not understood";
static const char too_many[] = "stands for more than 65536 hosts";
static const char too_long[] = "has a name of more than 255 characters";
_Static_assert(PLI_HOSTLIST_MOST == 65536, "as the sentence says");

// Digits and nothing else: no sign, no space. Their number, 0: there are none, or too many.
static int read_number(const char **at, const char *end, uint32_t *out)
{
    int n = 0;
    *out = 0;
    for (; *at < end && **at >= '0' && **at <= '9'; (*at)++, n++) {
        if (n == MAX_DIGIT) {
            return 0;
        }
        *out = *out * 10 + (uint32_t)(**at - '0');
    }
    return n;
}

static const char *expand(struct reader *r, const char *text, const char *end, const char *before);

// One range, "01-03" or "07", between what stands before and after the brackets.
static const char *expand_range(struct reader *r, const char **in, const char *close,
                                const char *before, const char *after, const char *end)
{
    uint32_t first, last;
    int width = read_number(in, close, &first);
    last = first;
    if (width > 0 && *in < close && **in == '-') {
        ++*in;
        width = read_number(in, close, &last) > 0 ? width : 0;
    }
    if (width == 0 || last < first || (*in < close && **in != ',')) {
        return bad;
    }
    const char *why = NULL;
    for (uint32_t v = first; v <= last && why == NULL && !r->is_over; v++) {
        char name[MAX_NAME];
        if (snprintf(name, sizeof name, "%s%0*u", before, width, v) >= MAX_NAME) {
            return too_long;
        }
        why = expand(r, after, end, name);
    }
    return why;
}

// One name with any number of brackets; `before` is what has been made of it so far.
static const char *expand(struct reader *r, const char *text, const char *end, const char *before)
{
    size_t len = (size_t)(end - text);
    const char *open = memchr(text, '[', len), *close = memchr(text, ']', len), *why = NULL;
    size_t plain = open != NULL ? (size_t)(open - text) : len;
    char name[MAX_NAME];
    if ((open == NULL) != (close == NULL) || close < open || (open != NULL && close == open + 1)) {
        return bad;
    }
    if (snprintf(name, sizeof name, "%s%.*s", before, (int)plain, text) >= MAX_NAME) {
        return too_long;
    }
    if (open == NULL) {
        if (r->n++ == PLI_HOSTLIST_MOST) {
            return too_many;
        }
        r->is_over = !r->fn(name, r->arg);
        return NULL;
    }
    for (const char *in = open + 1; in < close && why == NULL && !r->is_over; in++) {
        why = expand_range(r, &in, close, name, close + 1, end);
        why = why == NULL && in + 1 == close ? bad : why; // a comma and nothing after it
    }
    return why;
}

const char *pli_hostlist_each(const char *list, bool (*fn)(const char *name, void *arg), void *arg)
{
    struct reader r = { fn, arg, 0, false };
    const char *why = NULL;
    for (const char *at = list; *at != '\0' && why == NULL && !r.is_over;) {
        const char *end = at;
        for (int depth = 0; *end != '\0' && (depth > 0 || *end != ','); end++) {
            depth += (*end == '[') - (*end == ']');
        }
        why = end == at || end - at > 1 << 20 ? bad : expand(&r, at, end, "");
        at = *end == ',' ? end + 1 : end;
    }
    return why;
}

bool pli_hostlist_count(struct pli_hostlist_counts *c, uint32_t *out)
{
    if (c->left == 0 && c->at != NULL && *c->at != '\0') {
        const char *end = c->at + strlen(c->at);
        c->left = 1;
        bool is_good = read_number(&c->at, end, &c->value) > 0 && c->value <= MAX_SLOT;
        if (is_good && strncmp(c->at, "(x", 2) == 0) {
            c->at += 2;
            is_good = read_number(&c->at, end, &c->left) > 0 && c->left > 0 && *c->at == ')';
            c->at += is_good;
        }
        if (!is_good || (*c->at != '\0' && *c->at != ',')) {
            return false;
        }
        c->at += *c->at == ',';
    }
    c->left -= c->left > 0;
    *out = c->value;
    return true;
}
