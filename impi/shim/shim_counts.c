// SPDX-License-Identifier: BSD-3-Clause
// A count and a datatype as the functions for int take them.
#include "shim/shim_counts.h"
#include <limits.h>

// `count` elements of `type` as one.
static int contiguous(MPI_Count count, MPI_Datatype type, MPI_Datatype *out)
{
#if MPI_VERSION >= 4
    return PMPI_Type_contiguous_c(count, type, out);
#else
    enum { CHUNK = 1 << 30 };
    MPI_Datatype of[2] = { type, type };
    int lens[2] = { (int)(count / CHUNK), (int)(count % CHUNK) };
    MPI_Aint lb, extent, at[2] = { 0, 0 };
    int rc = PMPI_Type_get_extent(type, &lb, &extent);
    rc = rc == MPI_SUCCESS ? PMPI_Type_contiguous(CHUNK, type, &of[0]) : rc;
    if (rc == MPI_SUCCESS) {
        at[1] = (MPI_Aint)lens[0] * CHUNK * extent;
        rc = PMPI_Type_create_struct(2, lens, at, of, out);
        (void)PMPI_Type_free(&of[0]);
    }
    return rc;
#endif
}

int pli_shim_counts_pair(struct shim_pair *p, MPI_Count count, MPI_Datatype type)
{
    *p = (struct shim_pair){ .count = count < 0 ? -1 : 1, .type = type };
    if (count <= INT_MAX) {
        p->count = count < 0 ? -1 : (int)count;
        return MPI_SUCCESS;
    }
    int rc = contiguous(count, type, &p->type);
    p->is_made = rc == MPI_SUCCESS;
    return rc == MPI_SUCCESS ? PMPI_Type_commit(&p->type) : rc;
}

void pli_shim_counts_drop(struct shim_pair *p)
{
    if (p->is_made) {
        (void)PMPI_Type_free(&p->type);
    }
}
