// SPDX-License-Identifier: BSD-3-Clause
// Whether a peer is reached by UCX, for those who use its access to far memory.
#ifndef PLI_NET_UCX_NET_H
#define PLI_NET_UCX_NET_H

struct pli_conn;
struct pli_tcp_conn;

// What UCX and TCP have for the connection; NULL: it has another transport. Context: lane locked.
struct pli_tcp_conn *pli_ucx_net_conn(const struct pli_conn *c);

#endif
