// SPDX-License-Identifier: BSD-3-Clause
// Writes declarations that must be rewritten.
#ifndef PLI_UPC_CC_EMIT_DECL_H
#define PLI_UPC_CC_EMIT_DECL_H

#include "emit.h"

void pli_emit_decl(struct emitter *e, struct decl *d);
// The variables for the lengths of shared arrays that a function's parameters point to.
void pli_emit_decl_lengths(struct emitter *e, struct decl *d);
void pli_emit_decl_func(struct emitter *e, struct decl *d);

#endif
