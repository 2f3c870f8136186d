// SPDX-License-Identifier: BSD-3-Clause
// Diagnostics. The preprocessor squeezes blanks and expands macros, so a token's column is found
// again in the original line: the n-th token with its spelling there, else its nearest neighbour.
#include "diag.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

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
        pli_arena_text_add(&t, buf, n);
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

static bool find_line(struct source *s, int line, const char **text_out, size_t *len_out)
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

static bool is_word(int c)
{
    return isalnum(c) || c == '_';
}

// The byte position of the nth (from 0) occurrence of a token in a line, or -1.
static long find_nth(const char *line, size_t len, const char *tok, size_t tok_len, int nth)
{
    if (tok_len == 0) {
        return -1;
    }
    bool word = is_word((unsigned char)tok[0]);
    for (size_t i = 0; i + tok_len <= len; i++) {
        if (memcmp(line + i, tok, tok_len) != 0) {
            continue;
        }
        bool glued = word && ((i > 0 && is_word((unsigned char)line[i - 1])) ||
                              (i + tok_len < len && is_word((unsigned char)line[i + tok_len])));
        if (!glued && nth-- == 0) {
            return (long)i;
        }
    }
    return -1;
}

static bool same_line(const struct token *a, const struct token *b)
{
    return a->line == b->line && a->src == b->src;
}

static int column(struct unit *u, size_t tok, const char *line, size_t len)
{
    for (size_t i = tok + 1; i-- > 0 && same_line(&u->toks[i], &u->toks[tok]);) {
        const struct token *t = &u->toks[i];
        int nth = 0;
        for (size_t k = i; k-- > 0 && same_line(&u->toks[k], t);) {
            nth += u->toks[k].len == t->len && memcmp(u->toks[k].text, t->text, t->len) == 0;
        }
        long at = find_nth(line, len, t->text, t->len, nth);
        if (at >= 0) {
            return (int)at + 1;
        }
    }
    return u->toks[tok].col;
}

int pli_diag_column(struct unit *u, size_t tok)
{
    const struct token *t = &u->toks[tok];
    const char *line;
    size_t len;
    if (!find_line(t->src, t->line, &line, &len)) {
        return t->col;
    }
    int nth = 0;
    for (size_t k = tok; k-- > 0 && same_line(&u->toks[k], t);) {
        nth += u->toks[k].len == t->len && memcmp(u->toks[k].text, t->text, t->len) == 0;
    }
    return (int)find_nth(line, len, t->text, t->len, nth) + 1;
}

static void show(struct unit *u, size_t tok, const char *kind, const char *fmt, va_list ap)
{
    tok -= tok > 0 && u->toks[tok].kind == TOK_EOF; // there is nothing to see behind the end
    const struct token *t = &u->toks[tok];
    const char *line = NULL;
    size_t len = 0;
    int col = t->col;
    bool found = find_line(t->src, t->line, &line, &len);
    if (found) {
        col = column(u, tok, line, len);
    }
    fprintf(u->diag, "%s:%d:%d: %s: ", t->src->path, t->line, col, kind);
    vfprintf(u->diag, fmt, ap);
    fputc('\n', u->diag);
    if (!found) {
        return;
    }
    int w = fprintf(u->diag, "%5d | ", t->line);
    fprintf(u->diag, "%.*s\n", (int)len, line);
    fprintf(u->diag, "%*s", w, "| ");
    for (int i = 0; i < col - 1 && i < (int)len; i++) {
        fputc(line[i] == '\t' ? '\t' : ' ', u->diag);
    }
    fputs("^", u->diag);
    for (unsigned i = 1; i < t->len && col - 1 + (int)i < (int)len; i++) {
        fputc('~', u->diag);
    }
    fputc('\n', u->diag);
}

void pli_diag_error(struct unit *u, size_t tok, const char *fmt, ...)
{
    u->n_error++;
    va_list ap;
    va_start(ap, fmt);
    show(u, tok, "error", fmt, ap);
    va_end(ap);
}

void pli_diag_warn(struct unit *u, size_t tok, const char *fmt, ...)
{
    if (u->opt.no_warn) {
        return;
    }
    u->n_warning++;
    u->n_error += u->opt.warn_error;
    va_list ap;
    va_start(ap, fmt);
    show(u, tok, u->opt.warn_error ? "error" : "warning", fmt, ap);
    va_end(ap);
}

void pli_diag_note(struct unit *u, size_t tok, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    show(u, tok, "note", fmt, ap);
    va_end(ap);
}

_Noreturn void pli_diag_fatal(struct unit *u, size_t tok, const char *fmt, ...)
{
    u->n_error++;
    va_list ap;
    va_start(ap, fmt);
    show(u, tok, "error", fmt, ap);
    va_end(ap);
    longjmp(u->bail, 1);
}
