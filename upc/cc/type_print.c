// SPDX-License-Identifier: BSD-3-Clause
// Writes types as text: C for the output, UPC for diagnostics.
#include "type_print.h"

#include "type.h"

#include <string.h>

static const char *const basic_name[] = {
    [TY_UNKNOWN] = "int",
    [TY_VOID] = "void",
    [TY_BOOL] = "_Bool",
    [TY_CHAR] = "char",
    [TY_SCHAR] = "signed char",
    [TY_UCHAR] = "unsigned char",
    [TY_SHORT] = "short",
    [TY_USHORT] = "unsigned short",
    [TY_INT] = "int",
    [TY_UINT] = "unsigned int",
    [TY_LONG] = "long",
    [TY_ULONG] = "unsigned long",
    [TY_LLONG] = "long long",
    [TY_ULLONG] = "unsigned long long",
    [TY_INT128] = "__int128",
    [TY_UINT128] = "unsigned __int128",
    [TY_FLOAT16] = "_Float16",
    [TY_FLOAT] = "float",
    [TY_DOUBLE] = "double",
    [TY_LDOUBLE] = "long double",
    [TY_FLOAT128] = "_Float128",
};

static void put_quals(struct text *out, unsigned quals, bool restrict_ok)
{
    if ((quals & Q_CONST) != 0) {
        pli_unit_arena_text_puts(out, "const ");
    }
    if ((quals & Q_VOLATILE) != 0) {
        pli_unit_arena_text_puts(out, "volatile ");
    }
    if ((quals & Q_ATOMIC) != 0) {
        pli_unit_arena_text_puts(out, "_Atomic ");
    }
    if (restrict_ok && (quals & Q_RESTRICT) != 0) {
        pli_unit_arena_text_puts(out, "__restrict ");
    }
}

static void put_core(struct text *out, const struct type *t)
{
    switch (t->kind) {
    case TY_STRUCT:
    case TY_UNION:
        pli_unit_arena_text_printf(out, "%s %s", t->rec->is_union ? "union" : "struct",
                                   t->rec->tag != NULL ? t->rec->tag->text : t->rec->label);
        break;
    case TY_ENUM:
        pli_unit_arena_text_printf(out, "enum %s",
                                   t->en->tag != NULL ? t->en->tag->text : t->en->label);
        break;
    case TY_COMPLEX:
        pli_unit_arena_text_puts(out, "_Complex ");
        put_core(out, t->base);
        break;
    default:
        pli_unit_arena_text_puts(out, basic_name[t->kind]);
    }
}

static void wrap(struct text *t, const char *before, const char *after)
{
    struct text n = { 0 };
    pli_unit_arena_text_puts(&n, before);
    pli_unit_arena_text_puts(&n, t->len > 0 ? t->data : "");
    pli_unit_arena_text_puts(&n, after);
    pli_unit_arena_text_fini(t);
    *t = n;
}

static void print_type(struct type_printer *tp, const struct type *t, struct text *spec,
                       struct text *decl);

static void print_params(struct type_printer *tp, const struct type *t, struct text *out)
{
    pli_unit_arena_text_puts(out, "(");
    if (t->params == NULL && !t->is_oldstyle) {
        pli_unit_arena_text_puts(out, "void");
    }
    for (const struct param *p = t->params; p != NULL; p = p->next) {
        struct text spec = { 0 }, decl = { 0 };
        pli_type_print_decl(tp, p->type, p->name == NULL ? "" : p->name->text, &spec, &decl);
        pli_unit_arena_text_printf(out, "%s %s", spec.data, decl.len > 0 ? decl.data : "");
        pli_unit_arena_text_puts(out, p->next != NULL ? ", " : "");
        pli_unit_arena_text_fini(&spec);
        pli_unit_arena_text_fini(&decl);
    }
    pli_unit_arena_text_puts(out, t->is_variadic ? ", ...)" : ")");
}

static void print_array(struct type_printer *tp, const struct type *t, struct text *spec,
                        struct text *decl)
{
    struct text len = { 0 };
    pli_unit_arena_text_puts(&len, "[");
    if (t->len == LEN_VLA && t->len_id > 0) {
        pli_unit_arena_text_printf(&len, "__pli_len%d", t->len_id);
    } else if (t->len == LEN_VLA && tp->len != NULL) {
        tp->len(tp->arg, t->len_t0, t->len_t1, &len);
    } else if (t->len >= 0) {
        pli_unit_arena_text_printf(&len, "%lld%s", (long long)t->len,
                                   t->len_threads ? " * pli_upc_threads" : "");
    }
    pli_unit_arena_text_puts(&len, "]");
    wrap(decl, "", len.data);
    pli_unit_arena_text_fini(&len);
    print_type(tp, t->base, spec, decl);
}

static void print_pointer(struct type_printer *tp, const struct type *t, struct text *spec,
                          struct text *decl)
{
    struct text star = { 0 };
    pli_unit_arena_text_puts(&star, "*");
    put_quals(&star, t->quals, true);
    bool paren = t->base->tdname == NULL && (t->base->kind == TY_ARRAY || t->base->kind == TY_FUNC);
    if (paren) {
        wrap(&star, "(", "");
    }
    wrap(decl, star.data, paren ? ")" : "");
    pli_unit_arena_text_fini(&star);
    print_type(tp, t->base, spec, decl);
}

static void print_type(struct type_printer *tp, const struct type *t, struct text *spec,
                       struct text *decl)
{
    bool plain_name = t->tdname != NULL && !pli_type_is_shared(t);
    if (plain_name || pli_type_is_pts(t)) {
        put_quals(spec, t->quals, !pli_type_is_pts(t));
        pli_unit_arena_text_puts(spec, plain_name ? t->tdname->text : "pli_upc_pts");
        return;
    }
    switch (t->kind) {
    case TY_PTR:
        print_pointer(tp, t, spec, decl);
        break;
    case TY_ARRAY:
        print_array(tp, t, spec, decl);
        break;
    case TY_FUNC: {
        struct text params = { 0 };
        print_params(tp, t, &params);
        wrap(decl, "", params.data);
        pli_unit_arena_text_fini(&params);
        print_type(tp, t->base, spec, decl);
        break;
    }
    default:
        put_quals(spec, t->quals, false);
        put_core(spec, t);
    }
}

void pli_type_print_decl(struct type_printer *tp, const struct type *t, const char *name,
                         struct text *spec, struct text *decl)
{
    pli_unit_arena_text_puts(decl, name);
    print_type(tp, t, spec, decl);
}

static void upc_quals(struct text *out, const struct type *t)
{
    if ((t->quals & Q_SHARED) != 0) {
        pli_unit_arena_text_puts(out, "shared ");
        if (t->block == 0) {
            pli_unit_arena_text_puts(out, "[] ");
        } else if (t->block == BLOCK_STAR) {
            pli_unit_arena_text_puts(out, "[*] ");
        } else if (t->block != BLOCK_PLAIN && t->block != 1) {
            pli_unit_arena_text_printf(out, "[%lld] ", (long long)t->block);
        }
    }
    pli_unit_arena_text_puts(out, (t->quals & Q_STRICT) != 0 ? "strict " : "");
    pli_unit_arena_text_puts(out, (t->quals & Q_RELAXED) != 0 ? "relaxed " : "");
    put_quals(out, t->quals, true);
}

static const char *upc_params(struct unit *u, const struct type *t)
{
    const char *list = t->params == NULL && !t->is_oldstyle ? "void" : "";
    for (const struct param *a = t->params; a != NULL; a = a->next) {
        list = pli_unit_arena_printf(&u->arena, "%s%s%s", list, a == t->params ? "" : ", ",
                                     pli_type_print_upc(u, a->type));
    }
    return pli_unit_arena_printf(&u->arena, "(%s%s)", list, t->is_variadic ? ", ..." : "");
}

static void upc_type(struct unit *u, const struct type *t, struct text *spec, struct text *decl)
{
    switch (t->kind) {
    case TY_PTR: {
        struct text star = { 0 };
        pli_unit_arena_text_puts(&star, "*");
        upc_quals(&star, t);
        bool paren = t->base->kind == TY_ARRAY || t->base->kind == TY_FUNC;
        if (paren) {
            wrap(&star, "(", "");
        }
        wrap(decl, star.data, paren ? ")" : "");
        pli_unit_arena_text_fini(&star);
        upc_type(u, t->base, spec, decl);
        break;
    }
    case TY_ARRAY: {
        char len[64] = "[]";
        if (t->len >= 0) {
            snprintf(len, sizeof len, "[%lld%s]", (long long)t->len,
                     t->len_threads ? "*THREADS" : "");
        }
        wrap(decl, "", len);
        upc_type(u, t->base, spec, decl);
        break;
    }
    case TY_FUNC:
        wrap(decl, "", upc_params(u, t));
        upc_type(u, t->base, spec, decl);
        break;
    default:
        upc_quals(spec, t);
        if (t->tdname != NULL) {
            pli_unit_arena_text_puts(spec, t->tdname->text);
        } else if ((t->kind == TY_STRUCT || t->kind == TY_UNION) && t->rec->tag == NULL) {
            pli_unit_arena_text_printf(spec, "%s <anonymous>",
                                       t->rec->is_union ? "union" : "struct");
        } else {
            put_core(spec, t);
        }
    }
}

const char *pli_type_print_upc(struct unit *u, const struct type *t)
{
    struct text spec = { 0 }, decl = { 0 };
    pli_unit_arena_text_puts(&decl, "");
    upc_type(u, t, &spec, &decl);
    size_t n = decl.len;
    while (n > 0 && decl.data[n - 1] == ' ') {
        n--;
    }
    char *s = pli_unit_arena_printf(&u->arena, "%s%s%.*s", spec.data, n > 0 ? " " : "", (int)n,
                                    n > 0 ? decl.data : "");
    pli_unit_arena_text_fini(&spec);
    pli_unit_arena_text_fini(&decl);
    return s;
}
