// SPDX-License-Identifier: BSD-3-Clause
#include "glue/removed_calls.h"

#include <stdbool.h>
#include <stdlib.h>

int pli_removed_extent(MPI_Datatype type, MPI_Aint *extent)
{
    MPI_Aint lb;
    return PMPI_Type_get_extent(type, &lb, extent);
}

int pli_removed_lb(MPI_Datatype type, MPI_Aint *lb)
{
    MPI_Aint extent;
    return PMPI_Type_get_extent(type, lb, &extent);
}

int pli_removed_ub(MPI_Datatype type, MPI_Aint *ub)
{
    MPI_Aint lb = 0;
    int code = PMPI_Type_get_extent(type, &lb, ub);
    if (code == MPI_SUCCESS) {
        *ub += lb;
    }
    return code;
}

// Where a datatype begins or ends, as markers say: the outermost counts.
struct bound {
    bool is_set;
    MPI_Aint at;
};

static void stretch(struct bound *b, MPI_Aint at, bool is_farther)
{
    if (!b->is_set || is_farther) {
        *b = (struct bound){ true, at };
    }
}

static int resize(const struct bound *lb, const struct bound *ub, MPI_Datatype *type)
{
    MPI_Datatype plain = *type;
    MPI_Aint begin, extent;
    int code = PMPI_Type_get_extent(plain, &begin, &extent);
    if (code == MPI_SUCCESS) {
        MPI_Aint from = lb->is_set ? lb->at : begin;
        MPI_Aint to = ub->is_set ? ub->at : begin + extent;
        code = PMPI_Type_create_resized(plain, from, to - from, type);
    }
    PMPI_Type_free(&plain);
    return code;
}

int pli_removed_struct(int count, const int lens[], const MPI_Aint displs[],
                       const MPI_Datatype types[], MPI_Datatype *newtype)
{
    size_t n = count > 0 ? (size_t)count : 0;
    int *len = malloc(n * sizeof *len + 1), n_data = 0;
    MPI_Aint *displ = malloc(n * sizeof *displ + 1);
    MPI_Datatype *type = malloc(n * sizeof *type + 1);
    struct bound lb = { 0 }, ub = { 0 };
    bool is_plain = len == NULL || displ == NULL || type == NULL || lens == NULL ||
                    displs == NULL || types == NULL; // it says what is wrong
    for (size_t i = 0; !is_plain && i < n; i++) {
        if (types[i] == MPI_LB) {
            stretch(&lb, displs[i], displs[i] < lb.at);
        } else if (types[i] == MPI_UB) {
            stretch(&ub, displs[i], displs[i] > ub.at);
        } else {
            len[n_data] = lens[i];
            displ[n_data] = displs[i];
            type[n_data++] = types[i];
        }
    }
    int code = is_plain || n == 0 ? PMPI_Type_create_struct(count, lens, displs, types, newtype)
                                  : PMPI_Type_create_struct(n_data, len, displ, type, newtype);
    if (code == MPI_SUCCESS && (lb.is_set || ub.is_set)) {
        code = resize(&lb, &ub, newtype);
    }
    free(type);
    free(displ);
    free(len);
    return code;
}
