// SPDX-License-Identifier: BSD-3-Clause
// Makes typed nodes for unary and postfix expressions. Plain C is checked by the C compiler.
#include "sema.h"

#include "constant.h"
#include "parse.h"
#include "parse_cursor.h"
#include "sema_conv.h"
#include "type_print.h"

#include <stdio.h>
#include <string.h>

struct node *pli_sema_node(struct parser *p, enum node_kind kind, size_t t0)
{
    struct node *n = pli_unit_arena_alloc(&p->u->arena, sizeof *n);
    n->kind = kind;
    n->t0 = n->tok = t0;
    n->t1 = p->at;
    return n;
}

void pli_sema_inherit(struct node *n, const struct node *child)
{
    n->upc |= child->upc;
    n->dyn |= child->dyn;
    n->has_threads |= child->has_threads;
}

struct node *pli_sema_wrap(struct parser *p, enum node_kind kind, struct node *a, struct type *type)
{
    struct node *n = pli_sema_node(p, kind, a->t0);
    n->t1 = a->t1;
    n->tok = a->tok;
    n->a = a;
    n->type = type;
    pli_sema_inherit(n, a);
    return n;
}

// An access is strict by the type of the lvalue, else by the pragma in force.
static bool is_strict(struct parser *p, const struct type *t)
{
    unsigned q = pli_type_ultimate(t)->quals;
    return (q & Q_STRICT) != 0 || ((q & Q_RELAXED) == 0 && p->strict);
}

struct node *pli_sema_rvalue(struct parser *p, struct node *n)
{
    struct type *t = n->type;
    if (t->kind == TY_ARRAY) {
        bool shared = pli_type_is_shared(t);
        struct node *r =
            pli_sema_wrap(p, shared ? N_DECAY : N_RVALUE, n, pli_type_ptr(p->u, t->base));
        r->upc |= shared;
        return r;
    }
    if (t->kind == TY_FUNC) {
        return pli_sema_wrap(p, N_RVALUE, n, pli_type_ptr(p->u, t));
    }
    if ((t->quals & Q_SHARED) != 0) {
        struct node *r = pli_sema_wrap(p, N_LOAD, n, pli_type_strip(p->u, t, ~0u));
        r->is_strict = is_strict(p, t);
        p->n_order += r->is_strict;
        p->n_sync += r->is_strict;
        r->upc = true;
        r->dyn = true;
        if (!r->is_strict && p->unevaluated == 0) {
            p->loads = pli_unit_arena_grow(&p->u->arena, p->loads, p->n_load, &p->cap_load,
                                           sizeof(struct node *));
            p->loads[p->n_load++] = r;
        }
        if (!pli_type_is_complete(t) && t->kind != TY_VOID) {
            pli_diag_error(p->u, n->tok, "value of incomplete shared type '%s' used",
                           pli_type_print_upc(p->u, t));
        }
        return r;
    }
    if (t->quals != 0) {
        return pli_sema_wrap(p, N_RVALUE, n, pli_type_strip(p->u, t, ~0u));
    }
    return n;
}

struct type *pli_sema_promote(struct parser *p, struct type *t)
{
    if (pli_type_is_integer(t) && pli_type_rank(t) < 3) {
        return pli_type_basic(p->u, TY_INT);
    }
    if (t->kind == TY_ENUM) {
        return pli_type_basic(p->u, t->en->is_long       ? TY_LONG
                                    : t->en->is_unsigned ? TY_UINT
                                                         : TY_INT);
    }
    return t;
}

static void check_arith(struct parser *p, const struct type *ptr, size_t tok)
{
    if (pli_type_is_pts(ptr) && !pli_type_is_complete(ptr->base)) {
        pli_diag_error(p->u, tok, "arithmetic on a pointer to incomplete shared type '%s'",
                       pli_type_print_upc(p->u, ptr));
    }
}

// a[i] or i[a]
struct node *pli_sema_index(struct parser *p, struct node *a, struct node *i, size_t tok)
{
    struct node *n = pli_sema_node(p, N_INDEX, a->t0);
    n->tok = tok;
    bool swapped = pli_type_is_integer(a->type);
    struct node *ptr = swapped ? i : a;
    struct node *idx = pli_sema_rvalue(p, swapped ? a : i);
    if (ptr->type->kind == TY_UNKNOWN) { // perhaps a vector
        n->a = a;
        n->b = i;
        n->type = ptr->type;
    } else {
        // An array keeps its own node below, so that A[i][j] can become one step.
        n->a = ptr->type->kind == TY_ARRAY && pli_type_is_shared(ptr->type)
                   ? ptr
                   : pli_sema_rvalue(p, ptr);
        n->b = idx;
        n->op = swapped;
        struct type *t = ptr->type;
        if (t->kind != TY_PTR && t->kind != TY_ARRAY) {
            pli_diag_error(p->u, tok, "subscripted value is neither array nor pointer");
            n->type = pli_type_basic(p->u, TY_UNKNOWN);
        } else {
            n->type = t->base;
            if (pli_type_is_shared(n->type)) {
                struct type *q = t->kind == TY_PTR ? t : pli_type_ptr(p->u, t->base);
                check_arith(p, q, tok);
                n->upc = true;
            }
            // Of private arrays the C compiler says so, but takes a pointer-to-shared for a number.
            if ((n->upc && !pli_type_is_integer(idx->type) && idx->type->kind != TY_UNKNOWN) ||
                pli_type_is_pts(idx->type)) {
                pli_diag_error(p->u, idx->tok, "array subscript is not an integer");
            }
        }
    }
    n->is_lvalue = true;
    pli_sema_inherit(n, a);
    pli_sema_inherit(n, i);
    if ((p->forall != NULL || p->n_stride > 0) && n->upc &&
        (n->a->kind == N_IDENT || (n->a->kind == N_RVALUE && n->a->a->kind == N_IDENT))) {
        p->seen_index = pli_unit_arena_grow(&p->u->arena, p->seen_index, p->n_seen, &p->cap_seen,
                                            sizeof *p->seen_index);
        p->seen_index[p->n_seen++] = n;
    }
    if (p->n_for > 0 && p->unevaluated == 0 && n->upc && !is_strict(p, n->type)) {
        p->run_index = pli_unit_arena_grow(&p->u->arena, p->run_index, p->n_run, &p->cap_run,
                                           sizeof *p->run_index);
        p->run_index[p->n_run++] = n;
    }
    return n;
}

struct node *pli_sema_member(struct parser *p, struct node *a, struct name *name, bool arrow,
                             size_t tok)
{
    struct node *n = pli_sema_node(p, arrow ? N_ARROW : N_MEMBER, a->t0);
    n->tok = tok;
    n->a = arrow ? pli_sema_rvalue(p, a) : a;
    pli_sema_inherit(n, n->a);
    if (arrow) {
        pli_parse_cursor_note(p, a, USE_MEMBER);
    }
    struct type *t = a->type;
    if (arrow && (t->kind == TY_PTR || t->kind == TY_ARRAY)) {
        t = t->base;
    }
    n->type = pli_type_basic(p->u, TY_UNKNOWN);
    n->is_lvalue = arrow || a->is_lvalue;
    if (arrow && t == a->type && pli_type_is_shared(t)) {
        pli_diag_error(p->u, tok, "invalid type argument of '->' (have '%s')",
                       pli_type_print_upc(p->u, t));
        return n;
    }
    if (t->kind != TY_STRUCT && t->kind != TY_UNION) {
        if (pli_type_is_shared(t)) {
            pli_diag_error(p->u, tok, "request for member '%s' in something not a structure",
                           name->text);
        }
        return n;
    }
    struct member *m = pli_type_member(t->rec, name);
    n->mem = m;
    if (m == NULL) {
        if ((t->quals & Q_SHARED) != 0) {
            pli_diag_error(p->u, tok, "'%s' has no member named '%s'", pli_type_print_upc(p->u, t),
                           name->text);
        }
        return n;
    }
    // Members of a shared structure are shared with indefinite block size.
    unsigned q = t->quals & (Q_CONST | Q_VOLATILE | Q_UPC);
    n->type = pli_type_qualify(p->u, m->type, q, 0);
    n->upc |= (q & Q_SHARED) != 0;
    return n;
}

// Does the word occur in the list, which has a blank on both sides of each?
static bool is_listed(const char *list, const char *word, size_t len)
{
    for (const char *s = strstr(list, word); s != NULL; s = strstr(s + 1, word)) {
        if (s[-1] == ' ' && s[len] == ' ') {
            return true;
        }
    }
    return false;
}

// Functions of <math.h>, <complex.h> and <stdlib.h>, and built-in ones, that do nothing but compute
// their result: a call is like an operator.
static bool is_pure(const struct unit *u, const struct node *callee)
{
    static const char numbers[] =
        " acos asin atan atan2 cos sin tan acosh asinh atanh cosh sinh tanh exp exp2 expm1 log "
        "log10"
        " log1p log2 logb ilogb cbrt fabs hypot pow sqrt erf erfc tgamma ceil floor nearbyint rint"
        " lrint llrint round lround llround trunc fmod remainder copysign fdim fmax fmin fma scalbn"
        " scalbln ldexp nextafter cabs creal cimag carg conj cproj cexp clog cpow csqrt csin ccos"
        " ctan abs labs llabs isnan isinf finite ";
    static const char builtin[] = " expect clz clzl clzll ctz ctzl ctzll ffs ffsl ffsll popcount"
                                  " popcountl popcountll parity bswap16 bswap32 bswap64 signbit"
                                  " isfinite isnormal isgreater isless isinf_sign huge_val inf nan"
                                  " constant_p complex ";
    char word[32];
    while (callee->kind == N_PAREN || callee->kind == N_RVALUE) {
        callee = callee->a;
    }
    const struct token *t = &u->toks[callee->tok];
    const struct sym *s = callee->sym;
    if (callee->t1 != callee->t0 + 1 || t->name == NULL || (s != NULL && s->kind != SYM_FUNC)) {
        return false;
    }
    bool is_builtin = strncmp(t->name->text, "__builtin_", 10) == 0;
    bool is_system = s != NULL && u->toks[s->tok].src->is_system;
    int len = snprintf(word, sizeof word, "%s", t->name->text + (is_builtin ? 10 : 0));
    if (len >= (int)sizeof word || !(is_builtin || is_system)) {
        return false;
    }
    if (is_builtin && is_listed(builtin, word, (size_t)len)) {
        return true;
    }
    bool is_known = is_listed(numbers, word, (size_t)len);
    if (!is_known && len > 1 && (word[len - 1] == 'f' || word[len - 1] == 'l')) {
        word[--len] = '\0'; // of float and long double
        is_known = is_listed(numbers, word, (size_t)len);
    }
    return is_known;
}

struct node *pli_sema_call(struct parser *p, struct node *f, struct node *args, size_t tok)
{
    struct node *n = pli_sema_node(p, N_CALL, f->t0);
    n->tok = tok;
    n->a = pli_sema_rvalue(p, f);
    n->dyn = true;
    if (!is_pure(p->u, n->a)) {
        p->n_opaque++;
        p->n_sync++;
    }
    pli_sema_inherit(n, n->a);
    struct type *ft = n->a->type;
    ft = ft->kind == TY_PTR ? ft->base : ft;
    n->type = ft->kind == TY_FUNC ? pli_type_strip(p->u, ft->base, ~(unsigned)Q_ATOMIC)
                                  : pli_type_basic(p->u, TY_UNKNOWN);
    struct param *param = ft->kind == TY_FUNC ? ft->params : NULL;
    bool checked = ft->kind == TY_FUNC && !ft->is_oldstyle;
    struct node **tail = &n->args;
    int k = 1;
    for (struct node *next, *arg = args; arg != NULL; arg = next, k++) {
        next = arg->next;
        if (param != NULL) {
            char what[64];
            snprintf(what, sizeof what, "passing argument %d", k);
            arg = pli_sema_conv(p, arg, param->type, what);
            param = param->next;
        } else {
            if (checked && !ft->is_variadic) {
                checked = false; // the C compiler counts; it knows the location too
            }
            arg = pli_sema_rvalue(p, arg);
        }
        pli_sema_inherit(n, arg);
        arg->next = NULL;
        *tail = arg;
        tail = &arg->next;
    }
    return n;
}

static struct sym *root_sym(struct node *n)
{
    for (;;) {
        switch (n->kind) {
        case N_PAREN:
        case N_MEMBER:
        case N_RVALUE:
            n = n->a;
            break;
        case N_INDEX:
            if (n->a->kind != N_RVALUE || n->a->a->type->kind != TY_ARRAY) {
                return NULL;
            }
            n = n->a;
            break;
        case N_IDENT:
            return n->sym;
        default:
            return NULL;
        }
    }
}

// What a nested function writes of its surroundings changes wherever that is called.
static void write_sym(const struct parser *p, struct sym *s)
{
    bool is_outer = s->depth > 0 && s->depth < p->fn_depth;
    s->mod_prev = s->mod_at;
    s->mod_at = is_outer ? SIZE_MAX : p->at;
    s->is_addressed |= is_outer;
}

// The shared array or object that a shared lvalue is part of; NULL: what a pointer points to.
static struct sym *shared_root(const struct node *n)
{
    while (n->kind == N_PAREN || n->kind == N_MEMBER || n->kind == N_INDEX || n->kind == N_RVALUE ||
           n->kind == N_DECAY) {
        n = n->a;
    }
    return n->kind == N_IDENT && pli_type_is_shared(n->type) ? n->sym : NULL;
}

void pli_sema_note_write(struct parser *p, struct node *a)
{
    struct sym *s = pli_type_is_shared(a->type) ? shared_root(a) : root_sym(a);
    if (s != NULL) {
        write_sym(p, s);
    } else if (!pli_type_is_shared(a->type)) {
        p->n_opaque++;
    } else {
        p->n_order++;
    }
}

void pli_sema_no_atomic_update(struct parser *p, const struct node *a, size_t tok)
{
    if (pli_type_is_shared(a->type) && (pli_type_ultimate(a->type)->quals & Q_ATOMIC) != 0) {
        pli_diag_error(p->u, tok,
                       "an update of '%s' is not atomic; use <upc_atomic.h>, or a plain pointer",
                       pli_type_print_upc(p->u, a->type));
    }
}

static void check_target(struct parser *p, struct node *a, size_t tok)
{
    struct node *n = a;
    while (n->kind == N_PAREN) {
        n = n->a;
    }
    if (n->kind == N_THREADS || n->kind == N_MYTHREAD) {
        pli_diag_error(p->u, a->tok, "'%s' is not an lvalue",
                       n->kind == N_THREADS ? "THREADS" : "MYTHREAD");
    } else if (!n->is_lvalue && n->type->kind != TY_UNKNOWN &&
               (n->upc || (pli_type_is_pts(n->type) && n->kind != N_OPAQUE))) {
        pli_diag_error(p->u, tok, "lvalue required as left operand");
    } else if (pli_type_is_shared(a->type) && (pli_type_ultimate(a->type)->quals & Q_CONST) != 0) {
        pli_diag_error(p->u, tok, "assignment to a read-only shared object");
    } else {
        pli_sema_no_atomic_update(p, a, tok);
    }
    pli_sema_note_write(p, a);
}

struct node *pli_sema_incdec(struct parser *p, struct node *a, int op, bool prefix, size_t tok)
{
    struct node *n = pli_sema_node(p, prefix ? N_PREFIX : N_POSTFIX, prefix ? tok : a->t0);
    n->t1 = p->at;
    n->tok = tok;
    n->op = op;
    n->a = a;
    n->dyn = true;
    n->type = pli_type_strip(p->u, a->type, ~0u);
    pli_sema_inherit(n, a);
    check_target(p, a, tok);
    if (pli_type_is_pts(a->type)) {
        check_arith(p, a->type, tok);
        n->upc = n->rewrite = true;
        if (op == P_INC) {
            pli_parse_cursor_note(p, a, USE_STEP);
        }
    }
    if ((a->type->quals & Q_SHARED) != 0) {
        n->is_strict = is_strict(p, a->type);
        p->n_order += n->is_strict;
        p->n_sync += n->is_strict;
        n->upc = true;
    }
    return n;
}

struct node *pli_sema_addr(struct parser *p, struct node *a, size_t tok)
{
    struct node *n = pli_sema_node(p, N_ADDR, tok);
    n->a = a;
    n->t1 = a->t1;
    n->tok = tok;
    pli_sema_inherit(n, a);
    struct node *in = a;
    while (in->kind == N_PAREN) {
        in = in->a;
    }
    if (in->kind == N_THREADS || in->kind == N_MYTHREAD) {
        pli_diag_error(p->u, in->tok, "cannot take the address of '%s'",
                       in->kind == N_THREADS ? "THREADS" : "MYTHREAD");
    }
    bool shared = pli_type_is_shared(a->type);
    if (shared && (in->kind == N_MEMBER || in->kind == N_ARROW) && in->mem != NULL &&
        in->mem->is_bitfield) {
        pli_diag_error(p->u, tok, "cannot take the address of bit-field '%s'", in->mem->name->text);
    }
    if (shared && !in->is_lvalue) {
        pli_diag_error(p->u, tok, "lvalue required as unary '&' operand");
    }
    struct sym *s = root_sym(a);
    if (s != NULL) {
        write_sym(p, s);
        s->is_addressed = true;
        n->dyn |= s->is_tls;
    }
    n->type = pli_type_ptr(p->u, a->type);
    n->upc |= shared;
    n->dyn |= shared;
    return n;
}

struct node *pli_sema_deref(struct parser *p, struct node *a, size_t tok)
{
    struct node *n = pli_sema_node(p, N_DEREF, tok);
    n->a = pli_sema_rvalue(p, a);
    n->t1 = a->t1;
    n->tok = tok;
    n->is_lvalue = true;
    pli_sema_inherit(n, n->a);
    struct type *t = n->a->type;
    n->type = t->kind == TY_PTR ? t->base : pli_type_basic(p->u, TY_UNKNOWN);
    if (pli_type_is_pts(t)) {
        n->upc = true;
        pli_parse_cursor_note(p, a, USE_DEREF);
        if (pli_type_is_generic(t)) {
            pli_diag_error(p->u, tok, "dereferencing a 'shared void *' pointer");
        }
    } else if (t->kind == TY_PTR && t->base->kind == TY_FUNC) {
        n->type = t->base;
    }
    return n;
}

struct node *pli_sema_unary(struct parser *p, int op, struct node *a, size_t tok)
{
    struct node *n = pli_sema_node(p, N_UNARY, tok);
    n->op = op;
    n->a = pli_sema_rvalue(p, a);
    n->t1 = a->t1;
    n->tok = tok;
    pli_sema_inherit(n, n->a);
    if (op == '!') {
        n->type = pli_type_basic(p->u, TY_INT);
    } else {
        n->type = pli_sema_promote(p, n->a->type);
        if (pli_type_is_pts(n->a->type)) {
            pli_diag_error(p->u, tok, "wrong type argument to unary operator: '%s'",
                           pli_type_print_upc(p->u, n->a->type));
        }
    }
    return n;
}

struct node *pli_sema_cast(struct parser *p, struct type *to, struct node *a, size_t tok)
{
    struct node *n = pli_sema_node(p, N_CAST, tok);
    n->t1 = a->t1;
    n->tok = tok;
    n->type = to;
    struct node *v = pli_sema_rvalue(p, a);
    n->a = v;
    pli_sema_inherit(n, v);
    const struct type *from = v->type;
    if (pli_type_is_shared(to)) {
        if (to->kind != TY_VOID || (to->quals & Q_SHARED) != 0) {
            pli_diag_error(p->u, tok, "cast to shared type '%s' that is not a pointer",
                           pli_type_print_upc(p->u, to));
        }
        return n;
    }
    if (pli_type_is_pts(to)) {
        n->upc = true;
        if (pli_constant_is_null(v)) {
            n->kind = N_NULL;
            n->upc = true;
        } else if (pli_type_is_pts(from)) {
            n->kind = N_CONV;
            n->op = pli_sema_conv_resets(from, to);
        } else if (from->kind == TY_PTR) {
            pli_diag_error(p->u, tok, "cannot cast a pointer-to-local to pointer-to-shared '%s'",
                           pli_type_print_upc(p->u, to));
        } else if (from->kind != TY_UNKNOWN) {
            pli_diag_error(p->u, tok, "cannot cast '%s' to pointer-to-shared '%s'",
                           pli_type_print_upc(p->u, from), pli_type_print_upc(p->u, to));
        }
    } else if (pli_type_is_pts(from)) {
        if (to->kind == TY_PTR) {
            n->kind = N_LOCAL;
            n->upc = true;
            n->dyn = true;
        } else if (!pli_type_is_integer(to) && to->kind != TY_VOID && to->kind != TY_UNKNOWN) {
            pli_diag_error(p->u, tok, "cannot cast a pointer-to-shared to '%s'",
                           pli_type_print_upc(p->u, to));
        }
    }
    if (to->kind != TY_VOID) {
        n->type = pli_type_strip(p->u, to, Q_CONST | Q_VOLATILE);
    }
    return n;
}
