// SPDX-License-Identifier: BSD-3-Clause
// What MPICH's library for C++ calls for operations and error handlers: they are made with the
// function of C++, and then it says which of its own calls that.
#include "foreign_cxx.h"

const F_Errhandler pli_foreign_cxx_throwing = 0x54000002;

void MPII_Op_set_cxx(F_Op op, pli_foreign_function *proxy);
void MPII_Errhandler_set_cxx(F_Errhandler errhandler, pli_foreign_function *proxy);

void MPII_Op_set_cxx(F_Op op, pli_foreign_function *proxy)
{
    struct pli_foreign_cxx *c = pli_foreign_cxx_keep(NULL, proxy, NULL);
    if (c != NULL) {
        c->user = pli_user_calls_op(pli_foreign_op_in(op), (pli_foreign_function *)c);
    }
}

void MPII_Errhandler_set_cxx(F_Errhandler errhandler, pli_foreign_function *proxy)
{
    struct pli_foreign_cxx *c = pli_foreign_cxx_keep(NULL, proxy, NULL);
    if (c != NULL) {
        c->user = pli_user_calls_errhandler(pli_foreign_errhandler_in(errhandler),
                                            (pli_foreign_function *)c);
    }
}

void pli_foreign_cxx_op(const struct pli_foreign_cxx *c, void *in, void *inout, int *len,
                        F_Datatype *type)
{
    typedef void proxy(const void *in, void *inout, int len, F_Datatype type,
                       pli_foreign_function *user);
    ((proxy *)c->proxy)(in, inout, *len, *type, c->user);
}

void pli_foreign_cxx_error(const struct pli_foreign_cxx *c, enum pli_foreign_on on, void *handle,
                           int *code)
{
    typedef void proxy(int on, int *handle, int *code, pli_foreign_function *user);
    ((proxy *)c->proxy)(on, handle, code, c->user);
}

// The call returns its code, and the bindings throw that when they find this handler on the object.
static void leave_comm(F_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
}

static void leave_file(F_File *file, int *code, ...)
{
    (void)file;
    (void)code;
}

MPI_Errhandler pli_foreign_cxx_thrower(enum pli_foreign_on on)
{
    MPI_Errhandler e = MPI_ERRHANDLER_NULL;
    pli_foreign_function *fn = (pli_foreign_function *)leave_comm; // a window is an int too
    if (on == PLI_FOREIGN_ON_COMM) {
        pli_std_MPI_Comm_create_errhandler((MPI_Comm_errhandler_function *)fn, &e);
    } else if (on == PLI_FOREIGN_ON_WIN) {
        pli_std_MPI_Win_create_errhandler((MPI_Win_errhandler_function *)fn, &e);
    } else {
        fn = (pli_foreign_function *)leave_file;
        pli_std_MPI_File_create_errhandler((MPI_File_errhandler_function *)fn, &e);
    }
    return e;
}
