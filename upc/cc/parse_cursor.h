// SPDX-License-Identifier: BSD-3-Clause
// Finds loops that go through shared data by *p++.
#ifndef PLI_UPC_CC_PARSE_CURSOR_H
#define PLI_UPC_CC_PARSE_CURSOR_H

#include "parse.h"

// "*a" or "a++" was read: uses that a cursor has its own code for, if a is a pointer-to-shared.
void pli_parse_cursor_note(struct parser *p, const struct node *a, bool is_step);

// A loop has been read that began at token t0, when there were n_cursor uses.
// Context: nothing in it calls, synchronises, or can be jumped to.
void pli_parse_cursor_loop(struct parser *p, size_t t0, size_t n_cursor);

#endif
