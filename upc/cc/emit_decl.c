// SPDX-License-Identifier: BSD-3-Clause
// Writes declarations of shared types, of shared objects and of objects that need start-up code.
#include "emit_decl.h"

#include "emit.h"
#include "layout.h"
#include "lex.h"
#include "type_print.h"

// Storage class, attributes and the like, as they were written.
static void put_kept(struct emitter *e, const struct specs *s, bool with_storage)
{
    for (int i = 0; i < s->n_keep; i++) {
        for (size_t t = s->keep[i][0]; t < s->keep[i][1]; t++) {
            int op = e->u->toks[t].op;
            bool storage = op == KW_STATIC || op == KW_EXTERN || op == KW_TYPEDEF ||
                           op == KW_THREAD_LOCAL || op == KW_AUTO || op == KW_REGISTER;
            if (!storage || with_storage) {
                pli_emit_range(e, t, t + 1);
            }
        }
    }
    if (s->n_keep > 0) {
        pli_emit_puts(e, " ");
    }
}

static void put_attrs(struct emitter *e, const struct declarator *d)
{
    if (d->attr1 > d->attr0) {
        pli_emit_puts(e, " ");
        pli_emit_range(e, d->attr0, d->attr1);
    }
}

// Bytes that each thread must set aside, as an expression.
static void put_local_bytes(struct emitter *e, const struct type *t)
{
    struct size n = pli_layout_elems(t);
    int64_t b = t->kind == TY_ARRAY ? pli_type_block(t) : 0, k = n.n;
    int64_t threads = n.threads ? 1 : e->u->opt.static_threads;
    if (b > 0 && threads > 0) {
        int64_t all = b * threads;
        k = (n.n + all - 1) / all * b;
    }
    pli_emit_printf(e, "%lldUL * sizeof(", (long long)k);
    pli_emit_type(e, pli_type_ultimate(t));
    pli_emit_puts(e, ")");
}

// The private picture of an initialiser; with THREADS in the first dimension its length is open.
static struct type *image_type(struct emitter *e, struct type *t)
{
    struct type *c = pli_type_strip(e->u, t, Q_UPC | Q_CONST | Q_VOLATILE);
    if (c->kind == TY_ARRAY && c->len_threads) {
        c = pli_type_copy(e->u, c);
        c->len = LEN_NONE;
        c->len_threads = false;
    }
    return c;
}

static void put_image(struct emitter *e, struct declarator *d, int id)
{
    const char *name = pli_unit_arena_printf(&e->u->arena, "__pli_image%d_%s", id, d->name->text);
    pli_emit_puts(e, "static const ");
    pli_emit_named(e, image_type(e, d->type), name);
    pli_emit_puts(e, " = ");
    pli_emit_range(e, d->init0, d->init1);
    pli_emit_puts(e, ";");
}

// An image that is known only at start-up is written by a function in front of the declaration.
static void hoist_fill(struct emitter *e, struct declarator *d, int id)
{
    struct text saved = e->out;
    bool bol = e->bol, glued = e->glued;
    int before = e->before;
    e->out = (struct text){ 0 };
    e->before = 0;
    e->in_expr++;
    pli_emit_printf(e, "static __SIZE_TYPE__ __pli_fill%d(void *__pli_to) { ", id);
    pli_emit_named(e, image_type(e, d->type), "__pli_image");
    pli_emit_puts(e, " = ");
    pli_emit_range(e, d->init0, d->init1);
    pli_emit_puts(e,
                  "; if (__pli_to) __builtin_memcpy(__pli_to, &__pli_image, sizeof __pli_image); "
                  "return sizeof __pli_image; }");
    e->in_expr--;
    if (e->hoist.len > 0) {
        pli_unit_arena_text_puts(&e->hoist, "\n");
    }
    if (e->src != NULL && !e->u->opt.no_lines) {
        pli_emit_directive(&e->hoist, e->src, e->line);
    }
    pli_unit_arena_text_puts(&e->hoist, e->out.data);
    pli_unit_arena_text_fini(&e->out);
    e->out = saved;
    e->before = before;
    e->bol = bol;
    e->glued = glued;
}

// The row of the start-up table that tells the runtime about a shared object.
static void put_descriptor(struct emitter *e, struct declarator *d, const char *where, int id)
{
    const struct type *t = d->type;
    int64_t block = t->kind == TY_ARRAY ? pli_type_block(t) : 0;
    bool image = d->has_init && !d->dyn;
    pli_emit_printf(e, " static struct pli_upc_var __pli_var%d = { &%s, \"%s\", ", id, where,
                    d->name->text);
    put_local_bytes(e, t);
    pli_emit_printf(e, ", %lldUL * sizeof(", (long long)block);
    pli_emit_type(e, pli_type_ultimate(t));
    pli_emit_puts(e, "), sizeof(");
    pli_emit_type(e, pli_type_ultimate(t));
    pli_emit_puts(e, "), ");
    if (image) {
        const char *name = d->name->text;
        pli_emit_printf(e, "&__pli_image%d_%s, sizeof __pli_image%d_%s, 0", id, name, id, name);
    } else if (d->has_init) {
        pli_emit_printf(e, "0, 0, __pli_fill%d", id);
    } else {
        pli_emit_puts(e, "0, 0, 0");
    }
    pli_emit_printf(e, " }; PLI_UPC_ENTRY(pli_upc_vars, struct pli_upc_var, __pli_var%d);", id);
}

static void shared_definition(struct emitter *e, struct declarator *d, bool is_static, int id)
{
    const char *name = d->name->text;
    if (d->has_init && d->dyn) {
        hoist_fill(e, d, id);
    } else if (d->has_init) {
        put_image(e, d, id);
    }
    if (is_static) {
        pli_emit_printf(e, " static pli_upc_pts %s;", name);
        put_descriptor(e, d, name, id);
        return;
    }
    // The C compiler sees a constant; the runtime fills it in before main through the other name.
    pli_emit_printf(e, " extern const pli_upc_pts %s;", name);
    char def[256];
    snprintf(def, sizeof def, "__pli_def%d", id);
    pli_emit_printf(e, " extern pli_upc_pts %s __asm__(\"%s\"); pli_upc_pts %s%s;", def, name, def,
                    d->has_init ? "" : " __attribute__((weak))");
    put_descriptor(e, d, def, id);
}

static void shared_object(struct emitter *e, struct decl *d, struct declarator *x)
{
    const struct specs *s = &d->specs;
    bool is_static = s->storage == ST_STATIC ||
                     (d->at_file_scope && x->sym != NULL && x->sym->storage == ST_STATIC);
    bool defines = x->has_init || s->storage != ST_EXTERN;
    int id = ++e->n_id;
    if (!defines) {
        pli_emit_printf(e, " extern const pli_upc_pts %s;", x->name->text);
        return;
    }
    if (is_static && d->at_file_scope && !x->has_init) {
        // A tentative definition: one descriptor is enough, at the last of them or the first.
        if (x->sym->is_initialised || x->sym->is_emitted) {
            pli_emit_printf(e, " static pli_upc_pts %s;", x->name->text);
            return;
        }
    }
    if (d->at_file_scope && !x->has_init && (x->sym->is_initialised || x->sym->is_emitted)) {
        pli_emit_printf(e, " extern const pli_upc_pts %s;", x->name->text);
        return;
    }
    x->sym->is_emitted = true;
    struct declarator whole = *x;
    whole.type = d->at_file_scope ? x->sym->type : x->type;
    if (!pli_type_is_complete(whole.type) && whole.type->kind == TY_ARRAY) {
        pli_emit_printf(e, " extern const pli_upc_pts %s;", x->name->text);
        x->sym->is_emitted = false;
        return;
    }
    shared_definition(e, &whole, is_static, id);
}

static void put_name_and_init(struct emitter *e, struct declarator *x)
{
    put_attrs(e, x);
    if (x->bits1 > x->bits0) {
        pli_emit_puts(e, " : ");
        pli_emit_range(e, x->bits0, x->bits1);
    }
    if (x->has_init) {
        pli_emit_puts(e, " = ");
        pli_emit_range(e, x->init0, x->init1);
    }
}

static void put_storage(struct emitter *e, struct decl *d, const struct declarator *x)
{
    put_kept(e, &d->specs, true);
    if (x->sym != NULL && x->sym->is_tls && !d->specs.is_thread) {
        bool is_tentative = d->at_file_scope && d->specs.storage == ST_NONE && !x->has_init;
        pli_emit_puts(e, is_tentative ? PLI_EMIT_COMMON_TLS " " : "__thread ");
    }
}

// A private static object whose value needs shared or thread-local addresses.
static void dynamic_object(struct emitter *e, struct decl *d, struct declarator *x)
{
    int id = ++e->n_id;
    const char *name = x->name->text;
    struct type *plain = pli_type_strip(e->u, x->type, Q_CONST);
    put_storage(e, d, x);
    pli_emit_named(e, plain, name);
    put_attrs(e, x);
    pli_emit_puts(e, ";");
    if (d->at_file_scope) {
        pli_emit_printf(e, " static void __pli_init%d(void) {", id);
    } else {
        pli_emit_printf(e, " static %schar __pli_done%d; if (!__pli_done%d) { __pli_done%d = 1;",
                        x->sym->is_tls ? "__thread " : "", id, id, id);
    }
    pli_emit_puts(e, " ");
    pli_emit_named(e, plain, "__pli_value");
    pli_emit_puts(e, " = ");
    pli_emit_range(e, x->init0, x->init1);
    pli_emit_printf(e, "; __builtin_memcpy((void *)&%s, &__pli_value, sizeof __pli_value); }",
                    name);
    if (d->at_file_scope) {
        pli_emit_printf(e, " PLI_UPC_INIT(__pli_init%d);", id);
    }
}

// typedef int t[THREADS] at file scope, where C has no such type.
static bool is_open_typedef(const struct decl *d, const struct declarator *x)
{
    return d->at_file_scope && d->specs.storage == ST_TYPEDEF && pli_type_is_open(x->type);
}

// Does the declarator, or parameter, between these tokens say a length that has a variable?
static bool is_named_length(const struct type *t, size_t t0, size_t t1)
{
    return t->kind == TY_ARRAY && t->len_id > 0 && t->len_t0 >= t0 && t->len_t1 <= t1;
}

static void put_lengths(struct emitter *e, const struct type *t, size_t t0, size_t t1,
                        const char *before, const char *behind)
{
    for (; t->kind == TY_PTR || t->kind == TY_ARRAY; t = t->base) {
        if (is_named_length(t, t0, t1)) {
            pli_emit_printf(e, "%s__pli_len%d __attribute__((__unused__)) = ", before, t->len_id);
            pli_emit_length(e, t);
            pli_emit_puts(e, behind);
        }
    }
}

void pli_emit_decl_lengths(struct emitter *e, struct decl *d)
{
    for (const struct param *a = d->list->type->params; a != NULL; a = a->next) {
        put_lengths(e, a->type, a->t0, a->t1, " const long ", ";");
    }
}

// Consecutive declarators with the same specifiers stay one declaration, as a for loop needs it.
static struct declarator *plain_objects(struct emitter *e, struct decl *d, struct declarator *x)
{
    struct text first = { 0 };
    bool tls = x->sym != NULL && x->sym->is_tls;
    for (struct declarator *from = x; x != NULL; x = x->next) {
        struct text spec = { 0 }, decl = { 0 };
        bool is_static = d->at_file_scope || d->specs.storage == ST_STATIC;
        bool special = pli_type_is_shared(x->type) || is_open_typedef(d, x) ||
                       (x->has_init && x->dyn && is_static);
        const char *name = x->name == NULL ? "" : x->name->text;
        const struct token *t = &e->u->toks[x->tok];
        name = t->subst != NULL && x->name != NULL ? t->subst : name;
        pli_type_print_decl(&e->tp, x->type, name, &spec, &decl);
        pli_unit_arena_text_puts(&decl, "");
        bool joins = x == from || (spec.len == first.len && !special &&
                                   __builtin_strcmp(spec.data, first.data) == 0 &&
                                   (x->sym != NULL && x->sym->is_tls) == tls);
        if (joins && !special) {
            if (x == from) {
                put_storage(e, d, x);
                pli_emit_puts(e, spec.data);
                pli_unit_arena_text_puts(&first, spec.data);
            }
            pli_emit_puts(e, x == from ? " " : ", ");
            if (d->specs.storage != ST_TYPEDEF) {
                put_lengths(e, x->type, x->t0, x->t1, "", ", ");
            }
            pli_emit_puts(e, decl.data);
            put_name_and_init(e, x);
        }
        pli_unit_arena_text_fini(&spec);
        pli_unit_arena_text_fini(&decl);
        if (!joins || special) {
            break;
        }
    }
    pli_unit_arena_text_fini(&first);
    pli_emit_puts(e, ";");
    return x;
}

void pli_emit_decl(struct emitter *e, struct decl *d)
{
    if (d->specs.def1 > d->specs.def0) {
        pli_emit_range(e, d->specs.def0, d->specs.def1);
        pli_emit_puts(e, ";");
    }
    pli_emit_puts(e, " ");
    for (struct declarator *x = d->list; x != NULL && d->specs.storage == ST_TYPEDEF; x = x->next) {
        put_lengths(e, x->type, x->t0, x->t1, "const long ", "; ");
    }
    for (struct declarator *x = d->list; x != NULL;) {
        bool is_static = d->at_file_scope || d->specs.storage == ST_STATIC;
        if (pli_type_is_shared(x->type) && d->specs.storage != ST_TYPEDEF) {
            shared_object(e, d, x);
            x = x->next;
        } else if (x->has_init && x->dyn && is_static) {
            dynamic_object(e, d, x);
            x = x->next;
        } else if (pli_type_is_shared(x->type)) { // typedef of a shared type
            put_storage(e, d, x);
            if (!pli_layout_elems(x->type).threads) {
                pli_emit_named(e, x->type, x->name->text);
            } else {
                pli_emit_named(e, pli_type_ultimate(x->type), x->name->text);
            }
            pli_emit_puts(e, ";");
            x = x->next;
        } else if (is_open_typedef(d, x)) { // spelled out where it is used
            put_storage(e, d, x);
            pli_emit_named(e, pli_type_ultimate(x->type), x->name->text);
            pli_emit_puts(e, ";");
            x = x->next;
        } else {
            x = plain_objects(e, d, x);
        }
    }
}

// The head of a function definition.
void pli_emit_decl_func(struct emitter *e, struct decl *d)
{
    struct declarator *f = d->list;
    if (d->specs.def1 > d->specs.def0) {
        pli_emit_range(e, d->specs.def0, d->specs.def1);
        pli_emit_puts(e, "; ");
    }
    put_kept(e, &d->specs, true);
    const struct token *t = &e->u->toks[f->tok];
    const char *name = t->subst != NULL ? t->subst : f->name->text;
    if (!f->type->is_oldstyle) {
        pli_emit_named(e, f->type, name);
        return;
    }
    struct text head = { 0 };
    pli_unit_arena_text_printf(&head, "%s(", name);
    for (struct param *a = f->type->params; a != NULL; a = a->next) {
        pli_unit_arena_text_printf(&head, "%s%s", a->name->text, a->next != NULL ? ", " : "");
    }
    pli_unit_arena_text_puts(&head, ")");
    pli_emit_named(e, f->type->base, head.data);
    pli_unit_arena_text_fini(&head);
}
