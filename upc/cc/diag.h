// SPDX-License-Identifier: BSD-3-Clause
// Diagnostics in the manner of gcc: file:line:col, text, the source line and a caret.
#ifndef PLI_UPC_CC_DIAG_H
#define PLI_UPC_CC_DIAG_H

#include "unit.h"

// Report at a token; the translation goes on but yields no output.
void pli_diag_error(struct unit *u, size_t tok, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void pli_diag_warn(struct unit *u, size_t tok, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void pli_diag_note(struct unit *u, size_t tok, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
// Report a syntax error and leave through unit.bail.
_Noreturn void pli_diag_fatal(struct unit *u, size_t tok, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
