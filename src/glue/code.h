// SPDX-License-Identifier: BSD-3-Clause
// MPI error codes: the standard's classes, users' own, and codes that carry a whole sentence.
#ifndef PLI_GLUE_CODE_H
#define PLI_GLUE_CODE_H

#include "base/err.h"

#include <stdbool.h>

// The code for a failure noted with pli_fail. Its text is "fn: reason" for as long as it is among
// the last few hundred; afterwards that of its class. Context: any thread.
int pli_code_make(const char *fn, enum pli_err err) __attribute__((cold));

// Class and text of any code; false: not a code. The text has at most MPI_MAX_ERROR_STRING
// characters with its end.
bool pli_code_class(int code, int *class_out);
bool pli_code_text(int code, char *text_out);

// MPI_Error_class, MPI_Error_string.
enum pli_err pli_code_get_class(int code, int *class_out);
enum pli_err pli_code_get_text(int code, char *text_out, int *len_out);

// MPI_Add_error_code: the class must be one of the standard's or of the user's.
enum pli_err pli_code_add(int class, int *code_out);

#endif
