// SPDX-License-Identifier: BSD-3-Clause
// Attributes of communicators that the library itself sets: they describe the run. Communicators of
// sessions have those that do not describe a world. [MPI-5.0 9.1.2]
#ifndef PLI_OBJ_ATTR_FIXED_H
#define PLI_OBJ_ATTR_FIXED_H

struct pli_comm;

// The name of a predefined key, or NULL.
const char *pli_attr_fixed_name(int keyval);

// *value_out becomes a pointer to an int that stays valid; the key must be predefined. Context: any
// thread.
void pli_attr_fixed_get(struct pli_comm *c, int keyval, void *value_out, int *flag_out);

// How many endpoints of this process can be driven at once without getting in each other's way: its
// share of the cores, and no more than it has lanes. Context: the process is open.
int pli_attr_fixed_best(void);

#endif
