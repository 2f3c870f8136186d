// SPDX-License-Identifier: BSD-3-Clause
// Makes implicit conversions: of assignment, initialisation, argument passing and return.
#include "sema_conv.h"

#include "constant.h"
#include "layout.h"
#include "parse.h"
#include "sema.h"
#include "type_print.h"

// The phase survives a conversion only to shared void *, from it to a blocked type, and between
// types of equal block size and element size.
bool pli_sema_conv_resets(const struct type *from, const struct type *to)
{
    int64_t bf = pli_type_block(from->base), bt = pli_type_block(to->base);
    if (pli_type_is_generic(to)) {
        return false;
    }
    if (pli_type_is_generic(from)) {
        return bt <= 1;
    }
    if (bf <= 1) {
        return false; // there is no phase to lose
    }
    if (bf != bt) {
        return true;
    }
    const struct type *ef = pli_type_ultimate(from->base), *et = pli_type_ultimate(to->base);
    if (!pli_type_is_complete(ef) || !pli_type_is_complete(et)) {
        return true;
    }
    struct size sf = pli_layout_size(ef), st = pli_layout_size(et);
    return !sf.known || !st.known || sf.n != st.n;
}

static void check_quals(struct parser *p, const struct node *n, const struct type *to,
                        const char *what)
{
    unsigned from_q = pli_type_ultimate(n->type->base)->quals;
    unsigned to_q = pli_type_ultimate(to->base)->quals;
    unsigned lost = from_q & ~to_q & (Q_CONST | Q_VOLATILE | Q_STRICT | Q_RELAXED);
    if (lost != 0) {
        pli_diag_warn(p->u, n->tok, "%s discards '%s' from the pointer target type", what,
                      (lost & Q_STRICT) != 0    ? "strict"
                      : (lost & Q_RELAXED) != 0 ? "relaxed"
                      : (lost & Q_CONST) != 0   ? "const"
                                                : "volatile");
    }
}

static struct node *wrap(struct parser *p, enum node_kind kind, struct node *a, struct type *type)
{
    struct node *n = pli_sema_wrap(p, kind, a, type);
    n->upc = true;
    return n;
}

static struct node *pts_to_pts(struct parser *p, struct node *n, struct type *to, const char *what)
{
    struct type *from = n->type;
    if (!pli_type_is_generic(from) && !pli_type_is_generic(to)) {
        if (pli_type_block(from->base) != pli_type_block(to->base)) {
            pli_diag_error(p->u, n->tok, "%s: block sizes of '%s' and '%s' differ; use a cast",
                           what, pli_type_print_upc(p->u, from), pli_type_print_upc(p->u, to));
        } else if (!pli_type_compat(from->base, to->base, false)) {
            pli_diag_error(p->u, n->tok,
                           "%s: '%s' and '%s' point to incompatible types; use a cast", what,
                           pli_type_print_upc(p->u, from), pli_type_print_upc(p->u, to));
        }
    }
    check_quals(p, n, to, what);
    if (!pli_sema_conv_resets(from, to)) {
        return n;
    }
    struct node *c = wrap(p, N_CONV, n, to);
    c->op = true;
    return c;
}

static struct node *to_pts(struct parser *p, struct node *n, struct type *to, const char *what)
{
    if (pli_constant_is_null(n)) {
        return wrap(p, N_NULL, n, to);
    }
    if (pli_type_is_pts(n->type)) {
        return pts_to_pts(p, n, to, what);
    }
    if (n->type->kind == TY_PTR) {
        pli_diag_error(p->u, n->tok, "%s makes pointer-to-shared '%s' from pointer-to-local '%s'",
                       what, pli_type_print_upc(p->u, to), pli_type_print_upc(p->u, n->type));
    } else if (n->type->kind != TY_UNKNOWN) {
        pli_diag_error(p->u, n->tok, "%s makes pointer-to-shared '%s' from '%s'", what,
                       pli_type_print_upc(p->u, to), pli_type_print_upc(p->u, n->type));
    }
    return n;
}

// To the C compiler all pointers-to-shared are one type.
static bool mentions_pts(const struct type *t)
{
    if (t->kind == TY_FUNC) {
        for (const struct param *a = t->params; a != NULL; a = a->next) {
            if (mentions_pts(a->type)) {
                return true;
            }
        }
    }
    bool is_derived = t->kind == TY_PTR || t->kind == TY_ARRAY || t->kind == TY_FUNC;
    return pli_type_is_pts(t) || (is_derived && mentions_pts(t->base));
}

static void check_local(struct parser *p, const struct node *n, const struct type *to,
                        const char *what)
{
    const struct type *from = n->type;
    if (from->kind == TY_PTR && to->kind == TY_PTR && mentions_pts(from->base) &&
        mentions_pts(to->base) && !pli_type_compat(from->base, to->base, false)) {
        pli_diag_warn(p->u, n->tok, "%s: '%s' and '%s' point to incompatible types", what,
                      pli_type_print_upc(p->u, from), pli_type_print_upc(p->u, to));
    }
}

struct node *pli_sema_conv(struct parser *p, struct node *n, struct type *to, const char *what)
{
    n = pli_sema_rvalue(p, n);
    if (pli_type_is_pts(to)) {
        return to_pts(p, n, to, what);
    }
    if (!pli_type_is_pts(n->type)) {
        check_local(p, n, to, what);
        return n;
    }
    if (to->kind == TY_PTR) {
        // Programs hand the address of their own shared objects to C libraries this way.
        pli_diag_warn(p->u, n->tok,
                      "%s makes pointer-to-local '%s' from pointer-to-shared '%s' "
                      "without a cast",
                      what, pli_type_print_upc(p->u, to), pli_type_print_upc(p->u, n->type));
        return wrap(p, N_LOCAL, n, to);
    }
    if (to->kind == TY_BOOL || to->kind == TY_UNKNOWN) {
        return n;
    }
    if (pli_type_is_integer(to)) {
        pli_diag_warn(p->u, n->tok, "%s makes integer from pointer-to-shared without a cast", what);
        return n;
    }
    pli_diag_error(p->u, n->tok, "%s: '%s' is incompatible with '%s'", what,
                   pli_type_print_upc(p->u, n->type), pli_type_print_upc(p->u, to));
    return n;
}
