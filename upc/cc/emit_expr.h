// SPDX-License-Identifier: BSD-3-Clause
// Writes expressions that must be rewritten.
#ifndef PLI_UPC_CC_EMIT_EXPR_H
#define PLI_UPC_CC_EMIT_EXPR_H

#include "emit.h"

void pli_emit_expr(struct emitter *e, struct node *n);
void pli_emit_expr_arg(struct emitter *e, struct node *n); // in parentheses

#endif
