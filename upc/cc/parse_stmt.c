// SPDX-License-Identifier: BSD-3-Clause
// Parses statements. They need no tree: their expressions and declarations make the edits.
#include "parse_stmt.h"

#include "parse.h"
#include "parse_decl.h"
#include "parse_expr.h"
#include "parse_forall.h"
#include "parse_jump.h"
#include "parse_spec.h"
#include "parse_cursor.h"
#include "scope.h"
#include "sema.h"
#include "sema_conv.h"
#include "type_print.h"

#include <string.h>

static struct node *value(struct parser *p)
{
    struct node *n = pli_sema_rvalue(p, pli_parse_expr_comma(p));
    pli_parse_edit_expr(p, n);
    return n;
}

static struct node *condition(struct parser *p)
{
    pli_parse_expect(p, '(', "'('");
    struct node *n = value(p);
    pli_parse_expect(p, ')', "')'");
    return n;
}

// A shared lvalue as a whole statement is still read: "x;"
static struct node *expression_statement(struct parser *p)
{
    struct node *n = value(p);
    pli_parse_expect(p, ';', "';'");
    // The old value of "p++;" is not used unless it ends a statement expression.
    if (n->kind == N_POSTFIX && n->upc && !pli_parse_is(p, '}')) {
        n->kind = N_PREFIX;
    }
    return n;
}

static void loop_body(struct parser *p)
{
    p->n_loop++;
    pli_parse_stmt(p);
    p->n_loop--;
}

static void if_stmt(struct parser *p)
{
    p->at++;
    condition(p);
    pli_parse_stmt(p);
    if (pli_parse_accept(p, KW_ELSE)) {
        pli_parse_stmt(p);
    }
}

static void do_stmt(struct parser *p)
{
    size_t body0 = ++p->at;
    loop_body(p);
    size_t first = p->n_load;
    pli_parse_expect(p, KW_WHILE, "'while'");
    pli_parse_forall_spin(p, body0, first, condition(p));
    pli_parse_expect(p, ';', "';'");
    p->is_brief = false;
}

static void switch_stmt(struct parser *p)
{
    p->at++;
    pli_parse_expect(p, '(', "'('");
    const struct node *n = value(p);
    pli_parse_expect(p, ')', "')'");
    if (pli_type_is_pts(n->type)) {
        pli_diag_error(p->u, n->tok, "switch needs an integer, not '%s'",
                       pli_type_print_upc(p->u, n->type));
    }
    p->n_switch++;
    pli_parse_stmt(p);
    p->n_switch--;
}

// "case" constant-expression ("..." constant-expression)? ":" statement
static void case_label(struct parser *p)
{
    p->at++;
    pli_parse_edit_expr(p, pli_parse_expr_cond(p));
    if (pli_parse_accept(p, P_ELLIPSIS)) {
        pli_parse_edit_expr(p, pli_parse_expr_cond(p));
    }
    pli_parse_expect(p, ':', "':'");
}

static void return_stmt(struct parser *p)
{
    size_t tok = p->at++;
    if (p->forall != NULL) {
        pli_diag_warn(p->u, tok, "leaving upc_forall by return is undefined");
    }
    if (!pli_parse_is(p, ';')) {
        struct node *n = pli_parse_expr_comma(p);
        n = p->ret == NULL || p->ret->kind == TY_VOID ? pli_sema_rvalue(p, n)
                                                      : pli_sema_conv(p, n, p->ret, "return");
        pli_parse_edit_expr(p, n);
    }
    pli_parse_expect(p, ';', "';'");
}

static void goto_stmt(struct parser *p)
{
    size_t tok = p->at++;
    p->n_label++;
    if (pli_parse_accept(p, '*')) {
        value(p);
    } else {
        pli_parse_jump_goto(p, tok);
        p->at++;
    }
    pli_parse_expect(p, ';', "';'");
}

// asm-statement: "asm" qualifier* "(" ... ")" ";"
static void asm_stmt(struct parser *p)
{
    p->n_sync++;
    while (!pli_parse_is(p, '(')) {
        if (pli_parse_tok(p)->kind == TOK_EOF || pli_parse_is(p, ';')) {
            pli_parse_expect(p, '(', "'('");
        }
        p->at++;
    }
    size_t from = p->at;
    pli_parse_skip_parens(p);
    for (size_t i = from; i < p->at; i++) { // operands are copied, not translated
        const struct token *t = &p->u->toks[i];
        bool is_label = t[-1].op == '[' && t[1].op == ']' && t[2].kind == TOK_STR;
        bool is_member = t[-1].op == '.' || t[-1].op == P_ARROW;
        bool is_name = t->kind == TOK_IDENT && t->op == 0 && !is_label && !is_member;
        const struct sym *s = is_name ? t->name->ids : NULL;
        if (s != NULL && s->kind == SYM_VAR && pli_type_is_shared(s->type)) {
            pli_diag_error(p->u, i,
                           "'%s' is shared: inline assembly cannot reach it; copy it to a private "
                           "variable",
                           t->name->text);
        }
    }
    pli_parse_expect(p, ';', "';'");
}

// synchronization-statement: ("upc_notify" | "upc_wait" | "upc_barrier") expression? ";"
//                          | "upc_fence" ";"
static void sync_stmt(struct parser *p)
{
    size_t t0 = p->at++;
    int op = p->u->toks[t0].op;
    struct node *n = NULL;
    if (op != KW_FENCE && p->n_controlling > 0) {
        pli_diag_warn(p->u, t0, "'%.*s' inside upc_forall: not every thread gets here",
                      (int)p->u->toks[t0].len, p->u->toks[t0].text);
    }
    if (op != KW_FENCE && !pli_parse_is(p, ';')) {
        n = pli_sema_rvalue(p, pli_parse_expr_comma(p));
        if (!pli_type_is_arith(n->type) && n->type->kind != TY_UNKNOWN) {
            pli_diag_error(p->u, n->tok, "operand of '%.*s' cannot be converted to int",
                           (int)p->u->toks[t0].len, p->u->toks[t0].text);
        }
    }
    p->n_order++;
    p->n_sync++;
    pli_parse_expect(p, ';', "';'");
    pli_parse_edit(p, EDIT_SYNC, t0, p->at)->node = n;
}

static void break_stmt(struct parser *p)
{
    if (p->forall != NULL && p->n_loop == 0 && p->n_switch == 0) {
        pli_diag_warn(p->u, p->at, "leaving upc_forall by break is undefined");
        p->has_forall_break = true;
    }
    p->at++;
    pli_parse_expect(p, ';', "';'");
}

// __label__ declarations of GNU C
static void local_label(struct parser *p)
{
    p->n_label++;
    while (!pli_parse_is(p, ';')) {
        if (pli_parse_tok(p)->kind == TOK_EOF) {
            pli_parse_expect(p, ';', "';'");
        }
        p->at++;
    }
    p->at++;
}

// labeled-statement: (identifier | "case" ... | "default") ":" statement
static bool label(struct parser *p)
{
    struct token *t = pli_parse_tok(p);
    if (t->op == KW_CASE) {
        case_label(p);
    } else if (t->op == KW_DEFAULT) {
        p->at++;
        pli_parse_expect(p, ':', "':'");
    } else if (t->kind == TOK_IDENT && t->op == 0 && pli_parse_next_is(p, 1, ':')) {
        p->n_label++;
        pli_parse_jump_label(p, p->at);
        p->at += 2;
        pli_parse_spec_attrs(p);
    } else {
        return false;
    }
    p->n_sync++; // it may be jumped to
    return true;
}

// Far data of these statements may be read ahead: loads from `first` on are all that they have, and
// nothing in them lets this thread see what others did meanwhile. What was marked inside is part of
// it.
static void read_ahead(struct parser *p, size_t t0, size_t first, bool is_loop)
{
    for (size_t i = first; i < p->n_load; i++) {
        p->loads[i]->is_ahead = true;
    }
    for (size_t i = p->n_ahead; i > 0 && p->aheads[i - 1]->t0 >= t0; i--) {
        p->aheads[i - 1]->is_inner = true;
    }
    struct edit *e = pli_parse_edit(p, EDIT_AHEAD, t0, p->at);
    e->is_loop = is_loop;
    p->aheads = pli_unit_arena_grow(&p->u->arena, p->aheads, p->n_ahead, &p->cap_ahead,
                                    sizeof(struct edit *));
    p->aheads[p->n_ahead++] = e;
}

static void loop(struct parser *p, void (*parse)(struct parser *p))
{
    size_t t0 = p->at, first = p->n_load, cursor = p->n_cursor;
    int sync = p->n_sync;
    const char *pragma = p->u->toks[t0].pragma;
    bool is_collapsed =
        pragma != NULL && strstr(pragma, "collapse") != NULL; // for inner loops, too
    p->n_collapsed += is_collapsed;
    bool is_kept = pli_parse_is_kept(p, t0);
    parse(p);
    p->n_collapsed -= is_collapsed;
    if (is_kept || p->n_sync != sync) {
        return;
    }
    if (p->n_load > first) {
        read_ahead(p, t0, first, true);
    }
    if (!p->is_brief) {
        pli_parse_cursor_loop(p, t0, cursor);
    }
}

// statement: labeled | compound | expression | selection | iteration | jump | synchronization | asm
static struct node *statement(struct parser *p)
{
    pli_parse_pragma(p);
    while (label(p)) {
        if (pli_parse_is(p, '}') || pli_parse_decl_starts(p)) {
            return NULL; // a label before a declaration or at the end, as C23 and gcc have it
        }
    }
    switch (pli_parse_tok(p)->op) {
    case '{':
        pli_parse_stmt_compound(p, true);
        break;
    case ';':
        p->at++;
        break;
    case KW_IF:
        if_stmt(p);
        break;
    case KW_SWITCH:
        switch_stmt(p);
        break;
    case KW_WHILE:
        loop(p, pli_parse_forall_while);
        break;
    case KW_DO:
        loop(p, do_stmt);
        break;
    case KW_FOR:
        loop(p, pli_parse_forall_for);
        break;
    case KW_FORALL:
        loop(p, pli_parse_forall);
        break;
    case KW_GOTO:
        goto_stmt(p);
        break;
    case KW_BREAK:
        break_stmt(p);
        break;
    case KW_CONTINUE:
        p->at++;
        pli_parse_expect(p, ';', "';'");
        break;
    case KW_RETURN:
        return_stmt(p);
        break;
    case KW_ASM:
        asm_stmt(p);
        break;
    case KW_LABEL:
        local_label(p);
        break;
    case KW_ATTRIBUTE:
        pli_parse_spec_attrs(p);
        pli_parse_expect(p, ';', "';'");
        break;
    case KW_BARRIER:
    case KW_NOTIFY:
    case KW_WAIT:
    case KW_FENCE:
        sync_stmt(p);
        break;
    default:
        return expression_statement(p);
    }
    return NULL;
}

void pli_parse_stmt(struct parser *p)
{
    pli_parse_enter(p);
    if (pli_parse_decl_starts(p)) {
        pli_diag_fatal(p->u, p->at, "expected a statement, not a declaration");
    }
    statement(p);
    pli_parse_leave(p);
}

// Statements that follow each other without a jump.
struct stretch {
    size_t t0, first; // its first token and the first load
    int sync;
};

// Close the stretch before the statement that begins at `at`, or behind the last one: two loads may
// be of data side by side.
static void end_stretch(struct parser *p, struct stretch *s, size_t at, size_t n_load)
{
    size_t here = p->at, loads = p->n_load;
    if (n_load - s->first >= 2) {
        p->at = at;
        p->n_load = n_load;
        read_ahead(p, s->t0, s->first, false);
        p->at = here;
        p->n_load = loads;
    }
    *s = (struct stretch){ here, loads, p->n_sync };
}

// A statement that is only evaluated.
static bool is_straight(struct parser *p)
{
    int op = pli_parse_tok(p)->op;
    return ((op < KW_AUTO && op != '{') || op == KW_RETURN) && pli_parse_tok(p)->pragma == NULL;
}

static void block_items(struct parser *p, struct node **last)
{
    pli_parse_expect(p, '{', "'{'");
    pli_parse_enter(p);
    bool strict = p->strict;
    p->fresh_block = true;
    pli_parse_pragma(p);
    p->fresh_block = false;
    struct stretch s = { p->at, p->n_load, p->n_sync };
    struct node *tail = NULL;
    size_t tail_at = 0;
    while (!pli_parse_is(p, '}')) {
        struct node *n = NULL;
        size_t at = p->at, loads = p->n_load;
        bool is_over = false;
        if (pli_parse_decl_starts(p)) {
            pli_parse_pragma(p);
            pli_parse_decl_block(p);
        } else {
            is_over = !is_straight(p);
            n = statement(p);
        }
        if (is_over || p->n_sync != s.sync) {
            end_stretch(p, &s, at, loads);
        }
        tail = n;
        tail_at = at;
        if (last != NULL) {
            *last = n;
        }
    }
    end_stretch(p, &s, p->at, p->n_load);
    p->tail = tail;
    p->tail_at = tail_at;
    pli_parse_pragma(p);
    p->at++;
    p->strict = strict;
    pli_parse_leave(p);
}

// compound-statement: "{" (declaration | statement)* "}"
void pli_parse_stmt_compound(struct parser *p, bool new_scope)
{
    if (new_scope) {
        pli_scope_push(p);
    }
    block_items(p, NULL);
    if (new_scope) {
        pli_scope_pop(p);
    }
}

void pli_parse_stmt_value(struct parser *p, struct node **last)
{
    pli_scope_push(p);
    block_items(p, last);
    pli_scope_pop(p);
}
