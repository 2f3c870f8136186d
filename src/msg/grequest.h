// SPDX-License-Identifier: BSD-3-Clause
// Generalized requests: operations the user defines. [MPI-5.0 13.2]
#ifndef PLI_MSG_GREQUEST_H
#define PLI_MSG_GREQUEST_H

#include "base/err.h"

#include <mpi.h>
#include <stdbool.h>

struct pli_request;

enum pli_err pli_grequest_start(MPI_Grequest_query_function *query,
                                MPI_Grequest_free_function *free_fn,
                                MPI_Grequest_cancel_function *cancel, void *extra,
                                struct pli_request **out);
enum pli_err pli_grequest_complete(struct pli_request *r);

// Have `poll` called with the request's own argument whenever MPI makes progress, until the request
// is complete; for the libraries of other ABIs. What it returns is not looked at: a function that
// cannot go on completes the request and says why in its query function. Returns false for what
// is not a generalized request.
typedef void (*pli_grequest_poll_fn)(void *extra);
bool pli_grequest_poll_by(MPI_Request handle, pli_grequest_poll_fn poll);

bool pli_grequest_is(const struct pli_request *r);
// The status of one that is over, which goes on to be there.
enum pli_err pli_grequest_peek(struct pli_request *r, MPI_Status *status);
// MPI_Request_free: with the error of the free function, where it is called now.
enum pli_err pli_grequest_free(struct pli_request *r);

#endif
