// SPDX-License-Identifier: BSD-3-Clause
// What a process knows of the failures in a communicator. All are local. Context: no lock held.
#ifndef PLI_FT_FAILED_QUERY_H
#define PLI_FT_FAILED_QUERY_H

#include "base/err.h"

struct pli_comm;
struct pli_group;

// MPIX_Comm_get_failed: members that died, in the order in which they did.
enum pli_err pli_failed_query_get(struct pli_comm *comm, struct pli_group **out);
// MPIX_Comm_ack_failed: the first n of them are known to the program. *n_out: how many are.
enum pli_err pli_failed_query_ack(struct pli_comm *comm, int n, int *n_out);
// MPIX_Comm_failure_ack and MPIX_Comm_failure_get_acked.
enum pli_err pli_failed_query_ack_all(struct pli_comm *comm);
enum pli_err pli_failed_query_get_acked(struct pli_comm *comm, struct pli_group **out);
// MPIX_Comm_is_revoked.
enum pli_err pli_failed_query_is_revoked(struct pli_comm *comm, int *flag);

#endif
