// SPDX-License-Identifier: BSD-3-Clause
// Ports: names by which processes of separate jobs connect to each other. [MPI-5.0 11.9]
#ifndef PLI_DYNAMIC_PORT_H
#define PLI_DYNAMIC_PORT_H

#include "base/err.h"

#include <mpi.h>

struct pli_comm;
struct pli_info;

// port_out has room for MPI_MAX_PORT_NAME.
enum pli_err pli_port_open(struct pli_info *info, char *port_out);
enum pli_err pli_port_close(const char *port);

// Collective over comm; port and info are significant at the root.
enum pli_err pli_port_accept(const char *port, MPI_Info info, int root, struct pli_comm *comm,
                             struct pli_comm **out);
enum pli_err pli_port_connect(const char *port, MPI_Info info, int root, struct pli_comm *comm,
                              struct pli_comm **out);

#endif
