// SPDX-License-Identifier: BSD-3-Clause
// Finds loops that go through shared data by *p++.
#ifndef PLI_UPC_CC_PARSE_CURSOR_H
#define PLI_UPC_CC_PARSE_CURSOR_H

#include "parse.h"

enum cursor_use { USE_DEREF, USE_MEMBER, USE_STEP, USE_STRIDE };

// "*a", "a->m", "a++" or "a += THREADS" was read: uses that a cursor, or a loop that goes on in
// private memory, has its own code for, if a is a pointer-to-shared.
void pli_parse_cursor_note(struct parser *p, const struct node *a, enum cursor_use use);

// Finds the pointers that the loop moves on by at most one step an iteration and uses for nothing
// else. first: the number of steps before it.
void pli_parse_cursor_moving(struct parser *p, struct forall *f, size_t first);

// A loop has been read that began at token t0, when there were n_cursor uses.
// Context: nothing in it calls, synchronises, or can be jumped to.
void pli_parse_cursor_loop(struct parser *p, size_t t0, size_t n_cursor);

#endif
