// SPDX-License-Identifier: BSD-3-Clause
// Datatypes that are found by what they can hold, and are made once.
#ifndef PLI_OBJ_TYPE_NAMED_H
#define PLI_OBJ_TYPE_NAMED_H

// Give back the value-index types and Fortran types that were made on request.
void pli_type_named_fini(void);

#endif
