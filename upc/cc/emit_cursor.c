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
    return n->kind == N_IDENT && n->sym != NULL && n->sym->cursor > 0 ? n->sym : NULL;
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

void pli_emit_cursor_here(struct emitter *e, const struct sym *s)
{
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
    pli_emit_printf(e, "%s = pli_upc_cursor_step(", s->name->text);
    pli_emit_cursor_args(e, s);
    put_size(e, s);
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
        if (s->cursor == 0 && !s->is_addressed) {
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
