// SPDX-License-Identifier: BSD-3-Clause
// MPI_Abort of some ranks in a job whose other ranks can go on without them.
#ifndef PLI_ELASTIC_ABORT_GROUP_H
#define PLI_ELASTIC_ABORT_GROUP_H

#include <stdbool.h>

struct pli_comm;

// Whether an abort on the communicator ends only its members, because the job goes on after
// failures.
bool pli_abort_group_applies(const struct pli_comm *comm);

// Ask the launcher to end all members; the other ranks learn that they failed. True: the launcher
// does, and this process ends too. False: no rank would be left, or the job does not go on after
// failures, so the whole job must end. Context: any thread, no lock held. [MPI-5.0 9.7 MPI_Abort]
bool pli_abort_group(const struct pli_comm *comm, int code);

#endif
