// SPDX-License-Identifier: BSD-3-Clause
// Arrays of datatypes in arguments.
#ifndef PLI_FOREIGN_TYPE_H
#define PLI_FOREIGN_TYPE_H

#include "foreign_types.h"

#include <stdbool.h>

// How many datatypes the array of a collective has that takes one per block.
int pli_foreign_type_blocks(F_Comm comm, bool is_neighbor, bool is_send);

#endif
