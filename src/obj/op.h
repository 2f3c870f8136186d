// SPDX-License-Identifier: BSD-3-Clause
// Reduction operations.
#ifndef PLI_OBJ_OP_H
#define PLI_OBJ_OP_H

#include "base/err.h"
#include "obj/handle.h"

#include <mpi.h>
#include <stdbool.h>

struct pli_datatype;

// The predefined operations, in the order of op_kernel.h's tables.
enum pli_op_which {
    PLI_OP_USER,
    PLI_OP_SUM,
    PLI_OP_PROD,
    PLI_OP_MIN,
    PLI_OP_MAX,
    PLI_OP_BAND,
    PLI_OP_BOR,
    PLI_OP_BXOR,
    PLI_OP_LAND,
    PLI_OP_LOR,
    PLI_OP_LXOR,
    PLI_OP_MINLOC,
    PLI_OP_MAXLOC,
    PLI_OP_REPLACE,
    PLI_OP_NO_OP,
    PLI_N_OP
};

struct pli_op {
    struct pli_obj obj;
    bool is_commutative;
    bool is_large; // user_c is the function
    uint8_t which; // enum pli_op_which
    MPI_User_function *user;
    MPI_User_function_c *user_c;
};

struct pli_op *pli_op_retain(struct pli_op *op);
void pli_op_release(struct pli_op *op);

// inout[i] = in[i] op inout[i] for count elements of the type. The pair must have passed
// pli_op_check. The buffers do not overlap. Context: any thread; calls user functions.
void pli_op_apply(struct pli_op *op, const void *in, void *inout, MPI_Count count,
                  struct pli_datatype *type);

// Whether the operation is defined on the type; fails with a sentence that names both.
enum pli_err pli_op_check(const struct pli_op *op, const struct pli_datatype *type);

// Same for the accumulating one-sided functions: predefined operations and MPI_REPLACE and
// MPI_NO_OP, on types all of whose elements are one predefined type. [MPI-5.0 12.3.4]
enum pli_err pli_op_check_accumulate(const struct pli_op *op, const struct pli_datatype *type);

// "MPI_SUM", or "a user's operation".
const char *pli_op_label(const struct pli_op *op);

void pli_op_init(void); // enter the predefined operations; start-up only

// Behind the API table. [MPI-5.0 6.9]
enum pli_err pli_op_create(MPI_User_function *fn, int commute, struct pli_op **out);
enum pli_err pli_op_create_large(MPI_User_function_c *fn, int commute, struct pli_op **out);
enum pli_err pli_op_free(struct pli_op *op);
enum pli_err pli_op_commutative(struct pli_op *op, int *commute_out);
enum pli_err pli_op_reduce_local(const void *in, void *inout, MPI_Count count,
                                 struct pli_datatype *type, struct pli_op *op);

#endif
