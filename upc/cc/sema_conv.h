// SPDX-License-Identifier: BSD-3-Clause
// Conversions that C makes by itself; `what` names the place in diagnostics.
#ifndef PLI_UPC_CC_SEMA_CONV_H
#define PLI_UPC_CC_SEMA_CONV_H

#include "parse.h"

struct node *pli_sema_conv(struct parser *p, struct node *n, struct type *to, const char *what);
bool pli_sema_conv_resets(const struct type *from, const struct type *to);

#endif
