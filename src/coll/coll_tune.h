// SPDX-License-Identifier: BSD-3-Clause
// Finds the algorithm that the rules of mpiinfo --tune name.
#ifndef PLI_COLL_TUNE_H
#define PLI_COLL_TUNE_H

#include <mpi.h>
#include <stdbool.h>

struct pli_coll_algo;
struct pli_comm;

// Keep the rules of this job. False: there are none. Context: start-up only.
bool pli_coll_tune_open(const char *rules);

// The algorithm that the rules name, NULL: none, or some members are of another job and may have
// other rules. Context: any thread.
const struct pli_coll_algo *pli_coll_tune_find(const struct pli_comm *comm, int kind,
                                               MPI_Count bytes);

#endif
