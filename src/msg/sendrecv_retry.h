// SPDX-License-Identifier: BSD-3-Clause
// A send and a receive in one call, of which a resize interrupted one when the other was done:
// nothing can undo that. The call can be repeated all the same, and does the other half then.
#ifndef PLI_MSG_SENDRECV_RETRY_H
#define PLI_MSG_SENDRECV_RETRY_H

#include "base/err.h"
#include "msg/sendrecv.h"

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>

struct pli_comm;
struct pli_datatype;

struct pli_sendrecv_retry_call {
    const void *sendbuf;
    MPI_Count n_send;
    struct pli_datatype *stype;
    int dest, sendtag;
    void *recvbuf;
    MPI_Count n_recv;
    struct pli_datatype *rtype;
    int source, recvtag;
    struct pli_comm *comm;
};

extern atomic_int pli_sendrecv_retry_n; // calls that are half done

// Do what an earlier call with the same partners, tags and communicator did not. False: there was
// none. Context: no lock held.
bool pli_sendrecv_retry_go_on(const struct pli_sendrecv_retry_call *call, MPI_Status *status,
                              enum pli_err *err_out);

// The call failed with err, and did this much. What is to be returned.
enum pli_err pli_sendrecv_retry_note(const struct pli_sendrecv_retry_call *call,
                                     const struct pli_sendrecv_half *done, enum pli_err err);

#endif
