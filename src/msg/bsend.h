// SPDX-License-Identifier: BSD-3-Clause
// Buffered sends: buffers attached to a communicator, a session or the process. [MPI-5.0 3.6]
#ifndef PLI_MSG_BSEND_H
#define PLI_MSG_BSEND_H

#include "base/err.h"

#include <mpi.h>

struct pli_bsend;
struct pli_comm;
struct pli_datatype;
struct pli_request;

enum pli_err pli_bsend_send(const void *buf, MPI_Count count, struct pli_datatype *type, int dest,
                            int tag, struct pli_comm *comm);
enum pli_err pli_bsend_isend(const void *buf, MPI_Count count, struct pli_datatype *type, int dest,
                             int tag, struct pli_comm *comm, struct pli_request **out);
enum pli_err pli_bsend_init(const void *buf, MPI_Count count, struct pli_datatype *type, int dest,
                            int tag, struct pli_comm *comm, struct pli_request **out);

// The calling thread's: of the endpoint it is attached to, else of the process.
enum pli_err pli_bsend_attach(void *buffer, MPI_Count size);
enum pli_err pli_bsend_detach(void *buffer_out, MPI_Count *size_out);
enum pli_err pli_bsend_flush(void);
enum pli_err pli_bsend_iflush(struct pli_request **out);

// A communicator's.
enum pli_err pli_bsend_comm_attach(struct pli_comm *comm, void *buffer, MPI_Count size);
enum pli_err pli_bsend_comm_detach(struct pli_comm *comm, void *buffer_out, MPI_Count *size_out);
enum pli_err pli_bsend_comm_flush(struct pli_comm *comm);
enum pli_err pli_bsend_comm_iflush(struct pli_comm *comm, struct pli_request **out);

// Any place that holds one: what sessions use. *at is NULL while nothing is attached.
enum pli_err pli_bsend_attach_at(struct pli_bsend **at, void *buffer, MPI_Count size);
enum pli_err pli_bsend_detach_at(struct pli_bsend **at, void *buffer_out, MPI_Count *size_out);
enum pli_err pli_bsend_flush_at(struct pli_bsend **at);
enum pli_err pli_bsend_iflush_at(struct pli_bsend **at, struct pli_request **out);

// Where a session keeps its buffer; set once by the room that knows sessions.
extern struct pli_bsend **(*pli_bsend_of_session)(struct pli_comm *comm);

#endif
