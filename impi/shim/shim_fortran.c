// SPDX-License-Identifier: BSD-3-Clause
// Fortran programs. Their libraries call functions of C, which libimpi has, MPICH's the MPI_ and
// Open MPI's the PMPI_ ones (native.awk); but attributes they read past all functions.
#include <dlfcn.h>
#include "shim/shim.h"

#if defined(OPEN_MPI) || defined(MPI_ABI_VERSION)
enum { TAG_UB = MPI_TAG_UB };
#else
enum { TAG_UB = MPI_TAG_UB + 1 }; // MPICH's keys of Fortran
#endif

static int *own(MPI_Fint comm, MPI_Fint key)
{
    PLI_SHIM_ENTER;
    return pli_shim_comm_attribute(PMPI_Comm_f2c(comm), key == TAG_UB ? MPI_TAG_UB : key);
}

// The first name is called by programs, the second by the modules of Fortran 2008, the third is of
// MPI-1.
#define GET_ATTR(name, type)                                                                       \
    PLI_SHIM_API void name(MPI_Fint *comm, MPI_Fint *key, type *value, MPI_Fint *flag,             \
                           MPI_Fint *err);                                                         \
    PLI_SHIM_API void name(MPI_Fint *comm, MPI_Fint *key, type *value, MPI_Fint *flag,             \
                           MPI_Fint *err)                                                          \
    {                                                                                              \
        void (*native)(MPI_Fint *, MPI_Fint *, type *, MPI_Fint *, MPI_Fint *);                    \
        const int *found = own(*comm, *key);                                                       \
        if (found == NULL) {                                                                       \
            *(void **)&native = dlsym(RTLD_NEXT, #name);                                           \
            native(comm, key, value, flag, err);                                                   \
            return;                                                                                \
        }                                                                                          \
        *value = *found;                                                                           \
        *flag = 1;                                                                                 \
        *err = MPI_SUCCESS;                                                                        \
    }
GET_ATTR(mpi_comm_get_attr_, MPI_Aint)
GET_ATTR(pmpi_comm_get_attr_, MPI_Aint)
GET_ATTR(mpi_attr_get_, MPI_Fint)
