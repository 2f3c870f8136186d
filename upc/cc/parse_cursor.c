// SPDX-License-Identifier: BSD-3-Clause
// Finds loops that go through shared data by *p++, where p is used for nothing else: there the
// place of p is kept as a private address, and looked up once in a block only.
#include "parse_cursor.h"

#include "lex.h"

void pli_parse_cursor_note(struct parser *p, const struct node *a, enum cursor_use use)
{
    while (a->kind == N_PAREN || a->kind == N_RVALUE) {
        a = a->a;
    }
    if (a->kind != N_IDENT || a->sym == NULL || !pli_type_is_pts(a->type)) {
        return;
    }
    p->u->toks[a->tok].is_moving = true;
    p->u->toks[a->tok].is_cursor = use == USE_DEREF || use == USE_STEP;
    if (use == USE_STEP || use == USE_STRIDE) {
        p->steps = pli_unit_arena_grow(&p->u->arena, p->steps, p->n_cursor, &p->cap_cursor,
                                       sizeof *p->steps);
        p->steps[p->n_cursor++] = (struct cursor_step){ a->sym, a->tok, use == USE_STRIDE };
    }
}

static bool is_automatic(const struct sym *s)
{
    return s->kind == SYM_VAR && s->depth > 0 && s->storage != ST_STATIC &&
           s->storage != ST_EXTERN && (s->type->quals & (Q_VOLATILE | Q_ATOMIC | Q_SHARED)) == 0;
}

// An automatic pointer to numbers in blocks that a cursor pays for.
static bool is_fit(const struct sym *s)
{
    enum { LEAST = 8 }; // elements in a block
    unsigned spoil = Q_VOLATILE | Q_ATOMIC;
    const struct type *to = s->type->base;
    return is_automatic(s) && pli_type_is_arith(to) && (to->quals & spoil) == 0 &&
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
        struct sym *s = p->steps[k].sym;
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

// Does a loop that goes on in private memory pay for it, and can it?
static bool can_move(const struct cursor_step *step)
{
    enum { LEAST = 4 }; // elements in a block
    const struct type *to = step->sym->type->base;
    int64_t block = pli_type_block(to);
    return is_automatic(step->sym) && to->kind != TY_ARRAY && pli_type_is_complete(to) &&
           (to->quals & (Q_VOLATILE | Q_ATOMIC)) == 0 &&
           (step->is_stride ? block == 1 : block == 0 || block >= LEAST);
}

// In the order of the iteration: the step of the loop comes last.
static size_t place_of(const struct forall *f, size_t tok)
{
    return tok >= f->step0 && tok < f->step1 ? SIZE_MAX / 2 + tok : tok;
}

// Looks at all uses from t0 to t1. Returns false where one is not known.
static bool look(const struct parser *p, struct forall *f, const struct cursor_step *step,
                 size_t t0, size_t t1, bool *is_late)
{
    for (size_t i = t0; i < t1; i++) {
        if (p->u->toks[i].name == step->sym->name) {
            if (!p->u->toks[i].is_moving) {
                return false;
            }
            *is_late |= place_of(f, i) > place_of(f, step->tok);
        }
    }
    return true;
}

static bool has_inner_loop(const struct parser *p, const struct forall *f)
{
    size_t i = f->body0;
    while (i < f->body1 && p->u->toks[i].op != KW_FOR && p->u->toks[i].op != KW_WHILE &&
           p->u->toks[i].op != KW_DO) {
        i++;
    }
    return i < f->body1;
}

void pli_parse_cursor_moving(struct parser *p, struct forall *f, size_t first)
{
    bool is_flat = !has_inner_loop(p, f);
    f->n_moving = 0;
    for (size_t k = first; k < p->n_cursor && f->n_moving < MAX_CURSORS; k++) {
        const struct cursor_step *step = &p->steps[k];
        bool is_in_step = step->tok >= f->step0 && step->tok < f->step1, is_late = false;
        bool is_in_body = is_flat && step->tok >= f->body0 && step->tok < f->body1;
        int n_step = 0;
        for (size_t i = first; i < p->n_cursor; i++) {
            n_step += p->steps[i].sym == step->sym;
        }
        if (n_step == 1 && (is_in_step || is_in_body) && step->sym->tok < f->cond0 &&
            can_move(step) && look(p, f, step, f->body0, f->body1, &is_late) &&
            look(p, f, step, f->step0, f->step1, &is_late)) {
            f->moving[f->n_moving].sym = step->sym;
            f->moving[f->n_moving].is_in_body = is_in_body;
            f->moving[f->n_moving].is_stride = step->is_stride;
            f->moving[f->n_moving++].is_late = is_late;
        }
    }
}
