// SPDX-License-Identifier: BSD-3-Clause
// Parsing declaration specifiers, qualifiers and type names.
#ifndef PLI_UPC_CC_PARSE_SPEC_H
#define PLI_UPC_CC_PARSE_SPEC_H

#include "parse.h"

bool pli_parse_spec_starts(struct parser *p, size_t at);
void pli_parse_spec(struct parser *p, struct specs *s);
void pli_parse_spec_attrs(struct parser *p);
// type-qualifier*: adds to *quals and *block
void pli_parse_spec_quals(struct parser *p, unsigned *quals, int64_t *block, size_t *block_tok);
struct type *pli_parse_spec_type_name(struct parser *p, size_t *t0, size_t *t1);

#endif
