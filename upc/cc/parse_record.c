// SPDX-License-Identifier: BSD-3-Clause
// struct, union and enum specifiers.
#include "parse.h"

// Untagged types get a tag in the output, so that rewritten declarations can name them.
static const char *make_tag(struct parser *p)
{
    const char *label = pli_arena_printf(&p->u->arena, "__pli_anon_%d", ++p->n_anon);
    struct token *brace = pli_parse_tok(p);
    brace->prefix = label;
    return label;
}

static struct member *add_member(struct parser *p, struct record *r, struct member ***tail,
                                 struct name *name, struct type *type)
{
    struct member *m = pli_arena_alloc(&p->u->arena, sizeof *m);
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
        d = pli_arena_alloc(&p->u->arena, sizeof *d);
        d->t0 = d->t1 = d->tok = p->at;
        d->type = s->type;
    } else {
        d = pli_parse_dtor(p, s->type, false);
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
    struct decl *d = pli_arena_alloc(&p->u->arena, sizeof *d);
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
    struct record *r = pli_arena_alloc(&p->u->arena, sizeof *r);
    r->is_union = is_union;
    r->tag = tag;
    r->size = -1;
    if (tag != NULL) {
        pli_scope_add_tag(p, tag, tok)->type = record_type(p, r);
    }
    return r;
}

// struct-or-union-specifier: ("struct" | "union") attribute* tag? ("{" struct-declaration* "}")?
struct type *pli_parse_record_spec(struct parser *p, struct specs *s)
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
struct type *pli_parse_record_enum(struct parser *p, struct specs *s)
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
        t->en = pli_arena_alloc(&p->u->arena, sizeof *t->en);
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
