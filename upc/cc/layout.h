// SPDX-License-Identifier: BSD-3-Clause
// Sizes, alignments and offsets of types.
#ifndef PLI_UPC_CC_LAYOUT_H
#define PLI_UPC_CC_LAYOUT_H

#include "type.h"

struct size pli_layout_size(const struct type *t);
int64_t pli_layout_align(const struct type *t);
void pli_layout_record(struct record *r);
// Number of ultimate elements; 1 for what is no array.
struct size pli_layout_elems(const struct type *t);
int64_t pli_layout_offset(const struct record *r, const struct name *name);

#endif
