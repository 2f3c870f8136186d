// SPDX-License-Identifier: BSD-3-Clause
// Accesses to windows, as the API table calls them. [MPI-5.0 12.3]
#ifndef PLI_RMA_RMA_ACCESS_H
#define PLI_RMA_RMA_ACCESS_H

#include "base/err.h"

#include <mpi.h>

struct pli_datatype;
struct pli_op;
struct pli_request;
struct pli_win;

enum pli_err pli_rma_access_put(const void *from, MPI_Count n_from, struct pli_datatype *from_type,
                                int target, MPI_Aint disp, MPI_Count n_to,
                                struct pli_datatype *to_type, struct pli_win *w);
enum pli_err pli_rma_access_rput(const void *from, MPI_Count n_from, struct pli_datatype *from_type,
                                 int target, MPI_Aint disp, MPI_Count n_to,
                                 struct pli_datatype *to_type, struct pli_win *w,
                                 struct pli_request **out);
enum pli_err pli_rma_access_get(void *to, MPI_Count n_to, struct pli_datatype *to_type, int target,
                                MPI_Aint disp, MPI_Count n_from, struct pli_datatype *from_type,
                                struct pli_win *w);
enum pli_err pli_rma_access_rget(void *to, MPI_Count n_to, struct pli_datatype *to_type, int target,
                                 MPI_Aint disp, MPI_Count n_from, struct pli_datatype *from_type,
                                 struct pli_win *w, struct pli_request **out);

#endif
