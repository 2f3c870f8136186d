// SPDX-License-Identifier: BSD-3-Clause
// Constraints on declarations.
#ifndef PLI_UPC_CC_SEMA_DECL_H
#define PLI_UPC_CC_SEMA_DECL_H

#include "parse.h"

void pli_sema_decl_type(struct parser *p, const struct type *t, size_t tok);
// Of casts, sizeof and the like.
void pli_sema_decl_type_name(struct parser *p, struct type *t, size_t tok);
// Gives each shared array of variable length that the type points to a variable for its length.
void pli_sema_decl_lengths(struct parser *p, struct type *t, enum storage storage, size_t tok);
// [*]: the type with the block size that spreads the elements evenly.
struct type *pli_sema_decl_star(struct parser *p, struct type *t, size_t tok, bool has_init);
struct type *pli_sema_decl_object(struct parser *p, struct type *t, const struct specs *s,
                                  size_t tok, bool has_init);
struct type *pli_sema_decl_member(struct parser *p, struct type *t, size_t tok);

#endif
