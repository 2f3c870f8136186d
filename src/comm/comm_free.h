// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_free and MPI_Comm_disconnect. [MPI-5.0 7.4.3, 11.10.4]
#ifndef PLI_COMM_COMM_FREE_H
#define PLI_COMM_COMM_FREE_H

#include "base/err.h"

struct pli_comm;

// Local: the object is freed when the last operation on it has completed. If a delete callback
// fails the communicator stays.
enum pli_err pli_comm_free_free(struct pli_comm *comm);

// Waits for operations whose requests the program freed, and for the other members.
enum pli_err pli_comm_free_disconnect(struct pli_comm *comm);

#endif
