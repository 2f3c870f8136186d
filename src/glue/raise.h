// SPDX-License-Identifier: BSD-3-Clause
// From an internal error to what the user gets: a code, a message, a call of the error handler.
#ifndef PLI_GLUE_RAISE_H
#define PLI_GLUE_RAISE_H

#include "base/err.h"
#include "obj/handle.h"

#include <mpi.h>

struct pli_comm;
struct pli_errhandler;
struct pli_session;
struct pli_win;

// Handle a failure noted with pli_fail: make a code whose MPI_Error_string is the whole sentence,
// call the error handler of the owner (a communicator, window, file or session; NULL means
// MPI_COMM_SELF's), return the code. Does not return when the handler is fatal.
int pli_raise(struct pli_obj *owner, const char *fn, enum pli_err err) __attribute__((cold));

// The same for an object of a kind that could not be made: the handler meant for it, which gets the
// null handle.
int pli_raise_by(struct pli_errhandler *e, enum pli_kind kind, const char *fn, enum pli_err err)
    __attribute__((cold));

// From now on a fatal handler ends this process alone: those that spawned it failed before it was
// connected to them, and the others of a job that survives failures do without it.
void pli_raise_orphan(void);

// Make the code and nothing else: for statuses of MPI_ERR_IN_STATUS.
int pli_raise_code(const char *fn, enum pli_err err) __attribute__((cold));

// Call the handler of the owner with a code the user made (MPI_Comm_call_errhandler).
int pli_raise_user(struct pli_obj *owner, const char *fn, int code) __attribute__((cold));

// MPI_Comm_call_errhandler and its like.
enum pli_err pli_raise_call_comm(struct pli_comm *c, int code);
enum pli_err pli_raise_call_file(MPI_File h, int code);
enum pli_err pli_raise_call_session(struct pli_session *s, int code);
enum pli_err pli_raise_call_win(struct pli_win *w, int code);

static inline int pli_glue_return(struct pli_obj *owner, const char *fn, enum pli_err err)
{
    return __builtin_expect(err == PLI_OK, 1) ? MPI_SUCCESS : pli_raise(owner, fn, err);
}

#endif
