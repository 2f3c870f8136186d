// SPDX-License-Identifier: BSD-3-Clause
// The loops of the predefined reduction operations.
#ifndef PLI_OBJ_OP_KERNEL_H
#define PLI_OBJ_OP_KERNEL_H

#include "obj/datatype_number.h"
#include "obj/op.h"

#include <stdbool.h>
#include <stddef.h>

// How long the vectors are that a loop uses.
enum pli_vectors {
    PLI_VECTORS_PLAIN, // those of every processor of the kind
    PLI_VECTORS_AVX2,
    PLI_VECTORS_AVX512,
    PLI_N_VECTORS
};

// inout[i] = in[i] op inout[i]
typedef void (*pli_op_fn)(const void *in, void *inout, size_t n);

// The loop for numbers, NULL where the operation makes no sense on them. [MPI-5.0 6.9.2]
pli_op_fn pli_op_kernel(enum pli_op_which op, enum pli_number number);

// The same with vectors of some length, for tests; whether this processor has them; those that
// pli_op_kernel takes.
pli_op_fn pli_op_kernel_with(enum pli_vectors v, enum pli_op_which op, enum pli_number number);
bool pli_op_has_vectors(enum pli_vectors v);
enum pli_vectors pli_op_vectors(void);

// The loop for pairs, NULL where there is none: op is MINLOC or MAXLOC.
pli_op_fn pli_op_pair(enum pli_op_which op, enum pli_number value, enum pli_number index);

#endif
