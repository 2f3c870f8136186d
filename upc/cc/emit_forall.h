// SPDX-License-Identifier: BSD-3-Clause
// Writes upc_forall.
#ifndef PLI_UPC_CC_EMIT_FORALL_H
#define PLI_UPC_CC_EMIT_FORALL_H

#include "emit.h"

void pli_emit_forall(struct emitter *e, struct forall *f);

#endif
