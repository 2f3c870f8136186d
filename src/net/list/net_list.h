// SPDX-License-Identifier: BSD-3-Clause
// The list of the transports that this library has.
#ifndef PLI_NET_LIST_NET_LIST_H
#define PLI_NET_LIST_NET_LIST_H

struct pli_net_ops;

// In order of preference; ends with NULL.
extern const struct pli_net_ops *const pli_net_list[];

#endif
