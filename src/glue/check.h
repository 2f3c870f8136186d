// SPDX-License-Identifier: BSD-3-Clause
// Argument checks shared by all entry points: the test is inline, the complaint is not.
#ifndef PLI_GLUE_CHECK_H
#define PLI_GLUE_CHECK_H

#include "comm/endpoint_static.h"
#include "obj/comm.h"
#include "obj/datatype.h"
#include "obj/handle.h"
#include "obj/ints.h"

#include <limits.h>
#include <mpi.h>

#define pli_unlikely(x) __builtin_expect(!!(x), 0)

struct pli_errhandler;
struct pli_file;
struct pli_info;
struct pli_message;
struct pli_op;
struct pli_request;
struct pli_session;
struct pli_win;

// The object behind a handle, or NULL.
#define PLI_ARG(kind, KIND, handle)                                                                \
    static inline struct pli_##kind *pli_arg_##kind(handle h)                                      \
    {                                                                                              \
        return (struct pli_##kind *)pli_handle_get(h, PLI_KIND_##KIND);                            \
    }
PLI_ARG(group, GROUP, MPI_Group)
PLI_ARG(datatype, DATATYPE, MPI_Datatype)
PLI_ARG(op, OP, MPI_Op)
PLI_ARG(request, REQUEST, MPI_Request)
PLI_ARG(info, INFO, MPI_Info)
PLI_ARG(errhandler, ERRHANDLER, MPI_Errhandler)
PLI_ARG(session, SESSION, MPI_Session)
PLI_ARG(win, WIN, MPI_Win)
PLI_ARG(file, FILE, MPI_File)
PLI_ARG(message, MESSAGE, MPI_Message)
#undef PLI_ARG

// One handle may mean another communicator in every thread; no other handle pays for that.
static inline struct pli_comm *pli_arg_comm(MPI_Comm h)
{
    struct pli_comm *c = pli_handle_get(h, PLI_KIND_COMM);
    return pli_unlikely(c == NULL) ? pli_endpoint_static_mine(h) : c;
}

// The same for calls that do not communicate: they work where nothing can be sent any more.
static inline struct pli_comm *pli_arg_comm_any(MPI_Comm h)
{
    struct pli_comm *c = pli_arg_comm(h);
    return pli_unlikely(c == NULL) ? pli_comm_any(h) : c;
}

// For arguments that do not count at every rank: NULL when not usable, and the callee decides.
static inline struct pli_datatype *pli_arg_datatype_committed(MPI_Datatype h)
{
    struct pli_datatype *t = pli_arg_datatype(h);
    return t != NULL && t->is_committed ? t : NULL;
}

static inline bool pli_ok_count(int64_t n)
{
    return n >= 0;
}

static inline bool pli_ok_length(int64_t n)
{
    return n >= 0;
}

static inline bool pli_ok_tag(int tag)
{
    return tag >= 0;
}

static inline bool pli_ok_tag_any(int tag)
{
    return tag >= 0 || tag == MPI_ANY_TAG;
}

static inline bool pli_ok_dest(const struct pli_comm *c, int rank)
{
    return (unsigned)rank < (unsigned)c->n_peer || rank == MPI_PROC_NULL;
}

static inline bool pli_ok_source(const struct pli_comm *c, int rank)
{
    return pli_ok_dest(c, rank) || rank == MPI_ANY_SOURCE;
}

static inline bool pli_ok_any_rank(int rank)
{
    return rank >= 0 || rank == MPI_PROC_NULL;
}

static inline bool pli_ok_root(const struct pli_comm *c, int rank)
{
    return (unsigned)rank < (unsigned)c->n_peer ||
           (c->is_inter && (rank == MPI_ROOT || rank == MPI_PROC_NULL));
}

// A count on its way out through an int: MPI_UNDEFINED when it does not fit. [MPI-5.0 3.2.5]
static inline int pli_narrow_int(MPI_Count n)
{
    return n > INT_MAX || n < INT_MIN ? MPI_UNDEFINED : (int)n;
}

static inline MPI_Count pli_narrow_MPI_Count(MPI_Count n)
{
    return n;
}

static inline MPI_Aint pli_narrow_MPI_Aint(MPI_Count n)
{
    return n;
}

// The complaints: each writes a sentence that names function, argument, value and what would be
// valid, raises it on the owner's error handler and returns the MPI code.
int pli_bad_handle(struct pli_obj *owner, const char *fn, const char *arg, enum pli_kind want,
                   const void *h) __attribute__((cold));
int pli_bad_pointer(struct pli_obj *owner, const char *fn, const char *arg) __attribute__((cold));
int pli_bad_uncommitted(struct pli_obj *owner, const char *fn, const char *arg,
                        const struct pli_datatype *t) __attribute__((cold));
int pli_bad_count(struct pli_obj *owner, const char *fn, const char *arg, int64_t n)
    __attribute__((cold));
int pli_bad_length(struct pli_obj *owner, const char *fn, const char *arg, int64_t n)
    __attribute__((cold));
int pli_bad_tag(struct pli_obj *owner, const char *fn, const char *arg, int tag)
    __attribute__((cold));
int pli_bad_tag_any(struct pli_obj *owner, const char *fn, const char *arg, int tag)
    __attribute__((cold));
int pli_bad_dest(struct pli_obj *owner, const char *fn, const char *arg, const struct pli_comm *c,
                 int rank) __attribute__((cold));
int pli_bad_source(struct pli_obj *owner, const char *fn, const char *arg, const struct pli_comm *c,
                   int rank) __attribute__((cold));
int pli_bad_any_rank(struct pli_obj *owner, const char *fn, const char *arg, int rank)
    __attribute__((cold));
int pli_bad_root(struct pli_obj *owner, const char *fn, const char *arg, const struct pli_comm *c,
                 int rank) __attribute__((cold));

#endif
