// SPDX-License-Identifier: BSD-3-Clause
// Writes accesses to shared objects.
#ifndef PLI_UPC_CC_EMIT_ACCESS_H
#define PLI_UPC_CC_EMIT_ACCESS_H

#include "emit.h"

void pli_emit_access_addr(struct emitter *e, struct node *n);
void pli_emit_access_load(struct emitter *e, struct node *n);
void pli_emit_access_assign(struct emitter *e, struct node *n);
void pli_emit_access_incdec(struct emitter *e, struct node *n);
// base + index (or minus) for a pointer-to-shared type; base is text or a node
void pli_emit_access_step(struct emitter *e, const struct type *ptr, struct node *base,
                          const char *text, struct node *index, bool minus);
void pli_emit_access_diff(struct emitter *e, struct node *a, struct node *b);

#endif
