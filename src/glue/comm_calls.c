// SPDX-License-Identifier: BSD-3-Clause
// Entry points of communicators that the generator has no form for.
// The null handle has a name, so MPI_Comm_get_name takes what no other call does; and MPI_Comm_free
// takes what a clone has of the rank that it was forked from.
#include "glue/comm_calls.h"

#include "comm/comm_free.h"
#include "glue/check.h"
#include "glue/raise.h"

#include <string.h>

int pli_comm_calls_get_name(MPI_Comm comm, char *name, int *len)
{
    static const char fn[] = "MPI_Comm_get_name";
    struct pli_comm *c = pli_arg_comm_any(comm);
    struct pli_obj *owner = c != NULL ? &c->obj : NULL;
    if (c == NULL && comm != MPI_COMM_NULL) {
        return pli_bad_handle(NULL, fn, "comm", PLI_KIND_COMM, comm);
    }
    if (name == NULL || len == NULL) {
        return pli_bad_pointer(owner, fn, name == NULL ? "comm_name" : "resultlen");
    }
    strcpy(name, c != NULL ? c->name : "MPI_COMM_NULL");
    *len = (int)strlen(name);
    return MPI_SUCCESS;
}

int pli_comm_calls_free(MPI_Comm *comm)
{
    static const char fn[] = "MPI_Comm_free";
    if (comm == NULL) {
        return pli_bad_pointer(NULL, fn, "comm");
    }
    struct pli_comm *c = pli_arg_comm_any(*comm);
    if (c == NULL && pli_handle_get(*comm, PLI_KIND_LOST) != NULL) {
        *comm = MPI_COMM_NULL;
        return MPI_SUCCESS;
    }
    if (c == NULL) {
        return pli_bad_handle(NULL, fn, "comm", PLI_KIND_COMM, *comm);
    }
    enum pli_err err = pli_comm_free_free(c);
    if (err == PLI_OK) {
        *comm = MPI_COMM_NULL;
    }
    return pli_glue_return(err == PLI_OK ? NULL : &c->obj, fn, err);
}
