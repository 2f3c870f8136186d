// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_dup and its variants. [MPI-5.0 7.4.2]
#ifndef PLI_COMM_COMM_DUP_H
#define PLI_COMM_COMM_DUP_H

#include "base/err.h"

struct pli_comm;
struct pli_info;
struct pli_request;

enum pli_err pli_comm_dup_dup(struct pli_comm *comm, struct pli_comm **out);
enum pli_err pli_comm_dup_with_info(struct pli_comm *comm, struct pli_info *info,
                                    struct pli_comm **out);
// The new communicator may be used when the request is complete; attributes are copied in the call.
enum pli_err pli_comm_dup_idup(struct pli_comm *comm, struct pli_comm **out,
                               struct pli_request **request_out);
enum pli_err pli_comm_dup_idup_with_info(struct pli_comm *comm, struct pli_info *info,
                                         struct pli_comm **out, struct pli_request **request_out);

// Set the function that copies the topology, which a room above knows. Context: start-up only.
typedef void (*pli_comm_dup_topo_fn)(struct pli_comm *from, struct pli_comm *to);
void pli_comm_dup_on_topo(pli_comm_dup_topo_fn fn);

#endif
