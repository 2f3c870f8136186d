// SPDX-License-Identifier: BSD-3-Clause
// Published names: a service name stands for the name of a port. [MPI-5.0 11.9.4]
#ifndef PLI_DYNAMIC_SERVICE_H
#define PLI_DYNAMIC_SERVICE_H

#include "base/err.h"

struct pli_info;

enum pli_err pli_service_publish(const char *service, struct pli_info *info, const char *port);
enum pli_err pli_service_unpublish(const char *service, struct pli_info *info, const char *port);

// Looks in this job, then in all jobs of this user on this host. port_out has room for
// MPI_MAX_PORT_NAME.
enum pli_err pli_service_lookup(const char *service, struct pli_info *info, char *port_out);

#endif
