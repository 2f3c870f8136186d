// SPDX-License-Identifier: BSD-3-Clause
// How arguments come from Fortran and go back: special addresses, handles, LOGICALs, strings.
#ifndef PLI_FORTRAN_ARGUMENT_H
#define PLI_FORTRAN_ARGUMENT_H

#include "fortran/special.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PLI_ARGUMENT_FEW = 64,   // arrays of so many handles need no memory from the heap
    PLI_ARGUMENT_SHORT = 256 // nor do strings of so many bytes
};

static inline void pli_argument_set_ierror(int *ierror, int err)
{
    if (ierror != NULL) { // mpi_f08 may leave it out
        *ierror = err;
    }
}

// Whether a handle is the same number in C and in Fortran.
static inline bool pli_argument_is_predefined(uintptr_t handle)
{
#ifdef PLI_FORTRAN_OF_OPENMPI
    (void)handle;
    return false;
#else
    return handle < 0x400;
#endif
}

// For each kind of handle: one to C, one to Fortran, and arrays. An array of n comes back in
// `few` where it fits there, else in memory of the heap; NULL when there is none.
// pli_argument_x_done writes an array back, where it may have changed, and frees it.
#define PLI_ARGUMENT_HANDLE(word, Type, Function)                                                  \
    static inline Type pli_argument_##word(int fortran)                                            \
    {                                                                                              \
        return __builtin_expect(pli_argument_is_predefined((unsigned)fortran), 1)                  \
                   ? (Type)(intptr_t)fortran                                                       \
                   : P##Function##_fromint(fortran);                                               \
    }                                                                                              \
    static inline int pli_argument_from_##word(Type handle)                                        \
    {                                                                                              \
        return pli_argument_is_predefined((uintptr_t)handle) ? (int)(intptr_t)handle               \
                                                             : P##Function##_toint(handle);        \
    }                                                                                              \
    static inline Type *pli_argument_##word##s(const int *fortran, int n, Type *few)               \
    {                                                                                              \
        Type *all = pli_argument_space(n, sizeof *all, few);                                       \
        for (int i = 0; all != NULL && i < n; i++) {                                               \
            all[i] = fortran != NULL ? pli_argument_##word(fortran[i]) : (Type)0;                  \
        }                                                                                          \
        return all;                                                                                \
    }                                                                                              \
    static inline void pli_argument_##word##s_back(int *fortran, int n, const Type *all)           \
    {                                                                                              \
        for (int i = 0; i < n; i++) {                                                              \
            if (all[i] != (Type)0) {                                                               \
                fortran[i] = pli_argument_from_##word(all[i]);                                     \
            }                                                                                      \
        }                                                                                          \
    }

// Room for n things of a size: `few` where they fit there; NULL: no memory. pli_argument_drop
// gives it back.
void *pli_argument_space(int n, size_t size, void *few);
void pli_argument_drop(void *space, void *few);

PLI_ARGUMENT_HANDLE(comm, MPI_Comm, MPI_Comm)
PLI_ARGUMENT_HANDLE(group, MPI_Group, MPI_Group)
PLI_ARGUMENT_HANDLE(datatype, MPI_Datatype, MPI_Type)
PLI_ARGUMENT_HANDLE(op, MPI_Op, MPI_Op)
PLI_ARGUMENT_HANDLE(request, MPI_Request, MPI_Request)
PLI_ARGUMENT_HANDLE(info, MPI_Info, MPI_Info)
PLI_ARGUMENT_HANDLE(errhandler, MPI_Errhandler, MPI_Errhandler)
PLI_ARGUMENT_HANDLE(session, MPI_Session, MPI_Session)
PLI_ARGUMENT_HANDLE(win, MPI_Win, MPI_Win)
PLI_ARGUMENT_HANDLE(file, MPI_File, MPI_File)
PLI_ARGUMENT_HANDLE(message, MPI_Message, MPI_Message)

// How many elements an array has that is as long as the communicator says; 0 where that cannot be
// found out, and the call fails.
int pli_argument_size(MPI_Comm comm);
int pli_argument_sources(MPI_Comm comm);
int pli_argument_destinations(MPI_Comm comm);
// Whether the caller is the root of a call on a communicator: elsewhere many arguments are not
// looked at.
bool pli_argument_is_root(MPI_Comm comm, int root);

// A copy of an array that stays for good: nonblocking calls may read their arrays until they are
// complete. Equal contents are kept once. NULL: no memory.
const void *pli_argument_keep(const void *bytes, size_t n);

// An array of default INTEGERs where C has addresses.
MPI_Aint *pli_argument_widen(const int *fortran, int n, MPI_Aint *few);

// A string for C, without the blanks at its end (and with `trim` at its beginning); NULL: no
// memory.
char *pli_argument_string(const char *fortran, size_t length, bool trim, char *few);
// Room for a string that C writes, `length` bytes with its NUL, filled with what the variable
// holds: it stays when C writes none.
char *pli_argument_text(const char *fortran, size_t fortran_length, size_t length, char *few);
void pli_argument_text_back(char *fortran, size_t fortran_length, const char *text);
// n strings; strings until a blank one; n lists of such. One block of memory that ends with NULL;
// NULL: no memory.
char **pli_argument_strings(const char *fortran, int n, size_t length, bool trim);
char **pli_argument_argv(const char *fortran, size_t stride, size_t length);
char ***pli_argument_argvs(const char *fortran, int n, size_t length);

#endif
