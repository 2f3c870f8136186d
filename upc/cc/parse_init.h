// SPDX-License-Identifier: BSD-3-Clause
// Parsing initialisers.
#ifndef PLI_UPC_CC_PARSE_INIT_H
#define PLI_UPC_CC_PARSE_INIT_H

#include "parse.h"

void pli_parse_init(struct parser *p, struct type **type, bool *dyn);

#endif
