// SPDX-License-Identifier: BSD-3-Clause
// Functions of MPI 5 that say how its handles look, for programs that ask what MPI they have found.
// The library of the standard ABI below this one has them too, and would answer for itself.
#include "foreign_calls.h"

int MPI_Abi_get_version(int *major, int *minor);
int PMPI_Abi_get_version(int *major, int *minor);

// These are not the handles of the standard ABI, which the standard has a value for.
int PMPI_Abi_get_version(int *major, int *minor)
{
    *major = *minor = -1;
    return 0;
}

int MPI_Abi_get_version(int *major, int *minor)
    __attribute__((weak, alias("PMPI_Abi_get_version")));

// A handle as a number is what Fortran has, here as in the originals.
#define NUMBER(kind, type)                                                                         \
    MPI_Fint PMPI_##kind##_c2f(type handle);                                                       \
    type PMPI_##kind##_f2c(MPI_Fint number);                                                       \
    int PMPI_##kind##_toint(type handle);                                                          \
    type PMPI_##kind##_fromint(int number);                                                        \
    int MPI_##kind##_toint(type handle) __attribute__((weak, alias("PMPI_" #kind "_toint")));      \
    type MPI_##kind##_fromint(int number) __attribute__((weak, alias("PMPI_" #kind "_fromint")));  \
    int PMPI_##kind##_toint(type handle)                                                           \
    {                                                                                              \
        return PMPI_##kind##_c2f(handle);                                                          \
    }                                                                                              \
    type PMPI_##kind##_fromint(int number)                                                         \
    {                                                                                              \
        return PMPI_##kind##_f2c(number);                                                          \
    }

NUMBER(Comm, F_Comm)
NUMBER(Errhandler, F_Errhandler)
NUMBER(File, F_File)
NUMBER(Group, F_Group)
NUMBER(Info, F_Info)
NUMBER(Message, F_Message)
NUMBER(Op, F_Op)
NUMBER(Request, F_Request)
NUMBER(Session, F_Session)
NUMBER(Type, F_Datatype)
NUMBER(Win, F_Win)
