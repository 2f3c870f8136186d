// SPDX-License-Identifier: BSD-3-Clause
// Parsing expressions.
#ifndef PLI_UPC_CC_PARSE_EXPR_H
#define PLI_UPC_CC_PARSE_EXPR_H

#include "parse.h"

struct node *pli_parse_expr_comma(struct parser *p);
struct node *pli_parse_expr_assign(struct parser *p);
struct node *pli_parse_expr_cond(struct parser *p);

#endif
