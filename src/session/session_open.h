// SPDX-License-Identifier: BSD-3-Clause
// Opening and closing sessions. Both are local: no message is sent, and no other process is waited
// for. MPI_Init opens a session too. [MPI-5.0 11.3.1]
#ifndef PLI_SESSION_SESSION_OPEN_H
#define PLI_SESSION_SESSION_OPEN_H

#include "base/err.h"

#include <mpi.h>
#include <stdbool.h>

struct pli_comm;
struct pli_errhandler;
struct pli_info;
struct pli_request;
struct pli_session;

// level: one of MPI_THREAD_*. is_locked: threads may be inside MPI at the same time from now on.
// Context: any thread.
enum pli_err pli_session_open(int level, bool is_locked, struct pli_session **out);
void pli_session_open_undo(struct pli_session *s);

// MPI_Session_init, with the hints thread_level and strict_finalize.
enum pli_err pli_session_open_init(struct pli_info *info, struct pli_errhandler *errhandler,
                                   struct pli_session **out);

// MPI_Session_finalize: frees the communicators that the program did not free; with the hint
// strict_finalize they are an error.
enum pli_err pli_session_open_finalize(struct pli_session *s);

enum pli_err pli_session_open_info(struct pli_session *s, struct pli_info **out);

// Error handlers and attached buffers of sessions.
enum pli_err pli_session_open_set_errhandler(struct pli_session *s, struct pli_errhandler *e);
enum pli_err pli_session_open_get_errhandler(struct pli_session *s, struct pli_errhandler **out);
enum pli_err pli_session_open_attach(struct pli_session *s, void *buffer, MPI_Count size);
enum pli_err pli_session_open_detach(struct pli_session *s, void *buffer_out, MPI_Count *size_out);
enum pli_err pli_session_open_flush(struct pli_session *s);
enum pli_err pli_session_open_iflush(struct pli_session *s, struct pli_request **out);

// Register with the rooms below. Context: start-up only.
void pli_session_open_prepare(void);

#endif
