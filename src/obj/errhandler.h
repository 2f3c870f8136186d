// SPDX-License-Identifier: BSD-3-Clause
// Error handlers, and where an object keeps its own.
#ifndef PLI_OBJ_ERRHANDLER_H
#define PLI_OBJ_ERRHANDLER_H

#include "base/err.h"
#include "obj/handle.h"

#include <mpi.h>

struct pli_errhandler {
    struct pli_obj obj;
    enum pli_kind on;        // kind of object it may be set on; NONE: any (predefined)
    _Atomic uint32_t n_user; // handles of it that the user got and did not free
    union {
        MPI_Comm_errhandler_function *comm;
        MPI_Win_errhandler_function *win;
        MPI_File_errhandler_function *file;
        MPI_Session_errhandler_function *session;
    } fn;
};

extern struct pli_errhandler pli_errhandler_fatal, pli_errhandler_abort, pli_errhandler_return;

struct pli_errhandler *pli_errhandler_retain(struct pli_errhandler *e);
void pli_errhandler_release(struct pli_errhandler *e);

// Choose the handler in force before and without MPI_COMM_SELF from the settings.
// Context: start-up only; a second call does nothing.
void pli_errhandler_init(void);
struct pli_errhandler *pli_errhandler_initial(void);

// Tell where objects of a kind keep their `struct pli_errhandler *`: once, by the file that defines
// the kind. Context: start-up only.
void pli_errhandler_keep(enum pli_kind kind, size_t offset);

// What MPI_FILE_NULL stands for as an owner of an error handler: the default of files to come.
extern struct pli_obj *const pli_errhandler_no_file;

// The handler now set on an object, with a reference for the caller. An object without one, or
// of a kind that cannot have one, has the initial handler. NULL: MPI_COMM_SELF, if there is one.
// Context: any thread.
struct pli_errhandler *pli_errhandler_of(struct pli_obj *owner);

// Set a handler on an object of a known kind, or give the user a handle of the one that is set.
enum pli_err pli_errhandler_set(struct pli_obj *owner, struct pli_errhandler *e);
enum pli_err pli_errhandler_get(struct pli_obj *owner, struct pli_errhandler **out);

// As the API table calls them.
enum pli_err pli_errhandler_create_comm(MPI_Comm_errhandler_function *fn,
                                        struct pli_errhandler **out);
enum pli_err pli_errhandler_create_file(MPI_File_errhandler_function *fn,
                                        struct pli_errhandler **out);
enum pli_err pli_errhandler_create_win(MPI_Win_errhandler_function *fn,
                                       struct pli_errhandler **out);
enum pli_err pli_errhandler_create_session(MPI_Session_errhandler_function *fn,
                                           struct pli_errhandler **out);
enum pli_err pli_errhandler_set_file(MPI_File h, struct pli_errhandler *e);
enum pli_err pli_errhandler_get_file(MPI_File h, struct pli_errhandler **out);
enum pli_err pli_errhandler_free(struct pli_errhandler *e);

// What owns the handler a file handle stands for; NULL: it is no file handle, and the reason is
// noted.
struct pli_obj *pli_errhandler_file(MPI_File h);

#endif
