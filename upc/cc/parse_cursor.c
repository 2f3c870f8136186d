// SPDX-License-Identifier: BSD-3-Clause
// Finds loops that go through shared data by *p++, where p is used for nothing else: there the
// place of p is kept as a private address, and looked up once in a block only.
#include "parse_cursor.h"

#include "lex.h"

void pli_parse_cursor_note(struct parser *p, const struct node *a, bool is_step)
{
    while (a->kind == N_PAREN || a->kind == N_RVALUE) {
        a = a->a;
    }
    if (a->kind != N_IDENT || a->sym == NULL || !pli_type_is_pts(a->type)) {
        return;
    }
    p->u->toks[a->tok].is_cursor = true;
    if (is_step) {
        p->cursors = pli_unit_arena_grow(&p->u->arena, p->cursors, p->n_cursor, &p->cap_cursor,
                                         sizeof(struct sym *));
        p->cursors[p->n_cursor++] = a->sym;
    }
}

// An automatic pointer to numbers in blocks that a cursor pays for.
static bool is_fit(const struct sym *s)
{
    enum { LEAST = 8 }; // elements in a block
    unsigned spoil = Q_VOLATILE | Q_ATOMIC;
    const struct type *to = s->type->base;
    bool is_automatic = s->kind == SYM_VAR && s->depth > 0 && s->storage != ST_STATIC &&
                        s->storage != ST_EXTERN && (s->type->quals & (spoil | Q_SHARED)) == 0;
    return is_automatic && pli_type_is_arith(to) && (to->quals & spoil) == 0 &&
           (pli_type_block(to) == 0 || pli_type_block(to) >= LEAST);
}

// Behind the first clause of a "for"; elsewhere the beginning.
static size_t behind_init(const struct token *toks, size_t t0, size_t t1)
{
    size_t i = t0;
    while (toks[t0].op == KW_FOR && i < t1 && toks[i].op != ';') {
        i++;
    }
    return i;
}

// Has the loop no other use of it than *p and p++? Before the first of them it is what it was.
static bool is_used_so(const struct token *toks, size_t t0, size_t t1, const struct sym *s)
{
    size_t init = behind_init(toks, t0, t1);
    bool has_begun = false;
    for (size_t i = t0; i < t1; i++) {
        bool is_use = toks[i].name == s->name;
        has_begun |= i >= init || (is_use && toks[i].is_cursor);
        if (is_use && has_begun && !toks[i].is_cursor) {
            return false;
        }
    }
    return true;
}

// Where p is used behind the loop, does every way there lead through the end of it; and does nobody
// (OpenMP) say whose the variables are?
static bool is_closed(const struct token *toks, size_t t0, size_t t1)
{
    size_t i = t0;
    while (i < t1 && toks[i].op != KW_GOTO && toks[i].pragma == NULL) {
        i++;
    }
    return i == t1;
}

void pli_parse_cursor_loop(struct parser *p, size_t t0, size_t n_cursor)
{
    enum { LONGEST = 1000 }; // tokens
    const struct token *toks = p->u->toks;
    if (n_cursor == p->n_cursor || toks[t0].op == KW_FORALL || p->at - t0 > LONGEST ||
        !is_closed(toks, t0, p->at)) {
        return;
    }
    struct cursors w = { .n = 0 };
    for (size_t k = n_cursor; k < p->n_cursor && w.n < MAX_CURSORS; k++) {
        struct sym *s = p->cursors[k];
        bool is_known = false;
        for (int i = 0; i < w.n; i++) {
            is_known |= w.sym[i] == s;
        }
        if (!is_known && s->tok < t0 && is_fit(s) && is_used_so(toks, t0, p->at, s)) {
            w.sym[w.n++] = s;
        }
    }
    if (w.n > 0) {
        pli_parse_edit(p, EDIT_CURSOR, t0, p->at)->cursors = w;
    }
}
