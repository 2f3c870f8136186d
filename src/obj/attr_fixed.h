// SPDX-License-Identifier: BSD-3-Clause
// Attributes that the library itself sets: they describe the run. Communicators of sessions have
// those that do not speak of a world. [MPI-5.0 9.1.2]
#ifndef PLI_OBJ_ATTR_FIXED_H
#define PLI_OBJ_ATTR_FIXED_H

#include "obj/handle.h"

// The name of a predefined key for objects of this kind, or NULL.
const char *pli_attr_fixed_name(const struct pli_obj *obj, int keyval);

// *value_out becomes a pointer to an int that stays valid; the key must be predefined. Context: any
// thread.
void pli_attr_fixed_get(const struct pli_obj *obj, int keyval, void *value_out, int *flag_out);

// How many endpoints of this process can be driven at once without getting in each other's way: its
// share of the cores, and no more than it has lanes. Context: the process is open.
int pli_attr_fixed_best(void);

#endif
