// SPDX-License-Identifier: BSD-3-Clause
// What is kept for callbacks that get an argument of their own.
#ifndef PLI_FOREIGN_STATE_H
#define PLI_FOREIGN_STATE_H

#include "foreign_calls.h"

// The functions of a key or of a generalized request, and their argument.
struct pli_foreign_functions {
    void *extra;
    union {
        F_Comm_copy_attr_function *comm;
        F_Type_copy_attr_function *type;
        F_Win_copy_attr_function *win;
    } copy;
    union {
        F_Comm_delete_attr_function *comm;
        F_Type_delete_attr_function *type;
        F_Win_delete_attr_function *win;
    } drop;
    F_Grequest_query_function *query;
    F_Grequest_free_function *free;
    F_Grequest_cancel_function *cancel;
    int (*poll)(void *extra, F_Status *status);                         // of MPICH's
    int (*wait)(int n, void **extra, double timeout, F_Status *status); // of MPICH's
};

struct pli_foreign_state {
    struct pli_foreign_functions call;
    F_Datarep_extent_function *extent;
    F_Datarep_conversion_function *read, *write;
    F_Datarep_conversion_function_c *read_c, *write_c;
    // Where another language's functions are called by others in between: the program's, and those.
    struct pli_foreign_functions inner;
    void (*copy_proxy)(void), (*drop_proxy)(void);
    int keyval;
    F_Request request;
    struct pli_foreign_state *next; // that of an older key
};

// That of a key; of the generalized request that the calling thread started last. NULL: there is
// none.
struct pli_foreign_state *pli_foreign_state_of_keyval(int keyval);
struct pli_foreign_state *pli_foreign_state_of_grequest(F_Request request);

// Start a generalized request with the functions of `like` and its argument.
int pli_foreign_state_grequest_as(const struct pli_foreign_functions *like, F_Request *request);

#endif
