// SPDX-License-Identifier: BSD-3-Clause
// Parses upc_forall and for, and finds loops whose accesses are all known to be local.
#include "parse_forall.h"

#include "constant.h"
#include "layout.h"
#include "parse.h"
#include "parse_cursor.h"
#include "parse_decl.h"
#include "parse_expr.h"
#include "parse_stmt.h"
#include "scope.h"
#include "sema.h"
#include "type_print.h"

static const struct node *bare(const struct node *n)
{
    while (n != NULL && (n->kind == N_PAREN || n->kind == N_RVALUE)) {
        n = n->a;
    }
    return n;
}

static bool is_var(const struct node *n, const struct sym *var)
{
    n = bare(n);
    return n != NULL && n->kind == N_IDENT && n->sym == var;
}

// A loop counter: an automatic integer of this function.
static struct sym *counter(const struct node *n)
{
    n = bare(n);
    if (n == NULL || n->kind != N_IDENT || n->sym == NULL || n->sym->kind != SYM_VAR) {
        return NULL;
    }
    struct sym *s = n->sym;
    bool automatic = s->depth > 0 && s->storage != ST_STATIC && s->storage != ST_EXTERN;
    bool fits = pli_type_is_integer(s->type) && s->type->kind != TY_BOOL && s->type->quals == 0 &&
                pli_type_rank(s->type) <= 5;
    return automatic && fits ? s : NULL;
}

// An expression whose value cannot change while the loop runs, if none of its variables does.
static bool is_steady(const struct node *n)
{
    n = bare(n);
    int64_t v;
    if (n->upc) {
        return false;
    }
    if (pli_constant_eval(n, &v) || n->kind == N_THREADS || n->kind == N_MYTHREAD) {
        return true;
    }
    switch (n->kind) {
    case N_IDENT:
        return n->sym != NULL && pli_type_is_integer(n->type) &&
               (n->sym->type->quals & (Q_VOLATILE | Q_ATOMIC)) == 0;
    case N_CAST:
        return pli_type_is_integer(n->type) && is_steady(n->a);
    case N_UNARY:
        return is_steady(n->a);
    case N_BINARY:
        return is_steady(n->a) && is_steady(n->b);
    default:
        return false;
    }
}

static bool is_written(const struct node *n, size_t since)
{
    if (n == NULL) {
        return false;
    }
    if (n->kind == N_IDENT) {
        return n->sym != NULL && n->sym->mod_at >= since;
    }
    return is_written(n->a, since) || is_written(n->kind == N_SIZEOF ? NULL : n->b, since);
}

// Iterations that one block serves when the array, or what the pointer points to, is indexed by the
// counter; 0 when its rows do not fall into whole blocks.
static int64_t unit_of(const struct sym *base)
{
    const struct type *t = base->type;
    bool is_pointer = pli_type_is_pts(t) && (t->quals & (Q_SHARED | Q_VOLATILE | Q_ATOMIC)) == 0;
    if (base->kind != SYM_VAR || !(is_pointer || (t->kind == TY_ARRAY && pli_type_is_shared(t))) ||
        !pli_type_is_complete(t->base)) {
        return 0;
    }
    struct size row = pli_layout_elems(t->base);
    int64_t b = pli_type_block(t->base);
    if (!row.known || row.threads || row.n <= 0 || b <= 0 || b % row.n != 0) {
        return 0;
    }
    return b / row.n;
}

// The name in "p" or "a", which stands for its first element.
static struct sym *base_of(const struct node *n)
{
    n = bare(n);
    n = n->kind == N_DECAY ? bare(n->a) : n;
    return n->kind == N_IDENT ? n->sym : NULL;
}

// &a[i], a + i, a[i] of a row, &a[i][0]...: the array or pointer that decides the affinity
static struct sym *affinity_base(const struct node *n, const struct sym *var)
{
    n = bare(n);
    if (n->kind == N_BINARY && n->op == '+') {
        return is_var(n->b, var) ? base_of(n->a) : is_var(n->a, var) ? base_of(n->b) : NULL;
    }
    if (n->kind != N_ADDR && n->kind != N_DECAY) {
        return NULL;
    }
    n = bare(n->a);
    int64_t v;
    while (n->kind == N_INDEX && bare(n->a)->kind == N_INDEX) {
        const struct type *row = bare(n->a)->type;
        if (!pli_constant_eval(n->b, &v) || v < 0 || row->kind != TY_ARRAY || v >= row->len) {
            return NULL;
        }
        n = bare(n->a);
    }
    return n->kind == N_INDEX && is_var(n->b, var) ? base_of(n->a) : NULL;
}

// i, or i / 8: iterations that go to one thread in a row; 0: neither
static int64_t affinity_number(const struct node *n, const struct sym *var)
{
    int64_t v;
    n = bare(n);
    if (is_var(n, var)) {
        return 1;
    }
    bool is_quotient = n->kind == N_BINARY && n->op == '/' && is_var(n->a, var) &&
                       pli_constant_eval(n->b, &v) && v > 0 && v <= INT32_MAX;
    return is_quotient ? v : 0;
}

static bool is_step_by_one(const struct node *n, const struct sym *var)
{
    int64_t v;
    if (n == NULL) {
        return false;
    }
    n = bare(n);
    if (n->kind == N_PREFIX || n->kind == N_POSTFIX) {
        return n->op == P_INC && is_var(n->a, var);
    }
    return n->kind == N_ASSIGN && n->op == P_ADD_EQ && is_var(n->a, var) &&
           pli_constant_eval(n->b, &v) && v == 1;
}

// Steps by one, beside which other variables may change as they like.
static bool has_step_by_one(struct parser *p, const struct node *n, const struct sym *var)
{
    if (n == NULL || bare(n)->kind != N_COMMA) {
        return is_step_by_one(n, var);
    }
    n = bare(n);
    const struct node *last = bare(n->b), *first = bare(n->a);
    const struct node *other = is_step_by_one(last, var) ? first : last;
    for (size_t i = other->t0; i < other->t1; i++) {
        if (p->u->toks[i].name == var->name) {
            return false;
        }
    }
    return has_step_by_one(p, other == first ? last : first, var);
}

struct header {
    struct node *cond, *step;
};

// Is it "for (...; i < limit; i++)" with a counter, and a limit that may stay? Returns the counter.
// p: the step is written as it is, so it may do more.
static struct sym *find_counter(struct parser *p, struct forall *f, const struct header *h)
{
    const struct node *c = h->cond == NULL ? NULL : bare(h->cond);
    if (c == NULL || c->kind != N_BINARY || (c->op != '<' && c->op != P_LE)) {
        return NULL;
    }
    struct sym *var = counter(c->a);
    // The comparison must not be changed by an unsigned limit meeting a signed counter.
    bool same_sign = var != NULL && pli_type_is_integer(c->b->type) &&
                     (!pli_type_is_unsigned(c->b->type) || pli_type_rank(c->b->type) < 3 ||
                      pli_type_is_unsigned(var->type));
    if (!same_sign || !is_steady(c->b) ||
        !(p != NULL ? has_step_by_one(p, h->step, var) : is_step_by_one(h->step, var))) {
        return NULL;
    }
    f->limit = c->b;
    f->limit_op = c->op;
    return var;
}

// Is the affinity that of a[i], or of i, with such a counter?
static void find_pattern(struct forall *f, const struct header *h)
{
    struct sym *var = f->aff == NULL ? NULL : find_counter(NULL, f, h);
    if (var == NULL) {
        return;
    }
    if (f->kind == AFF_INT) {
        f->unit = affinity_number(f->aff, var);
    } else if (f->kind == AFF_PTS) {
        f->base = affinity_base(f->aff, var);
        f->unit = f->base == NULL ? 0 : unit_of(f->base);
    }
    if (f->unit > 0) {
        f->var = var;
    }
}

// All of it on one thread: reached through a plain pointer whatever the index, if that is mapped.
static bool is_undivided(const struct sym *base)
{
    const struct type *t = base->type;
    bool is_pointer = pli_type_is_pts(t) && (t->quals & (Q_SHARED | Q_VOLATILE | Q_ATOMIC)) == 0;
    return base->kind == SYM_VAR && (is_pointer || t->kind == TY_ARRAY) &&
           pli_type_is_shared(t->base) && pli_type_is_complete(t->base) &&
           t->base->kind != TY_VOID && pli_type_block(t->base) == 0 &&
           !pli_layout_elems(t->base).threads;
}

// i + 1, i - 2: how far from the counter
static bool is_shifted(const struct node *n, const struct sym *var, int64_t *shift)
{
    n = bare(n);
    bool is_sum = n->kind == N_BINARY && (n->op == '+' || n->op == '-');
    if (!is_sum || !is_var(n->a, var) || pli_type_is_unsigned(var->type) ||
        !pli_constant_eval(n->b, shift) || *shift <= 0 || *shift > 1024) {
        return false;
    }
    *shift = n->op == '-' ? -*shift : *shift;
    return true;
}

static bool has_word(const struct parser *p, const struct forall *f, int word)
{
    size_t i = f->body0;
    while (i < f->body1 && p->u->toks[i].op != word) {
        i++;
    }
    return i < f->body1;
}

// A pragma of C (OpenMP) is written once, where it stands.
static bool has_pragma(const struct parser *p, const struct forall *f)
{
    size_t i = f->body0;
    while (i < f->body1 && p->u->toks[i].pragma == NULL) {
        i++;
    }
    return i < f->body1;
}

static bool has_loop(const struct parser *p, const struct forall *f)
{
    return has_word(p, f, KW_FOR) || has_word(p, f, KW_WHILE);
}

// Neighbours of private elements. Rows pay where a loop goes along them.
static void collect_near(struct parser *p, struct forall *f, struct node *n, bool is_ordered)
{
    enum { ROW_MOST = 65536 }; // bytes that are fetched at once
    struct sym *base = base_of(n->a);
    int64_t shift;
    int max = (int)(sizeof f->near / sizeof f->near[0]);
    if (base == NULL || f->n_near == max || base->tok >= f->body0 || base->type->kind != TY_ARRAY ||
        !is_shifted(n->b, f->var, &shift) || unit_of(base) == 0 ||
        (pli_type_ultimate(base->type)->quals & (Q_VOLATILE | Q_ATOMIC | Q_STRICT)) != 0) {
        return;
    }
    bool is_row = pli_layout_elems(base->type->base).n > 1;
    struct size bytes = pli_layout_size(base->type->base);
    if (is_row ? !has_loop(p, f) : unit_of(base) != f->unit) {
        return;
    }
    f->near[f->n_near].node = n;
    f->near[f->n_near].shift = shift;
    f->near[f->n_near].is_row = is_row;
    f->near[f->n_near++].is_copied = is_row && !is_ordered && !f->is_opaque &&
                                     base->mod_at < f->body0 && bytes.known && !bytes.threads &&
                                     bytes.n <= ROW_MOST && !has_word(p, f, KW_ASM);
}

static void collect_local(struct parser *p, struct forall *f, size_t from, bool is_ordered)
{
    for (size_t i = from; i < p->n_seen; i++) {
        struct node *n = p->seen_index[i];
        struct sym *base = base_of(n->a);
        int max = (int)(sizeof f->index / sizeof f->index[0]);
        if (base == NULL || f->n_index == max || base->tok >= f->body0 ||
            (base->type->kind == TY_PTR && base->mod_at >= f->body0)) {
            continue;
        }
        n->own_index = is_undivided(base);
        if (n->own_index || (is_var(n->b, f->var) && unit_of(base) == f->unit)) {
            f->index[f->n_index++] = n;
        } else if (f->base == NULL || f->base->type->kind != TY_PTR) {
            collect_near(p, f, n, is_ordered);
        }
    }
}

static struct node *clause(struct parser *p, size_t *t0, size_t *t1, int end, const char *what)
{
    struct node *n = NULL;
    *t0 = p->at;
    if (!pli_parse_is(p, end)) {
        n = pli_sema_rvalue(p, pli_parse_expr_comma(p));
        pli_parse_edit_expr(p, n);
    }
    *t1 = p->at;
    pli_parse_expect(p, end, what);
    return n;
}

// affinity: expression | "continue"
static void affinity(struct parser *p, struct forall *f)
{
    if (pli_parse_is(p, ')')) {
        return;
    }
    if (pli_parse_accept(p, KW_CONTINUE)) {
        return;
    }
    f->aff = pli_sema_rvalue(p, pli_parse_expr_comma(p));
    if (pli_type_is_integer(f->aff->type)) {
        f->kind = AFF_INT;
    } else if (pli_type_is_pts(f->aff->type)) {
        f->kind = AFF_PTS;
    } else if (f->aff->type->kind != TY_UNKNOWN &&
               !(f->aff->type->kind == TY_PTR && f->aff->type->base->kind == TY_UNKNOWN)) {
        pli_diag_error(p->u, f->aff->tok,
                       "affinity must be an integer or a pointer-to-shared, not '%s'",
                       pli_type_print_upc(p->u, f->aff->type));
    } else {
        f->kind = AFF_INT;
    }
}

static void body(struct parser *p, struct forall *f)
{
    struct forall *outer = p->forall;
    int loops = p->n_loop, switches = p->n_switch, labels = p->n_label, statics = p->n_static;
    size_t seen = p->n_seen;
    int opaque = p->n_opaque, order = p->n_order;
    bool broke = p->has_forall_break;
    p->forall = f;
    f->outer = outer;
    p->n_loop = p->n_switch = 0;
    p->has_forall_break = false;
    p->n_controlling += f->kind != AFF_NONE;
    f->body0 = p->at;
    pli_parse_stmt(p);
    f->body1 = p->at;
    p->n_controlling -= f->kind != AFF_NONE;
    bool once =
        p->has_forall_break || p->n_label != labels || p->n_static != statics || has_pragma(p, f);
    f->is_opaque = p->n_opaque != opaque;
    p->has_forall_break = broke;
    p->n_loop = loops;
    p->n_switch = switches;
    p->forall = outer;
    bool moves = f->base != NULL && f->base->type->kind == TY_PTR && f->base->mod_at >= f->body0;
    if (once || moves || is_written(f->limit, f->body0) ||
        (f->var != NULL && f->var->mod_at >= f->body0)) {
        f->var = NULL;
    } else if (f->var != NULL) {
        collect_local(p, f, seen, p->n_order != order);
    }
    if (outer == NULL) {
        p->n_seen = 0;
    }
}

// The first clause of the loop, a declaration or an expression.
static void parse_init(struct parser *p, struct forall *f)
{
    f->init0 = p->at;
    if (pli_parse_decl_starts(p)) {
        f->init_is_decl = true;
        pli_parse_decl_block(p);
        f->init1 = p->at; // with its ";"
    } else {
        clause(p, &f->init0, &f->init1, ';', "';'");
    }
}

// forall-stmt: "upc_forall" "(" (declaration | expression? ";") expression? ";" expression? ";"
//              affinity? ")" statement
void pli_parse_forall(struct parser *p)
{
    size_t t0 = p->at++;
    struct forall *f = pli_unit_arena_alloc(&p->u->arena, sizeof *f);
    struct header h = { 0 };
    pli_parse_expect(p, '(', "'('");
    pli_scope_push(p);
    f->is_nested = p->n_controlling > 0;
    parse_init(p, f);
    h.cond = clause(p, &f->cond0, &f->cond1, ';', "';'");
    h.step = clause(p, &f->step0, &f->step1, ';', "';' before the affinity");
    affinity(p, f);
    pli_parse_expect(p, ')', "')'");
    find_pattern(f, &h);
    body(p, f);
    pli_scope_pop(p);
    pli_parse_edit(p, EDIT_FORALL, t0, p->at)->forall = f;
}

static bool has_effect(const struct node *n)
{
    if (n == NULL || n->kind == N_SIZEOF) {
        return false;
    }
    return n->kind == N_ASSIGN || n->kind == N_PREFIX || n->kind == N_POSTFIX ||
           n->kind == N_CALL || n->kind == N_OPAQUE || has_effect(n->a) || has_effect(n->b) ||
           has_effect(n->c);
}

void pli_parse_forall_spin(struct parser *p, size_t body0, size_t first, const struct node *cond)
{
    const struct token *t = &p->u->toks[body0];
    if ((t->op == ';' || (t->op == '{' && t[1].op == '}')) && !has_effect(cond)) {
        for (size_t i = first; i < p->n_load; i++) {
            p->loads[i]->is_spun = true;
        }
    }
}

// A counter that cannot come back to where it was.
static struct sym *wide_counter(const struct node *n)
{
    struct sym *s = counter(n);
    int rank = s != NULL ? pli_type_rank(s->type) : 0;
    return rank >= 4 || (rank == 3 && !pli_type_is_unsigned(s->type)) ? s : NULL;
}

// i += THREADS
static bool is_step_by_threads(struct parser *p, const struct node *n)
{
    int64_t v;
    n = bare(n);
    if (n == NULL || n->kind != N_ASSIGN || n->op != P_ADD_EQ || wide_counter(n->a) == NULL) {
        return false;
    }
    const struct node *by = bare(n->b);
    int fixed = p->u->opt.static_threads;
    return by->kind == N_THREADS || (fixed > 0 && pli_constant_eval(by, &v) && v == fixed);
}

// Can it be computed before the loop as well as in it: are its variables those of before, does it
// not trap, and is it the same all the time?
static bool is_settled(const struct node *n, const struct forall *f)
{
    int64_t v;
    n = bare(n);
    if (pli_constant_eval(n, &v) || n->kind == N_THREADS || n->kind == N_MYTHREAD) {
        return true;
    }
    if (!is_steady(n) || is_written(n, f->cond0)) {
        return false;
    }
    switch (n->kind) {
    case N_IDENT:
        return n->sym->tok < f->body0;
    case N_CAST:
    case N_UNARY:
        return is_settled(n->a, f);
    default:
        return ((n->op != '/' && n->op != '%') || (pli_constant_eval(n->b, &v) && v > 0)) &&
               is_settled(n->a, f) && is_settled(n->b, f);
    }
}

// The counter plus or minus what is settled.
static bool is_moving(const struct node *n, const struct forall *f)
{
    n = bare(n);
    if (is_var(n, f->var)) {
        return true;
    }
    if (n->kind != N_BINARY || (n->op != '+' && n->op != '-') || pli_type_is_unsigned(n->type)) {
        return false;
    }
    return (is_moving(n->a, f) && is_settled(n->b, f)) ||
           (n->op == '+' && is_settled(n->a, f) && is_moving(n->b, f));
}

// Elements a[i] and a[i - n] of arrays that are spread one by one.
static void collect_stride(struct parser *p, struct forall *f, size_t from)
{
    int max = (int)(sizeof f->index / sizeof f->index[0]);
    for (size_t i = from; i < p->n_seen && f->n_index < max; i++) {
        struct node *n = p->seen_index[i];
        struct sym *base = base_of(n->a);
        bool moves = base != NULL && base->type->kind == TY_PTR && base->mod_at >= f->cond0;
        if (base == NULL || base->tok >= f->body0 || moves || unit_of(base) != 1 ||
            !is_moving(n->b, f)) {
            continue;
        }
        n->own_index = false;
        f->index[f->n_index++] = n;
    }
}

static bool mentions(const struct node *n, const struct sym *var)
{
    return n != NULL &&
           ((n->kind == N_IDENT && n->sym == var) || mentions(n->a, var) || mentions(n->b, var));
}

// Elements that follow each other in memory, block by block, while the counter goes on.
static bool is_run(const struct node *n, const struct forall *f)
{
    enum { LEAST = 4 }; // iterations in a block, or it does not pay
    struct size row = pli_layout_elems(n->type);
    int64_t block = pli_type_block(n->type);
    const struct node *in = bare(n->a);
    bool is_plain = pli_type_is_complete(n->type) && row.known && !row.threads && row.n > 0 &&
                    (pli_type_ultimate(n->type)->quals & (Q_VOLATILE | Q_ATOMIC)) == 0;
    if (!is_plain || (block > 0 && (block % row.n != 0 || block / row.n < LEAST)) ||
        !is_moving(n->b, f)) {
        return false;
    }
    while (in->kind == N_INDEX && in->a != NULL && bare(in->a)->type->kind == TY_ARRAY) {
        if (mentions(in->b, f->var) || !is_settled(in->b, f)) {
            return false;
        }
        in = bare(in->a);
    }
    struct sym *s = in->kind == N_IDENT ? in->sym : NULL;
    return s != NULL && s->kind == SYM_VAR && s->tok < f->body0 &&
           (s->type->kind == TY_ARRAY ||
            (pli_type_is_pts(s->type) && s->mod_at < f->cond0 && row.n == 1 &&
             (s->type->quals & (Q_SHARED | Q_VOLATILE | Q_ATOMIC)) == 0));
}

// Can the loop be written several times? Not a long one.
static bool is_repeatable(struct parser *p, const struct forall *f)
{
    enum { LONGEST = 400 }; // tokens
    static const int spoil[] = { KW_GOTO, KW_FORALL, KW_ASM };
    for (size_t i = 0; i < sizeof spoil / sizeof spoil[0]; i++) {
        if (has_word(p, f, spoil[i])) {
            return false;
        }
    }
    return f->body1 - f->body0 <= LONGEST;
}

// Is the number of iterations known when it begins, and not that of a few?
static bool is_long(const struct forall *f)
{
    enum { SHORT = 8 };
    int64_t v;
    return !is_written(f->limit, f->cond0) && !(pli_constant_eval(f->limit, &v) && v <= SHORT);
}

static void collect_runs(struct parser *p, struct forall *f, size_t from)
{
    int max = (int)(sizeof f->index / sizeof f->index[0]);
    for (size_t i = from; i < p->n_run && f->n_index < max; i++) {
        if (is_run(p->run_index[i], f)) {
            f->index[f->n_index++] = p->run_index[i];
        }
    }
}

// A pointer-to-shared that is the same in all iterations: end, a + n, &a[n]
static bool is_settled_pointer(const struct node *n, const struct forall *f)
{
    n = bare(n);
    switch (n->kind) {
    case N_IDENT:
        return n->sym != NULL && n->sym->kind == SYM_VAR && n->sym->tok < f->cond0 &&
               n->sym->mod_at < f->cond0 &&
               (n->sym->type->quals & (Q_SHARED | Q_VOLATILE | Q_ATOMIC)) == 0;
    case N_DECAY:
        return bare(n->a)->kind == N_IDENT;
    case N_CONV:
        return is_settled_pointer(n->a, f);
    case N_BINARY:
        return (pli_type_is_pts(n->a->type) && is_settled_pointer(n->a, f) &&
                is_settled(n->b, f)) ||
               (pli_type_is_pts(n->b->type) && is_settled(n->a, f) && is_settled_pointer(n->b, f));
    case N_ADDR:
        n = bare(n->a);
        return n->kind == N_INDEX && is_settled(n->b, f) &&
               (bare(n->a)->type->kind == TY_ARRAY ? bare(n->a)->kind == N_IDENT
                                                   : is_settled_pointer(n->a, f));
    default:
        return false;
    }
}

static int reversed(int op)
{
    return op == '>' ? '<' : op == P_GE ? P_LE : op == '<' ? '>' : op == P_LE ? P_GE : op;
}

// "p < end": does one of the pointers that move decide when the loop ends?
static void find_walker(struct parser *p, struct forall *f)
{
    const struct node *c = f->cond == NULL ? NULL : bare(f->cond);
    if (c == NULL || c->kind != N_BINARY || !c->rewrite) {
        return;
    }
    for (int i = 0; i < 2 * f->n_moving && f->walker == NULL; i++) {
        struct sym *s = f->moving[i / 2].sym;
        struct node *own = i % 2 ? c->b : c->a, *other = i % 2 ? c->a : c->b;
        int op = i % 2 ? reversed(c->op) : c->op;
        bool is_safe = !f->moving[i / 2].is_in_body ||
                       (!has_word(p, f, KW_BREAK) && !f->moving[i / 2].is_late);
        if (is_safe && is_var(own, s) && is_settled_pointer(other, f) &&
            (op == '<' || op == P_LE || op == P_NE)) {
            f->walker = s;
            f->limit = other;
            f->limit_op = op;
        }
    }
}

// n-- or --n; NULL: neither
static struct sym *counted_down(const struct node *n)
{
    n = bare(n);
    bool is_step = n->kind == N_PREFIX || n->kind == N_POSTFIX;
    return is_step && n->op == P_DEC ? counter(n->a) : NULL;
}

// "n-- > 0", "--n", "n > 0" with the step n--: does n say how many iterations are to come?
static void find_left(struct parser *p, struct forall *f, const struct node *step)
{
    int64_t v;
    const struct node *c = f->cond == NULL ? NULL : bare(f->cond);
    if (c == NULL) {
        return;
    }
    int op = c->kind == N_BINARY ? c->op : P_NE;
    bool is_test = op == '>' || op == P_NE || op == P_GE;
    if (c->kind == N_BINARY && (!is_test || !pli_constant_eval(c->b, &v) || v != 0)) {
        return;
    }
    const struct node *number = bare(c->kind == N_BINARY ? c->a : c);
    struct sym *var = counted_down(number);
    bool is_before = var != NULL && number->kind == N_PREFIX; // --n >= 0 is like n-- > 0
    int n_want = 1, n_seen = 0;
    if (var == NULL) {
        var = counter(number);
        n_want = 2;
        if (var == NULL || op == P_GE || step == NULL || counted_down(step) != var) {
            return;
        }
    } else if (op == P_GE && !is_before) {
        return;
    }
    for (size_t i = f->cond0; i < f->body0; i++) {
        n_seen += p->u->toks[i].name == var->name;
    }
    if (n_seen == n_want && var->mod_at < f->body0) {
        f->left = var;
        f->left_less = is_before && op != P_GE;
    }
}

// Pointers that move with the loop. They must not occur in the condition but for the comparison.
static void collect_moving(struct parser *p, struct forall *f, size_t first,
                           const struct node *step)
{
    pli_parse_cursor_moving(p, f, first);
    if (!f->is_run) {
        find_walker(p, f);
        find_left(p, f, step);
    }
    int n = 0;
    for (int i = 0; i < f->n_moving; i++) {
        bool is_in_cond = false;
        for (size_t t = f->cond0; t < f->cond1; t++) {
            is_in_cond |= p->u->toks[t].name == f->moving[i].sym->name;
        }
        if (!is_in_cond || f->moving[i].sym == f->walker) {
            f->moving[n++] = f->moving[i];
        }
    }
    f->n_moving = n;
}

// What had been seen before the condition of a loop, elements before its body.
struct before {
    int labels, statics, opaque, strides;
    size_t seen, run, step;
};

static struct before before(const struct parser *p)
{
    return (struct before){ p->n_label, p->n_static, p->n_opaque, p->n_local_stride,
                            p->n_seen,  p->n_run,    p->n_cursor };
}

static void enter(struct parser *p, struct forall *f, struct before *b, bool is_stride)
{
    b->seen = p->n_seen;
    b->run = p->n_run;
    p->n_for++;
    p->n_stride += is_stride;
    p->n_loop++;
    f->body0 = p->at;
    pli_parse_stmt(p);
    f->body1 = p->at;
    p->n_loop--;
    p->n_stride -= is_stride;
    p->n_for--;
    f->is_opaque = p->n_opaque != b->opaque;
}

// is_counted: f->var is the counter, and nothing but the step changes it.
static void leave(struct parser *p, struct forall *f, const struct before *b,
                  const struct header *h, bool is_counted, bool is_kept)
{
    enum { BRIEF = 16 }; // iterations that the C compiler may unroll
    int64_t v;
    bool is_once = p->n_label != b->labels || p->n_static != b->statics ||
                   p->n_local_stride != b->strides || has_pragma(p, f);
    p->is_brief = f->limit != NULL && pli_constant_eval(f->limit, &v) && v <= BRIEF;
    is_counted = is_counted && !is_once && !is_kept;
    if (is_counted && f->is_stride && !has_word(p, f, KW_FORALL)) {
        collect_stride(p, f, b->seen);
    }
    bool may_repeat = !is_once && !is_kept && f->n_index == 0 && is_repeatable(p, f);
    f->is_run = f->is_run && is_counted && may_repeat && is_long(f);
    if (f->is_run) {
        collect_runs(p, f, b->run);
    }
    if (may_repeat && !p->is_brief) {
        collect_moving(p, f, b->step, f->step1 > f->step0 ? h->step : NULL);
    }
    p->n_local_stride += f->n_index > 0 || f->n_moving > 0;
    p->n_run = p->n_for == 0 ? 0 : p->n_run;
    if (p->n_stride == 0 && p->forall == NULL) {
        p->n_seen = 0;
    }
}

// Which loop it is, if it is one whose elements follow each other.
static void classify(struct parser *p, struct forall *f, const struct header *h)
{
    if (p->forall == NULL && !has_effect(h->cond) && is_step_by_threads(p, h->step)) {
        f->var = counter(bare(h->step)->a);
        f->is_stride = true;
    } else {
        f->var = find_counter(p, f, h);
        f->is_run = f->var != NULL;
    }
}

// for-stmt: "for" "(" (declaration | expression? ";") expression? ";" expression? ")" statement
void pli_parse_forall_for(struct parser *p)
{
    size_t t0 = p->at++;
    struct forall *f = pli_unit_arena_alloc(&p->u->arena, sizeof *f);
    pli_parse_expect(p, '(', "'('");
    pli_scope_push(p);
    f->unit = 1;
    parse_init(p, f);
    struct before b = before(p);
    size_t load = p->n_load;
    struct header h = { .cond = clause(p, &f->cond0, &f->cond1, ';', "';'") };
    h.step = clause(p, &f->step0, &f->step1, ')', "')'");
    f->cond = h.cond;
    classify(p, f, &h);
    enter(p, f, &b, f->is_stride);
    if (h.step == NULL) {
        pli_parse_forall_spin(p, f->body0, load, h.cond);
    }
    leave(p, f, &b, &h, f->var != NULL && f->var->mod_at < f->body0, pli_parse_is_kept(p, t0));
    pli_scope_pop(p);
    if (f->n_index > 0 || f->n_moving > 0) {
        pli_parse_edit(p, EDIT_FORALL, t0, p->at)->forall = f;
    }
}

// while-stmt: "while" "(" expression ")" statement
// It is treated as a "for" if its body ends with the step: "{ ... i++; }".
void pli_parse_forall_while(struct parser *p)
{
    size_t t0 = p->at++;
    struct forall *f = pli_unit_arena_alloc(&p->u->arena, sizeof *f);
    struct header h = { 0 };
    struct before b = before(p);
    size_t load = p->n_load;
    pli_parse_expect(p, '(', "'('");
    f->unit = 1;
    h.cond = clause(p, &f->cond0, &f->cond1, ')', "')'");
    f->cond = h.cond;
    f->init0 = f->init1 = f->cond0;
    enter(p, f, &b, p->forall == NULL);
    pli_parse_forall_spin(p, f->body0, load, h.cond);
    bool is_counted = false;
    if (p->u->toks[f->body0].op == '{' && p->tail != NULL) {
        h.step = p->tail;
        f->step0 = f->body1 = p->tail_at;
        f->step1 = p->at - 2; // without ";" and "}"
        classify(p, f, &h);
        is_counted = f->var != NULL && f->var->tok < f->body0 && f->var->mod_at >= f->step0 &&
                     f->var->mod_prev < f->body0 && !has_word(p, f, KW_CONTINUE);
    }
    f->is_while = is_counted;
    if (!is_counted) { // the step is where it stands
        f->step0 = f->step1 = f->cond0;
        f->body1 = p->at;
        f->limit = NULL;
    }
    leave(p, f, &b, &h, is_counted, pli_parse_is_kept(p, t0));
    if (f->n_index > 0 || f->n_moving > 0) {
        pli_parse_edit(p, EDIT_FORALL, t0, p->at)->forall = f;
    }
}
