// SPDX-License-Identifier: BSD-3-Clause
// Functions that Open MPI's library has and the API table does not.
#include "foreign_calls.h"

// Whether buffers may be on a device: they may not. The last two are of Open MPI 5.
int MPIX_Query_cuda_support(void)
{
    return 0;
}

int MPIX_Query_rocm_support(void) __attribute__((alias("MPIX_Query_cuda_support")));
int MPIX_Query_ze_support(void) __attribute__((alias("MPIX_Query_cuda_support")));
