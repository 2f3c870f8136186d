// SPDX-License-Identifier: BSD-3-Clause
// Writes the translated unit: tokens are copied with their line numbers, edited ranges are
// rewritten.
#include "emit.h"

#include "column.h"
#include "diag.h"
#include "emit_decl.h"
#include "emit_expr.h"
#include "emit_forall.h"
#include "emit_cursor.h"
#include "lex.h"
#include "type_print.h"

#include <stdarg.h>
#include <string.h>

enum { MAX_BLANK_LINES = 8, MAX_COLUMN = 200 };

void pli_emit_puts(struct emitter *e, const char *s)
{
    if (*s != '\0') {
        pli_unit_arena_text_puts(&e->out, s);
        e->bol = false;
        e->glued = true;
    }
}

void pli_emit_printf(struct emitter *e, const char *fmt, ...)
{
    char buf[2048];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(buf, sizeof buf, fmt, ap);
    va_end(ap);
    pli_emit_puts(e, buf);
}

static void newline(struct emitter *e)
{
    pli_unit_arena_text_puts(&e->out, "\n");
    e->line++;
    e->bol = true;
    e->glued = false;
    e->is_moved = false;
}

// The column of what will be written next, less one; no more than `most`, because the line that a
// macro becomes may be very long.
static int column(const struct emitter *e, size_t most)
{
    size_t n = 0;
    while (!e->bol && n < most && n < e->out.len && e->out.data[e->out.len - 1 - n] != '\n') {
        n++;
    }
    return (int)n + (!e->bol && n == e->out.len ? e->before : 0);
}

void pli_emit_place(struct emitter *e, size_t tok)
{
    const struct token *t = &e->u->toks[tok];
    struct text *map = e->u->opt.map;
    int col = map != NULL && e->is_moved && e->n_aside == 0 && !t->src->is_system
                  ? pli_column_near(e->u, tok)
                  : 0;
    if (col == 0 || e->src == NULL) {
        return;
    }
    if (e->mapped != e->src) {
        pli_unit_arena_text_printf(map, "%s\n", e->src->path);
        e->mapped = e->src;
    }
    if (t->src == e->src) {
        pli_unit_arena_text_printf(map, "\t%d %d %d %d %u\n", e->line, column(e, SIZE_MAX) + 1,
                                   t->line, col, (unsigned)t->len);
    }
}

void pli_emit_directive(struct text *out, const struct source *src, int line)
{
    pli_unit_arena_text_printf(out, "# %d \"", line);
    for (const char *s = src->path; *s != '\0'; s++) {
        if (*s == '"' || *s == '\\') {
            pli_unit_arena_text_add(out, "\\", 1);
        }
        pli_unit_arena_text_add(out, s, 1);
    }
    pli_unit_arena_text_puts(out, src->is_system ? "\" 3\n" : "\"\n");
}

static void line_directive(struct emitter *e, const struct token *t)
{
    if (!e->bol) {
        newline(e);
    }
    pli_emit_directive(&e->out, t->src, t->line);
    e->bol = true;
}

static void sync_token(struct emitter *e, const struct token *t)
{
    if (e->src == t->src && e->line == t->line) {
        return;
    }
    if (e->src == t->src && t->line > e->line && t->line - e->line <= MAX_BLANK_LINES) {
        while (e->line < t->line) {
            newline(e);
        }
        return;
    }
    if (e->in_expr > 0) {
        return; // a directive inside macro arguments would not be one
    }
    if (e->u->opt.no_lines) {
        if (!e->bol) {
            newline(e);
        }
    } else {
        line_directive(e, t);
    }
    e->src = t->src;
    e->line = t->line;
}

static void put_pragma(struct emitter *e, struct token *t)
{
    if (t->pragma == NULL || e->in_expr > 0) {
        return;
    }
    if (!e->bol) {
        newline(e);
    }
    pli_unit_arena_text_puts(&e->out, t->pragma);
    e->line = -1; // out of step: force a directive
    e->src = NULL;
    t->pragma = NULL;
}

static void sync_line(struct emitter *e, size_t tok)
{
    put_pragma(e, &e->u->toks[tok]);
    sync_token(e, &e->u->toks[tok]);
}

static const char *token_text(const struct token *t)
{
    return t->op == KW_MAX_BLOCK_SIZE ? "PLI_UPC_MAX_BLOCK" : t->subst;
}

static bool wants_space(const struct emitter *e, const struct token *t)
{
    char last = e->out.len > 0 ? e->out.data[e->out.len - 1] : ' ';
    if (e->glued) {
        return strchr(" ([", last) == NULL && strchr(";,)]", t->text[0]) == NULL;
    }
    return t->space_before;
}

// Where nothing was rewritten before it, a token keeps its column: then what the C compiler says
// about it points at the right place.
static void align(struct emitter *e, const struct token *t)
{
    if (t->src->is_system || e->in_expr > 0) {
        return;
    }
    int col = pli_column_find(e->u, (size_t)(t - e->u->toks)), here = column(e, MAX_COLUMN);
    if (col >= MAX_COLUMN) {
        return;
    }
    if (col - 1 > here) {
        pli_unit_arena_text_printf(&e->out, "%*s", col - 1 - here, "");
    }
}

static void put_token(struct emitter *e, struct token *t)
{
    put_pragma(e, t);
    sync_token(e, t);
    if (!e->bol && wants_space(e, t)) {
        pli_unit_arena_text_puts(&e->out, " ");
    }
    align(e, t);
    if (t->prefix != NULL) {
        pli_unit_arena_text_puts(&e->out, " "); // "union{" has no blank of its own
        pli_unit_arena_text_puts(&e->out, t->prefix);
        pli_unit_arena_text_puts(&e->out, " ");
    }
    const char *s = token_text(t);
    pli_emit_place(e, (size_t)(t - e->u->toks));
    if (s != NULL) {
        pli_unit_arena_text_puts(&e->out, s);
    } else {
        pli_unit_arena_text_add(&e->out, t->text, t->len);
    }
    e->bol = false;
    e->glued = false;
}

static void put_sync_stmt(struct emitter *e, struct edit *d)
{
    static const struct {
        int op;
        const char *name;
    } names[] = { { KW_BARRIER, "barrier" }, { KW_NOTIFY, "notify" }, { KW_WAIT, "wait" } };
    int op = e->u->toks[d->t0].op;
    if (op == KW_FENCE) {
        pli_emit_puts(e, " pli_upc_fence();");
        return;
    }
    for (int i = 0; i < 3; i++) {
        if (names[i].op == op) {
            pli_emit_printf(e, " pli_upc_%s(%d, ", names[i].name, d->node != NULL);
        }
    }
    if (d->node == NULL) {
        pli_emit_puts(e, "0");
    } else {
        pli_emit_puts(e, "(int)");
        pli_emit_expr_arg(e, d->node);
    }
    pli_emit_puts(e, ");");
}

static void put_edit(struct emitter *e, struct edit *d)
{
    d->active = true;
    sync_line(e, d->t0);
    e->is_moved = true;
    pli_emit_place(e, d->t0);
    switch (d->kind) {
    case EDIT_EXPR:
        pli_emit_puts(e, " ");
        e->in_expr++;
        pli_emit_expr(e, d->node);
        e->in_expr--;
        break;
    case EDIT_TYPE:
        pli_emit_type(e, d->type);
        break;
    case EDIT_DECL:
        pli_emit_decl(e, d->decl);
        break;
    case EDIT_FUNC:
        pli_emit_decl_func(e, d->decl);
        break;
    case EDIT_SYNC:
        put_sync_stmt(e, d);
        break;
    case EDIT_FORALL:
        pli_emit_forall(e, d->forall);
        break;
    case EDIT_AHEAD:
        if (!d->is_inner) {
            // A loop may be all of a branch: it stays one statement.
            int id = d->is_loop ? ++e->n_id : 0;
            pli_emit_printf(e,
                            id > 0 ? " for (int __pli_once%d = pli_upc_ahead(0); __pli_once%d;"
                                     " __pli_once%d = 0)"
                                   : " pli_upc_ahead(1);",
                            id, id, id);
        }
        pli_emit_range(e, d->t0, d->t1);
        break;
    case EDIT_CURSOR:
        pli_emit_cursor_loop(e, d);
        break;
    case EDIT_LENGTHS:
        pli_emit_puts(e, "{");
        pli_emit_decl_lengths(e, d->decl);
        break;
    }
    d->active = false;
}

void pli_emit_range(struct emitter *e, size_t t0, size_t t1)
{
    for (size_t i = t0; i < t1;) {
        struct token *t = &e->u->toks[i];
        struct edit *d = t->edit;
        while (d != NULL && (d->active || d->t1 > t1)) {
            d = d->next;
        }
        if (d == NULL) {
            put_token(e, t);
            i++;
        } else {
            put_edit(e, d);
            i = d->t1;
        }
    }
}

// The length of a variable array inside a printed type.
static void put_len(void *arg, size_t t0, size_t t1, struct text *out)
{
    struct emitter *e = arg;
    struct text saved = e->out;
    bool bol = e->bol, glued = e->glued;
    e->out = (struct text){ 0 };
    e->bol = e->glued = false;
    e->in_expr++;
    e->n_aside++;
    pli_emit_range(e, t0, t1);
    e->n_aside--;
    e->in_expr--;
    if (e->out.len > 0) {
        pli_unit_arena_text_puts(out, e->out.data);
    }
    pli_unit_arena_text_fini(&e->out);
    e->out = saved;
    e->bol = bol;
    e->glued = glued;
}

void pli_emit_named(struct emitter *e, const struct type *t, const char *name)
{
    struct text spec = { 0 }, decl = { 0 };
    pli_type_print_decl(&e->tp, t, name, &spec, &decl);
    pli_emit_puts(e, spec.data);
    if (decl.len > 0) {
        pli_emit_puts(e, " ");
        pli_emit_puts(e, decl.data);
    }
    pli_unit_arena_text_fini(&spec);
    pli_unit_arena_text_fini(&decl);
}

void pli_emit_length(struct emitter *e, const struct type *array)
{
    struct text len = { 0 };
    put_len(e, array->len_t0, array->len_t1, &len);
    pli_emit_printf(e, "(%s)", len.data);
    pli_unit_arena_text_fini(&len);
}

void pli_emit_type(struct emitter *e, const struct type *t)
{
    pli_emit_named(e, t, "");
}

// src and line: where the declaration began to be written.
static void flush(struct emitter *e, const struct source *src, int line, struct text *out)
{
    if (e->hoist.len > 0) {
        pli_unit_arena_text_puts(out, "\n");
        pli_unit_arena_text_puts(out, e->hoist.data);
        pli_unit_arena_text_puts(out, "\n");
        if (src != NULL && !e->u->opt.no_lines) {
            pli_emit_directive(out, src, line);
        }
        e->hoist.len = 0;
        e->before = 0;
    }
    if (e->out.len > 0) {
        const char *last = strrchr(e->out.data, '\n');
        e->before = last != NULL ? (int)strlen(last + 1) : e->before + (int)e->out.len;
        pli_unit_arena_text_puts(out, e->out.data);
        e->out.len = 0;
    }
}

// Narrow parameters must be declared: they would come as int otherwise.
static bool has_narrow(const struct type *t)
{
    for (const struct param *a = t->params; a != NULL; a = a->next) {
        enum type_kind k = a->type->kind;
        if ((k >= TY_BOOL && k <= TY_USHORT) || k == TY_FLOAT16 || k == TY_FLOAT) {
            return true;
        }
    }
    return false;
}

// The symbol main is the runtime's. The user's keeps its name and its type, whatever that is.
static void declare_main(struct emitter *e, const struct type *t, struct text *out)
{
    struct type own = *t, result = t->base->canon != NULL ? *t->base->canon : *t->base;
    struct text spec = { 0 }, decl = { 0 };
    result.quals = 0;
    result.tdname = NULL;
    own.base = &result;
    if (!has_narrow(t)) {
        own.params = NULL;
        own.is_variadic = false;
        own.is_oldstyle = true;
    }
    pli_type_print_decl(&e->tp, &own, "main", &spec, &decl);
    pli_unit_arena_text_printf(out, "PLI_UPC_MAIN(%s %s)\n", spec.data, decl.data);
    pli_unit_arena_text_fini(&spec);
    pli_unit_arena_text_fini(&decl);
}

// The runtime calls pli_upc_main.
static void put_main(struct text *out, const struct type *t)
{
    enum type_kind kind = t->base->kind;
    bool is_number = pli_type_is_arith(t->base);
    pli_unit_arena_text_printf(out,
                               "\n# 1 \"upcc\" 3\n"
                               "int pli_upc_main(int argc, char **argv, char **envp)\n{\n"
                               "    (void)argc, (void)argv, (void)envp;\n    %smain(",
                               is_number        ? "return (int)"
                               : kind == TY_PTR ? "return (int)(long)"
                                                : "(void)");
    int n = 0;
    for (const struct param *a = t->params; a != NULL; a = a->next, n++) {
        static const char *const args[] = { "argc", "argv", "envp" };
        pli_unit_arena_text_printf(out, "%s%s%s", n > 0 ? ", " : "",
                                   n == 0 || n > 2              ? ""
                                   : pli_type_is_arith(a->type) ? "(long)"
                                                                : "(void *)",
                                   n < 3 ? args[n] : "0");
    }
    pli_unit_arena_text_printf(out, ");\n%s}\n",
                               is_number || kind == TY_PTR ? "" : "    return 0;\n");
}

void pli_emit_unit(struct unit *u, const struct type *main_type, bool has_main, struct text *out)
{
    struct emitter e = { .u = u, .bol = true };
    e.tp = (struct type_printer){ .u = u, .len = put_len, .arg = &e };
    pli_unit_arena_text_puts(out, "#include \"pli_upc.h\"\n");
    pli_unit_arena_text_printf(out, "PLI_UPC_UNIT(%d, %d)\n", u->opt.static_threads,
                               u->opt.pthreads);
    if (u->opt.c_code) {
        pli_unit_arena_text_puts(out, "#undef THREADS\n#undef MYTHREAD\n");
    }
    if (main_type != NULL) {
        declare_main(&e, main_type, out);
    }
    size_t n = u->n_tok - 1; // without TOK_EOF
    for (size_t i = 0; i < n;) {
        size_t next = i + 1;
        while (next < n && !u->toks[next].starts_external) {
            next++;
        }
        const struct source *src = e.src;
        int line = e.line;
        pli_emit_range(&e, i, next);
        flush(&e, src, line, out);
        i = next;
    }
    if (u->toks[n].pragma != NULL) {
        pli_unit_arena_text_puts(out, "\n");
        pli_unit_arena_text_puts(out, u->toks[n].pragma);
    }
    pli_unit_arena_text_puts(out, "\n");
    if (has_main) {
        put_main(out, main_type);
    }
    pli_unit_arena_text_fini(&e.out);
    pli_unit_arena_text_fini(&e.hoist);
}
