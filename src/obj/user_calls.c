// SPDX-License-Identifier: BSD-3-Clause
// The table by which functions of a program are called that was built with another MPI.
#include "obj/user_calls.h"

#include "obj/errhandler.h"
#include "obj/op.h"

const struct pli_user_calls *pli_user_calls;

pli_user_function *pli_user_calls_op(MPI_Op handle, pli_user_function *fn)
{
    struct pli_op *op = pli_handle_get(handle, PLI_KIND_OP);
    if (op == NULL || op->which != PLI_OP_USER || op->is_large) {
        return NULL;
    }
    pli_user_function *old = (pli_user_function *)op->user;
    op->user = (MPI_User_function *)fn;
    return old;
}

pli_user_function *pli_user_calls_errhandler(MPI_Errhandler handle, pli_user_function *fn)
{
    struct pli_errhandler *e = pli_handle_get(handle, PLI_KIND_ERRHANDLER);
    if (e == NULL || e->on == PLI_KIND_NONE) {
        return NULL;
    }
    pli_user_function *old = (pli_user_function *)e->fn.comm;
    e->fn.comm = (MPI_Comm_errhandler_function *)fn;
    return old;
}
