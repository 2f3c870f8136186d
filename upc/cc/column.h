// SPDX-License-Identifier: BSD-3-Clause
// Where a token stands in the file that the user wrote.
#ifndef PLI_UPC_CC_COLUMN_H
#define PLI_UPC_CC_COLUMN_H

#include "unit.h"

// A line of a source, false when it cannot be read or has no such line.
bool pli_column_line(struct source *s, int line, const char **text_out, size_t *len_out);
// The column of a token in its original line, 0 when it is not there (a macro's).
int pli_column_find(struct unit *u, size_t tok);
// The same, or the column of what is nearest before it.
int pli_column_near(struct unit *u, size_t tok);

#endif
