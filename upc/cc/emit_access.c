// SPDX-License-Identifier: BSD-3-Clause
// Writes code for shared lvalues: addresses, loads, stores and the arithmetic of
// pointers-to-shared.
#include "emit_access.h"

#include "emit.h"
#include "emit_expr.h"
#include "emit_cursor.h"
#include "layout.h"
#include "lex.h"

static struct node *bare(struct node *n)
{
    while (n->kind == N_PAREN) {
        n = n->a;
    }
    return n;
}

// Does the lvalue hang on an element that a local loop has mapped to private memory?
static bool is_local(struct node *n)
{
    for (n = bare(n);; n = bare(n->a)) {
        if ((n->kind == N_INDEX && n->local != NULL) || pli_emit_cursor_moving(n) != NULL) {
            return true;
        }
        bool inner =
            n->kind == N_MEMBER || (n->kind == N_INDEX && n->a->type->kind == TY_ARRAY && !n->op);
        if (!inner) {
            return false;
        }
    }
}

static void put_local(struct emitter *e, struct node *n)
{
    n = bare(n);
    const struct sym *moving = pli_emit_cursor_moving(n);
    if (n->kind == N_INDEX && n->local != NULL && !n->own_index) {
        pli_emit_puts(e, n->local);
    } else if (moving != NULL && n->kind == N_ARROW) {
        pli_emit_printf(e, "__pli_q%d->%s", moving->moving, n->mem->name->text);
    } else if (moving != NULL) {
        bool is_step;
        pli_emit_cursor_find(n, &is_step);
        pli_emit_printf(e, "(*__pli_q%d%s)", moving->moving, is_step ? "++" : "");
    } else if (n->kind == N_INDEX) {
        if (n->local != NULL) {
            pli_emit_puts(e, n->local);
        } else {
            put_local(e, n->a);
        }
        pli_emit_puts(e, "[");
        pli_emit_expr(e, n->b);
        pli_emit_puts(e, "]");
    } else {
        put_local(e, n->a);
        pli_emit_printf(e, ".%s", n->mem->name->text);
    }
}

static void put_value_type(struct emitter *e, const struct type *t)
{
    pli_emit_type(e, pli_type_strip(e->u, (struct type *)t, ~0u));
}

static void put_elem_size(struct emitter *e, const struct type *t)
{
    pli_emit_puts(e, "sizeof(");
    pli_emit_type(e, pli_type_ultimate(t));
    pli_emit_puts(e, ")");
}

static bool is_single(const struct type *step)
{
    struct size s = pli_layout_elems(step);
    return s.known && s.n == 1 && !s.threads;
}

// " * number of elements" when a step covers more than one
static void put_factor(struct emitter *e, const struct type *step)
{
    long long n = 1;
    bool has_threads = false;
    for (const struct type *t = step; t->kind == TY_ARRAY; t = t->base) {
        if (t->len == LEN_VLA && t->len_id > 0) {
            pli_emit_printf(e, " * (long)__pli_len%d", t->len_id);
        } else if (t->len == LEN_VLA) {
            pli_emit_puts(e, " * (long)");
            pli_emit_length(e, t);
        } else {
            n *= t->len;
            has_threads |= t->len_threads;
        }
    }
    if (n != 1 || has_threads) {
        pli_emit_printf(e, " * %lld%s", n, has_threads ? "L * pli_upc_threads" : "L");
    }
}

static const char *step_name(int64_t block, bool from_start)
{
    if (block == 0) {
        return "pli_upc_addi(";
    }
    if (block == 1) {
        return from_start ? "pli_upc_index1(" : "pli_upc_add1(";
    }
    return from_start ? "pli_upc_index(" : "pli_upc_add(";
}

static void end_step(struct emitter *e, const struct type *t, int64_t block)
{
    pli_emit_puts(e, ", ");
    if (block > 1) {
        pli_emit_printf(e, "%lld, ", (long long)block);
    }
    put_elem_size(e, t);
    pli_emit_puts(e, ")");
}

void pli_emit_access_step(struct emitter *e, const struct type *ptr, struct node *base,
                          const char *text, struct node *index, bool minus)
{
    int64_t block = pli_type_block(ptr->base);
    struct node *array = base != NULL && base->kind == N_DECAY ? bare(base->a) : NULL;
    bool from_start = array != NULL && array->kind == N_IDENT;
    pli_emit_puts(e, step_name(block, from_start));
    if (base != NULL) {
        pli_emit_expr(e, base);
    } else {
        pli_emit_puts(e, text);
    }
    // A step back from an unsigned index must not wrap in the index's own width.
    pli_emit_puts(e, minus ? ", -(long)" : ", ");
    if (index == NULL) {
        pli_emit_puts(e, "1L");
    } else {
        pli_emit_puts(e, !minus && !is_single(ptr->base) ? "(long)" : "");
        pli_emit_expr_arg(e, index);
    }
    put_factor(e, ptr->base);
    end_step(e, ptr->base, block);
}

void pli_emit_access_diff(struct emitter *e, struct node *a, struct node *b)
{
    const struct type *to = a->type->base;
    int64_t block = pli_type_block(to);
    pli_emit_puts(e, block == 0   ? "pli_upc_diffi("
                     : block == 1 ? "pli_upc_diff1("
                                  : "pli_upc_diff(");
    pli_emit_expr_arg(e, a);
    pli_emit_puts(e, ", ");
    pli_emit_expr_arg(e, b);
    end_step(e, to, block);
    if (!is_single(to)) {
        pli_emit_puts(e, " / (1");
        put_factor(e, to);
        pli_emit_puts(e, ")");
    }
}

// A[i][j] is one step from the start of A: the indices are joined into one linear index.
static void put_index(struct emitter *e, struct node *n)
{
    struct node *term[16], *base = n;
    int n_term = 0;
    do {
        term[n_term++] = base;
        base = bare(base->a);
    } while (base->kind == N_INDEX && base->type->kind == TY_ARRAY && n_term < 16 &&
             pli_type_is_shared(base->type));
    int64_t block = pli_type_block(n->type);
    bool is_array = base->type->kind == TY_ARRAY;
    pli_emit_puts(e, step_name(block, is_array && base->kind == N_IDENT));
    if (is_array) {
        pli_emit_access_addr(e, base);
    } else {
        pli_emit_expr(e, base);
    }
    pli_emit_puts(e, ", ");
    for (int i = n_term; i-- > 0;) {
        if (n_term > 1 || !is_single(term[i]->type)) {
            pli_emit_puts(e, "(long)");
        }
        pli_emit_expr_arg(e, term[i]->b);
        put_factor(e, term[i]->type);
        pli_emit_puts(e, i > 0 ? " + " : "");
    }
    end_step(e, n->type, block);
}

static void put_member(struct emitter *e, struct node *n)
{
    pli_emit_puts(e, "pli_upc_member(");
    const struct type *s = n->a->type;
    const struct sym *moving = pli_emit_cursor_moving(n);
    if (moving != NULL) {
        pli_emit_cursor_here(e, moving);
        s = s->base;
    } else if (n->kind == N_ARROW) {
        pli_emit_expr(e, n->a);
        s = s->base;
    } else {
        pli_emit_access_addr(e, n->a);
    }
    pli_emit_puts(e, ", __builtin_offsetof(");
    put_value_type(e, s);
    pli_emit_printf(e, ", %s))", n->mem->name->text);
}

// __real__ and __imag__ of a shared object: side by side, like members.
static void put_complex_part(struct emitter *e, struct node *n)
{
    pli_emit_puts(e, "pli_upc_member(");
    pli_emit_access_addr(e, n->a);
    pli_emit_puts(e, n->op == KW_IMAG ? ", sizeof(" : ", 0 * sizeof(");
    put_value_type(e, n->type);
    pli_emit_puts(e, "))");
}

void pli_emit_access_addr(struct emitter *e, struct node *n)
{
    n = bare(n);
    bool is_step;
    const struct sym *pointer = pli_emit_cursor_find(n, &is_step);
    switch (n->kind) {
    case N_DEREF:
        if (pointer != NULL && !is_step) {
            pli_emit_cursor_here(e, pointer);
        } else {
            pli_emit_expr(e, n->a);
        }
        break;
    case N_INDEX:
        put_index(e, n);
        break;
    case N_MEMBER:
    case N_ARROW:
        put_member(e, n);
        break;
    case N_UNARY:
        put_complex_part(e, n);
        break;
    case N_IDENT:
        pli_emit_puts(e, n->sym->name->text);
        break;
    default:
        pli_emit_expr(e, n);
    }
}

static bool is_bits(struct node *n)
{
    n = bare(n);
    return n->mem != NULL && n->mem->is_bitfield;
}

// "(struct S, address of the structure, member" for the bit-field forms
static void put_bits_args(struct emitter *e, struct node *n)
{
    n = bare(n);
    const struct type *s = n->kind == N_ARROW ? n->a->type->base : n->a->type;
    pli_emit_puts(e, "(");
    put_value_type(e, s);
    pli_emit_puts(e, ", ");
    const struct sym *moving = pli_emit_cursor_moving(n);
    if (moving != NULL) {
        pli_emit_cursor_here(e, moving);
    } else if (n->kind == N_ARROW) {
        pli_emit_expr(e, n->a);
    } else {
        pli_emit_access_addr(e, n->a);
    }
    pli_emit_printf(e, ", %s", n->mem->name->text);
}

static void put_args(struct emitter *e, struct node *lvalue)
{
    pli_emit_puts(e, "(");
    put_value_type(e, lvalue->type);
    pli_emit_puts(e, ", ");
    pli_emit_access_addr(e, lvalue);
}

// Which form of an access macro: strict ones are volatile anyway, bit-fields have no such form.
static const char *form(const struct node *access, struct node *lvalue)
{
    if (access->is_strict) {
        return "_STRICT";
    }
    bool is_volatile =
        access->is_spun || (pli_type_ultimate(lvalue->type)->quals & Q_VOLATILE) != 0;
    return is_volatile && !is_bits(lvalue) ? "_VOLATILE" : "";
}

static bool has_const_member(const struct type *t)
{
    t = pli_type_ultimate(t);
    if (t->kind != TY_STRUCT && t->kind != TY_UNION) {
        return false;
    }
    for (const struct member *m = t->rec->members; m != NULL; m = m->next) {
        const struct type *e = pli_type_ultimate(m->type);
        if ((e->quals & Q_CONST) != 0 || has_const_member(e)) {
            return true;
        }
    }
    return false;
}

// "PLI_UPC_CURSOR_GET(type, " and the arguments that all such macros have; false: no cursor
static bool open_cursor(struct emitter *e, const char *name, struct node *lvalue)
{
    bool is_step;
    const struct sym *pointer = pli_emit_cursor_find(lvalue, &is_step);
    if (pointer == NULL || pointer->moving > 0) {
        return false;
    }
    pli_emit_printf(e, "PLI_UPC_CURSOR_%s(", name);
    put_value_type(e, lvalue->type);
    pli_emit_puts(e, ", ");
    pli_emit_cursor_args(e, pointer);
    pli_emit_printf(e, ", %d, ", is_step);
    return true;
}

void pli_emit_access_load(struct emitter *e, struct node *n)
{
    if (!n->is_strict && !n->is_spun && is_local(n->a)) {
        put_local(e, n->a);
        return;
    }
    if (!n->is_spun && open_cursor(e, "GET", n->a)) {
        pli_emit_puts(e, n->is_ahead ? "PLI_UPC_GET_AHEAD" : "PLI_UPC_GET");
    } else if (is_bits(n->a)) {
        pli_emit_printf(e, "PLI_UPC_GET_BITS%s", form(n, n->a));
        put_bits_args(e, n->a);
    } else {
        bool copy = !n->is_strict && has_const_member(n->type);
        const char *which = copy ? "_COPY" : form(n, n->a);
        pli_emit_printf(e, "PLI_UPC_GET%s", n->is_ahead && *which == '\0' ? "_AHEAD" : which);
        put_args(e, n->a);
    }
    pli_emit_puts(e, ")");
}

static void put_op(struct emitter *e, const struct node *n)
{
    const struct token *t = &e->u->toks[n->tok];
    pli_emit_place(e, n->tok);
    pli_emit_printf(e, "%.*s", (int)t->len, t->text);
}

// p += i, p++ and the like on a pointer-to-shared, wherever it lives: fetch, step, store once.
static void put_pts_update(struct emitter *e, struct node *n, struct node *index, bool minus,
                           bool old)
{
    struct node *in = bare(n->a);
    bool shared = pli_type_is_shared(n->a->type);
    int id = ++e->n_id;
    char cur[32];
    snprintf(cur, sizeof cur, "__pli_o%d", id);
    if (!shared && in->kind == N_IDENT) {
        const char *var = in->sym->name->text;
        if (old) {
            pli_emit_printf(e, "({ pli_upc_pts %s = %s; ", cur, var);
        }
        pli_emit_printf(e, "%s%s = ", old ? "" : "(", var);
        pli_emit_access_step(e, n->type, NULL, old ? cur : var, index, minus);
        if (old) {
            pli_emit_printf(e, "; %s; })", cur);
        } else {
            pli_emit_puts(e, ")");
        }
        return;
    }
    const char *strict = n->is_strict ? "_STRICT" : "";
    pli_emit_printf(e, "({ pli_upc_pts %s__pli_a%d = ", shared ? "" : "*", id);
    if (shared) {
        pli_emit_access_addr(e, n->a);
        pli_emit_printf(e, ", %s = PLI_UPC_GET%s(pli_upc_pts, __pli_a%d), __pli_n%d = ", cur,
                        strict, id, id);
    } else {
        pli_emit_puts(e, "&");
        pli_emit_expr_arg(e, n->a);
        pli_emit_printf(e, ", %s = *__pli_a%d, __pli_n%d = ", cur, id, id);
    }
    pli_emit_access_step(e, n->type, NULL, cur, index, minus);
    if (shared) {
        pli_emit_printf(e, "; PLI_UPC_PUT%s(pli_upc_pts, __pli_a%d, __pli_n%d); ", strict, id, id);
    } else {
        pli_emit_printf(e, "; *__pli_a%d = __pli_n%d; ", id, id);
    }
    pli_emit_printf(e, "%s; })", old ? cur : pli_unit_arena_printf(&e->u->arena, "__pli_n%d", id));
}

static void put_shared_assign(struct emitter *e, struct node *n)
{
    if (!n->is_strict && is_local(n->a)) {
        put_local(e, n->a);
        pli_emit_puts(e, " ");
        put_op(e, n);
        pli_emit_puts(e, " ");
        pli_emit_expr(e, n->b);
        return;
    }
    bool bits = is_bits(n->a);
    if (!open_cursor(e, n->op == '=' ? "PUT" : "UPDATE", n->a)) {
        const char *name = bits           ? "PLI_UPC_PUT_BITS"
                           : n->op == '=' ? "PLI_UPC_PUT"
                                          : "PLI_UPC_UPDATE";
        pli_emit_printf(e, "%s%s", name, form(n, n->a));
        if (bits) {
            put_bits_args(e, n->a);
        } else {
            put_args(e, n->a);
        }
        pli_emit_puts(e, ", ");
    }
    if (bits || n->op != '=') {
        put_op(e, n);
        pli_emit_puts(e, ", ");
    }
    pli_emit_expr_arg(e, n->b);
    pli_emit_puts(e, ")");
}

void pli_emit_access_assign(struct emitter *e, struct node *n)
{
    if (n->rewrite) {
        const struct node *in = bare(n->a);
        if (in->kind == N_IDENT && in->sym != NULL && in->sym->moving > 0) {
            pli_emit_cursor_step(e, in->sym, false);
        } else {
            put_pts_update(e, n, n->b, n->op == P_SUB_EQ, false);
        }
        return;
    }
    if (pli_type_is_shared(n->a->type)) {
        put_shared_assign(e, n);
        return;
    }
    pli_emit_expr(e, n->a);
    pli_emit_puts(e, " ");
    put_op(e, n);
    pli_emit_puts(e, " ");
    pli_emit_expr(e, n->b);
}

void pli_emit_access_incdec(struct emitter *e, struct node *n)
{
    bool post = n->kind == N_POSTFIX;
    bool plus = n->op == P_INC;
    if (n->rewrite) {
        const struct node *in = bare(n->a);
        if (in->kind == N_IDENT && in->sym != NULL &&
            (in->sym->cursor > 0 || in->sym->moving > 0)) {
            pli_emit_cursor_step(e, in->sym, post);
        } else {
            put_pts_update(e, n, NULL, !plus, post);
        }
        return;
    }
    bool shared = pli_type_is_shared(n->a->type);
    bool local = shared && !n->is_strict && is_local(n->a);
    if (!shared || local) {
        pli_emit_puts(e, post ? "" : plus ? "++" : "--");
        if (local) {
            put_local(e, n->a);
        } else {
            pli_emit_expr(e, n->a);
        }
        pli_emit_puts(e, !post ? "" : plus ? "++" : "--");
        return;
    }
    bool bits = is_bits(n->a);
    pli_emit_puts(e, bits   ? (post ? "PLI_UPC_POST_BITS" : "PLI_UPC_PUT_BITS")
                     : post ? "PLI_UPC_POST"
                            : "PLI_UPC_UPDATE");
    pli_emit_puts(e, form(n, n->a));
    if (bits) {
        put_bits_args(e, n->a);
    } else {
        put_args(e, n->a);
    }
    pli_emit_puts(e, plus ? ", +=, 1)" : ", -=, 1)");
}
