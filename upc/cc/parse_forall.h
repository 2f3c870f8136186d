// SPDX-License-Identifier: BSD-3-Clause
// Parsing upc_forall.
#ifndef PLI_UPC_CC_PARSE_FORALL_H
#define PLI_UPC_CC_PARSE_FORALL_H

#include "parse.h"

void pli_parse_forall(struct parser *p);

#endif
