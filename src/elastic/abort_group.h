// SPDX-License-Identifier: BSD-3-Clause
// MPI_Abort of some ranks, in a job whose others can go on without them.
#ifndef PLI_ELASTIC_ABORT_GROUP_H
#define PLI_ELASTIC_ABORT_GROUP_H

#include <stdbool.h>

struct pli_comm;

// Whether an abort on the communicator is one of its members alone: the job goes on after failures.
bool pli_abort_group_is_apart(const struct pli_comm *comm);

// Have the launcher end all members; the others learn of their deaths. True: it does, this process
// with them. False: nobody would be left, or the job does not go on after failures, and it is to
// end as a whole. Context: any thread, no lock held. [MPI-5.0 9.7 MPI_Abort]
bool pli_abort_group(const struct pli_comm *comm, int code);

#endif
