// SPDX-License-Identifier: BSD-3-Clause
// Enumerations of MPI_T: what the numbers of a variable mean. [MPI-5.0 15.3.5]
#ifndef PLI_TOOL_TOOL_ENUM_H
#define PLI_TOOL_TOOL_ENUM_H

#include <mpi.h>

// The enumeration with these words, separated by |, which have the numbers 0, 1, ... Made on first
// use and never changed. MPI_T_ENUM_NULL: no memory. The strings are kept. Context: pli_tool_lock.
MPI_T_enum pli_tool_enum_of(const char *name, const char *words);
// The number of a word among words, -1: it is none; and the other way around (NULL: there is none;
// *len_out is its length).
int pli_tool_enum_number(const char *words, const char *word);
const char *pli_tool_enum_word(const char *words, int number, int *len_out);

int pli_tool_enum_get_info(MPI_T_enum e, int *num, char *name, int *name_len);
int pli_tool_enum_get_item(MPI_T_enum e, int index, int *value, char *name, int *name_len);

#endif
