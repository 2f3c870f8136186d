// SPDX-License-Identifier: BSD-3-Clause
// Scopes and the names in them.
#ifndef PLI_UPC_CC_SCOPE_H
#define PLI_UPC_CC_SCOPE_H

#include "parse.h"

void pli_scope_push(struct parser *p);
void pli_scope_pop(struct parser *p);
struct sym *pli_scope_add(struct parser *p, struct name *name, enum sym_kind kind, size_t tok);
struct sym *pli_scope_add_tag(struct parser *p, struct name *name, size_t tok);
void pli_scope_builtin(struct parser *p);

#endif
