// SPDX-License-Identifier: BSD-3-Clause
// How functions of the program are called that get handles and no argument of their own, when the
// program was built with another MPI (abi/foreign_error.c).
#ifndef PLI_OBJ_USER_CALLS_H
#define PLI_OBJ_USER_CALLS_H

#include <mpi.h>

struct pli_user_calls {
    void (*op)(MPI_User_function *fn, void *in, void *inout, int *len, MPI_Datatype *type);
    void (*op_c)(MPI_User_function_c *fn, void *in, void *inout, MPI_Count *len,
                 MPI_Datatype *type);
    void (*comm)(MPI_Comm_errhandler_function *fn, MPI_Comm *comm, int *code);
    void (*win)(MPI_Win_errhandler_function *fn, MPI_Win *win, int *code);
    void (*file)(MPI_File_errhandler_function *fn, MPI_File *file, int *code);
    void (*session)(MPI_Session_errhandler_function *fn, MPI_Session *session, int *code);
};

// NULL: they are called as they are. Set before main begins by the library that offers another ABI.
extern const struct pli_user_calls *pli_user_calls;

// Give an operation or an error handler of the program another function, and return the one it had;
// NULL: it is none of the program's. Context: nothing uses it yet.
typedef void pli_user_function(void);
pli_user_function *pli_user_calls_op(MPI_Op handle, pli_user_function *fn);
pli_user_function *pli_user_calls_errhandler(MPI_Errhandler handle, pli_user_function *fn);

#endif
