// SPDX-License-Identifier: BSD-3-Clause
// Session functions whose errors go to a handler among their arguments: the object it will belong
// to does not exist yet.
#ifndef PLI_GLUE_SESSION_CALLS_H
#define PLI_GLUE_SESSION_CALLS_H

#include <mpi.h>

struct pli_group;
struct pli_obj;

int pli_session_calls_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session *session);
int pli_session_calls_comm(MPI_Group group, const char *tag, MPI_Info info,
                           MPI_Errhandler errhandler, MPI_Comm *newcomm);
int pli_session_calls_inter(MPI_Group local, int local_leader, MPI_Group remote, int remote_leader,
                            const char *tag, MPI_Info info, MPI_Errhandler errhandler,
                            MPI_Comm *newcomm);

// The session a group belongs to, or NULL.
struct pli_obj *pli_session_calls_group_owner(const struct pli_group *g);

#endif
