// SPDX-License-Identifier: BSD-3-Clause
// Looking at messages before receiving them. [MPI-5.0 3.8]
#ifndef PLI_MSG_PROBE_H
#define PLI_MSG_PROBE_H

#include "base/err.h"

#include <mpi.h>

struct pli_comm;
struct pli_message;

enum pli_err pli_probe_iprobe(int source, int tag, struct pli_comm *comm, int *flag,
                              MPI_Status *status);
enum pli_err pli_probe_probe(int source, int tag, struct pli_comm *comm, MPI_Status *status);
enum pli_err pli_probe_improbe(int source, int tag, struct pli_comm *comm, int *flag,
                               struct pli_message **out, MPI_Status *status);
enum pli_err pli_probe_mprobe(int source, int tag, struct pli_comm *comm, struct pli_message **out,
                              MPI_Status *status);

extern struct pli_message pli_probe_no_proc; // MPI_MESSAGE_NO_PROC
void pli_probe_init(void);                   // enter MPI_MESSAGE_NO_PROC; start-up only

#endif
