// SPDX-License-Identifier: BSD-3-Clause
// Runs a schedule that was built: at once, or behind a request.
#ifndef PLI_COLL_SCHED_RUN_H
#define PLI_COLL_SCHED_RUN_H

#include "base/err.h"

struct pli_comm;
struct pli_request;
struct pli_sched;

// Run it to the end and return its result; the schedule stays. Context: no lock held.
enum pli_err pli_sched_run(struct pli_sched *s, struct pli_comm *comm);

// Hand the schedule over to a request. Not persistent: it is under way on return.
enum pli_err pli_sched_begin(struct pli_sched *s, struct pli_comm *comm, struct pli_request **out);

#endif
