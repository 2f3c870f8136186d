// SPDX-License-Identifier: BSD-3-Clause
// The translator as a function, so that the program and the fuzzer share it.
#ifndef PLI_UPC_CC_TRANSLATE_H
#define PLI_UPC_CC_TRANSLATE_H

#include "unit.h"

// Translate text; diagnostics go to diag. True when out holds the C program.
bool pli_translate(const struct options *opt, const char *text, size_t len, FILE *diag,
                   struct text *out);

#endif
