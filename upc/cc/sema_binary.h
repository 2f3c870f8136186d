// SPDX-License-Identifier: BSD-3-Clause
// Binary operators, the conditional and assignments with C's typing.
#ifndef PLI_UPC_CC_SEMA_BINARY_H
#define PLI_UPC_CC_SEMA_BINARY_H

#include "parse.h"

struct node *pli_sema_binary(struct parser *p, int op, struct node *a, struct node *b, size_t tok);
struct node *pli_sema_binary_cond(struct parser *p, struct node *c, struct node *a, struct node *b,
                                  size_t tok);
struct node *pli_sema_binary_assign(struct parser *p, int op, struct node *a, struct node *b,
                                    size_t tok);

#endif
