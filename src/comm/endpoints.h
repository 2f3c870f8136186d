// SPDX-License-Identifier: BSD-3-Clause
// Many ranks in one process: communicators whose members are endpoints made for them.
#ifndef PLI_COMM_ENDPOINTS_H
#define PLI_COMM_ENDPOINTS_H

#include "base/err.h"

struct pli_comm;
struct pli_info;

// Collective over the parent: n endpoints of this process, each with a handle of its own to one new
// communicator, ordered by rank in the parent and then by index. out has room for n handles; n may
// be 0. Of an intercommunicator the new one is an intercommunicator too. why: what is wrong with
// the caller's arguments; all members fail then, after the exchange, so that none is left waiting.
// Waits. Context: no lock held.
enum pli_err pli_endpoints_create(struct pli_comm *parent, int n, struct pli_info *info,
                                  enum pli_err why, struct pli_comm *out[]);

// The same with ranks that the callers choose: endpoint i of this process gets rank ranks[i]. All
// ranks of all processes together are 0, 1, 2, ..., each once. Not of an intercommunicator.
enum pli_err pli_endpoints_create_ranked(struct pli_comm *parent, int n, const int ranks[],
                                         struct pli_info *info, enum pli_err why,
                                         struct pli_comm *out[]);

// The same with n >= 1 endpoints of which the first is the parent's own, so that only the others
// are new.
enum pli_err pli_endpoints_create_more(struct pli_comm *parent, int n, enum pli_err why,
                                       struct pli_comm *out[]);

// MPI_Comm_attach and MPI_Comm_detach: the calling thread uses the communicator's endpoint from now
// on, or no longer.
enum pli_err pli_endpoints_attach(struct pli_comm *comm);
enum pli_err pli_endpoints_detach(struct pli_comm *comm);

// The rank in MPI_COMM_WORLD of the process that a rank lives in: MPIX_Comm_get_process. Local.
enum pli_err pli_endpoints_process(struct pli_comm *comm, int rank, int *process_out);

// How many endpoints of this process can be used at once without sharing a lane.
enum pli_err pli_endpoints_best(struct pli_comm *comm, int *n_out);

#endif
