// SPDX-License-Identifier: BSD-3-Clause
// Variables and functions that MPICH's library has and the API table does not.
#include "foreign_calls.h"

#undef MPI_UNWEIGHTED
#undef MPI_WEIGHTS_EMPTY
#undef MPI_T_PVAR_ALL_HANDLES

// Programs read them: with our values in them they need no translation.
extern int *const MPI_UNWEIGHTED, *const MPI_WEIGHTS_EMPTY;
int *const MPI_UNWEIGHTED = (int *)10, *const MPI_WEIGHTS_EMPTY = (int *)11;
extern void *const MPI_T_PVAR_ALL_HANDLES;
void *const MPI_T_PVAR_ALL_HANDLES = (void *)1;

// For C programs that call Fortran ones of the module mpi_f08.
F_Status MPIR_F08_MPI_STATUS_IGNORE_OBJ, MPIR_F08_MPI_STATUSES_IGNORE_OBJ[1];
int MPIR_F08_MPI_IN_PLACE, MPIR_F08_MPI_BOTTOM;
// The standard ABI's header has these names for another type.
extern F_Status *f08_status_ignore __asm__("MPI_F08_STATUS_IGNORE");
extern F_Status *f08_statuses_ignore __asm__("MPI_F08_STATUSES_IGNORE");
F_Status *f08_status_ignore = &MPIR_F08_MPI_STATUS_IGNORE_OBJ;
F_Status *f08_statuses_ignore = &MPIR_F08_MPI_STATUSES_IGNORE_OBJ[0];

// Set by the Fortran library.
MPI_Fint *MPI_F_STATUS_IGNORE, *MPI_F_STATUSES_IGNORE;

// The Fortran library has these two as well, without values, and then its own count.
int *MPIR_C_MPI_UNWEIGHTED, *MPIR_C_MPI_WEIGHTS_EMPTY;
__attribute__((constructor)) static void set_weights(void)
{
    MPIR_C_MPI_UNWEIGHTED = MPI_UNWEIGHTED;
    MPIR_C_MPI_WEIGHTS_EMPTY = MPI_WEIGHTS_EMPTY;
}

// Whether buffers may be on a device of a kind: they may not.
int PMPIX_Query_cuda_support(void)
{
    return 0;
}

int PMPIX_GPU_query_support(int gpu_type, int *is_supported)
{
    if (gpu_type < 0 || gpu_type > 2 || is_supported == NULL) { // CUDA, Level Zero, HIP
        return pli_foreign_error_out(MPI_ERR_ARG);
    }
    *is_supported = 0;
    return 0;
}

int MPIX_Query_cuda_support(void) __attribute__((weak, alias("PMPIX_Query_cuda_support")));
int PMPIX_Query_ze_support(void) __attribute__((alias("PMPIX_Query_cuda_support")));
int MPIX_Query_ze_support(void) __attribute__((weak, alias("PMPIX_Query_cuda_support")));
int PMPIX_Query_hip_support(void) __attribute__((alias("PMPIX_Query_cuda_support")));
int MPIX_Query_hip_support(void) __attribute__((weak, alias("PMPIX_Query_cuda_support")));
int MPIX_GPU_query_support(int gpu_type, int *is_supported)
    __attribute__((weak, alias("PMPIX_GPU_query_support")));
