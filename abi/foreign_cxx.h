// SPDX-License-Identifier: BSD-3-Clause
// Operations and error handlers of the C++ bindings: a function of C++ that a function of the
// library of that language calls, which knows its objects.
#ifndef PLI_FOREIGN_CXX_H
#define PLI_FOREIGN_CXX_H

#include "foreign_calls.h"

typedef void pli_foreign_function(void);

// Kept in place of the function; its address is what the library below has.
struct pli_foreign_cxx {
    pli_foreign_function *user;  // of the program, in C++
    pli_foreign_function *proxy; // of the library for C++
    void *object;                // what the program holds for a handle
    struct pli_foreign_cxx *next;
};

// NULL: there is no memory.
struct pli_foreign_cxx *pli_foreign_cxx_keep(pli_foreign_function *user,
                                             pli_foreign_function *proxy, void *object);
// What is kept in place of a function; NULL: it is a function.
struct pli_foreign_cxx *pli_foreign_cxx_of(pli_foreign_function *fn);

// What an error handler is for, in the numbers of MPICH.
enum pli_foreign_on { PLI_FOREIGN_ON_COMM, PLI_FOREIGN_ON_FILE, PLI_FOREIGN_ON_WIN };

extern const F_Errhandler pli_foreign_cxx_throwing; // MPI::ERRORS_THROW_EXCEPTIONS

// Each ABI has its own: call a function of C++.
void pli_foreign_cxx_op(const struct pli_foreign_cxx *c, void *in, void *inout, int *len,
                        F_Datatype *type);
// Of Open MPI alone: call an operation in Java, which has no function (user is NULL).
void pli_foreign_java_op(const struct pli_foreign_cxx *c, void *in, void *inout, int *len,
                         F_Datatype *type);
void pli_foreign_cxx_error(const struct pli_foreign_cxx *c, enum pli_foreign_on on, void *handle,
                           int *code);
// MPI::ERRORS_THROW_EXCEPTIONS for a kind of object; MPI_ERRHANDLER_NULL: there is none.
MPI_Errhandler pli_foreign_cxx_thrower(enum pli_foreign_on on);

// A handler that is set on an object, or that an object has. MPI::ERRORS_THROW_EXCEPTIONS is one
// for all kinds of objects, and one of ours for each.
MPI_Errhandler pli_foreign_cxx_handler_in(F_Errhandler h, enum pli_foreign_on on);
F_Errhandler pli_foreign_cxx_handler_out(MPI_Errhandler h);

// Of the library below (src/obj/user_calls.h).
pli_foreign_function *pli_user_calls_op(MPI_Op handle, pli_foreign_function *fn);
pli_foreign_function *pli_user_calls_errhandler(MPI_Errhandler handle, pli_foreign_function *fn);

#endif
