// SPDX-License-Identifier: BSD-3-Clause
// Parsing declarations, declarators and the outermost rule.
#ifndef PLI_UPC_CC_PARSE_DECL_H
#define PLI_UPC_CC_PARSE_DECL_H

#include "parse.h"

bool pli_parse_decl_starts(struct parser *p);
struct decl *pli_parse_decl_block(struct parser *p); // declaration inside a function
struct declarator *pli_parse_decl_declarator(struct parser *p, struct type *base, bool abstract_ok);
void pli_parse_decl_unit(struct parser *p); // translation-unit: external-declaration*

#endif
