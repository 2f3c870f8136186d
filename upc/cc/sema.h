// SPDX-License-Identifier: BSD-3-Clause
// Making expression nodes with the types that C's rules give them.
#ifndef PLI_UPC_CC_SEMA_H
#define PLI_UPC_CC_SEMA_H

#include "parse.h"

struct node *pli_sema_node(struct parser *p, enum node_kind kind, size_t t0);
// A node of another kind and type around a, which stands where a stands.
struct node *pli_sema_wrap(struct parser *p, enum node_kind kind, struct node *a,
                           struct type *type);
void pli_sema_inherit(struct node *n, const struct node *child);
struct node *pli_sema_rvalue(struct parser *p, struct node *n);
struct type *pli_sema_promote(struct parser *p, struct type *t);
struct node *pli_sema_index(struct parser *p, struct node *a, struct node *i, size_t tok);
struct node *pli_sema_member(struct parser *p, struct node *a, struct name *name, bool arrow,
                             size_t tok);
struct node *pli_sema_call(struct parser *p, struct node *f, struct node *args, size_t tok);
struct node *pli_sema_incdec(struct parser *p, struct node *a, int op, bool prefix, size_t tok);
struct node *pli_sema_addr(struct parser *p, struct node *a, size_t tok);
void pli_sema_note_write(struct parser *p, struct node *a); // upc_forall asks what a body changes
// An error for what changes an _Atomic shared object by a read and a write.
void pli_sema_no_atomic_update(struct parser *p, const struct node *a, size_t tok);
struct node *pli_sema_deref(struct parser *p, struct node *a, size_t tok);
struct node *pli_sema_unary(struct parser *p, int op, struct node *a, size_t tok);
struct node *pli_sema_cast(struct parser *p, struct type *to, struct node *a, size_t tok);

#endif
