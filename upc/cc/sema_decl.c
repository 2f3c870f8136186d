// SPDX-License-Identifier: BSD-3-Clause
// Checks the constraints on declarations with shared types.
#include "sema_decl.h"

#include "layout.h"
#include "parse.h"
#include "type_print.h"

static int count_threads(const struct type *t, bool *bad, bool *vla)
{
    int n = 0;
    for (; t->kind == TY_ARRAY; t = t->base) {
        n += t->len_threads;
        *bad |= t->len_bad;
        *vla |= t->len == LEN_VLA;
    }
    return n;
}

static void check_array(struct parser *p, const struct type *t, size_t tok)
{
    bool bad = false, ignored = false;
    int n = count_threads(t, &bad, &ignored);
    if (bad) {
        pli_diag_error(p->u, tok,
                       "in a shared array THREADS may only be multiplied by a positive constant");
    } else if (n > 1) {
        pli_diag_error(p->u, tok, "THREADS occurs in more than one dimension of a shared array");
    } else if (n > 0 && pli_type_block(t) == 0) {
        pli_diag_error(p->u, tok,
                       "THREADS in a shared array of indefinite block size needs static THREADS");
    }
}

static void check_target(struct parser *p, const struct type *to, size_t tok)
{
    const struct type *ult = pli_type_ultimate(to);
    if ((ult->quals & Q_SHARED) == 0) {
        return;
    }
    if (ult->block == BLOCK_STAR) {
        pli_diag_error(p->u, tok, "block size [*] in a pointer type");
    } else if (to->kind == TY_VOID && ult->block != BLOCK_PLAIN) {
        pli_diag_error(p->u, tok, "layout qualifier on a pointer to 'shared void'");
    }
}

// Every level of a type, whatever it is used for.
void pli_sema_decl_type(struct parser *p, const struct type *t, size_t tok)
{
    for (;; t = t->base) {
        switch (t->kind) {
        case TY_PTR:
            check_target(p, t->base, tok);
            break;
        case TY_ARRAY:
            if (pli_type_is_shared(t)) {
                check_array(p, t, tok);
            }
            while (t->base->kind == TY_ARRAY) {
                t = t->base;
                if (pli_type_is_shared(t) && t->len == LEN_NONE) {
                    pli_diag_error(p->u, tok, "array of incomplete type '%s'",
                                   pli_type_print_upc(p->u, t));
                    return;
                }
            }
            if (pli_type_is_shared(t) && !pli_type_is_complete(t->base)) {
                pli_diag_error(p->u, tok, "array of incomplete type '%s'",
                               pli_type_print_upc(p->u, t->base));
                return;
            }
            break;
        case TY_FUNC:
            if (pli_type_is_shared(t->base)) {
                pli_diag_error(p->u, tok, "function returns shared type '%s'",
                               pli_type_print_upc(p->u, t->base));
                return;
            }
            break;
        default:
            return;
        }
    }
}

static bool is_shared_vla(const struct type *t)
{
    bool bad = false, vla = false;
    count_threads(t, &bad, &vla);
    return vla && !bad && pli_type_is_shared(t);
}

// The next level of a type, from t on, that is a shared array of variable length.
static struct type *next_length(struct type *t)
{
    while (t->kind == TY_PTR || t->kind == TY_ARRAY) {
        if (t->kind == TY_ARRAY && t->len == LEN_VLA && !t->len_bad && pli_type_is_shared(t)) {
            return t;
        }
        t = t->base;
    }
    return NULL;
}

void pli_sema_decl_lengths(struct parser *p, struct type *t, enum storage storage, size_t tok)
{
    bool is_fixed = p->depth == 0 || storage == ST_STATIC || storage == ST_EXTERN;
    for (t = next_length(t); t != NULL; t = next_length(t->base)) {
        if (t->len_id == 0 && is_fixed) {
            pli_diag_error(p->u, tok,
                           "a pointer to a shared array of variable length must be an automatic "
                           "variable or a parameter of a prototype");
            return;
        }
        if (t->len_id == 0 && p->u->toks[t->len_t0].op == '*' && t->len_t1 == t->len_t0 + 1) {
            pli_diag_error(p->u, tok, "'[*]' in the parameters of a function definition");
            return;
        }
        t->len_id = t->len_id > 0 ? t->len_id : ++p->n_len;
    }
}

void pli_sema_decl_type_name(struct parser *p, struct type *t, size_t tok)
{
    pli_sema_decl_type(p, t, tok);
    for (t = next_length(t); t != NULL; t = next_length(t->base)) {
        if (t->len_id == 0 && t->len_acts) {
            pli_diag_error(p->u, tok,
                           "the length of a shared array in a type name must not have side "
                           "effects; compute it before");
        }
    }
}

static struct type *set_block(struct parser *p, struct type *t, int64_t block)
{
    struct type *c = pli_type_copy(p->u, t);
    if (t->kind == TY_ARRAY) {
        c->base = set_block(p, t->base, block);
    } else {
        c->block = block;
    }
    return c;
}

struct type *pli_sema_decl_star(struct parser *p, struct type *t, size_t tok, bool has_init)
{
    if (t->kind != TY_ARRAY) {
        return set_block(p, t, 1);
    }
    struct size n = pli_layout_elems(t);
    if (!n.known) {
        if (has_init && t->len == LEN_NONE) {
            return t; // the initialiser will tell
        }
        pli_diag_error(p->u, tok, "block size [*] of an incomplete array");
        return set_block(p, t, 1);
    }
    int64_t threads = n.threads ? 1 : p->u->opt.static_threads;
    int64_t b = threads > 0 ? (n.n + threads - 1) / threads : 1;
    if (b > UPC_MAX_BLOCK) {
        pli_diag_error(p->u, tok, "block size %lld from [*] exceeds UPC_MAX_BLOCK_SIZE (%d)",
                       (long long)b, UPC_MAX_BLOCK);
        b = 1;
    }
    return set_block(p, t, b < 1 ? 1 : b);
}

struct type *pli_sema_decl_object(struct parser *p, struct type *t, const struct specs *s,
                                  size_t tok, bool has_init)
{
    const struct type *ult = pli_type_ultimate(t);
    if ((ult->quals & Q_SHARED) == 0) {
        return t;
    }
    if (!s->has_type) {
        pli_diag_warn(p->u, tok, "type defaults to 'int' in the declaration of '%.*s'",
                      (int)p->u->toks[tok].len, p->u->toks[tok].text);
    }
    if (s->storage == ST_TYPEDEF) {
        if (ult->block == BLOCK_STAR) {
            pli_diag_error(p->u, tok, "block size [*] in a typedef");
            return set_block(p, t, 1);
        }
        return t;
    }
    if (is_shared_vla(t)) {
        pli_diag_error(p->u, tok, "variable length array of shared type");
        return pli_type_strip(p->u, t, Q_UPC);
    }
    bool is_register = s->storage == ST_REGISTER || s->storage == ST_AUTO;
    if ((p->depth > 0 || is_register) && s->storage != ST_STATIC && s->storage != ST_EXTERN) {
        pli_diag_error(p->u, tok, "shared object '%.*s' cannot have automatic storage",
                       (int)p->u->toks[tok].len, p->u->toks[tok].text);
        return pli_type_strip(p->u, t, Q_UPC);
    }
    if (s->is_thread) {
        pli_diag_error(p->u, tok, "shared object cannot be thread-local");
    }
    if (t->kind == TY_VOID) {
        pli_diag_error(p->u, tok, "object of type 'shared void'");
    }
    if (ult->block == BLOCK_STAR) {
        t = pli_sema_decl_star(p, t, tok, has_init);
    }
    bool bad = false, vla = false;
    if (t->kind == TY_ARRAY && p->u->opt.static_threads == 0 && pli_type_block(t) != 0 &&
        t->len != LEN_NONE && count_threads(t, &bad, &vla) == 0 && !bad && !vla) {
        pli_diag_error(p->u, tok,
                       "shared array needs THREADS in one dimension when THREADS is dynamic; "
                       "give it an indefinite block size or compile with -T=N");
    }
    // An array of file scope may get its length from a later declaration.
    if (s->storage != ST_EXTERN && !has_init && t->kind != TY_VOID && !pli_type_is_complete(t) &&
        (p->depth > 0 || t->kind != TY_ARRAY)) {
        pli_diag_error(p->u, tok, "shared object has incomplete type '%s'",
                       pli_type_print_upc(p->u, t));
    }
    return t;
}

struct type *pli_sema_decl_member(struct parser *p, struct type *t, size_t tok)
{
    pli_sema_decl_type(p, t, tok);
    pli_sema_decl_lengths(p, t, ST_STATIC, tok);
    if (!pli_type_is_shared(t)) {
        return t;
    }
    pli_diag_error(p->u, tok, "structure member cannot be shared");
    return pli_type_strip(p->u, t, Q_UPC);
}
