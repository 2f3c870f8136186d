// SPDX-License-Identifier: BSD-3-Clause
// The layout of a datatype as bytes, to tell another process what a view is.
#ifndef PLI_IO_FILE_PLAN_H
#define PLI_IO_FILE_PLAN_H

#include "base/err.h"

#include <stddef.h>

struct pli_datatype;

// Freed by the caller. Parts that occur several times are written once.
enum pli_err pli_file_plan_encode(const struct pli_datatype *t, char **out, size_t *len_out);

// A datatype that has a layout and nothing else. Bytes that are none are refused.
enum pli_err pli_file_plan_decode(const char *bytes, size_t len, struct pli_datatype **out);
void pli_file_plan_free(struct pli_datatype *t);

#endif
