// SPDX-License-Identifier: BSD-3-Clause
// Redistribution plans, MPIX_Plan_*: which elements each process sends to which others when an
// array goes from one distribution over the ranks to another one, usually that of the next version
// of the world. A plan is a number, as an attribute key is.
#ifndef PLI_ELASTIC_PLAN_H
#define PLI_ELASTIC_PLAN_H

#include "base/err.h"

#include <mpi.h>

struct pli_datatype;

// from, to: MPI_COMM_NULL in a process that is not a member. Context: all living members of both
// call it.
enum pli_err pli_plan_create_block(MPI_Comm from, MPI_Comm to, MPI_Count n, int *plan_out);
enum pli_err pli_plan_create_cyclic(MPI_Comm from, MPI_Comm to, MPI_Count n, MPI_Count block,
                                    int *plan_out);
// Each process says which elements it has and which it is to have, as ranges in the order in which
// they lie in its buffer.
enum pli_err pli_plan_create_irregular(MPI_Comm from, MPI_Comm to, int n_old,
                                       const MPI_Count old_first[], const MPI_Count old_count[],
                                       int n_new, const MPI_Count new_first[],
                                       const MPI_Count new_count[], int *plan_out);
// Context: all living members call it, in the same order for several plans; waits.
enum pli_err pli_plan_execute(int plan, const void *sendbuf, void *recvbuf,
                              struct pli_datatype *type);
// Local.
enum pli_err pli_plan_get_count(int plan, MPI_Count *old_out, MPI_Count *new_out);
enum pli_err pli_plan_get_global(int plan, MPI_Count local, MPI_Count *global_out);
enum pli_err pli_plan_get_missing(int plan, int max, MPI_Count first[], MPI_Count count[],
                                  int *n_out);
enum pli_err pli_plan_free(int *plan);

// Free those that the program has not freed. Context: the world ends.
void pli_plan_end(void);

#endif
