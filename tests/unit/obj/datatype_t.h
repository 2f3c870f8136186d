// SPDX-License-Identifier: BSD-3-Clause
// What tests of datatypes share: lists of numbers in both forms, predefined types.
#ifndef PLI_UNIT_OBJ_DATATYPE_T_H
#define PLI_UNIT_OBJ_DATATYPE_T_H

#include "obj/datatype.h"
#include "obj/type_calls.h"

#define SMALL(array)                                                                               \
    (struct pli_ints)                                                                              \
    {                                                                                              \
        array, false                                                                               \
    }
#define WIDE(array)                                                                                \
    (struct pli_ints)                                                                              \
    {                                                                                              \
        array, true                                                                                \
    }

static inline struct pli_datatype *basic(MPI_Datatype h)
{
    return pli_datatype_basic(h);
}

#endif
