// SPDX-License-Identifier: BSD-3-Clause
// Accumulating accesses, as the API table calls them. [MPI-5.0 12.3.4]
#ifndef PLI_RMA_RMA_UPDATE_H
#define PLI_RMA_RMA_UPDATE_H

#include "base/err.h"

#include <mpi.h>

struct pli_datatype;
struct pli_op;
struct pli_request;
struct pli_win;

enum pli_err pli_rma_update(const void *from, MPI_Count n_from, struct pli_datatype *from_type,
                            int target, MPI_Aint disp, MPI_Count n_to, struct pli_datatype *to_type,
                            struct pli_op *op, struct pli_win *w);
enum pli_err pli_rma_update_request(const void *from, MPI_Count n_from,
                                    struct pli_datatype *from_type, int target, MPI_Aint disp,
                                    MPI_Count n_to, struct pli_datatype *to_type, struct pli_op *op,
                                    struct pli_win *w, struct pli_request **out);
enum pli_err pli_rma_update_get(const void *from, MPI_Count n_from, struct pli_datatype *from_type,
                                void *result, MPI_Count n_result, struct pli_datatype *result_type,
                                int target, MPI_Aint disp, MPI_Count n_to,
                                struct pli_datatype *to_type, struct pli_op *op, struct pli_win *w);
enum pli_err pli_rma_update_get_request(const void *from, MPI_Count n_from,
                                        struct pli_datatype *from_type, void *result,
                                        MPI_Count n_result, struct pli_datatype *result_type,
                                        int target, MPI_Aint disp, MPI_Count n_to,
                                        struct pli_datatype *to_type, struct pli_op *op,
                                        struct pli_win *w, struct pli_request **out);
enum pli_err pli_rma_update_fetch(const void *from, void *result, struct pli_datatype *type,
                                  int target, MPI_Aint disp, struct pli_op *op, struct pli_win *w);
enum pli_err pli_rma_update_swap(const void *from, const void *compare, void *result,
                                 struct pli_datatype *type, int target, MPI_Aint disp,
                                 struct pli_win *w);

#endif
