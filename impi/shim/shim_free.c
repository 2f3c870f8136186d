// SPDX-License-Identifier: BSD-3-Clause
// Datatypes and operations that the program frees while a collective of ours may still use them:
// they are freed when the last such collective has ended.
#include "shim/shim.h"
#include <stdlib.h>

static int n_user;
static MPI_Datatype *type;
static MPI_Op *op;
static int n_type, n_op;

void pli_shim_free_begin(void)
{
    n_user++;
}

void pli_shim_free_end(void)
{
    if (--n_user > 0) {
        return;
    }
    for (int i = 0; i < n_type; i++) {
        (void)PMPI_Type_free(&type[i]);
    }
    for (int i = 0; i < n_op; i++) {
        (void)PMPI_Op_free(&op[i]);
    }
    free(type);
    free(op);
    type = NULL;
    op = NULL;
    n_type = n_op = 0;
}

PLI_SHIM_API int MPI_Type_free(MPI_Datatype *datatype)
{
    PLI_SHIM_ENTER;
    int is_kept = n_user > 0, i, a, d, combiner;
    if (!is_kept || *datatype == MPI_DATATYPE_NULL ||
        PMPI_Type_get_envelope(*datatype, &i, &a, &d, &combiner) != MPI_SUCCESS ||
        combiner == MPI_COMBINER_NAMED) { // the native library says what is wrong with it
        return PMPI_Type_free(datatype);
    }
    MPI_Datatype *more = realloc(type, ((size_t)n_type + 1) * sizeof *more);
    if (more == NULL) {
        return pli_shim_end(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    }
    type = more;
    type[n_type++] = *datatype;
    *datatype = MPI_DATATYPE_NULL;
    return MPI_SUCCESS;
}

static bool is_predefined(MPI_Op given)
{
    const MPI_Op all[] = { MPI_MAX,    MPI_MIN,    MPI_SUM,     MPI_PROD,  MPI_LAND,
                           MPI_BAND,   MPI_LOR,    MPI_BOR,     MPI_LXOR,  MPI_BXOR,
                           MPI_MINLOC, MPI_MAXLOC, MPI_REPLACE, MPI_NO_OP, MPI_OP_NULL };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i] == given) {
            return true;
        }
    }
    return false;
}

PLI_SHIM_API int MPI_Op_free(MPI_Op *given)
{
    PLI_SHIM_ENTER;
    if (n_user == 0 || is_predefined(*given)) {
        return PMPI_Op_free(given);
    }
    MPI_Op *more = realloc(op, ((size_t)n_op + 1) * sizeof *more);
    if (more == NULL) {
        return pli_shim_end(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    }
    op = more;
    op[n_op++] = *given;
    *given = MPI_OP_NULL;
    return MPI_SUCCESS;
}
