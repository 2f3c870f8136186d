// SPDX-License-Identifier: BSD-3-Clause
// Operations that go on while the program does something else: nonblocking, persistent and
// neighborhood collectives, and MPI_Comm_idup. Each runs the code of the blocking operation on a
// stack of its own. Where that code would wait it is put aside, and every look for progress goes on
// with those whose wait is over. So there is one form of each collective.
//
// Such operations may overlap, and phases of them are reached in another order in each process.
// Their messages therefore have a tag of their own, in the client too, and they call no collective
// of the native library.
#ifndef PLI_SHIM_TASK_H
#define PLI_SHIM_TASK_H

#include "shim/shim_req.h"

// Returns an MPI error code, which becomes that of the request.
typedef int (*pli_shim_task_fn)(struct shim_span *s, void *arg);

// A request that runs `fn` each time it is started. `arg` is from malloc, or NULL, and freed with
// it. Fails where a client of the job does not have such operations.
int pli_shim_task_create(struct shim_span *s, const char *refusal, pli_shim_task_fn fn, void *arg,
                         bool is_persistent, struct shim_req **out);
int pli_shim_task_start(struct shim_req *r);
void pli_shim_task_end(struct shim_req *r); // the request is no more
// Create, start, and either give the request to the program or, with NULL, wait for its end.
int pli_shim_task_run(struct shim_span *s, const char *refusal, pli_shim_task_fn fn, void *arg,
                      MPI_Request *request);

void pli_shim_task_progress(void);
bool pli_shim_task_is_inside(void); // the caller is such an operation
// For such an operation only: be put aside until this is over.
void pli_shim_task_wait(struct shim_req *r);
void pli_shim_task_yield(void); // until the next look for progress
int pli_shim_task_wait_native(MPI_Request *request, MPI_Status *status);

// The tag of messages to other clients, and inside the client: that of the operation which calls,
// or `tag` if it is a blocking one.
int pli_shim_task_tag(int tag);
int pli_shim_task_native_tag(int tag);

#define PLI_SHIM_LATER(call)                                                                       \
    call " cannot be done here: a client of this job has no nonblocking, persistent or "           \
         "neighborhood collectives and no MPI_Comm_idup and MPI_Comm_create_group; use the "       \
         "blocking form, or split off a communicator of one client (IMPI_CLIENT_COLOR)"
bool pli_shim_task_has_later(void); // all clients of the job have them

#endif
