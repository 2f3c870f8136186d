// SPDX-License-Identifier: BSD-3-Clause
// Endpoints that are made when MPI is initialised: MPI_COMM_ENDPOINTS is one handle for all of
// them, and means the endpoint that the calling thread is attached to.
#ifndef PLI_COMM_ENDPOINT_STATIC_H
#define PLI_COMM_ENDPOINT_STATIC_H

#include "base/err.h"

#include <stdbool.h>

struct pli_comm;

// Collective over the world: make MPI_COMM_ENDPOINTS with count ranks of this process, the first of
// them its own. why: as in pli_endpoints_create. Context: start-up only.
enum pli_err pli_endpoint_static_open(struct pli_comm *world, int count, enum pli_err why);
// First delete the attributes, while MPI still works; then close. Nothing happens if it was not
// opened. Context: the thread that finalises; no other thread uses the endpoints any more.
enum pli_err pli_endpoint_static_delete_attrs(void);
void pli_endpoint_static_close(void);

// In a process that was just forked: where its communicators were lost, it has no
// MPI_COMM_ENDPOINTS. Context: it has one thread.
void pli_endpoint_static_clone(void);

// The communicator that a handle means in the calling thread and in no other, or NULL.
struct pli_comm *pli_endpoint_static_mine(const void *h) __attribute__((cold));
// Why MPI_COMM_ENDPOINTS cannot be used in the calling thread. Context: after MPI_Init.
enum pli_err pli_endpoint_static_why(void);
bool pli_endpoint_static_is(
    const struct pli_comm *comm); // one of the communicators behind the handle

enum pli_err pli_endpoint_static_attach(int index);
enum pli_err pli_endpoint_static_detach(void);

#endif
