// SPDX-License-Identifier: BSD-3-Clause
// Keeps scopes and names. Each name carries its innermost declaration, so lookup costs nothing.
#include "scope.h"

#include "parse.h"

#include <string.h>

void pli_scope_push(struct parser *p)
{
    struct scope *s = pli_unit_arena_alloc(&p->u->arena, sizeof *s);
    s->outer = p->scope;
    p->scope = s;
    p->depth++;
}

void pli_scope_pop(struct parser *p)
{
    struct scope *s = p->scope;
    for (struct sym *i = s->syms; i != NULL; i = i->scope_next) {
        i->name->ids = i->outer;
    }
    for (struct sym *i = s->tags; i != NULL; i = i->scope_next) {
        i->name->tags = i->outer;
    }
    p->scope = s->outer;
    p->depth--;
}

static struct sym *make(struct parser *p, struct name *name, enum sym_kind kind, size_t tok)
{
    struct sym *s = pli_unit_arena_alloc(&p->u->arena, sizeof *s);
    s->name = name;
    s->kind = kind;
    s->tok = tok;
    s->depth = p->depth;
    s->is_system = p->u->toks[tok].src->is_system;
    return s;
}

struct sym *pli_scope_add(struct parser *p, struct name *name, enum sym_kind kind, size_t tok)
{
    struct sym *s = make(p, name, kind, tok);
    s->outer = name->ids;
    name->ids = s;
    s->scope_next = p->scope->syms;
    p->scope->syms = s;
    return s;
}

struct sym *pli_scope_add_tag(struct parser *p, struct name *name, size_t tok)
{
    struct sym *s = make(p, name, SYM_TAG, tok);
    s->outer = name->tags;
    name->tags = s;
    s->scope_next = p->scope->tags;
    p->scope->tags = s;
    return s;
}

// What the compiler declares by itself. Result types matter only where they meet shared operands.
void pli_scope_builtin(struct parser *p)
{
    static const struct {
        const char *name;
        enum type_kind ret;
    } funcs[] = {
        { "__builtin_expect", TY_LONG },       { "__builtin_memcpy", TY_PTR },
        { "__builtin_memset", TY_PTR },        { "__builtin_strlen", TY_ULONG },
        { "__builtin_constant_p", TY_INT },    { "__builtin_alloca", TY_PTR },
        { "__builtin_malloc", TY_PTR },        { "__builtin_abort", TY_VOID },
        { "__builtin_trap", TY_VOID },         { "__builtin_unreachable", TY_VOID },
        { "__builtin_popcount", TY_INT },      { "__builtin_clz", TY_INT },
        { "__builtin_ctz", TY_INT },           { "__builtin_popcountl", TY_INT },
        { "__builtin_object_size", TY_ULONG }, { "__builtin_huge_val", TY_DOUBLE },
        { "__builtin_inf", TY_DOUBLE },        { "__builtin_nan", TY_DOUBLE },
        { "__builtin_inff", TY_FLOAT },        { "__builtin_nanf", TY_FLOAT },
        { "__builtin_bswap32", TY_UINT },      { "__builtin_bswap64", TY_ULONG },
        { "__builtin_bswap16", TY_USHORT },    { "__builtin_fabs", TY_DOUBLE },
        { "__builtin_sqrt", TY_DOUBLE },       { "__builtin_abs", TY_INT },
    };
    for (size_t i = 0; i < sizeof funcs / sizeof funcs[0]; i++) {
        struct name *n = pli_lex_name(p->u, funcs[i].name, strlen(funcs[i].name));
        struct sym *s = pli_scope_add(p, n, SYM_FUNC, 0);
        struct type *ret = pli_type_basic(p->u, funcs[i].ret);
        if (funcs[i].ret == TY_PTR) {
            ret->base = pli_type_basic(p->u, TY_VOID);
        }
        s->type = pli_type_func(p->u, ret);
        s->type->is_oldstyle = true;
        s->is_system = true;
    }
    struct name *n = pli_lex_name(p->u, "__uint128_t", 11);
    struct sym *s = pli_scope_add(p, n, SYM_TYPEDEF, 0);
    s->type = pli_type_basic(p->u, TY_UINT128);
    s->type->tdname = n;
}
