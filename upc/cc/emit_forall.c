// SPDX-License-Identifier: BSD-3-Clause
// Writes upc_forall loops. Where the pattern is known, a thread visits only its own iterations and
// reaches its elements through plain pointers; otherwise each iteration is tested.
#include "emit_forall.h"

#include "emit.h"
#include "emit_access.h"
#include "emit_cursor.h"
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
    pli_emit_puts(e, f->is_while ? " }" : "");
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

static struct type *row_of(struct emitter *e, const struct sym *s)
{
    return pli_type_strip(e->u, s->type->base, Q_UPC);
}

// Has it a symbol of its own name, which tells it from other arrays [pli_upc_of]?
static bool has_symbol(const struct sym *s)
{
    return s->type->kind == TY_ARRAY && s->depth == 0 && s->storage != ST_STATIC;
}

// A second declaration of the array's symbol, in front of the function.
static void declare_symbol(struct emitter *e, struct sym *s)
{
    if (has_symbol(s) && !s->is_symbol_named) {
        pli_unit_arena_text_printf(&e->hoist, " extern char __pli_symbol_%s[] __asm__(\"%s\");",
                                   s->name->text, s->name->text);
        s->is_symbol_named = true;
    }
}

// "= " where an array, or what a pointer leads to, is in private memory: all of it, or this
// thread's part
static void put_part(struct emitter *e, const struct sym *s, bool is_whole)
{
    if (has_symbol(s)) {
        pli_emit_printf(e, " = pli_upc_of(__pli_symbol_%s, ", s->name->text);
    } else {
        pli_emit_puts(e, " = (");
    }
    if (is_whole) {
        pli_emit_printf(e, "(pli_upc_near)(%s));", s->name->text);
        return;
    }
    pli_emit_printf(e, "pli_upc_here(%s, sizeof(", s->name->text);
    pli_emit_type(e, pli_type_ultimate(row_of(e, s)));
    pli_emit_puts(e, ")));");
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
            struct type *ptr = pli_type_ptr(e->u, row_of(e, s));
            ptr->quals = Q_CONST;
            declare_symbol(e, s);
            pli_emit_puts(e, " __attribute__((__unused__)) ");
            pli_emit_named(e, ptr, name);
            put_part(e, s, n->own_index);
        }
        const char *fmt = n->own_index   ? "__pli_part%d_%d"
                          : f->unit == 1 ? "__pli_part%d_%d[__pli_g%d + __pli_k%d]"
                                         : "__pli_part%d_%d[__pli_i%d + __pli_d%d]";
        n->local = pli_unit_arena_printf(&e->u->arena, fmt, id, k, id, id);
    }
}

// The first neighbour with the same row.
static int first_near(const struct forall *f, int i)
{
    int k = 0;
    while (!f->near[k].is_row || base_of(f->near[k].node) != base_of(f->near[i].node) ||
           f->near[k].shift != f->near[i].shift) {
        k++;
    }
    return k;
}

// Memory for copies of far rows, and private pointers to the blocks of single elements.
static void map_near(struct emitter *e, const struct forall *f, int id)
{
    for (int i = 0; i < f->n_near; i++) {
        struct sym *s = base_of(f->near[i].node);
        char name[40];
        snprintf(name, sizeof name, f->near[i].is_row ? "__pli_copy%d_%d" : "__pli_near%d_%d", id,
                 i);
        declare_symbol(e, s);
        if (!f->near[i].is_row && f->unit > 1) {
            struct type *ptr = pli_type_ptr(e->u, row_of(e, s));
            ptr->quals = Q_CONST;
            pli_emit_puts(e, " ");
            pli_emit_named(e, ptr, name);
            put_part(e, s, false);
        } else if (f->near[i].is_copied && first_near(f, i) == i) {
            pli_emit_puts(e, " ");
            pli_emit_named(e, pli_type_strip(e->u, row_of(e, s), ~0u), name);
            pli_emit_puts(e, ";");
        }
    }
}

static void put_row(struct emitter *e, const struct forall *f, int id, int i)
{
    const struct sym *s = base_of(f->near[i].node);
    char name[40];
    snprintf(name, sizeof name, "__pli_row%d_%d", id, i);
    struct type *ptr = pli_type_ptr(e->u, row_of(e, s));
    ptr->quals = Q_CONST;
    pli_emit_puts(e, " ");
    pli_emit_named(e, ptr, name);
    if (has_symbol(s)) {
        pli_emit_printf(e, " = pli_upc_row(__pli_symbol_%s, ", s->name->text);
    } else {
        pli_emit_puts(e, " = pli_upc_row(0, ");
    }
    pli_emit_printf(e, "%s, (long)%s + (%lldL), %lldL%s, %lldL, %lldL, sizeof(", s->name->text,
                    f->var->name->text, (long long)f->near[i].shift, (long long)s->type->len,
                    s->type->len_threads ? " * pli_upc_threads" : "",
                    (long long)pli_layout_elems(s->type->base).n,
                    (long long)pli_type_block(s->type->base));
    pli_emit_type(e, pli_type_ultimate(row_of(e, s)));
    if (f->near[i].is_copied) {
        pli_emit_printf(e, "), (void *)&__pli_copy%d_%d);", id, i);
    } else {
        pli_emit_puts(e, "), 0);");
    }
}

static void set_near(struct emitter *e, struct forall *f, int id, bool with_rows, bool with_elems)
{
    for (int i = 0; i < f->n_near; i++) {
        bool is_row = f->near[i].is_row;
        f->near[i].node->local =
            !(is_row ? with_rows : with_elems) ? NULL
            : is_row
                ? pli_unit_arena_printf(&e->u->arena, "(*__pli_row%d_%d)", id, first_near(f, i))
            : f->unit == 1
                ? pli_unit_arena_printf(&e->u->arena, "__pli_near%d_%d[__pli_k%d]", id, i, id)
                : pli_unit_arena_printf(&e->u->arena,
                                        "__pli_near%d_%d[__pli_i%d + __pli_d%d + (%lldL)]", id, i,
                                        id, id, (long long)f->near[i].shift);
    }
}

// The body of one iteration, with what is near it through plain pointers as far as they are there.
static void near_body(struct emitter *e, struct forall *f, int id, bool with_elems)
{
    bool must_ask = false;
    for (int i = 0; i < f->n_near; i++) {
        if (f->near[i].is_row && first_near(f, i) == i) {
            put_row(e, f, id, i);
            must_ask |= !f->near[i].is_copied;
        }
    }
    if (must_ask) {
        pli_emit_puts(e, " if (1");
        for (int i = 0; i < f->n_near; i++) {
            if (f->near[i].is_row && first_near(f, i) == i && !f->near[i].is_copied) {
                pli_emit_printf(e, " && __pli_row%d_%d != 0", id, i);
            }
        }
        pli_emit_puts(e, ") {");
    }
    set_near(e, f, id, true, with_elems);
    body(e, f);
    set_near(e, f, id, false, false);
    if (must_ask) {
        pli_emit_puts(e, " } else {");
        body(e, f);
        pli_emit_puts(e, " }");
    }
}

// A private pointer to where element `i` is, and those that follow in steps of THREADS.
static void put_strided(struct emitter *e, struct sym *s, const char *name, const char *index,
                        struct node *node)
{
    struct type *ptr = pli_type_ptr(e->u, row_of(e, s));
    ptr->quals = Q_CONST;
    pli_emit_puts(e, " ");
    pli_emit_named(e, ptr, name);
    pli_emit_printf(e, " = pli_upc_strided(%s, ", s->name->text);
    e->in_expr++;
    if (node != NULL) {
        pli_emit_puts(e, "(long)");
        pli_emit_expr_arg(e, node);
    } else {
        pli_emit_puts(e, index);
    }
    e->in_expr--;
    pli_emit_puts(e, ", sizeof(");
    pli_emit_type(e, row_of(e, s));
    pli_emit_puts(e, "));");
}

// The same by way of the symbol of the array, once it is known to be mapped.
static void put_named(struct emitter *e, struct sym *s, const char *name, const char *from)
{
    struct type *ptr = pli_type_ptr(e->u, row_of(e, s));
    ptr->quals = Q_CONST;
    pli_emit_puts(e, " ");
    pli_emit_named(e, ptr, name);
    if (has_symbol(s)) {
        declare_symbol(e, s);
        pli_emit_printf(e, " = pli_upc_of(__pli_symbol_%s, %s);", s->name->text, from);
    } else {
        pli_emit_printf(e, " = %s;", from);
    }
}

static void cyclic_iterations(struct emitter *e, struct forall *f, int id, bool with_elems)
{
    pli_emit_printf(e,
                    " for (long __pli_k%d = 0; __pli_k%d < __pli_n%d; __pli_k%d++) {"
                    " %s = __pli_f%d - __pli_sh%d + __pli_k%d * pli_upc_threads;",
                    id, id, id, id, f->var->name->text, id, id, id);
    near_body(e, f, id, with_elems);
    pli_emit_puts(e, " }");
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
    char name[40], from[40];
    int n_elem = 0;
    for (int i = 0; i < f->n_near; i++) {
        if (!f->near[i].is_row) {
            snprintf(from, sizeof from, "__pli_at%d_%d", id, i);
            put_strided(e, base_of(f->near[i].node), from,
                        pli_unit_arena_printf(&e->u->arena, "__pli_f%d - __pli_sh%d + (%lldL)", id,
                                              id, (long long)f->near[i].shift),
                        NULL);
            n_elem++;
        }
    }
    if (n_elem > 0) {
        pli_emit_puts(e, " if (PLI_UPC_TRUST");
        for (int i = 0; i < f->n_near; i++) {
            if (!f->near[i].is_row) {
                pli_emit_printf(e, " && __pli_at%d_%d != 0", id, i);
            }
        }
        pli_emit_puts(e, ") {");
        for (int i = 0; i < f->n_near; i++) {
            if (!f->near[i].is_row) {
                snprintf(name, sizeof name, "__pli_near%d_%d", id, i);
                snprintf(from, sizeof from, "__pli_at%d_%d", id, i);
                put_named(e, base_of(f->near[i].node), name, from);
            }
        }
        cyclic_iterations(e, f, id, true);
        pli_emit_puts(e, " } else");
    }
    cyclic_iterations(e, f, id, false);
}

static void iterations(struct emitter *e, struct forall *f, int id, const char *from,
                       const char *to, bool with_elems)
{
    pli_emit_printf(e,
                    " for (long __pli_i%d = %s%d; __pli_i%d < %s%d; __pli_i%d++) {"
                    " %s = __pli_i%d - __pli_sh%d;",
                    id, from, id, id, to, id, id, f->var->name->text, id, id);
    near_body(e, f, id, with_elems);
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
    pli_emit_printf(e,
                    " const long __pli_x%d = __pli_s%d < __pli_lo%d ? __pli_lo%d : __pli_s%d,"
                    " __pli_y%d = __pli_e%d < __pli_hi%d ? __pli_e%d : __pli_hi%d;",
                    id, id, id, id, id, id, id, id, id, id);
    int64_t before = 0, behind = 0;
    for (int i = 0; i < f->n_near; i++) {
        int64_t shift = f->near[i].is_row ? 0 : f->near[i].shift;
        before = shift < before ? shift : before;
        behind = shift > behind ? shift : behind;
    }
    if (before == 0 && behind == 0) {
        iterations(e, f, id, "__pli_x", "__pli_y", false);
    } else {
        // First and last those whose neighbours are in other blocks.
        pli_emit_printf(e,
                        " const long __pli_u%d = __pli_s%d + %lldL, __pli_w%d = __pli_e%d - %lldL,"
                        " __pli_p%d = __pli_u%d > __pli_y%d ? __pli_y%d : __pli_u%d < __pli_x%d ?"
                        " __pli_x%d : __pli_u%d, __pli_q%d = __pli_w%d > __pli_y%d ? __pli_y%d :"
                        " __pli_w%d < __pli_p%d ? __pli_p%d : __pli_w%d;",
                        id, id, (long long)-before, id, id, (long long)behind, id, id, id, id, id,
                        id, id, id, id, id, id, id, id, id, id, id);
        pli_emit_printf(e,
                        " for (int __pli_z%d = 0; __pli_z%d < 2; __pli_z%d++) {"
                        " const long __pli_j%d = __pli_z%d ? __pli_q%d : __pli_x%d,"
                        " __pli_k%d = __pli_z%d ? __pli_y%d : __pli_p%d;",
                        id, id, id, id, id, id, id, id, id, id, id);
        iterations(e, f, id, "__pli_j", "__pli_k", false);
        pli_emit_printf(e, " if (__pli_z%d == 0) {", id);
        iterations(e, f, id, "__pli_p", "__pli_q", true);
        pli_emit_puts(e, " } }");
    }
    pli_emit_puts(e, " }");
}

// A block that begins with the first clause of the loop.
static void open_block(struct emitter *e, const struct forall *f)
{
    pli_emit_puts(e, "{");
    clause(e, f->init0, f->init1);
    if (!f->init_is_decl || e->out.data[e->out.len - 1] != ';') {
        pli_emit_puts(e, ";");
    }
}

// Iterations are counted from where an array could start: __pli_sh before the first.
static void local_loop(struct emitter *e, struct forall *f, int id)
{
    const char *var = f->var->name->text;
    open_block(e, f);
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
    map_near(e, f, id);
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
        return n->sym != NULL && n->sym->kind == SYM_VAR && n->sym->type->kind != TY_ARRAY &&
               is_exposed(n->sym);
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
        bool is_known = !f->is_stride || !may_change(f->index[i]->b);
        if (is_known && (s->type->kind != TY_PTR || !is_exposed(s))) {
            f->index[n++] = f->index[i];
        }
    }
    f->n_index = n;
    bool moves = f->base != NULL && f->base->type->kind == TY_PTR && is_exposed(f->base);
    return !moves && !f->var->is_addressed && !may_change(f->limit);
}

// The first of the elements that has the same index of the same array or pointer.
static int first_strided(const struct forall *f, int i)
{
    int k = 0;
    while (base_of(f->index[k]) != base_of(f->index[i]) || f->index[k]->b->kind != N_IDENT ||
           f->index[i]->b->kind != N_IDENT) {
        if (k == i) {
            break;
        }
        k++;
    }
    return k;
}

// A plain loop with steps of THREADS. Each of its elements goes on in the memory of one thread; if
// all that is mapped here, through plain pointers.
static void stride_loop(struct emitter *e, struct forall *f, int id)
{
    char name[40], from[40];
    bool must_trust = false;
    open_block(e, f);
    for (int i = 0; i < f->n_index; i++) {
        if (first_strided(f, i) == i) {
            snprintf(from, sizeof from, "__pli_at%d_%d", id, i);
            put_strided(e, base_of(f->index[i]), from, NULL, f->index[i]->b);
        }
    }
    pli_emit_puts(e, " if (1");
    for (int i = 0; i < f->n_index; i++) {
        if (first_strided(f, i) == i) {
            pli_emit_printf(e, " && __pli_at%d_%d != 0", id, i);
            must_trust |=
                base_of(f->index[i])->type->kind == TY_PTR || f->index[i]->b->kind != N_IDENT;
        }
    }
    pli_emit_puts(e, must_trust ? " && PLI_UPC_TRUST) {" : ") {");
    for (int i = 0; i < f->n_index; i++) {
        int k = first_strided(f, i);
        if (k == i) {
            snprintf(name, sizeof name, "__pli_part%d_%d", id, i);
            snprintf(from, sizeof from, "__pli_at%d_%d", id, i);
            put_named(e, base_of(f->index[i]), name, from);
        }
        f->index[i]->local =
            pli_unit_arena_printf(&e->u->arena, "__pli_part%d_%d[__pli_k%d]", id, k, id);
    }
    pli_emit_printf(e, " long __pli_k%d = 0; for (; ", id);
    clause(e, f->cond0, f->cond1);
    pli_emit_puts(e, "; ");
    clause(e, f->step0, f->step1);
    pli_emit_printf(e, ", __pli_k%d++) {", id);
    body(e, f);
    for (int i = 0; i < f->n_index; i++) {
        f->index[i]->local = NULL;
    }
    pli_emit_puts(e, " } } else");
    plain_loop(e, f, false);
    body(e, f);
    pli_emit_puts(e, " }");
}

// Those that an upc_forall around it, or something that the body does, leaves to this loop.
static void keep_runs(struct forall *f)
{
    int n = 0;
    for (int i = 0; i < f->n_index; i++) {
        struct node *in = f->index[i];
        bool is_left = in->local == NULL;
        while (in->kind != N_IDENT) {
            is_left &=
                in->kind != N_INDEX || (in->local == NULL && !(f->is_opaque && may_change(in->b)));
            in = in->a;
        }
        is_left &= !(f->is_opaque && in->sym->type->kind == TY_PTR && is_exposed(in->sym));
        if (is_left) {
            f->runs[n++] = f->index[i];
        }
    }
    f->n_run = n;
}

// From the current iteration on: where each element is, and for how many iterations all go on in
// their blocks.
static void put_runs(struct emitter *e, struct forall *f, int id, int loop)
{
    pli_emit_printf(e,
                    " const long __pli_at%d = (long)%s;"
                    " long __pli_run%d = __pli_hi%d - __pli_at%d;",
                    id, f->var->name->text, id, loop, id);
    for (int i = 0; i < f->n_run; i++) {
        struct node *n = f->runs[i];
        int64_t block = pli_type_block(n->type);
        pli_emit_printf(e, " const pli_upc_pts __pli_p%d_%d = ", id, i);
        e->in_expr++;
        pli_emit_access_addr(e, n);
        e->in_expr--;
        pli_emit_puts(e, ";");
        if (block > 0) {
            pli_emit_printf(
                e, " __pli_run%d = pli_upc_run_length(__pli_run%d, __pli_p%d_%d, %lldL, %lldL);",
                id, id, id, i, (long long)block, (long long)pli_layout_elems(n->type).n);
        }
    }
    char room[40];
    snprintf(room, sizeof room, "__pli_run%d", id);
    pli_emit_cursor_rooms(e, f, room);
}

// "if (" all of it is mapped ") {" with a plain pointer to each
static void open_runs(struct emitter *e, struct forall *f, int id, const char *condition)
{
    pli_emit_puts(e, " if (PLI_UPC_TRUST");
    for (int i = 0; i < f->n_run; i++) {
        pli_emit_printf(e, " && (pli_upc_near)(__pli_p%d_%d) != 0", id, i);
    }
    pli_emit_cursor_mapped(e, f);
    pli_emit_printf(e, "%s) {", condition);
    pli_emit_cursor_begin(e, f);
    for (int i = 0; i < f->n_run; i++) {
        struct node *n = f->runs[i];
        struct sym *s = base_of(n);
        char name[40];
        snprintf(name, sizeof name, "__pli_r%d_%d", id, i);
        struct type *ptr = pli_type_ptr(e->u, pli_type_strip(e->u, n->type, Q_UPC));
        ptr->quals = Q_CONST;
        declare_symbol(e, s);
        pli_emit_puts(e, " ");
        pli_emit_named(e, ptr, name);
        if (has_symbol(s)) {
            pli_emit_printf(e, " = pli_upc_of(__pli_symbol_%s, (pli_upc_near)(__pli_p%d_%d));",
                            s->name->text, id, i);
        } else {
            pli_emit_printf(e, " = (pli_upc_near)(__pli_p%d_%d);", id, i);
        }
        n->local = pli_unit_arena_printf(&e->u->arena, "__pli_r%d_%d[(long)%s - __pli_at%d]", id, i,
                                         f->var->name->text, id);
        n->own_index = false;
    }
}

static void close_runs(struct emitter *e, struct forall *f)
{
    pli_emit_cursor_end(e, f);
    for (int i = 0; i < f->n_run; i++) {
        f->runs[i]->local = NULL;
    }
}

// Left by break before its end, the whole loop is over.
static void run_piece(struct emitter *e, struct forall *f, int id)
{
    pli_emit_printf(e, " for (; (long)%s < __pli_to%d; ", f->var->name->text, id);
    clause(e, f->step0, f->step1);
    pli_emit_puts(e, ")");
    body(e, f);
}

static void end_piece(struct emitter *e, const struct forall *f, int id)
{
    pli_emit_printf(e, " if ((long)%s < __pli_to%d) break;", f->var->name->text, id);
}

// A plain loop that counts by one, through plain pointers: as it is written if all of it stays in
// the blocks where it begins, piece by piece otherwise. What is far is reached as ever.
static void run_loop(struct emitter *e, struct forall *f, int id)
{
    const char *whole = pli_unit_arena_printf(
        &e->u->arena, " && __pli_run%d == __pli_hi%d - __pli_at%d", id, id, id);
    pli_emit_printf(e, " const long __pli_hi%d = (long)", id);
    e->in_expr++;
    pli_emit_expr_arg(e, f->limit);
    e->in_expr--;
    pli_emit_puts(e, f->limit_op == P_LE ? " + 1;" : ";");
    put_runs(e, f, id, id);
    open_runs(e, f, id, whole);
    plain_loop(e, f, false);
    body(e, f);
    close_runs(e, f);
    int loop = id;
    id = ++e->n_id;
    pli_emit_printf(e, " } else while ((long)%s < __pli_hi%d) {", f->var->name->text, loop);
    put_runs(e, f, id, loop);
    pli_emit_printf(e, " const long __pli_to%d = __pli_at%d + (__pli_run%d > 0 ? __pli_run%d : 1);",
                    id, id, id, id);
    open_runs(e, f, id, pli_unit_arena_printf(&e->u->arena, " && __pli_run%d > 0", id));
    run_piece(e, f, id);
    close_runs(e, f);
    end_piece(e, f, id);
    pli_emit_puts(e, " } else {");
    run_piece(e, f, id);
    end_piece(e, f, id);
    pli_emit_puts(e, " } }");
}

// A loop that counts nothing, or whose end a pointer decides ("p < end"): as many iterations at
// once as its pointers stay in their blocks, through private ones. Otherwise one as ever.
static void walk_loop(struct emitter *e, struct forall *f, int id)
{
    const struct sym *s = f->walker;
    bool is_told = f->left != NULL && !f->left->is_addressed; // the condition holds so many times
    bool is_stride = false;
    for (int i = 0; i < f->n_moving; i++) {
        is_stride |= f->moving[i].sym == s && f->moving[i].is_stride;
    }
    pli_emit_puts(e, " while (");
    if (s != NULL) {
        clause(e, f->cond0, f->cond1);
        pli_emit_printf(e, ") { long __pli_n%d = pli_upc_walk(%s, ", id, s->name->text);
        e->in_expr++;
        pli_emit_expr_arg(e, f->limit);
        e->in_expr--;
        pli_emit_printf(e, ", '%c', %d, %lldL, sizeof(",
                        f->limit_op == P_NE   ? '!'
                        : f->limit_op == P_LE ? 'l'
                                              : '<',
                        is_stride, (long long)pli_type_block(s->type->base));
        pli_emit_type(e, pli_type_ultimate(s->type->base));
        pli_emit_puts(e, "));");
    } else {
        pli_emit_printf(e, "1) { long __pli_n%d = ", id);
        if (is_told) {
            pli_emit_printf(e, "(long)%s - %d;", f->left->name->text, f->left_less);
        } else {
            pli_emit_puts(e, "1L << 40;");
        }
    }
    pli_emit_cursor_rooms(e, f, pli_unit_arena_printf(&e->u->arena, "__pli_n%d", id));
    pli_emit_printf(e, " if (PLI_UPC_TRUST && __pli_n%d > 0", id);
    pli_emit_cursor_mapped(e, f);
    pli_emit_puts(e, ") {");
    pli_emit_cursor_begin(e, f);
    if (s != NULL) {
        pli_emit_printf(e,
                        " __auto_type const __pli_end%d = __pli_q%d + __pli_n%d;"
                        " for (; __pli_q%d != __pli_end%d; ",
                        id, s->moving, id, s->moving, id);
        clause(e, f->step0, f->step1);
    } else {
        pli_emit_printf(e, " for (; __pli_n%d > 0 && (%s", id, is_told ? "(void)(" : "");
        clause(e, f->cond0, f->cond1);
        pli_emit_puts(e, is_told ? "), 1); " : f->cond1 > f->cond0 ? "); " : "1); ");
        clause(e, f->step0, f->step1);
        pli_emit_printf(e, "%s __pli_n%d--", f->step1 > f->step0 ? "," : "", id);
    }
    pli_emit_puts(e, ")");
    body(e, f);
    if (s != NULL) {
        pli_emit_printf(e, " const int __pli_left%d = __pli_q%d != __pli_end%d;", id, s->moving,
                        id);
    } else {
        pli_emit_printf(e, " const int __pli_left%d = __pli_n%d > 0;", id, id);
    }
    pli_emit_cursor_end(e, f);
    pli_emit_printf(e, " if (__pli_left%d) break; } else { int __pli_one%d = 1; for (; __pli_one%d",
                    id, id, id);
    if (s == NULL && f->cond1 > f->cond0) {
        pli_emit_puts(e, " && (");
        clause(e, f->cond0, f->cond1);
        pli_emit_puts(e, ")");
    }
    pli_emit_puts(e, "; ");
    clause(e, f->step0, f->step1);
    pli_emit_printf(e, "%s __pli_one%d = 0)", f->step1 > f->step0 ? "," : "", id);
    body(e, f);
    pli_emit_printf(e, " if (__pli_one%d) break; } }", id);
}

static void as_written(struct emitter *e, const struct forall *f, bool with_init)
{
    plain_loop(e, f, with_init);
    body(e, f);
}

// A loop that is no upc_forall and has elements or pointers that follow each other.
static void moving_loop(struct emitter *e, struct forall *f, int id)
{
    keep_runs(f);
    bool is_steady =
        !f->is_opaque || (!may_change(f->limit) && !(f->is_run && f->var->is_addressed));
    bool is_walked = f->walker == NULL || !f->walker->is_addressed;
    open_block(e, f);
    pli_emit_cursor_keep(e, f);
    if (f->is_run && is_steady && f->n_run + f->n_moving > 0) {
        run_loop(e, f, id);
    } else if (!f->is_run && is_walked && (f->walker == NULL || is_steady) && f->n_moving > 0) {
        walk_loop(e, f, id);
    } else {
        as_written(e, f, false);
    }
    pli_emit_cursor_release(f);
    pli_emit_puts(e, " }");
}

void pli_emit_forall(struct emitter *e, struct forall *f)
{
    int id = ++e->n_id;
    if (f->is_run || f->n_moving > 0) {
        moving_loop(e, f, id);
    } else if (f->is_stride && is_safe(f) && f->n_index > 0) {
        stride_loop(e, f, id);
    } else if (f->is_stride) {
        as_written(e, f, true);
    } else if (f->kind == AFF_NONE) {
        as_written(e, f, true);
    } else if (f->var != NULL && !f->is_nested && is_safe(f)) {
        local_loop(e, f, id);
    } else {
        tested_loop(e, f, true, id);
    }
}
