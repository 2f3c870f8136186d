// SPDX-License-Identifier: BSD-3-Clause
// From arguments to a running operation.
#ifndef PLI_COLL_RUN_H
#define PLI_COLL_RUN_H

#include "base/err.h"

#include <stdbool.h>

struct pli_coll_args;
struct pli_request;

// Check, choose, and do it. Context: no lock held.
enum pli_err pli_coll_run_now(struct pli_coll_args *a);
// Check, choose, and begin it; or, if persistent, make the request that begins it.
enum pli_err pli_coll_run_begin(struct pli_coll_args *a, bool is_persistent,
                                struct pli_request **out);

#endif
