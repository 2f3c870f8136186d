// SPDX-License-Identifier: BSD-3-Clause
// Evaluating integer constant expressions.
#ifndef PLI_UPC_CC_CONSTANT_H
#define PLI_UPC_CC_CONSTANT_H

#include "parse.h"

bool pli_constant_eval(const struct node *n, int64_t *out);
bool pli_constant_is_null(const struct node *n);
// An array length as k or k * THREADS; false when it is neither.
bool pli_constant_dim(const struct node *n, int64_t *k, int *n_threads);

#endif
