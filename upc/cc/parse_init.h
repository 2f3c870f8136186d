// SPDX-License-Identifier: BSD-3-Clause
// Parsing initialisers.
#ifndef PLI_UPC_CC_PARSE_INIT_H
#define PLI_UPC_CC_PARSE_INIT_H

#include "parse.h"

// is_static: of an object that lives as long as the program. dyn: start-up code must set it.
void pli_parse_init(struct parser *p, struct type **type, bool is_static, bool *dyn);

#endif
