// SPDX-License-Identifier: BSD-3-Clause
// What the generated entry points see.
#ifndef PLI_GLUE_ENTRY_H
#define PLI_GLUE_ENTRY_H

#include "glue/check.h"
#include "glue/raise.h"
#include "glue/calls.h"

#endif
