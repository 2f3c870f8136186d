// SPDX-License-Identifier: BSD-3-Clause
// Intercommunicators in a job that IMPI joins to others, by rules that all MPIs in it follow.
// [docs/design/impi.md]
#ifndef PLI_COMM_INTERCOMM_IMPI_H
#define PLI_COMM_INTERCOMM_IMPI_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct pli_comm;
struct pli_group;

enum { PLI_INTERCOMM_N_CID = 4 }; // numbers used: a pair between the groups, a pair inside each

// What the leader knows about a new intercommunicator; empty at other members.
struct pli_intercomm_lead {
    struct pli_comm *peer;
    int far, tag;
    int setup;        // the tag on the set-up channel, computed from the program's
    enum pli_err why; // not PLI_OK: the leader failed
};

// Make one if a group or the leaders' communicator spans jobs. Context: no lock held; waits.
enum pli_err pli_intercomm_impi_create(struct pli_comm *local, int leader,
                                       const struct pli_intercomm_lead *lead,
                                       struct pli_comm **out);

// Both groups agree on contexts: one for a merger, with a flag of each side; two, for the groups
// and for inside each, of a copy.
enum pli_err pli_intercomm_impi_merge(struct pli_comm *inter, bool high, bool *their_high_out,
                                      uint64_t *context_out);
enum pli_err pli_intercomm_impi_dup(struct pli_comm *inter, uint64_t contexts_out[2]);

// MPI_Comm_create and MPI_Comm_split. *out is left as it is where the caller is in no new one.
enum pli_err pli_intercomm_impi_of_groups(struct pli_comm *inter, struct pli_group *group,
                                          struct pli_comm **out);
enum pli_err pli_intercomm_impi_split(struct pli_comm *inter, int color, int key,
                                      struct pli_comm **out);

// MPI_Comm_free: a message between the groups, as the IMPI standard requires.
enum pli_err pli_intercomm_impi_leave(struct pli_comm *inter);

#endif
