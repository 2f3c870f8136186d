// SPDX-License-Identifier: BSD-3-Clause
// Functions that Open MPI's library has and the API table does not.
#include "foreign_calls.h"

// Whether buffers may be on a device: they may not.
int MPIX_Query_cuda_support(void)
{
    return 0;
}
