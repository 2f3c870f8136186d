// SPDX-License-Identifier: BSD-3-Clause
// The transport by UCX.
#ifndef PLI_NET_UCX_NET_H
#define PLI_NET_UCX_NET_H

#include "net/net.h"

struct pli_tcp_conn;

extern const struct pli_net_ops pli_ucx_net_ops;

// For access to far memory: what UCX and TCP have for the connection; NULL: it has another
// transport. Context: lane locked.
struct pli_tcp_conn *pli_ucx_net_conn(const struct pli_conn *c);

#endif
