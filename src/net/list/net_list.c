// SPDX-License-Identifier: BSD-3-Clause
// Lists the transports. A connection belongs to the first one that reaches the process.
#include "net/list/net_list.h"

#include "msg/mailbox.h"
#include "net/impi/gateway.h"
#include "net/replay/replay.h"
#include "net/tcp/tcp.h"
#include "net/ucx/ucx_net.h"

#include <stddef.h>

const struct pli_net_ops *const pli_net_list[] = { &pli_mailbox_ops, &pli_replay_ops,
                                                   &pli_ucx_net_ops, &pli_tcp_ops,
                                                   &pli_gateway_ops, NULL };
