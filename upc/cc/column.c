// SPDX-License-Identifier: BSD-3-Clause
// Columns of tokens in the original line. The preprocessor squeezes blanks and expands macros, so
// what it left of a line is matched with what the line has: the longest common sequence of tokens.
#include "column.h"

#include "lex.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

// Lines that differ in more than this, tokens times tokens, are matched at both ends alone.
enum { MAX_CELLS = 1 << 20 };

struct word {
    const char *text;
    size_t len;
    int col;
};

static void read_source(struct source *s)
{
    s->is_read = true;
    FILE *f = fopen(s->path, "rb");
    if (f == NULL) {
        return;
    }
    struct text t = { 0 };
    char buf[8192];
    size_t n;
    while ((n = fread(buf, 1, sizeof buf, f)) > 0) {
        pli_unit_arena_text_add(&t, buf, n);
    }
    fclose(f);
    s->text = t.data;
    s->len = t.len;
}

static void index_lines(struct source *s)
{
    int cap = 0;
    size_t at = 0;
    while (at < s->len) {
        if (s->n_line == cap) {
            cap = cap * 2 + 256;
            size_t *grown = realloc(s->lines, (size_t)cap * sizeof *grown);
            if (grown == NULL) {
                return;
            }
            s->lines = grown;
        }
        s->lines[s->n_line++] = at;
        const char *nl = memchr(s->text + at, '\n', s->len - at);
        at = nl == NULL ? s->len : (size_t)(nl - s->text) + 1;
    }
}

bool pli_column_line(struct source *s, int line, const char **text_out, size_t *len_out)
{
    if (!s->is_read) {
        read_source(s);
        index_lines(s);
    }
    if (line < 1 || line > s->n_line) {
        return false;
    }
    size_t at = s->lines[line - 1];
    const char *nl = memchr(s->text + at, '\n', s->len - at);
    *text_out = s->text + at;
    *len_out = nl == NULL ? s->len - at : (size_t)(nl - s->text) - at;
    return true;
}

static const char *skip_comment(const char *p, const char *end)
{
    if (p[1] == '/') {
        return end;
    }
    for (p += 2; p < end; p++) {
        if (*p == '*' && p + 1 < end && p[1] == '/') {
            return p + 2;
        }
    }
    return end;
}

// The tokens of an original line; a heap array.
static struct word *split(const char *line, size_t len, size_t *n_out)
{
    const char *end = line + len;
    struct word *words = malloc((len + 1) * sizeof *words);
    size_t n = 0;
    for (const char *p = line; words != NULL && p < end;) {
        if (isspace((unsigned char)*p)) {
            p++;
        } else if (*p == '/' && p + 1 < end && (p[1] == '/' || p[1] == '*')) {
            p = skip_comment(p, end);
        } else {
            const char *q = pli_lex_end(p, end);
            words[n++] = (struct word){ p, (size_t)(q - p), (int)(p - line) + 1 };
            p = q;
        }
    }
    *n_out = n;
    return words;
}

static bool same(const struct token *t, const struct word *w)
{
    return t->len == w->len && memcmp(t->text, w->text, w->len) == 0;
}

// The tokens [0, n_tok) against [0, n_word), which agree at neither end.
static void match_middle(struct token *t, size_t n_tok, const struct word *w, size_t n_word)
{
    size_t step = n_word + 1;
    if (n_tok == 0 || n_word == 0 || n_tok > MAX_CELLS / step) {
        return;
    }
    // best[i][k]: the longest common sequence of what begins at i and at k
    unsigned *best = calloc((n_tok + 1) * step, sizeof *best);
    if (best == NULL) {
        return;
    }
    for (size_t i = n_tok; i-- > 0;) {
        for (size_t k = n_word; k-- > 0;) {
            unsigned down = best[(i + 1) * step + k], right = best[i * step + k + 1];
            best[i * step + k] = same(&t[i], &w[k]) ? best[(i + 1) * step + k + 1] + 1
                                 : down > right     ? down
                                                    : right;
        }
    }
    for (size_t i = 0, k = 0; i < n_tok && k < n_word;) {
        if (same(&t[i], &w[k])) {
            t[i++].src_col = w[k++].col;
        } else if (best[(i + 1) * step + k] >= best[i * step + k + 1]) {
            i++;
        } else {
            k++;
        }
    }
    free(best);
}

static void match(struct token *t, size_t n_tok, const struct word *w, size_t n_word)
{
    while (n_tok > 0 && n_word > 0 && same(t, w)) {
        t++->src_col = w++->col;
        n_tok--;
        n_word--;
    }
    while (n_tok > 0 && n_word > 0 && same(&t[n_tok - 1], &w[n_word - 1])) {
        t[--n_tok].src_col = w[--n_word].col;
    }
    match_middle(t, n_tok, w, n_word);
}

static bool same_line(const struct token *a, const struct token *b)
{
    return a->line == b->line && a->src == b->src;
}

// All tokens of the line that tok is in, at once.
static void place(struct unit *u, size_t tok)
{
    size_t from = tok, to = tok + 1, n_word;
    while (from > 0 && same_line(&u->toks[from - 1], &u->toks[tok])) {
        from--;
    }
    while (to < u->n_tok && same_line(&u->toks[to], &u->toks[tok])) {
        to++;
    }
    for (size_t i = from; i < to; i++) {
        u->toks[i].is_placed = true;
    }
    const char *line;
    size_t len;
    if (!pli_column_line(u->toks[tok].src, u->toks[tok].line, &line, &len)) {
        return;
    }
    struct word *words = split(line, len, &n_word);
    match(u->toks + from, to - from, words, n_word);
    free(words);
}

int pli_column_find(struct unit *u, size_t tok)
{
    if (!u->toks[tok].is_placed) {
        place(u, tok);
    }
    return u->toks[tok].src_col;
}

int pli_column_near(struct unit *u, size_t tok)
{
    const struct token *t = &u->toks[tok];
    for (size_t i = tok + 1; i-- > 0 && same_line(&u->toks[i], t);) {
        int col = pli_column_find(u, i);
        if (col > 0) {
            return col;
        }
    }
    return t->col;
}
