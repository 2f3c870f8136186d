// SPDX-License-Identifier: BSD-3-Clause
// What tests of MPI_Fork share.
#ifndef PLI_MPI_FORK_T_H
#define PLI_MPI_FORK_T_H

#include "obj.h"

static inline int rank_of(MPI_Comm c)
{
    int r = -1;
    MPI_Comm_rank(c, &r);
    return r;
}

static inline int size_of(MPI_Comm c)
{
    int n = -1;
    MPI_Comm_size(c, &n);
    return n;
}

// MPI_Fork, which must not fail.
static inline int split(int m)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int len, got = MPI_Fork(m);
    if (got < 0) {
        MPI_Error_string(-got, text, &len);
        fprintf(stderr, "%s\n", text);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    return got;
}

#endif
