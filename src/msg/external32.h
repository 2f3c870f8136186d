// SPDX-License-Identifier: BSD-3-Clause
// Data of requests to and from external32, the format between the clients of an IMPI job, in pieces
// of whole elements.
#ifndef PLI_MSG_EXTERNAL32_H
#define PLI_MSG_EXTERNAL32_H

#include "base/err.h"
#include "msg/request.h"
#include "obj/comm.h"
#include "obj/datatype.h"
#include "obj/type_pack.h"

#include <stdbool.h>
#include <stdint.h>

// Whether data for this rank of a communicator that spans clients, or from it, is in external32: a
// rank of another client, or MPI_ANY_SOURCE.
bool pli_external32_is_beyond(const struct pli_comm *comm, int rank);

// The same for any communicator.
static inline bool pli_external32_is_used(const struct pli_comm *comm, int rank)
{
    return __builtin_expect(comm->is_span, 0) && pli_external32_is_beyond(comm, rank);
}

// Bytes of a request's data in external32.
static inline uint64_t pli_external32_size(const struct pli_request *r)
{
    return (uint64_t)r->count * (uint64_t)pli_type_external_each(r->type);
}

// Write a send's stream on, from send->moved to `upto` or the end of that element; `base` is where
// it begins. After a value that does not fit the rest is zeros.
enum pli_err pli_external32_out(struct pli_request *send, char *base, uint64_t upto);

// `here` of `size` bytes of a message are at `base`: take on from recv->moved. Completes the
// receive when all of them are, and says so. Context: lane locked.
bool pli_external32_in(struct pli_request *recv, const char *base, uint64_t here, uint64_t size);

#endif
