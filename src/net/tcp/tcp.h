// SPDX-License-Identifier: BSD-3-Clause
// The slots of the transport table that UCX, whose messages have a TCP connection beside them,
// shares with TCP. Context: as in net/net.h.
#ifndef PLI_NET_TCP_TCP_H
#define PLI_NET_TCP_TCP_H

#include "net/net.h"

extern const struct pli_net_ops pli_tcp_ops;

enum pli_err pli_tcp_connect(struct pli_conn *c, uint64_t proc);
bool pli_tcp_disconnect(struct pli_conn *c);
void pli_tcp_accept(struct pli_request *recv, struct pli_conn *from, uint64_t want,
                    uint64_t address, uint32_t n_piece);
enum pli_err pli_tcp_fate(const struct pli_conn *c, bool has_died, bool is_send);
void pli_tcp_fail_conn(struct pli_conn *c, bool has_died);

#endif
