// SPDX-License-Identifier: BSD-3-Clause
// Agreement among the members of a communicator that live, whoever dies meanwhile; and the
// communicator of those. On one host: what they say is in the node memory, where it outlives them.
#ifndef PLI_COMM_PACT_H
#define PLI_COMM_PACT_H

#include "base/err.h"

struct pli_comm;

// MPIX_Comm_agree: *flag becomes the bitwise and of all that live. PLI_ERR_PROC_FAILED, at all of
// them: somebody died and not everybody has acknowledged it; *flag is agreed on all the same.
// Context: no lock held; waits.
enum pli_err pli_pact_agree(struct pli_comm *comm, int *flag);
// MPIX_Comm_shrink: the same members at all of them.
enum pli_err pli_pact_shrink(struct pli_comm *comm, struct pli_comm **out);

#endif
