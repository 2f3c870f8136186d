// SPDX-License-Identifier: BSD-3-Clause
// Writes diagnostics.
#include "diag.h"

#include "column.h"
#include "excerpt.h"

#include <stdarg.h>

static void show(struct unit *u, size_t tok, const char *kind, const char *fmt, va_list ap)
{
    tok -= tok > 0 && u->toks[tok].kind == TOK_EOF; // there is nothing to see behind the end
    const struct token *t = &u->toks[tok];
    const char *line = NULL;
    size_t len = 0;
    int col = t->col;
    bool found = pli_column_line(t->src, t->line, &line, &len);
    if (found) {
        col = pli_column_near(u, tok);
    }
    fprintf(u->diag, "%s:%d:%d: %s: ", t->src->path, t->line,
            found ? pli_excerpt_column(line, len, col) : col, kind);
    vfprintf(u->diag, fmt, ap);
    fputc('\n', u->diag);
    if (found) {
        pli_excerpt_print(u->diag, t->line, line, len, col, t->len);
    }
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
