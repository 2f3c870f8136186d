// SPDX-License-Identifier: BSD-3-Clause
// Writes loops that go through shared data by *p++ [parse_cursor.h].
#ifndef PLI_UPC_CC_EMIT_CURSOR_H
#define PLI_UPC_CC_EMIT_CURSOR_H

#include "emit.h"

void pli_emit_cursor_loop(struct emitter *e, struct edit *d);

// The pointer of *p or *p++ that has a cursor, or NULL where it is an access like others.
const struct sym *pli_emit_cursor_find(const struct node *lvalue, bool *is_step);
// "p, &its cursor, block size" for the macros
void pli_emit_cursor_args(struct emitter *e, const struct sym *s);
// p as it is now; p++ and ++p
void pli_emit_cursor_here(struct emitter *e, const struct sym *s);
void pli_emit_cursor_step(struct emitter *e, const struct sym *s, bool is_post);

#endif
