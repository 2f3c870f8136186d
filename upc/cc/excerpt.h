// SPDX-License-Identifier: BSD-3-Clause
// Lines of the user's file below a diagnostic, as gcc shows them.
#ifndef PLI_UPC_CC_EXCERPT_H
#define PLI_UPC_CC_EXCERPT_H

#include <stddef.h>
#include <stdio.h>

// Columns are counted as on a terminal: a tab reaches to the next multiple of 8, a character of
// several bytes is one. From a byte of a line, both counted from 1; and back.
int pli_excerpt_column(const char *line, size_t len, int byte);
int pli_excerpt_byte(const char *line, size_t len, int column);

// The line with its number, and below it a mark at that byte, n bytes long.
void pli_excerpt_print(FILE *to, int number, const char *line, size_t len, int byte, size_t n);

#endif
