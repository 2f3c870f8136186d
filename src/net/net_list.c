// SPDX-License-Identifier: BSD-3-Clause
// The transports that exist. A connection belongs to the first that reaches the process.
#include "net/net.h"

#include <stddef.h>

const struct pli_net_ops *const pli_net_list[] = { &pli_mailbox_ops, &pli_ucx_net_ops, &pli_tcp_ops,
                                                   &pli_gateway_ops, NULL };
