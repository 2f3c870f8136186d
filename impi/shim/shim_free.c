// SPDX-License-Identifier: BSD-3-Clause
// Datatypes and operations that the program frees while a collective of ours may still use them:
// they are freed when the last such collective has ended.
#include "shim/shim.h"
#include <stdlib.h>

static int n_user;
static struct kept { // one of the two, the other is null
    MPI_Datatype type;
    MPI_Op op;
} * kept;
static int n_kept;

void pli_shim_free_begin(void)
{
    n_user++;
}

void pli_shim_free_end(void)
{
    if (--n_user > 0) {
        return;
    }
    for (int i = 0; i < n_kept; i++) {
        if (kept[i].op != MPI_OP_NULL) {
            (void)PMPI_Op_free(&kept[i].op);
        } else {
            (void)PMPI_Type_free(&kept[i].type);
        }
    }
    free(kept);
    kept = NULL;
    n_kept = 0;
}

static int keep(MPI_Datatype type, MPI_Op op)
{
    struct kept *more = realloc(kept, ((size_t)n_kept + 1) * sizeof *more);
    if (more == NULL) {
        return pli_shim_end(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    }
    kept = more;
    kept[n_kept++] = (struct kept){ type, op };
    return MPI_SUCCESS;
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
    int rc = keep(*datatype, MPI_OP_NULL);
    *datatype = rc == MPI_SUCCESS ? MPI_DATATYPE_NULL : *datatype;
    return rc;
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
    int rc = keep(MPI_DATATYPE_NULL, *given);
    *given = rc == MPI_SUCCESS ? MPI_OP_NULL : *given;
    return rc;
}
