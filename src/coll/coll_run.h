// SPDX-License-Identifier: BSD-3-Clause
// From arguments to a running operation.
#ifndef PLI_COLL_RUN_H
#define PLI_COLL_RUN_H

#include "base/err.h"
#include "coll/coll_args.h"
#include "msg/request.h"
#include "msg/statistics_hooks.h"
#include "obj/comm.h"

#include <stdbool.h>

// A reduction of no elements, whose arguments need no closer look.
static inline bool pli_coll_run_is_empty(const struct pli_coll_args *a)
{
    return a->op != NULL && a->recv.count == 0 && a->recv.counts.data == NULL &&
           a->recv.type != NULL && !a->comm->is_inter && a->send.buf != MPI_IN_PLACE &&
           a->recv.buf != MPI_IN_PLACE && !pli_request_may_be_withdrawn && !pli_statistics_is_on();
}

// Check, choose, and do it. Context: no lock held.
enum pli_err pli_coll_run_full(struct pli_coll_args *a);
// The same. Inline, so that the arguments of what does nothing need not be written down.
static inline enum pli_err pli_coll_run_now(struct pli_coll_args *a)
{
    return pli_coll_run_is_empty(a) ? PLI_OK : pli_coll_run_full(a);
}
// Check, choose, and begin it; or, if persistent, make the request that begins it.
enum pli_err pli_coll_run_begin(struct pli_coll_args *a, bool is_persistent,
                                struct pli_request **out);

#endif
