// SPDX-License-Identifier: BSD-3-Clause
// A send and a receive in one call. [MPI-5.0 3.10]
#ifndef PLI_MSG_SENDRECV_H
#define PLI_MSG_SENDRECV_H

#include "base/err.h"
#include "msg/p2p.h"

#include <mpi.h>

struct pli_comm;
struct pli_datatype;
struct pli_request;

// What of a send and a receive was done although the call failed.
struct pli_sendrecv_half {
    bool is_sent, is_received;
    MPI_Status status; // of what was received
};
// half, which may be NULL, is filled in when the call fails.
enum pli_err pli_sendrecv_on(const void *sendbuf, MPI_Count n_send, struct pli_datatype *stype,
                             int dest, int sendtag, void *recvbuf, MPI_Count n_recv,
                             struct pli_datatype *rtype, int source, int recvtag,
                             struct pli_comm *comm, enum pli_chan chan, MPI_Status *status,
                             struct pli_sendrecv_half *half);

enum pli_err pli_sendrecv_sendrecv(const void *sendbuf, MPI_Count n_send,
                                   struct pli_datatype *stype, int dest, int sendtag, void *recvbuf,
                                   MPI_Count n_recv, struct pli_datatype *rtype, int source,
                                   int recvtag, struct pli_comm *comm, MPI_Status *status);
enum pli_err pli_sendrecv_replace(void *buf, MPI_Count count, struct pli_datatype *type, int dest,
                                  int sendtag, int source, int recvtag, struct pli_comm *comm,
                                  MPI_Status *status);
enum pli_err pli_sendrecv_isendrecv(const void *sendbuf, MPI_Count n_send,
                                    struct pli_datatype *stype, int dest, int sendtag,
                                    void *recvbuf, MPI_Count n_recv, struct pli_datatype *rtype,
                                    int source, int recvtag, struct pli_comm *comm,
                                    struct pli_request **out);
enum pli_err pli_sendrecv_ireplace(void *buf, MPI_Count count, struct pli_datatype *type, int dest,
                                   int sendtag, int source, int recvtag, struct pli_comm *comm,
                                   struct pli_request **out);

#endif
