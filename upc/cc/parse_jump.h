// SPDX-License-Identifier: BSD-3-Clause
// Labels and gotos, and what is wrong with them when a function ends.
#ifndef PLI_UPC_CC_PARSE_JUMP_H
#define PLI_UPC_CC_PARSE_JUMP_H

#include "parse.h"

void pli_parse_jump_label(struct parser *p, size_t tok);
void pli_parse_jump_goto(struct parser *p, size_t tok); // the name is behind it
void pli_parse_jump_check(struct parser *p);

#endif
