// SPDX-License-Identifier: BSD-3-Clause
// Calls the function that initialises MPI, which the room above sets and the UPC runtime allows.
#include "comm/implicit_init.h"

#include <mpi.h>
#include <stddef.h>

static bool (*begin)(void);
static bool is_allowed, has_begun;

void pli_implicit_init_on_use(bool (*fn)(void))
{
    begin = fn;
}

void pli_implicit_init_allow(void)
{
    is_allowed = true;
}

bool pli_implicit_init_by(const void *handle)
{
    bool is_ours = handle == (const void *)MPI_COMM_WORLD || handle == (const void *)MPI_COMM_SELF;
    if (!is_ours || !is_allowed || begin == NULL || has_begun) {
        return false;
    }
    has_begun = begin();
    return has_begun;
}

bool pli_implicit_init_has(void)
{
    return has_begun;
}
