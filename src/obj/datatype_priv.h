// SPDX-License-Identifier: BSD-3-Clause
// What the files that make and take apart datatypes share.
#ifndef PLI_OBJ_DATATYPE_PRIV_H
#define PLI_OBJ_DATATYPE_PRIV_H

#include "obj/datatype.h"
#include "obj/datatype_number.h"
#include "obj/type_plan.h"

#include <mpi.h>

// The arguments of the constructor, in the order MPI_Type_get_contents gives them back. One
// allocation. [MPI-5.0 5.1.13]
struct pli_type_recipe {
    int combiner;
    bool is_large; // made by a large-count function: counts hold what ints and addrs would
    MPI_Count n_int, n_addr, n_count, n_type;
    int *ints;
    MPI_Aint *addrs;
    MPI_Count *counts;
    struct pli_datatype **types; // each with a reference
    struct pli_datatype *inner;  // arrays: the same layout made of simpler types, else NULL
};

// A new derived type with a recipe of this size and all else zero; NULL: no memory, noted.
struct pli_datatype *pli_datatype_create(int combiner, bool is_large, MPI_Count n_int,
                                         MPI_Count n_addr, MPI_Count n_count, MPI_Count n_type);

// Keep a reference of t as the i-th type of the recipe; t may be a predefined type.
void pli_datatype_keep(struct pli_datatype *owner, MPI_Count i, struct pli_datatype *t);

static inline bool pli_datatype_is_predefined(const struct pli_datatype *t)
{
    return t->obj.value != 0 || t->is_permanent;
}

// Give the type a name, from malloc; NULL takes a derived type's away.
void pli_datatype_rename(struct pli_datatype *t, char *name);

#endif
