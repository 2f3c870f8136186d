// SPDX-License-Identifier: BSD-3-Clause
// Any recipe seen one way: so many blocks of so many elements of a type at a place.
#ifndef PLI_OBJ_TYPE_BLOCKS_H
#define PLI_OBJ_TYPE_BLOCKS_H

#include "base/err.h"

#include <mpi.h>
#include <stdbool.h>

struct pli_datatype;

struct pli_type_blocks {
    const struct pli_datatype *type; // whose
    MPI_Count n;                     // how many blocks
    bool is_loop;                    // block i is at i*stride and like the first
    MPI_Count len, stride;           // of a loop
};

struct pli_type_block {
    struct pli_datatype *child;
    MPI_Count disp, len; // len elements of child, child->extent apart
    bool is_far;         // the place cannot be expressed in bytes
};

// Predefined types other than value-index pairs made on request have no blocks: n is 0.
struct pli_type_blocks pli_type_blocks_of(const struct pli_datatype *t);
struct pli_type_block pli_type_blocks_at(const struct pli_type_blocks *b, MPI_Count i);

// Derive everything but the recipe of t from the blocks: size, bounds, plan. Fails with a
// sentence when a number does not fit. [MPI-5.0 5.1.6 to 5.1.8]
enum pli_err pli_type_blocks_finish(struct pli_datatype *t);

// The same, and give t to the caller; it is released if that fails.
enum pli_err pli_type_blocks_complete(struct pli_datatype *t, struct pli_datatype **out);

#endif
