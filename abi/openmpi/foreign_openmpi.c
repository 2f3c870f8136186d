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

// Of Open MPI 5. A status of mpi_f08 has the fields of C's, and one of mpif.h their numbers.
int PMPI_Status_c2f08(const F_Status *from, F_Status *to)
{
    if (from == NULL || from == F_MPI_STATUS_IGNORE || to == NULL) {
        return pli_foreign_error_out(MPI_ERR_ARG);
    }
    *to = *from;
    return 0;
}

int MPI_Status_c2f08(const F_Status *from, F_Status *to)
    __attribute__((weak, alias("PMPI_Status_c2f08")));
#define PLI_FOREIGN_STATUS(name)                                                                   \
    int PMPI_Status_##name(const F_Status *from, F_Status *to)                                     \
        __attribute__((alias("PMPI_Status_c2f08")));                                               \
    int MPI_Status_##name(const F_Status *from, F_Status *to)                                      \
        __attribute__((weak, alias("PMPI_Status_c2f08")))
PLI_FOREIGN_STATUS(f082c);
PLI_FOREIGN_STATUS(f082f);
PLI_FOREIGN_STATUS(f2f08);
