// SPDX-License-Identifier: BSD-3-Clause
// Agreement among the members of a communicator that live, whoever dies meanwhile; and the
// communicator of those. On one host: what they say is in the node memory, where it outlives them.
#ifndef PLI_COMM_AGREE_H
#define PLI_COMM_AGREE_H

#include "base/err.h"

#include <mpi.h>

struct pli_comm;
struct pli_request;

// MPIX_Comm_agree: *flag becomes the bitwise and of all that live; between two groups, of those of
// the other one. PLI_ERR_PROC_FAILED, at all of them: somebody died and not everybody has
// acknowledged it; *flag is agreed on all the same. Context: no lock held; waits.
enum pli_err pli_agree_agree(struct pli_comm *comm, int *flag);
// Wait until all members that live have called it. call: which reports of deadlocks name.
enum pli_err pli_agree_meet(struct pli_comm *comm, const char *call);
// MPIX_Comm_shrink: the same members at all of them. NULL: nobody of the other group lives.
enum pli_err pli_agree_shrink(struct pli_comm *comm, struct pli_comm **out);
// The same on behalf of another call, which reports of deadlocks name.
enum pli_err pli_agree_shrink_in(struct pli_comm *comm, const char *call, struct pli_comm **out);

// The same without waiting; the result is written before the request is done. Any number may be
// under way on one communicator. Context: no lock held.
enum pli_err pli_agree_iagree(struct pli_comm *comm, int *flag, struct pli_request **request_out);
enum pli_err pli_agree_ishrink(struct pli_comm *comm, MPI_Comm *out,
                               struct pli_request **request_out);

#endif
