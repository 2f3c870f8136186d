// SPDX-License-Identifier: BSD-3-Clause
// A send and a receive in one call. [MPI-5.0 3.10]
#ifndef PLI_CORE_PAIR_H
#define PLI_CORE_PAIR_H

#include "base/err.h"

#include <mpi.h>

struct pli_comm;
struct pli_datatype;
struct pli_request;

enum pli_err pli_pair_sendrecv(const void *sendbuf, MPI_Count n_send, struct pli_datatype *stype,
                               int dest, int sendtag, void *recvbuf, MPI_Count n_recv,
                               struct pli_datatype *rtype, int source, int recvtag,
                               struct pli_comm *comm, MPI_Status *status);
enum pli_err pli_pair_replace(void *buf, MPI_Count count, struct pli_datatype *type, int dest,
                              int sendtag, int source, int recvtag, struct pli_comm *comm,
                              MPI_Status *status);
enum pli_err pli_pair_isendrecv(const void *sendbuf, MPI_Count n_send, struct pli_datatype *stype,
                                int dest, int sendtag, void *recvbuf, MPI_Count n_recv,
                                struct pli_datatype *rtype, int source, int recvtag,
                                struct pli_comm *comm, struct pli_request **out);
enum pli_err pli_pair_ireplace(void *buf, MPI_Count count, struct pli_datatype *type, int dest,
                               int sendtag, int source, int recvtag, struct pli_comm *comm,
                               struct pli_request **out);

#endif
