// SPDX-License-Identifier: BSD-3-Clause
// Agreement among the surviving members of a communicator, whichever fail meanwhile, and the
// communicator of the survivors. On one host the votes are in the node's memory, where they outlive
// the members.
#ifndef PLI_COMM_AGREE_H
#define PLI_COMM_AGREE_H

#include "base/err.h"

#include <mpi.h>

struct pli_comm;
struct pli_request;

// MPIX_Comm_agree: *flag becomes the bitwise and over all survivors; on an intercommunicator, over
// those of the remote group. PLI_ERR_PROC_FAILED at all of them: a member failed and not all
// members have acknowledged it; *flag is agreed on all the same. Context: no lock held; waits.
enum pli_err pli_agree_agree(struct pli_comm *comm, int *flag);
// Wait until all survivors have called it. call: the name of the function for deadlock reports.
enum pli_err pli_agree_meet(struct pli_comm *comm, const char *call);
// MPIX_Comm_shrink: all survivors get the same members. NULL: the remote group has no survivor.
enum pli_err pli_agree_shrink(struct pli_comm *comm, struct pli_comm **out);
// The same on behalf of another function, which deadlock reports name.
enum pli_err pli_agree_shrink_in(struct pli_comm *comm, const char *call, struct pli_comm **out);

// The same, nonblocking; the result is written before the request completes. Any number may be
// under way on one communicator. Context: no lock held.
enum pli_err pli_agree_iagree(struct pli_comm *comm, int *flag, struct pli_request **request_out);
enum pli_err pli_agree_ishrink(struct pli_comm *comm, MPI_Comm *out,
                               struct pli_request **request_out);

#endif
