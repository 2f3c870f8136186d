// SPDX-License-Identifier: BSD-3-Clause
// The ports and published names of this job. They are in the node's memory, where other jobs find
// them; in a job on several hosts mpiexec has those of all hosts.
#ifndef PLI_DYNAMIC_PORTS_H
#define PLI_DYNAMIC_PORTS_H

#include "base/err.h"

#include <stdint.h>

struct pli_id;

// As the functions pli_jobtab_*_port; PLI_ERR_PORT: the port is not open. The slot is one of the
// table of the host where the port was opened.
enum pli_err pli_ports_open(uint32_t *slot_out, uint64_t *cookie_out);
enum pli_err pli_ports_close(uint32_t slot, uint64_t cookie);
enum pli_err pli_ports_own(uint32_t slot, uint64_t cookie, struct pli_id me);
enum pli_err pli_ports_owner(uint32_t slot, uint64_t cookie, struct pli_id *owner_out);

enum pli_err pli_ports_publish(const char *service, const char *port);
enum pli_err pli_ports_unpublish(const char *service);
// port_out has room for PLI_JOBTAB_PORT. PLI_ERR_NAME: no rank of this job has published it.
enum pli_err pli_ports_lookup(const char *service, char *port_out);

#endif
