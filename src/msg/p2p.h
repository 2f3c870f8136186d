// SPDX-License-Identifier: BSD-3-Clause
// Point-to-point communication: what the entry points call, and the form the rest of the library
// uses, which names the channel. [MPI-5.0 3]
#ifndef PLI_MSG_P2P_H
#define PLI_MSG_P2P_H

#include "base/err.h"
#include "obj/comm.h"

#include <mpi.h>

struct pli_datatype;
struct pli_message;
struct pli_request;
struct pli_request_child;

// Inside the library: begin a send or receive on a channel of the communicator. flags: 0 or
// PLI_REQ_SYNC. Ranks are of the remote group on an intercommunicator. Context: no lock held.
enum pli_err pli_p2p_isend_on(const void *buf, MPI_Count count, struct pli_datatype *type, int dest,
                              int tag, struct pli_comm *comm, enum pli_chan chan, int flags,
                              struct pli_request **out);
enum pli_err pli_p2p_irecv_on(void *buf, MPI_Count count, struct pli_datatype *type, int source,
                              int tag, struct pli_comm *comm, enum pli_chan chan,
                              struct pli_request **out);
// With flags: PLI_REQ_BLOCKING where the caller waits for it at once.
enum pli_err pli_p2p_irecv_as(void *buf, MPI_Count count, struct pli_datatype *type, int source,
                              int tag, struct pli_comm *comm, enum pli_chan chan, int flags,
                              struct pli_request **out);
// Blocking forms, without a request object.
enum pli_err pli_p2p_send_on(const void *buf, MPI_Count count, struct pli_datatype *type, int dest,
                             int tag, struct pli_comm *comm, enum pli_chan chan, int flags);
enum pli_err pli_p2p_recv_on(void *buf, MPI_Count count, struct pli_datatype *type, int source,
                             int tag, struct pli_comm *comm, enum pli_chan chan,
                             MPI_Status *status);
// A small message that can go at once, and a request that is done; NULL: it cannot. dest is not
// MPI_PROC_NULL.
struct pli_request *pli_p2p_isend_now(const void *buf, MPI_Count count, struct pli_datatype *type,
                                      int dest, int tag, struct pli_comm *comm, enum pli_chan chan);
// An empty message, without a request; false: it cannot go at once.
bool pli_p2p_notify_now(struct pli_datatype *type, int dest, int tag, struct pli_comm *comm,
                        enum pli_chan chan);
// The same with a request of the caller's, which is told when it is over; nothing is retained. peer
// is not MPI_PROC_NULL. flag: PLI_REQ_ROOTED or 0. On failure nothing was begun.
enum pli_err pli_p2p_begin_send(struct pli_request_child *c, const void *buf, MPI_Count count,
                                struct pli_datatype *type, int dest, int tag, struct pli_comm *comm,
                                enum pli_chan chan, uint16_t flag);
enum pli_err pli_p2p_begin_recv(struct pli_request_child *c, void *buf, MPI_Count count,
                                struct pli_datatype *type, int source, int tag,
                                struct pli_comm *comm, enum pli_chan chan, uint16_t flag);

// The entry points' callees.
enum pli_err pli_p2p_send(const void *buf, MPI_Count count, struct pli_datatype *type, int dest,
                          int tag, struct pli_comm *comm);
enum pli_err pli_p2p_ssend(const void *buf, MPI_Count count, struct pli_datatype *type, int dest,
                           int tag, struct pli_comm *comm);
enum pli_err pli_p2p_recv(void *buf, MPI_Count count, struct pli_datatype *type, int source,
                          int tag, struct pli_comm *comm, MPI_Status *status);
enum pli_err pli_p2p_isend(const void *buf, MPI_Count count, struct pli_datatype *type, int dest,
                           int tag, struct pli_comm *comm, struct pli_request **out);
enum pli_err pli_p2p_issend(const void *buf, MPI_Count count, struct pli_datatype *type, int dest,
                            int tag, struct pli_comm *comm, struct pli_request **out);
enum pli_err pli_p2p_irecv(void *buf, MPI_Count count, struct pli_datatype *type, int source,
                           int tag, struct pli_comm *comm, struct pli_request **out);
enum pli_err pli_p2p_send_init(const void *buf, MPI_Count count, struct pli_datatype *type,
                               int dest, int tag, struct pli_comm *comm, struct pli_request **out);
enum pli_err pli_p2p_ssend_init(const void *buf, MPI_Count count, struct pli_datatype *type,
                                int dest, int tag, struct pli_comm *comm, struct pli_request **out);
enum pli_err pli_p2p_recv_init(void *buf, MPI_Count count, struct pli_datatype *type, int source,
                               int tag, struct pli_comm *comm, struct pli_request **out);

// A receive of a message that a matched probe took. The message is gone afterwards.
enum pli_err pli_p2p_imrecv(void *buf, MPI_Count count, struct pli_datatype *type,
                            struct pli_message *message, struct pli_request **out);

// A request that is done from the start: MPI_PROC_NULL.
enum pli_err pli_p2p_nothing(struct pli_comm *comm, int flags, struct pli_request **out);

#endif
