// SPDX-License-Identifier: BSD-3-Clause
// Parsing upc_forall and for.
#ifndef PLI_UPC_CC_PARSE_FORALL_H
#define PLI_UPC_CC_PARSE_FORALL_H

#include "parse.h"

void pli_parse_forall(struct parser *p);
// A plain "for", whose accesses may be known to be local as well.
void pli_parse_forall_for(struct parser *p);
void pli_parse_forall_while(struct parser *p);
// A loop was read whose body begins at token body0, and its condition has the loads from `first`
// on: if it does nothing but look, it looks at memory every time.
void pli_parse_forall_spin(struct parser *p, size_t body0, size_t first, const struct node *cond);

#endif
