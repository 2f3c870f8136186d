// SPDX-License-Identifier: BSD-3-Clause
// Enters predefined objects, whose handles are small numbers of the standard ABI; explains wrong
// handles.
#ifndef PLI_OBJ_HANDLE_PREDEFINED_H
#define PLI_OBJ_HANDLE_PREDEFINED_H

#include "obj/handle.h"

// Enter an object of static storage under its ABI value.
void pli_handle_predefine(struct pli_obj *obj, enum pli_kind kind, int value);

// Why h is not a handle of `kind`, as the rest of a sentence: "is MPI_COMM_NULL", "was freed".
const char *pli_handle_why(const void *h, enum pli_kind kind);

#endif
