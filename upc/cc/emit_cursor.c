// SPDX-License-Identifier: BSD-3-Clause
// Writes loops that go through shared data by *p++.
#include "emit_cursor.h"

#include "lex.h"

static const struct node *bare(const struct node *n)
{
    while (n->kind == N_PAREN || n->kind == N_RVALUE) {
        n = n->a;
    }
    return n;
}

const struct sym *pli_emit_cursor_find(const struct node *lvalue, bool *is_step)
{
    const struct node *n = bare(lvalue);
    if (n->kind != N_DEREF) {
        return NULL;
    }
    n = bare(n->a);
    *is_step = n->kind == N_POSTFIX && n->op == P_INC;
    n = *is_step ? bare(n->a) : n;
    return n->kind == N_IDENT && n->sym != NULL && (n->sym->cursor > 0 || n->sym->moving > 0)
               ? n->sym
               : NULL;
}

const struct sym *pli_emit_cursor_moving(const struct node *lvalue)
{
    const struct node *n = bare(lvalue);
    bool is_step;
    const struct sym *s = pli_emit_cursor_find(n, &is_step);
    if (n->kind == N_ARROW && bare(n->a)->kind == N_IDENT) {
        s = bare(n->a)->sym;
    }
    return s != NULL && s->moving > 0 ? s : NULL;
}

void pli_emit_cursor_args(struct emitter *e, const struct sym *s)
{
    pli_emit_printf(e, "%s, &__pli_w%d, %lld", s->name->text, s->cursor,
                    (long long)pli_type_block(s->type->base));
}

static void put_size(struct emitter *e, const struct sym *s)
{
    pli_emit_puts(e, ", sizeof(");
    pli_emit_type(e, pli_type_ultimate(s->type->base));
    pli_emit_puts(e, "))");
}

// p + (the steps that the private pointer made)
static void put_moved(struct emitter *e, const struct sym *s)
{
    long long block = pli_type_block(s->type->base);
    const char *by = s->is_strided ? " * pli_upc_threads" : "";
    pli_emit_puts(e, block == 0 ? "pli_upc_addi(" : block == 1 ? "pli_upc_add1(" : "pli_upc_add(");
    pli_emit_printf(e, "%s, (long)(__pli_q%d - __pli_b%d)%s", s->name->text, s->moving, s->moving,
                    by);
    if (block > 1) {
        pli_emit_printf(e, ", %lld", block);
    }
    put_size(e, s);
}

void pli_emit_cursor_here(struct emitter *e, const struct sym *s)
{
    if (s->moving > 0) {
        put_moved(e, s);
        return;
    }
    pli_emit_puts(e, "pli_upc_cursor_here(");
    pli_emit_cursor_args(e, s);
    put_size(e, s);
}

void pli_emit_cursor_step(struct emitter *e, const struct sym *s, bool is_post)
{
    int id = ++e->n_id;
    if (is_post) {
        pli_emit_printf(e, "({ pli_upc_pts __pli_o%d = ", id);
        pli_emit_cursor_here(e, s);
        pli_emit_puts(e, "; ");
    } else {
        pli_emit_puts(e, "({ ");
    }
    if (s->moving > 0) {
        pli_emit_printf(e, "__pli_q%d++", s->moving);
    } else {
        pli_emit_printf(e, "%s = pli_upc_cursor_step(", s->name->text);
        pli_emit_cursor_args(e, s);
        put_size(e, s);
    }
    pli_emit_puts(e, "; ");
    if (is_post) {
        pli_emit_printf(e, "__pli_o%d", id);
    } else {
        pli_emit_cursor_here(e, s);
    }
    pli_emit_puts(e, "; })");
}

// Pointers that have a cursor from a loop around it go on with that. One whose address is taken
// somewhere has none, which is known only now that all of the function has been read.
void pli_emit_cursor_loop(struct emitter *e, struct edit *d)
{
    struct cursors w = { .n = 0 };
    for (int i = 0; i < d->cursors.n; i++) {
        struct sym *s = d->cursors.sym[i];
        if (s->cursor == 0 && s->moving == 0 && !s->is_addressed) {
            w.sym[w.n++] = s;
        }
    }
    pli_emit_puts(e, w.n > 0 ? " {" : "");
    for (int i = 0; i < w.n; i++) {
        w.sym[i]->cursor = ++e->n_id;
        pli_emit_printf(e, " struct pli_upc_cursor __pli_w%d = { 0, 0 };", w.sym[i]->cursor);
    }
    pli_emit_range(e, d->t0, d->t1);
    for (int i = 0; i < w.n; i++) {
        pli_emit_printf(e, " %s = ", w.sym[i]->name->text);
        pli_emit_cursor_here(e, w.sym[i]);
        pli_emit_puts(e, ";");
        w.sym[i]->cursor = 0;
    }
    pli_emit_puts(e, w.n > 0 ? " }" : "");
}

void pli_emit_cursor_keep(struct emitter *e, struct forall *f)
{
    int n = 0;
    for (int i = 0; i < f->n_moving; i++) {
        struct sym *s = f->moving[i].sym;
        if (!s->is_addressed && s->moving == 0) {
            f->moving[n++] = f->moving[i];
        }
    }
    f->n_moving = n;
    for (int i = 0; i < n; i++) { // what a loop around it goes by
        struct sym *s = f->moving[i].sym;
        f->moving[i].cursor = s->cursor;
        if (s->cursor > 0) {
            pli_emit_printf(e, " %s = ", s->name->text);
            pli_emit_cursor_here(e, s);
            pli_emit_printf(e, "; __pli_w%d = (struct pli_upc_cursor){ 0, 0 };", s->cursor);
            s->cursor = 0;
        }
    }
}

void pli_emit_cursor_release(struct forall *f)
{
    for (int i = 0; i < f->n_moving; i++) {
        f->moving[i].sym->cursor = f->moving[i].cursor;
    }
}

void pli_emit_cursor_rooms(struct emitter *e, const struct forall *f, const char *room)
{
    for (int i = 0; i < f->n_moving; i++) {
        const struct sym *s = f->moving[i].sym;
        int64_t block = pli_type_block(s->type->base);
        if (block > 1) {
            pli_emit_printf(e, " %s = pli_upc_room(%s, %s, %lldL, %d);", room, room, s->name->text,
                            (long long)block, f->moving[i].is_late);
        }
    }
}

void pli_emit_cursor_mapped(struct emitter *e, const struct forall *f)
{
    for (int i = 0; i < f->n_moving; i++) {
        pli_emit_printf(e, " && (pli_upc_near)(%s) != 0", f->moving[i].sym->name->text);
    }
}

void pli_emit_cursor_begin(struct emitter *e, struct forall *f)
{
    for (int i = 0; i < f->n_moving; i++) {
        struct sym *s = f->moving[i].sym;
        char name[40];
        s->moving = ++e->n_id;
        s->is_strided = f->moving[i].is_stride;
        struct type *ptr = pli_type_ptr(e->u, pli_type_strip(e->u, s->type->base, Q_UPC));
        snprintf(name, sizeof name, "__pli_q%d", s->moving);
        pli_emit_puts(e, " ");
        pli_emit_named(e, ptr, name);
        pli_emit_printf(e, " = (pli_upc_near)(%s); __auto_type const __pli_b%d = __pli_q%d;",
                        s->name->text, s->moving, s->moving);
    }
}

void pli_emit_cursor_end(struct emitter *e, struct forall *f)
{
    for (int i = 0; i < f->n_moving; i++) {
        struct sym *s = f->moving[i].sym;
        pli_emit_printf(e, " %s = ", s->name->text);
        put_moved(e, s);
        pli_emit_puts(e, ";");
        s->moving = 0;
    }
}
