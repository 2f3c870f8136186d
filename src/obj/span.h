// SPDX-License-Identifier: BSD-3-Clause
// Communicators across several MPI jobs that IMPI joins: who belongs to which. Without IMPI there
// is one job and one host.
#ifndef PLI_OBJ_SPAN_H
#define PLI_OBJ_SPAN_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct pli_comm;
struct pli_group;

// The MPI job of a process, by its number among the clients.
uint32_t pli_span_client(uint32_t proc);

// Whether a member belongs to another job than this process.
bool pli_span_has_far(const struct pli_group *g);

// IMPI_CLIENT_SIZE, _COLOR, IMPI_HOST_SIZE, _COLOR: of the local group, and of the caller in it.
enum pli_span_what {
    PLI_SPAN_CLIENT_SIZE,
    PLI_SPAN_CLIENT_COLOR,
    PLI_SPAN_HOST_SIZE,
    PLI_SPAN_HOST_COLOR,
    PLI_N_SPAN
};
// Valid as long as the communicator; NULL: no memory. Context: any thread.
const int *pli_span_attr(struct pli_comm *c, enum pli_span_what what);
void pli_span_end(struct pli_comm *c);

#endif
