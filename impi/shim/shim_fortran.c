// SPDX-License-Identifier: BSD-3-Clause
// Fortran programs. MPICH's binding calls the MPI_ functions of C, which this library has. Open
// MPI's calls the PMPI_ functions, which it has not: such a program would run by itself, and the
// other clients would wait for it. It is ended with an error message.
#include <mpi.h>

#ifdef OPEN_MPI

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include "shim/shim.h"

static void *own(const char *name)
{
    if (getenv("IMPI_SERVER") != NULL) {
        fprintf(stderr,
                "libimpi: Fortran programs of Open MPI cannot take part in an IMPI job: their "
                "interface goes past libimpi. Those of MPICH can\n");
        exit(1);
    }
    return dlsym(RTLD_NEXT, name);
}

// Both names of each: a program calls the first, Open MPI's module of Fortran 2008 the second.
#define INIT(name)                                                                                 \
    PLI_SHIM_API void name(MPI_Fint *err);                                                         \
    PLI_SHIM_API void name(MPI_Fint *err)                                                          \
    {                                                                                              \
        void (*fn)(MPI_Fint *);                                                                    \
        *(void **)&fn = own(#name);                                                                \
        fn(err);                                                                                   \
    }
INIT(mpi_init_)
INIT(ompi_init_f)

#define INIT_THREAD(name)                                                                          \
    PLI_SHIM_API void name(MPI_Fint *required, MPI_Fint *provided, MPI_Fint *err);                 \
    PLI_SHIM_API void name(MPI_Fint *required, MPI_Fint *provided, MPI_Fint *err)                  \
    {                                                                                              \
        void (*fn)(MPI_Fint *, MPI_Fint *, MPI_Fint *);                                            \
        *(void **)&fn = own(#name);                                                                \
        fn(required, provided, err);                                                               \
    }
INIT_THREAD(mpi_init_thread_)
INIT_THREAD(ompi_init_thread_f)

#endif
