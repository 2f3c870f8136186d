// SPDX-License-Identifier: BSD-3-Clause
// The transport of a process that runs without the others (mpiexec --replay-rank): what it once
// received comes from its log of messages, and what it sends goes nowhere.
#ifndef PLI_NET_REPLAY_REPLAY_H
#define PLI_NET_REPLAY_REPLAY_H

#include "net/net.h"

extern const struct pli_net_ops pli_replay_ops;

#endif
