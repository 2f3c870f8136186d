// SPDX-License-Identifier: BSD-3-Clause
// Parses initialisers. Every scalar is converted to the type of its member, through designators and
// left-out braces, because a null pointer or a shared address among them must be rewritten.
#include "parse_init.h"

#include "constant.h"
#include "parse.h"
#include "parse_expr.h"
#include "sema.h"
#include "sema_conv.h"

#include <string.h>

struct init {
    struct parser *p;
    bool is_static; // the object lives as long as the program: its value is known before main
    bool dyn;
    struct node *pending; // parsed already, waits for the scalar it belongs to
};

static void element(struct init *in, struct type *t);
static int64_t list(struct init *in, struct type *t, bool braced);

static bool is_record(const struct type *t)
{
    return t->kind == TY_STRUCT || t->kind == TY_UNION;
}

// &s.b[1]: an address is known without the object's value.
static const struct node *addressed(const struct node *n)
{
    bool is_element;
    do {
        is_element =
            n->kind == N_INDEX && n->a->kind == N_RVALUE && n->a->a->type->kind == TY_ARRAY;
        n = is_element ? n->a->a : n->kind == N_PAREN || n->kind == N_MEMBER ? n->a : n;
    } while (is_element || n->kind == N_PAREN || n->kind == N_MEMBER);
    return n->kind == N_IDENT ? NULL : n;
}

// What only a running program can give. Shared addresses and MYTHREAD are known when it starts; gcc
// takes constant variables.
static bool must_run(const struct node *n)
{
    if (n == NULL) {
        return false;
    }
    switch (n->kind) {
    case N_SIZEOF:
    case N_UPCSIZE:
        return false;
    case N_CALL: // what the C compiler has built in may do
        n = n->a->kind == N_RVALUE ? n->a->a : n->a;
        return n->kind != N_IDENT ||
               (n->sym != NULL && strncmp(n->sym->name->text, "__builtin_", 10) != 0);
    case N_IDENT:
        return n->sym != NULL && n->sym->kind == SYM_VAR && !pli_type_is_shared(n->type) &&
               n->type->kind != TY_ARRAY && n->type->kind != TY_UNKNOWN &&
               (n->type->quals & Q_CONST) == 0;
    case N_RVALUE:
        return must_run(n->a->type->kind == TY_ARRAY ? addressed(n->a) : n->a);
    case N_ADDR:
        return must_run(addressed(n->a));
    case N_ASSIGN:
    case N_PREFIX:
    case N_POSTFIX:
    case N_LOAD:
        return true;
    default:
        return must_run(n->a) || must_run(n->b) || must_run(n->c);
    }
}

static void use(struct init *in, struct node *n, struct type *t)
{
    struct parser *p = in->p;
    n = t->kind == TY_UNKNOWN ? pli_sema_rvalue(p, n) : pli_sema_conv(p, n, t, "initialisation");
    in->dyn |= n->dyn;
    if (in->is_static && n->dyn && must_run(n)) {
        pli_diag_error(p->u, n->t0, "initializer element is not constant");
    }
    pli_parse_edit_expr(p, n);
}

static bool is_string_for(const struct node *n, const struct type *t)
{
    while (n->kind == N_PAREN) {
        n = n->a;
    }
    return n->kind == N_STR && t->kind == TY_ARRAY && pli_type_is_integer(t->base);
}

// initializer inside "{}": expression | "{" list "}"
static int64_t braced(struct init *in, struct type *t)
{
    struct parser *p = in->p;
    pli_parse_enter(p);
    pli_parse_expect(p, '{', "'{'");
    int64_t n = 1;
    if (t->kind == TY_ARRAY && pli_parse_tok(p)->kind == TOK_STR && pli_type_is_integer(t->base)) {
        struct node *s = pli_parse_expr_assign(p);
        n = s->type->kind == TY_ARRAY ? s->type->len : 1;
        pli_parse_accept(p, ',');
    } else if (t->kind == TY_ARRAY || is_record(t) || t->kind == TY_UNKNOWN) {
        n = list(in, t, true);
    } else {
        while (!pli_parse_is(p, '}')) {
            element(in, t);
            if (!pli_parse_accept(p, ',')) {
                break;
            }
        }
    }
    pli_parse_expect(p, '}', "'}'");
    pli_parse_leave(p);
    return n;
}

static void element(struct init *in, struct type *t)
{
    struct parser *p = in->p;
    if (in->pending == NULL) {
        if (pli_parse_is(p, '{')) {
            braced(in, t);
            return;
        }
        in->pending = pli_parse_expr_assign(p);
    }
    struct node *n = in->pending;
    bool whole = !(t->kind == TY_ARRAY || is_record(t)) || is_string_for(n, t) ||
                 (is_record(t) && (n->type->kind == TY_UNKNOWN ||
                                   (is_record(n->type) && n->type->rec == t->rec))) ||
                 (t->kind == TY_ARRAY && n->kind == N_LITERAL && n->type->kind == TY_ARRAY);
    if (whole) {
        in->pending = NULL;
        if (t->kind == TY_ARRAY) {
            in->dyn |= n->dyn;
            return;
        }
        use(in, n, t);
        return;
    }
    list(in, t, false);
}

struct cursor { // the next subobject of an aggregate
    struct type *t;
    struct member *m;
    int64_t at, max;
};

static struct member *skip_unnamed(struct member *m)
{
    while (m != NULL && m->name == NULL && m->is_bitfield) {
        m = m->next;
    }
    return m;
}

static struct type *current(struct parser *p, const struct cursor *c)
{
    if (c->t->kind == TY_ARRAY) {
        return c->t->len >= 0 && c->at >= c->t->len && !c->t->len_threads ? NULL : c->t->base;
    }
    if (is_record(c->t)) {
        return c->m == NULL ? NULL : c->m->type;
    }
    return pli_type_basic(p->u, TY_UNKNOWN);
}

static void advance(struct cursor *c)
{
    c->at++;
    c->max = c->at > c->max ? c->at : c->max;
    if (c->m != NULL) {
        c->m = c->t->kind == TY_UNION ? NULL : skip_unnamed(c->m->next);
    }
}

static struct type *array_designator(struct init *in, struct cursor *c)
{
    struct parser *p = in->p;
    int64_t v = 0;
    struct node *n = pli_parse_expr_cond(p);
    pli_parse_edit_expr(p, n);
    pli_constant_eval(n, &v);
    if (pli_parse_accept(p, P_ELLIPSIS)) {
        n = pli_parse_expr_cond(p);
        pli_parse_edit_expr(p, n);
        pli_constant_eval(n, &v);
    }
    pli_parse_expect(p, ']', "']'");
    c->at = v < 0 ? 0 : v;
    return c->t->kind == TY_ARRAY ? c->t->base : pli_type_basic(p->u, TY_UNKNOWN);
}

static struct type *member_designator(struct init *in, struct cursor *c)
{
    struct parser *p = in->p;
    struct token *t = pli_parse_tok(p);
    if (t->kind != TOK_IDENT) {
        pli_diag_fatal(p->u, p->at, "expected a member name");
    }
    p->at++;
    struct type *found = pli_type_basic(p->u, TY_UNKNOWN);
    if (!is_record(c->t)) {
        return found;
    }
    for (struct member *m = c->t->rec->members; m != NULL; m = m->next) {
        bool anon = m->name == NULL && is_record(m->type);
        struct member *hit =
            m->name == t->name ? m : (anon ? pli_type_member(m->type->rec, t->name) : NULL);
        if (hit != NULL) {
            c->m = m;
            return hit->type;
        }
    }
    return found;
}

// designator: ("." name | "[" constant ("..." constant)? "]")+ "=", or GNU's "name:"
static struct type *designation(struct init *in, struct cursor *c)
{
    struct parser *p = in->p;
    if (pli_parse_tok(p)->kind == TOK_IDENT) {
        struct type *t = member_designator(in, c);
        p->at++;
        return t;
    }
    bool dot = pli_parse_is(p, '.');
    p->at++;
    struct type *t = dot ? member_designator(in, c) : array_designator(in, c);
    while (pli_parse_is(p, '.') || pli_parse_is(p, '[')) {
        struct cursor deep = { .t = t };
        dot = pli_parse_is(p, '.');
        p->at++;
        t = dot ? member_designator(in, &deep) : array_designator(in, &deep);
    }
    pli_parse_accept(p, '=');
    return t;
}

static bool at_designator(struct parser *p)
{
    return pli_parse_is(p, '.') || pli_parse_is(p, '[') ||
           (pli_parse_tok(p)->kind == TOK_IDENT && pli_parse_tok(p)->op == 0 &&
            pli_parse_next_is(p, 1, ':'));
}

// Does an aggregate without braces go on after this comma?
static bool goes_on(struct parser *p)
{
    return pli_parse_is(p, ',') && !pli_parse_next_is(p, 1, '}') && !pli_parse_next_is(p, 1, '.') &&
           !pli_parse_next_is(p, 1, '[');
}

// initializer-list: (designation? initializer) ("," ...)*; yields the elements an array needs
static int64_t list(struct init *in, struct type *t, bool is_braced)
{
    struct parser *p = in->p;
    struct cursor c = { .t = t, .m = is_record(t) ? skip_unnamed(t->rec->members) : NULL };
    pli_parse_enter(p);
    while (in->pending != NULL || !pli_parse_is(p, '}')) {
        struct type *sub;
        if (in->pending == NULL && is_braced && at_designator(p)) {
            sub = designation(in, &c);
        } else {
            sub = current(p, &c);
        }
        if (sub == NULL && !is_braced) {
            break;
        }
        element(in, sub == NULL ? pli_type_basic(p->u, TY_UNKNOWN) : sub);
        advance(&c);
        if (is_braced) {
            if (!pli_parse_accept(p, ',')) {
                break;
            }
        } else if (current(p, &c) != NULL && goes_on(p)) {
            p->at++;
        } else {
            break;
        }
    }
    pli_parse_leave(p);
    return c.max;
}

// initializer: assignment-expression | "{" initializer-list ","? "}"
// An array without length gets its length from the initialiser.
void pli_parse_init(struct parser *p, struct type **type, bool is_static, bool *dyn)
{
    struct init in = { .p = p, .is_static = is_static };
    struct type *t = pli_type_is_shared(*type) ? pli_type_strip(p->u, *type, Q_UPC) : *type;
    int64_t len = LEN_NONE;
    if (pli_parse_is(p, '{')) {
        len = braced(&in, t);
    } else {
        struct node *n = pli_parse_expr_assign(p);
        if (t->kind == TY_ARRAY) {
            len = n->type->kind == TY_ARRAY ? n->type->len : LEN_NONE;
            pli_parse_edit_expr(p, n);
            in.dyn = n->dyn;
        } else {
            use(&in, n, t);
        }
    }
    *dyn = in.dyn;
    if ((*type)->kind == TY_ARRAY && (*type)->len == LEN_NONE && len >= 0) {
        *type = pli_type_copy(p->u, *type);
        (*type)->len = len;
        (*type)->tdname = NULL;
    }
}
