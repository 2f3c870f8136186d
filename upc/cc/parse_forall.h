// SPDX-License-Identifier: BSD-3-Clause
// Parsing upc_forall and for.
#ifndef PLI_UPC_CC_PARSE_FORALL_H
#define PLI_UPC_CC_PARSE_FORALL_H

#include "parse.h"

void pli_parse_forall(struct parser *p);
// A plain "for", whose accesses may be known to be local as well.
void pli_parse_forall_for(struct parser *p);
void pli_parse_forall_while(struct parser *p);

#endif
