// SPDX-License-Identifier: BSD-3-Clause
// Error classes and codes that the user adds. [MPI-5.0 9.5]
#ifndef PLI_OBJ_ERRCODE_H
#define PLI_OBJ_ERRCODE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum { PLI_ERRCODE_FIRST = 0x4000 }; // numbers below belong to the standard

// Context: any thread, also before initialisation and after finalisation.
enum pli_err pli_errcode_add_class(int *class_out);
enum pli_err pli_errcode_add_code(int class, int *code_out); // the class must exist
enum pli_err pli_errcode_add_string(int code, const char *text);
enum pli_err pli_errcode_remove_class(int class);
enum pli_err pli_errcode_remove_code(int code);
enum pli_err pli_errcode_remove_string(int code);

// Class and text of an added class or code; false: there is none of that number.
bool pli_errcode_class(int code, int *class_out);
bool pli_errcode_text(int code, char *text_out, size_t cap);

// The highest number in use: MPI_LASTUSEDCODE. The address stays valid.
const int *pli_errcode_last(void);

#endif
