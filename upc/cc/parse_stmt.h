// SPDX-License-Identifier: BSD-3-Clause
// Parsing statements.
#ifndef PLI_UPC_CC_PARSE_STMT_H
#define PLI_UPC_CC_PARSE_STMT_H

#include "parse.h"

void pli_parse_stmt_compound(struct parser *p, bool new_scope);
// compound-statement as an expression; the last expression statement is its value
void pli_parse_stmt_value(struct parser *p, struct node **last);
void pli_parse_stmt(struct parser *p);

#endif
