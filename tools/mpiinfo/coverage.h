// SPDX-License-Identifier: BSD-3-Clause
// Which functions of the standard the library has, from the API table.
#ifndef PLI_TOOLS_COVERAGE_H
#define PLI_TOOLS_COVERAGE_H

#include <stdbool.h>

// Both tables: how much per chapter, then the names that are and are not there.
void pli_coverage_print(void);

// The names that are there, or those that are not, one per line.
void pli_coverage_list(bool is_there);

// One line about one function. False, after a sentence on standard error, when MPI has none such.
bool pli_coverage_tell(const char *name);

// How many functions MPI has in C, and how many of them are there.
void pli_coverage_count(int *there_out, int *all_out);

#endif
