// SPDX-License-Identifier: BSD-3-Clause
// Parses declaration specifiers with struct, union and enum, qualifiers and type names.
#include "parse_spec.h"

#include "constant.h"
#include "layout.h"
#include "parse.h"
#include "parse_decl.h"
#include "parse_expr.h"
#include "scope.h"
#include "sema_decl.h"
#include "type_print.h"

#include <string.h>

// Untagged types get a tag in the output, so that rewritten declarations can name them.
static const char *make_tag(struct parser *p)
{
    const char *label = pli_unit_arena_printf(&p->u->arena, "__pli_anon_%d", ++p->n_anon);
    struct token *brace = pli_parse_tok(p);
    brace->prefix = label;
    return label;
}

static struct member *add_member(struct parser *p, struct record *r, struct member ***tail,
                                 struct name *name, struct type *type)
{
    struct member *m = pli_unit_arena_alloc(&p->u->arena, sizeof *m);
    m->name = name;
    m->type = type;
    **tail = m;
    *tail = &m->next;
    (void)r;
    return m;
}

// struct-declarator: declarator | declarator? ":" constant-expression
static struct declarator *member_dtor(struct parser *p, struct record *r, struct specs *s,
                                      struct member ***tail)
{
    struct declarator *d;
    p->attrs = (struct attrs){ 0 };
    if (pli_parse_is(p, ':')) {
        d = pli_unit_arena_alloc(&p->u->arena, sizeof *d);
        d->t0 = d->t1 = d->tok = p->at;
        d->type = s->type;
    } else {
        d = pli_parse_decl_declarator(p, s->type, false);
    }
    int64_t width = -1;
    if (pli_parse_accept(p, ':')) {
        d->bits0 = p->at;
        struct node *w = pli_parse_expr_cond(p);
        pli_parse_edit_expr(p, w);
        if (!pli_constant_eval(w, &width) || width < 0 || width > 128) {
            width = 0;
        }
        d->bits1 = p->at;
    }
    d->attr0 = p->at;
    pli_parse_spec_attrs(p);
    d->attr1 = p->at;
    d->type = pli_sema_decl_member(p, d->type, d->tok);
    struct member *m = add_member(p, r, tail, d->name, d->type);
    if (p->attrs.opaque) {
        m->type = pli_type_basic(p->u, TY_UNKNOWN);
    }
    m->is_bitfield = width >= 0;
    m->width = width;
    m->packed = p->attrs.packed;
    m->align = p->attrs.align;
    return d;
}

// struct-declaration: specifier-qualifier-list struct-declarator-list? ";"
static void member_declaration(struct parser *p, struct record *r, struct member ***tail)
{
    if (pli_parse_is(p, KW_STATIC_ASSERT)) {
        p->at++;
        pli_parse_skip_parens(p);
        pli_parse_expect(p, ';', "';'");
        return;
    }
    struct decl *d = pli_unit_arena_alloc(&p->u->arena, sizeof *d);
    pli_parse_spec(p, &d->specs);
    if (!d->specs.has_type) {
        struct token *t = pli_parse_tok(p);
        pli_diag_fatal(p->u, p->at, "expected a type before '%.*s'", (int)t->len, t->text);
    }
    struct declarator **dtail = &d->list;
    bool upc = false;
    if (pli_parse_is(p, ';')) {
        struct type *t = d->specs.type;
        if (t->kind == TY_STRUCT || t->kind == TY_UNION) {
            pli_sema_decl_member(p, t, d->specs.t0);
            if (t->rec->tag == NULL) {
                add_member(p, r, tail, NULL, t);
                for (size_t i = d->specs.def0; i < d->specs.def1; i++) {
                    if (p->u->toks[i].prefix == t->rec->label) {
                        p->u->toks[i].prefix = NULL; // a tag would make it no member at all
                    }
                }
            }
        }
    }
    while (!pli_parse_is(p, ';') && !pli_parse_is(p, '}')) {
        struct declarator *m = member_dtor(p, r, &d->specs, tail);
        upc |= pli_type_needs_print(m->type);
        *dtail = m;
        dtail = &m->next;
        if (!pli_parse_accept(p, ',')) {
            break;
        }
    }
    if (!pli_parse_is(p, '}')) { // GNU C lets the last ';' go
        pli_parse_expect(p, ';', "';'");
    }
    if (upc) {
        pli_parse_edit(p, EDIT_DECL, d->specs.t0, p->at)->decl = d;
    }
}

static void record_body(struct parser *p, struct record *r)
{
    pli_parse_expect(p, '{', "'{'");
    pli_parse_enter(p);
    struct member **tail = &r->members;
    while (!pli_parse_is(p, '}')) {
        if (pli_parse_accept(p, ';')) {
            continue;
        }
        member_declaration(p, r, &tail);
    }
    p->at++;
    pli_parse_leave(p);
}

static struct type *record_type(struct parser *p, struct record *r)
{
    struct type *t = pli_type_basic(p->u, r->is_union ? TY_UNION : TY_STRUCT);
    t->rec = r;
    return t;
}

static struct record *find_record(struct parser *p, struct name *tag, bool is_union, bool here,
                                  size_t tok)
{
    struct sym *s = tag == NULL ? NULL : tag->tags;
    bool usable = s != NULL && (!here || s->depth == p->depth);
    if (usable && (s->type->kind == TY_STRUCT || s->type->kind == TY_UNION)) {
        return s->type->rec;
    }
    struct record *r = pli_unit_arena_alloc(&p->u->arena, sizeof *r);
    r->is_union = is_union;
    r->tag = tag;
    r->size = -1;
    if (tag != NULL) {
        pli_scope_add_tag(p, tag, tok)->type = record_type(p, r);
    }
    return r;
}

// struct-or-union-specifier: ("struct" | "union") attribute* tag? ("{" struct-declaration* "}")?
static struct type *record_spec(struct parser *p, struct specs *s)
{
    size_t t0 = p->at;
    bool is_union = pli_parse_is(p, KW_UNION);
    p->at++;
    struct attrs saved = p->attrs;
    p->attrs = (struct attrs){ 0 };
    pli_parse_spec_attrs(p);
    struct name *tag = NULL;
    size_t tok = p->at;
    if (pli_parse_tok(p)->kind == TOK_IDENT && pli_parse_tok(p)->op == 0) {
        tag = pli_parse_tok(p)->name;
        p->at++;
    }
    pli_parse_spec_attrs(p);
    bool body = pli_parse_is(p, '{');
    if (tag == NULL && !body) {
        pli_parse_expect(p, '{', "'{' or a tag");
    }
    // "struct tag ;" declares anew in an inner scope; a body always belongs to the current scope.
    struct record *r = find_record(p, tag, is_union, body || pli_parse_is(p, ';'), tok);
    if (!body) {
        p->attrs = saved;
        return record_type(p, r);
    }
    if (tag == NULL) {
        r->label = make_tag(p);
    }
    if (r->is_complete) {
        pli_diag_error(p->u, tok, "redefinition of '%s %s'", is_union ? "union" : "struct",
                       tag->text);
        r->members = NULL;
    }
    struct attrs before = p->attrs;
    record_body(p, r);
    p->attrs = before;
    if (pli_parse_is(p, KW_ATTRIBUTE)) {
        pli_parse_spec_attrs(p);
    }
    r->packed = p->attrs.packed;
    r->align_attr = p->attrs.align;
    p->attrs = saved;
    r->is_complete = true;
    pli_layout_record(r);
    s->def0 = t0;
    s->def1 = p->at;
    return record_type(p, r);
}

// enumerator-list: enumerator ("=" constant-expression)? ("," ...)*
static void enumerators(struct parser *p, struct enumdef *e)
{
    int64_t next = 0;
    e->is_unsigned = true;
    while (!pli_parse_is(p, '}')) {
        struct token *t = pli_parse_tok(p);
        if (t->kind != TOK_IDENT || t->op != 0) {
            pli_diag_fatal(p->u, p->at, "expected an enumeration constant");
        }
        size_t tok = p->at++;
        pli_parse_spec_attrs(p);
        if (pli_parse_accept(p, '=')) {
            struct node *v = pli_parse_expr_cond(p);
            pli_parse_edit_expr(p, v);
            if (!pli_constant_eval(v, &next) && (v->upc || v->has_threads)) {
                pli_diag_error(p->u, v->tok, "enumerator value is not a constant expression");
            }
        }
        struct sym *s = pli_scope_add(p, t->name, SYM_ENUMCONST, tok);
        s->value = next;
        s->type = pli_type_basic(p->u, next > INT32_MAX || next < INT32_MIN ? TY_LONG : TY_INT);
        e->is_unsigned &= next >= 0;
        e->is_long |= next > UINT32_MAX || next < INT32_MIN;
        next = (int64_t)((uint64_t)next + 1);
        if (!pli_parse_accept(p, ',')) {
            break;
        }
    }
    pli_parse_expect(p, '}', "'}'");
}

// enum-specifier: "enum" tag? ("{" enumerator-list ","? "}")?
static struct type *enum_spec(struct parser *p, struct specs *s)
{
    size_t t0 = p->at++;
    pli_parse_spec_attrs(p);
    struct name *tag = NULL;
    size_t tok = p->at;
    if (pli_parse_tok(p)->kind == TOK_IDENT && pli_parse_tok(p)->op == 0) {
        tag = pli_parse_tok(p)->name;
        p->at++;
    }
    pli_parse_spec_attrs(p);
    bool body = pli_parse_is(p, '{');
    struct sym *old = tag == NULL ? NULL : tag->tags;
    struct type *t;
    if (old != NULL && old->type->kind == TY_ENUM && (!body || old->depth == p->depth)) {
        t = pli_type_copy(p->u, old->type);
    } else {
        t = pli_type_basic(p->u, TY_ENUM);
        t->en = pli_unit_arena_alloc(&p->u->arena, sizeof *t->en);
        t->en->tag = tag;
        if (tag != NULL) {
            pli_scope_add_tag(p, tag, tok)->type = t;
        }
    }
    if (!body) {
        if (tag == NULL) {
            pli_parse_expect(p, '{', "'{' or a tag");
        }
        return t;
    }
    if (tag == NULL) {
        t->en->label = make_tag(p);
    }
    p->at++;
    enumerators(p, t->en);
    struct attrs saved = p->attrs;
    pli_parse_spec_attrs(p);
    p->attrs = saved;
    t->en->is_complete = true;
    s->def0 = t0;
    s->def1 = p->at;
    return t;
}

static bool is_named(const struct token *t, const char *word)
{
    size_t n = strlen(word);
    return (t->len == n && memcmp(t->text, word, n) == 0) ||
           (t->len == n + 4 && memcmp(t->text, "__", 2) == 0 && memcmp(t->text + 2, word, n) == 0);
}

// attribute: "__attribute__" "((" ... "))"; only its effect on layout is looked at
static void one_attr(struct parser *p)
{
    p->at++;
    size_t t0 = p->at;
    if (!pli_parse_is(p, '(')) {
        pli_parse_expect(p, '(', "'('");
    }
    pli_parse_skip_parens(p);
    for (size_t i = t0; i < p->at; i++) {
        const struct token *t = &p->u->toks[i];
        if (t->kind != TOK_IDENT) {
            continue;
        }
        if (is_named(t, "packed")) {
            p->attrs.packed = true;
        } else if (is_named(t, "vector_size") || is_named(t, "mode")) {
            p->attrs.opaque = true;
        } else if (is_named(t, "aligned")) {
            p->attrs.align = 16;
            size_t end = p->at;
            if (t[1].op == '(') {
                int64_t v;
                p->at = i + 2;
                if (!pli_parse_spec_starts(p, p->at) &&
                    pli_constant_eval(pli_parse_expr_assign(p), &v) && v > 0 && v < 1 << 20) {
                    p->attrs.align = v;
                }
            }
            p->at = end;
        }
    }
}

// attributes and asm labels, wherever they may stand
void pli_parse_spec_attrs(struct parser *p)
{
    for (;;) {
        if (pli_parse_is(p, KW_ATTRIBUTE)) {
            one_attr(p);
        } else if (pli_parse_is(p, KW_ASM) && pli_parse_next_is(p, 1, '(')) {
            p->at++;
            pli_parse_skip_parens(p);
        } else {
            return;
        }
    }
}

// layout-qualifier: "[" constant-expression? "]" | "[" "*" "]"
static int64_t layout(struct parser *p)
{
    pli_parse_expect(p, '[', "'['");
    if (pli_parse_accept(p, ']')) {
        return 0;
    }
    if (pli_parse_is(p, '*') && pli_parse_next_is(p, 1, ']')) {
        p->at += 2;
        return BLOCK_STAR;
    }
    struct node *n = pli_parse_expr_cond(p);
    pli_parse_expect(p, ']', "']'");
    int64_t v;
    if (!pli_type_is_integer(n->type) || !pli_constant_eval(n, &v)) {
        pli_diag_error(p->u, n->tok,
                       n->has_threads ? "THREADS in a block size needs static THREADS (-T=N)"
                                      : "block size is not an integer constant expression");
        return 1;
    }
    if (v < 0 && !pli_type_is_unsigned(n->type)) {
        pli_diag_error(p->u, n->tok, "block size is negative");
        return 1;
    }
    if (v < 0 || v > UPC_MAX_BLOCK) {
        pli_diag_error(p->u, n->tok, "block size %lld exceeds UPC_MAX_BLOCK_SIZE (%d)",
                       (long long)v, UPC_MAX_BLOCK);
        return 1;
    }
    return v;
}

// shared-type-qualifier: "shared" layout-qualifier?
static void shared_qual(struct parser *p, unsigned *quals, int64_t *block, size_t *block_tok)
{
    size_t tok = p->at++;
    int64_t b = pli_parse_is(p, '[') ? layout(p) : BLOCK_PLAIN;
    if ((*quals & Q_SHARED) == 0) {
        *block = b;
        *block_tok = tok;
    } else if (b != BLOCK_PLAIN) {
        if (*block != BLOCK_PLAIN && *block != b) {
            pli_diag_error(p->u, tok, "more than one block size in a declaration");
        }
        *block = b;
        *block_tok = tok;
    }
    *quals |= Q_SHARED;
}

static bool one_qual(struct parser *p, unsigned *quals, int64_t *block, size_t *block_tok)
{
    switch (pli_parse_tok(p)->op) {
    case KW_CONST:
        *quals |= Q_CONST;
        break;
    case KW_VOLATILE:
        *quals |= Q_VOLATILE;
        break;
    case KW_RESTRICT:
        *quals |= Q_RESTRICT;
        break;
    case KW_ATOMIC:
        if (pli_parse_next_is(p, 1, '(')) {
            return false;
        }
        *quals |= Q_ATOMIC;
        break;
    case KW_STRICT:
    case KW_RELAXED:
        *quals |= pli_parse_is(p, KW_STRICT) ? Q_STRICT : Q_RELAXED;
        if ((*quals & Q_STRICT) != 0 && (*quals & Q_RELAXED) != 0) {
            pli_diag_error(p->u, p->at, "both 'strict' and 'relaxed' in one qualifier list");
            *quals &= ~(unsigned)Q_RELAXED;
        }
        break;
    case KW_SHARED:
        shared_qual(p, quals, block, block_tok);
        return true;
    default:
        return false;
    }
    p->at++;
    return true;
}

void pli_parse_spec_quals(struct parser *p, unsigned *quals, int64_t *block, size_t *block_tok)
{
    size_t t0 = p->at;
    for (;;) {
        if (pli_parse_is(p, KW_ATTRIBUTE)) {
            one_attr(p);
        } else if (!one_qual(p, quals, block, block_tok)) {
            break;
        }
    }
    if ((*quals & (Q_STRICT | Q_RELAXED)) != 0 && (*quals & Q_SHARED) == 0) {
        pli_diag_error(p->u, t0, "'strict' or 'relaxed' without 'shared'");
    }
}

static bool is_type_word(int op)
{
    switch (op) {
    case KW_VOID:
    case KW_BOOL:
    case KW_CHAR:
    case KW_SHORT:
    case KW_INT:
    case KW_LONG:
    case KW_SIGNED:
    case KW_UNSIGNED:
    case KW_FLOAT:
    case KW_DOUBLE:
    case KW_COMPLEX:
    case KW_INT128:
    case KW_FLOAT16:
    case KW_FLOAT32:
    case KW_FLOAT64:
    case KW_FLOAT128:
    case KW_VA_LIST:
    case KW_AUTO_TYPE:
        return true;
    default:
        return false;
    }
}

static bool is_storage_word(int op)
{
    switch (op) {
    case KW_TYPEDEF:
    case KW_EXTERN:
    case KW_STATIC:
    case KW_AUTO:
    case KW_REGISTER:
    case KW_INLINE:
    case KW_NORETURN:
    case KW_THREAD_LOCAL:
    case KW_ALIGNAS:
        return true;
    default:
        return false;
    }
}

bool pli_parse_spec_starts(struct parser *p, size_t at)
{
    while (at < p->u->n_tok && p->u->toks[at].op == KW_EXTENSION) {
        at++;
    }
    if (at >= p->u->n_tok) {
        return false;
    }
    const struct token *t = &p->u->toks[at];
    switch (t->op) {
    case KW_STRUCT:
    case KW_UNION:
    case KW_ENUM:
    case KW_TYPEOF:
    case KW_CONST:
    case KW_VOLATILE:
    case KW_RESTRICT:
    case KW_ATOMIC:
    case KW_SHARED:
    case KW_STRICT:
    case KW_RELAXED:
    case KW_ATTRIBUTE:
        return true;
    default:
        break;
    }
    if (t->kind == TOK_IDENT && t->op == 0) {
        // "(hidden_type *)" or "hidden_type name" in a header: nothing else could stand there.
        bool hidden =
            t->name->ids == NULL && t->src->is_system &&
            ((t[1].op == '*' && t[2].op == ')') || (t[1].kind == TOK_IDENT && t[1].op == 0));
        return hidden || (t->name->ids != NULL && t->name->ids->kind == SYM_TYPEDEF);
    }
    return is_type_word(t->op) || is_storage_word(t->op);
}

struct words { // the basic type words seen, with "long" counted
    int n_void, n_bool, n_char, n_short, n_int, n_long, n_signed, n_unsigned, n_float, n_double,
        n_complex, n_int128;
    enum type_kind other;
};

static void count_word(struct words *w, int op)
{
    w->n_void += op == KW_VOID;
    w->n_bool += op == KW_BOOL;
    w->n_char += op == KW_CHAR;
    w->n_short += op == KW_SHORT;
    w->n_int += op == KW_INT;
    w->n_long += op == KW_LONG;
    w->n_signed += op == KW_SIGNED;
    w->n_unsigned += op == KW_UNSIGNED;
    w->n_float += op == KW_FLOAT || op == KW_FLOAT32;
    w->n_double += op == KW_DOUBLE || op == KW_FLOAT64;
    w->n_complex += op == KW_COMPLEX;
    w->n_int128 += op == KW_INT128;
    w->other = op == KW_FLOAT16 ? TY_FLOAT16 : op == KW_FLOAT128 ? TY_FLOAT128 : w->other;
}

static enum type_kind word_kind(const struct words *w)
{
    bool u = w->n_unsigned > 0;
    if (w->other != TY_UNKNOWN) {
        return w->other;
    }
    if (w->n_void > 0) {
        return TY_VOID;
    }
    if (w->n_bool > 0) {
        return TY_BOOL;
    }
    if (w->n_char > 0) {
        return u ? TY_UCHAR : w->n_signed > 0 ? TY_SCHAR : TY_CHAR;
    }
    if (w->n_short > 0) {
        return u ? TY_USHORT : TY_SHORT;
    }
    if (w->n_int128 > 0) {
        return u ? TY_UINT128 : TY_INT128;
    }
    if (w->n_float > 0) {
        return TY_FLOAT;
    }
    if (w->n_double > 0) {
        return w->n_long > 0 ? TY_LDOUBLE : TY_DOUBLE;
    }
    if (w->n_complex > 0 && w->n_long + w->n_int + w->n_signed + w->n_unsigned == 0) {
        return TY_DOUBLE;
    }
    if (w->n_long > 0) {
        return w->n_long > 1 ? (u ? TY_ULLONG : TY_LLONG) : (u ? TY_ULONG : TY_LONG);
    }
    return u ? TY_UINT : TY_INT;
}

static void keep(struct parser *p, struct specs *s, size_t t0)
{
    if (s->n_keep > 0 && s->keep[s->n_keep - 1][1] == t0) {
        s->keep[s->n_keep - 1][1] = p->at;
    } else if (s->n_keep < (int)(sizeof s->keep / sizeof s->keep[0])) {
        s->keep[s->n_keep][0] = t0;
        s->keep[s->n_keep++][1] = p->at;
    }
}

static void storage_word(struct parser *p, struct specs *s)
{
    size_t t0 = p->at++;
    switch (p->u->toks[t0].op) {
    case KW_TYPEDEF:
        s->storage = ST_TYPEDEF;
        break;
    case KW_EXTERN:
        s->storage = ST_EXTERN;
        s->storage_tok = t0;
        break;
    case KW_STATIC:
        s->storage = ST_STATIC;
        s->storage_tok = t0;
        break;
    case KW_AUTO:
        s->storage = ST_AUTO;
        break;
    case KW_REGISTER:
        s->storage = ST_REGISTER;
        break;
    case KW_INLINE:
        s->is_inline = true;
        break;
    case KW_THREAD_LOCAL:
        s->is_thread = true;
        break;
    case KW_ALIGNAS:
        pli_parse_skip_parens(p);
        break;
    default:
        break;
    }
    keep(p, s, t0);
}

// typeof-specifier: "typeof" "(" (expression | type-name) ")"; also "_Atomic" "(" type-name ")"
static struct type *typeof_spec(struct parser *p)
{
    size_t n0, n1;
    bool atomic = pli_parse_is(p, KW_ATOMIC);
    p->at++;
    pli_parse_expect(p, '(', "'('");
    struct type *t;
    if (pli_parse_spec_starts(p, p->at)) {
        t = pli_parse_spec_type_name(p, &n0, &n1);
    } else {
        p->unevaluated++;
        struct node *e = pli_parse_expr_comma(p);
        p->unevaluated--;
        pli_parse_edit_expr(p, e);
        t = e->type;
    }
    pli_parse_expect(p, ')', "')'");
    return atomic ? pli_type_qualify(p->u, t, Q_ATOMIC, 0) : t;
}

// A name the compiler knows as a type without any declaration, as in arm_neon.h.
static bool is_hidden_type(struct parser *p)
{
    const struct token *t = pli_parse_tok(p);
    bool reserved = t->len > 2 && memcmp(t->text, "__", 2) == 0;
    return t->kind == TOK_IDENT && t->op == 0 && t->name->ids == NULL &&
           (reserved || t->src->is_system) &&
           ((t[1].kind == TOK_IDENT && t[1].op == 0) || t[1].op == '*' || t[1].op == ')' ||
            t[1].op == KW_CONST || t[1].op == KW_ATTRIBUTE || t[1].op == ',');
}

// One type specifier; false when the token is none.
static bool type_word(struct parser *p, struct specs *s, struct words *w)
{
    struct token *t = pli_parse_tok(p);
    if (is_type_word(t->op)) {
        count_word(w, t->op);
        if (t->op == KW_VA_LIST || t->op == KW_AUTO_TYPE) {
            s->type = pli_type_basic(p->u, TY_UNKNOWN);
            s->type->tdname = t->op == KW_VA_LIST ? t->name : NULL;
        }
        p->at++;
    } else if (t->op == KW_STRUCT || t->op == KW_UNION) {
        s->type = record_spec(p, s);
    } else if (t->op == KW_ENUM) {
        s->type = enum_spec(p, s);
    } else if (t->op == KW_TYPEOF || t->op == KW_ATOMIC) {
        s->type = typeof_spec(p);
    } else if (t->kind == TOK_IDENT && t->op == 0 && !s->has_type && t->name->ids != NULL &&
               t->name->ids->kind == SYM_TYPEDEF) {
        s->type = t->name->ids->type;
        p->at++;
    } else if (!s->has_type && is_hidden_type(p)) {
        s->type = pli_type_basic(p->u, TY_UNKNOWN);
        s->type->tdname = t->name;
        struct sym *hidden = pli_unit_arena_alloc(&p->u->arena, sizeof *hidden);
        *hidden = (struct sym){ .name = t->name, .kind = SYM_TYPEDEF, .type = s->type };
        t->name->ids = hidden; // of no scope, so it is known from now on
        p->at++;
    } else {
        return false;
    }
    s->has_type = true;
    return true;
}

static void finish(struct parser *p, struct specs *s, const struct words *w)
{
    if (s->type == NULL) {
        s->type = pli_type_basic(p->u, word_kind(w));
        if (w->n_complex > 0) {
            struct type *c = pli_type_basic(p->u, TY_COMPLEX);
            c->base = s->type;
            s->type = c;
        }
    }
    const struct type *ult = pli_type_ultimate(s->type);
    bool was_shared = (ult->quals & Q_SHARED) != 0;
    unsigned sr = s->quals & (Q_STRICT | Q_RELAXED);
    if (sr != 0 && (s->quals & Q_SHARED) == 0 && !was_shared) {
        pli_diag_error(p->u, s->t0, "'%s' without 'shared'",
                       (sr & Q_STRICT) != 0 ? "strict" : "relaxed");
        s->quals &= ~sr;
    }
    if (sr != 0 && ((ult->quals | sr) & Q_STRICT) != 0 && ((ult->quals | sr) & Q_RELAXED) != 0) {
        pli_diag_error(p->u, s->t0, "both 'strict' and 'relaxed' in one type");
    }
    if (was_shared && (s->quals & Q_SHARED) != 0 && s->block != BLOCK_PLAIN &&
        ult->block != BLOCK_PLAIN && ult->block != s->block) {
        pli_diag_error(p->u, s->block_tok, "block size conflicts with that of '%s'",
                       pli_type_print_upc(p->u, s->type));
    }
    if ((s->quals & Q_SHARED) != 0 && s->type->kind == TY_FUNC) {
        pli_diag_error(p->u, s->block_tok, "function type cannot be shared");
        s->quals &= ~(unsigned)Q_SHARED;
    }
    s->type = pli_type_qualify(p->u, s->type, s->quals, s->block);
}

// declaration-specifiers: (storage | function-specifier | type-specifier | type-qualifier)+
void pli_parse_spec(struct parser *p, struct specs *s)
{
    *s = (struct specs){ .t0 = p->at, .block = BLOCK_PLAIN };
    struct words w = { 0 };
    for (;;) {
        size_t t0 = p->at;
        int op = pli_parse_tok(p)->op;
        if (op == KW_ATTRIBUTE || op == KW_EXTENSION) {
            if (op == KW_EXTENSION) {
                p->at++;
            } else {
                one_attr(p);
            }
            keep(p, s, t0);
        } else if (is_storage_word(op)) {
            storage_word(p, s);
        } else if (!one_qual(p, &s->quals, &s->block, &s->block_tok) && !type_word(p, s, &w)) {
            break;
        }
    }
    s->t1 = p->at;
    finish(p, s, &w);
}

// type-name: specifier-qualifier-list abstract-declarator?
struct type *pli_parse_spec_type_name(struct parser *p, size_t *t0, size_t *t1)
{
    *t0 = p->at;
    struct attrs saved = p->attrs;
    p->attrs = (struct attrs){ 0 };
    struct specs s;
    pli_parse_spec(p, &s);
    struct declarator *d = pli_parse_decl_declarator(p, s.type, true);
    *t1 = p->at;
    struct type *t = p->attrs.opaque ? pli_type_basic(p->u, TY_UNKNOWN) : d->type;
    p->attrs = saved;
    pli_sema_decl_type_name(p, t, *t0);
    if (pli_type_needs_print(t)) {
        pli_parse_edit(p, EDIT_TYPE, *t0, *t1)->type = t;
    }
    return t;
}
