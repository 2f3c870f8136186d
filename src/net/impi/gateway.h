// SPDX-License-Identifier: BSD-3-Clause
// The transport to processes of other MPI jobs of an IMPI job.
#ifndef PLI_NET_IMPI_GATEWAY_H
#define PLI_NET_IMPI_GATEWAY_H

struct pli_net_ops;

extern const struct pli_net_ops pli_gateway_ops;

#endif
