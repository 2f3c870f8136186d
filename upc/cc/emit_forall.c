// SPDX-License-Identifier: BSD-3-Clause
// Writes upc_forall loops. Where the pattern is known, a thread visits only its own iterations and
// reaches its elements through plain pointers; otherwise each iteration is tested.
#include "emit_forall.h"

#include "emit.h"
#include "emit_expr.h"
#include "layout.h"
#include "lex.h"

static void clause(struct emitter *e, size_t t0, size_t t1)
{
    e->in_expr++;
    pli_emit_range(e, t0, t1);
    e->in_expr--;
}

static void body(struct emitter *e, const struct forall *f)
{
    int saved = e->in_expr;
    e->in_expr = 0;
    pli_emit_range(e, f->body0, f->body1);
    e->in_expr = saved;
}

static void plain_loop(struct emitter *e, const struct forall *f, bool with_init)
{
    pli_emit_puts(e, " for (");
    if (with_init) {
        clause(e, f->init0, f->init1);
    }
    if (!with_init || !f->init_is_decl || e->out.data[e->out.len - 1] != ';') {
        pli_emit_puts(e, "; ");
    }
    clause(e, f->cond0, f->cond1);
    pli_emit_puts(e, "; ");
    clause(e, f->step0, f->step1);
    pli_emit_puts(e, ")");
}

static void affinity_test(struct emitter *e, const struct forall *f)
{
    bool uns = pli_type_is_unsigned(f->aff->type);
    pli_emit_puts(e, f->kind == AFF_PTS ? "pli_upc_is_mine("
                     : uns              ? "pli_upc_is_mine_u("
                                        : "pli_upc_is_mine_i(");
    e->in_expr++;
    pli_emit_expr(e, f->aff);
    e->in_expr--;
    pli_emit_puts(e, ")");
}

// Every thread evaluates the affinity once per iteration; inside another forall it does not select.
static void tested_loop(struct emitter *e, const struct forall *f, bool with_init, int id)
{
    pli_emit_printf(e, "{ const int __pli_depth%d = pli_upc_forall_depth;", id);
    pli_emit_puts(e, " for (");
    if (with_init) {
        clause(e, f->init0, f->init1);
    }
    if (!with_init || !f->init_is_decl || e->out.data[e->out.len - 1] != ';') {
        pli_emit_puts(e, "; ");
    }
    clause(e, f->cond0, f->cond1);
    pli_emit_printf(e, "; pli_upc_forall_depth = __pli_depth%d", id);
    if (f->step1 > f->step0) {
        pli_emit_puts(e, ", ");
        clause(e, f->step0, f->step1);
    }
    pli_emit_puts(e, ") if (");
    affinity_test(e, f);
    pli_emit_printf(e, " || __pli_depth%d > 0) { pli_upc_forall_depth = __pli_depth%d + 1;", id,
                    id);
    body(e, f);
    pli_emit_printf(e, " } pli_upc_forall_depth = __pli_depth%d; }", id);
}

static struct sym *base_of(const struct node *index)
{
    const struct node *n = index->a;
    while (n->kind != N_IDENT) {
        n = n->a;
    }
    return n->sym;
}

// The first of the nodes with the same array or pointer.
static int first_with(const struct forall *f, int i)
{
    int k = 0;
    while (base_of(f->index[k]) != base_of(f->index[i])) {
        k++;
    }
    return k;
}

// How far a pointer is from where an array could start, in iterations: all must agree.
static void put_shift(struct emitter *e, const struct sym *s)
{
    pli_emit_printf(e, "pli_upc_shift(%s, %lldL, %lldL)", s->name->text,
                    (long long)pli_type_block(s->type->base),
                    (long long)pli_layout_elems(s->type->base).n);
}

// " && ..." of what must be known of the pointers before the loop may use private memory.
static void put_conditions(struct emitter *e, const struct forall *f, int id)
{
    bool has_pointer = f->base != NULL && f->base->type->kind == TY_PTR;
    if (has_pointer) {
        pli_emit_printf(e, " && __pli_sh%d >= 0", id);
    }
    for (int i = 0; i < f->n_index; i++) {
        const struct sym *s = base_of(f->index[i]);
        if (first_with(f, i) != i || s == f->base) {
            continue;
        }
        if (f->index[i]->own_index) {
            pli_emit_printf(e, " && (pli_upc_near)(%s) != 0", s->name->text);
        } else if (s->type->kind == TY_PTR) {
            pli_emit_puts(e, " && ");
            put_shift(e, s);
            pli_emit_printf(e, " == __pli_sh%d", id);
        } else if (has_pointer) {
            pli_emit_printf(e, " && __pli_sh%d == 0", id);
        } else {
            continue;
        }
        has_pointer = true;
    }
    pli_emit_puts(e, has_pointer ? " && PLI_UPC_TRUST" : "");
}

// Private pointers to every array that the loop reaches so: to this thread's part, or to all of it.
static void map_arrays(struct emitter *e, struct forall *f, int id)
{
    for (int i = 0; i < f->n_index; i++) {
        struct node *n = f->index[i];
        struct sym *s = base_of(n);
        int k = first_with(f, i);
        if (k == i) {
            char name[40];
            snprintf(name, sizeof name, "__pli_part%d_%d", id, k);
            struct type *row = pli_type_strip(e->u, s->type->base, Q_UPC);
            struct type *ptr = pli_type_ptr(e->u, row);
            ptr->quals = Q_CONST;
            pli_emit_puts(e, " __attribute__((__unused__)) ");
            pli_emit_named(e, ptr, name);
            pli_emit_printf(e,
                            n->own_index ? " = (pli_upc_near)(%s);" : " = pli_upc_here(%s, sizeof(",
                            s->name->text);
            if (!n->own_index) {
                pli_emit_type(e, pli_type_ultimate(row));
                pli_emit_puts(e, "));");
            }
        }
        const char *fmt = n->own_index   ? "__pli_part%d_%d"
                          : f->unit == 1 ? "__pli_part%d_%d[__pli_g%d + __pli_k%d]"
                                         : "__pli_part%d_%d[__pli_i%d + __pli_d%d]";
        n->local = pli_unit_arena_printf(&e->u->arena, fmt, id, k, id, id);
    }
}

// Counted by local elements, so that the C compiler knows the trip count and a step of one.
static void cyclic_loop(struct emitter *e, struct forall *f, int id)
{
    pli_emit_printf(e,
                    " const long __pli_f%d = pli_upc_first(__pli_lo%d),"
                    " __pli_g%d __attribute__((__unused__)) = __pli_f%d / pli_upc_threads,"
                    " __pli_n%d = __pli_f%d < __pli_hi%d ? (__pli_hi%d - __pli_f%d - 1) /"
                    " pli_upc_threads + 1 : 0;",
                    id, id, id, id, id, id, id, id, id);
    pli_emit_printf(e,
                    " for (long __pli_k%d = 0; __pli_k%d < __pli_n%d; __pli_k%d++) {"
                    " %s = __pli_f%d - __pli_sh%d + __pli_k%d * pli_upc_threads;",
                    id, id, id, id, f->var->name->text, id, id, id);
    body(e, f);
    pli_emit_puts(e, " }");
}

static void blocked_loop(struct emitter *e, struct forall *f, int id)
{
    long long u = f->unit;
    pli_emit_printf(e,
                    " for (long __pli_b%d = pli_upc_first(__pli_lo%d / %lldL);"
                    " __pli_b%d * %lldL < __pli_hi%d; __pli_b%d += pli_upc_threads) {",
                    id, id, u, id, u, id, id);
    pli_emit_printf(e,
                    " const long __pli_s%d = __pli_b%d * %lldL, __pli_e%d = __pli_s%d + %lldL,"
                    " __pli_d%d __attribute__((__unused__)) ="
                    " __pli_b%d / pli_upc_threads * %lldL - __pli_s%d;",
                    id, id, u, id, id, u, id, id, u, id);
    pli_emit_printf(
        e,
        " for (long __pli_i%d = __pli_s%d < __pli_lo%d ? __pli_lo%d : __pli_s%d,"
        " __pli_t%d = __pli_e%d < __pli_hi%d ? __pli_e%d : __pli_hi%d; __pli_i%d < __pli_t%d;"
        " __pli_i%d++) { %s = __pli_i%d - __pli_sh%d;",
        id, id, id, id, id, id, id, id, id, id, id, id, id, f->var->name->text, id, id);
    body(e, f);
    pli_emit_puts(e, " } }");
}

// Iterations are counted from where an array could start: __pli_sh before the first.
static void local_loop(struct emitter *e, struct forall *f, int id)
{
    const char *var = f->var->name->text;
    pli_emit_puts(e, "{");
    clause(e, f->init0, f->init1);
    if (!f->init_is_decl || e->out.data[e->out.len - 1] != ';') {
        pli_emit_puts(e, ";");
    }
    pli_emit_printf(e, " const long __pli_sh%d = ", id);
    if (f->base != NULL && f->base->type->kind == TY_PTR) {
        put_shift(e, f->base);
    } else {
        pli_emit_puts(e, "0");
    }
    pli_emit_printf(e, "; if (pli_upc_forall_depth == 0 && (long)%s >= 0", var);
    put_conditions(e, f, id);
    pli_emit_printf(e,
                    ") { const long __pli_lo%d = __pli_sh%d + %s, __pli_hi%d = __pli_sh%d + (long)",
                    id, id, var, id, id);
    e->in_expr++;
    pli_emit_expr_arg(e, f->limit);
    e->in_expr--;
    pli_emit_puts(e, f->limit_op == P_LE ? " + 1;" : ";");
    map_arrays(e, f, id);
    pli_emit_puts(e, " pli_upc_forall_depth = 1;");
    if (f->unit == 1) {
        cyclic_loop(e, f, id);
    } else {
        blocked_loop(e, f, id);
    }
    for (int i = 0; i < f->n_index; i++) {
        f->index[i]->local = NULL;
    }
    pli_emit_printf(e,
                    " pli_upc_forall_depth = 0; if (__pli_lo%d < __pli_hi%d) %s = __pli_hi%d -"
                    " __pli_sh%d; } else ",
                    id, id, var, id, id);
    tested_loop(e, f, false, id);
    pli_emit_puts(e, " }");
}

// May a call, or a write through a pointer, change the variable?
static bool is_exposed(const struct sym *s)
{
    return s->is_addressed || s->depth == 0 || s->storage == ST_STATIC || s->storage == ST_EXTERN;
}

// Can the body change the counter or the limit without naming them? Known only now that all of
// the function has been read.
static bool may_change(const struct node *n)
{
    if (n == NULL) {
        return false;
    }
    if (n->kind == N_IDENT) {
        return n->sym != NULL && n->sym->kind == SYM_VAR && is_exposed(n->sym);
    }
    return may_change(n->a) || may_change(n->kind == N_SIZEOF ? NULL : n->b);
}

// Leaves out what the body might change; false: the loop itself must be tested.
static bool is_safe(struct forall *f)
{
    if (!f->is_opaque) {
        return true;
    }
    int n = 0;
    for (int i = 0; i < f->n_index; i++) {
        const struct sym *s = base_of(f->index[i]);
        if (s->type->kind != TY_PTR || !is_exposed(s)) {
            f->index[n++] = f->index[i];
        }
    }
    f->n_index = n;
    bool moves = f->base != NULL && f->base->type->kind == TY_PTR && is_exposed(f->base);
    return !moves && !f->var->is_addressed && !may_change(f->limit);
}

void pli_emit_forall(struct emitter *e, struct forall *f)
{
    int id = ++e->n_id;
    if (f->kind == AFF_NONE) {
        plain_loop(e, f, true);
        body(e, f);
    } else if (f->var != NULL && !f->is_nested && is_safe(f)) {
        local_loop(e, f, id);
    } else {
        tested_loop(e, f, true, id);
    }
}
