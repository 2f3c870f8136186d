// SPDX-License-Identifier: BSD-3-Clause
// What the generated wrappers need: conversions, and the functions that are written by hand.
#ifndef PLI_FOREIGN_CALLS_H
#define PLI_FOREIGN_CALLS_H

#include "foreign_env.h"
#include "foreign_handle.h"
#include "foreign_type.h"

#include "foreign_hand.h"

enum { PLI_FOREIGN_FEW = 16 }; // handles of an array that need no memory

#endif
