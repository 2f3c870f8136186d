// SPDX-License-Identifier: BSD-3-Clause
// Writes types as text.
#ifndef PLI_UPC_CC_TYPE_PRINT_H
#define PLI_UPC_CC_TYPE_PRINT_H

#include "type.h"

typedef void (*type_len_fn)(void *arg, size_t t0, size_t t1, struct text *out);
struct type_printer {
    struct unit *u;
    type_len_fn len; // prints the length of a variable array
    void *arg;
};

// The specifier part and the declarator part of a declaration of name (which may be "").
// Shared objects print as their private counterparts, pointers-to-shared as pli_upc_pts.
void pli_type_print_decl(struct type_printer *tp, const struct type *t, const char *name,
                         struct text *spec, struct text *decl);
// In UPC spelling, for diagnostics; lives in the unit's arena.
const char *pli_type_print_upc(struct unit *u, const struct type *t);

#endif
