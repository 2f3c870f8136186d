// SPDX-License-Identifier: BSD-3-Clause
// The parser's access to tokens, its edits, and the outermost rule of the grammar.
#include "parse.h"

#include <string.h>

enum { MAX_NESTING = 400 };

bool pli_parse_next_is(struct parser *p, size_t ahead, int op)
{
    return p->at + ahead < p->u->n_tok && p->u->toks[p->at + ahead].op == op;
}

bool pli_parse_accept(struct parser *p, int op)
{
    if (!pli_parse_is(p, op)) {
        return false;
    }
    p->at++;
    return true;
}

size_t pli_parse_expect(struct parser *p, int op, const char *what)
{
    if (!pli_parse_is(p, op)) {
        struct token *t = pli_parse_tok(p);
        // A missing ';' or ')' is best shown where the text before it ends.
        size_t at = p->at > 0 && t->line != t[-1].line ? p->at - 1 : p->at;
        if (t->kind == TOK_EOF) {
            pli_diag_fatal(p->u, at, "expected %s at end of input", what);
        }
        pli_diag_fatal(p->u, at, "expected %s before '%.*s'", what, (int)t->len, t->text);
    }
    return p->at++;
}

void pli_parse_enter(struct parser *p)
{
    if (++p->nesting > MAX_NESTING) {
        pli_diag_fatal(p->u, p->at, "program text is nested too deeply");
    }
}

void pli_parse_leave(struct parser *p)
{
    p->nesting--;
}

void pli_parse_skip_parens(struct parser *p)
{
    int depth = 0;
    do {
        struct token *t = pli_parse_tok(p);
        if (t->kind == TOK_EOF) {
            pli_diag_fatal(p->u, p->at, "expected ')' at end of input");
        }
        depth += t->op == '(' || t->op == '[' || t->op == '{';
        depth -= t->op == ')' || t->op == ']' || t->op == '}';
        p->at++;
    } while (depth > 0);
}

struct edit *pli_parse_edit(struct parser *p, enum edit_kind kind, size_t t0, size_t t1)
{
    struct edit *e = pli_unit_arena_alloc(&p->u->arena, sizeof *e);
    e->kind = kind;
    e->t0 = t0;
    e->t1 = t1;
    // Wider ranges first: they are printed first and then look inside.
    struct edit **at = &p->u->toks[t0].edit;
    while (*at != NULL && (*at)->t1 > t1) {
        at = &(*at)->next;
    }
    e->next = *at;
    *at = e;
    return e;
}

void pli_parse_edit_expr(struct parser *p, struct node *n)
{
    if (n->upc) {
        pli_parse_edit(p, EDIT_EXPR, n->t0, n->t1)->node = n;
    }
}

// "#pragma upc strict|relaxed" stands outside declarations or first in a compound statement.
void pli_parse_pragma(struct parser *p)
{
    struct token *t = pli_parse_tok(p);
    const char *word = t->upc_pragma;
    if (word == NULL) {
        return;
    }
    bool strict = strcmp(word, "strict") == 0;
    if (!strict && strcmp(word, "relaxed") != 0) {
        if (strcmp(word, "upc_code") != 0 && strcmp(word, "c_code") != 0) {
            pli_diag_warn(p->u, p->at, "ignoring '#pragma upc %s'", word);
        }
    } else if (p->depth > 0 && !p->fresh_block) {
        pli_diag_warn(p->u, p->at, "'#pragma upc %s' must be outside functions or first in a block",
                      word);
    } else {
        p->strict = strict;
    }
    t->upc_pragma = NULL;
}
