// SPDX-License-Identifier: BSD-3-Clause
// Writes loops that go through shared data by *p++ [parse_cursor.h].
#ifndef PLI_UPC_CC_EMIT_CURSOR_H
#define PLI_UPC_CC_EMIT_CURSOR_H

#include "emit.h"

void pli_emit_cursor_loop(struct emitter *e, struct edit *d);

// The pointer of *p or *p++ that has a cursor, or NULL where it is an access like others.
const struct sym *pli_emit_cursor_find(const struct node *lvalue, bool *is_step);
// The pointer of *p, *p++ or p->m in whose place a private one goes on, or NULL.
const struct sym *pli_emit_cursor_moving(const struct node *lvalue);
// "p, &its cursor, block size" for the macros
void pli_emit_cursor_args(struct emitter *e, const struct sym *s);
// p as it is now; p++ and ++p
void pli_emit_cursor_here(struct emitter *e, const struct sym *s);
void pli_emit_cursor_step(struct emitter *e, const struct sym *s, bool is_post);

// Loops in which private pointers go on in the place of pointers-to-shared: before the loop, which
// leaves f->moving with those that can; and behind it.
void pli_emit_cursor_keep(struct emitter *e, struct forall *f);
void pli_emit_cursor_release(struct forall *f);
// "room = ...;": no more iterations than all of them stay in their blocks
void pli_emit_cursor_rooms(struct emitter *e, const struct forall *f, const char *room);
// " && ...": all are mapped
void pli_emit_cursor_mapped(struct emitter *e, const struct forall *f);
// Their declarations, and behind the last iteration what p is now.
void pli_emit_cursor_begin(struct emitter *e, struct forall *f);
void pli_emit_cursor_end(struct emitter *e, struct forall *f);

#endif
