// SPDX-License-Identifier: BSD-3-Clause
// Sends a few bytes without a request, if that is possible at once.
#ifndef PLI_MSG_IMMEDIATE_H
#define PLI_MSG_IMMEDIATE_H

#include "obj/comm.h"

#include <stdbool.h>
#include <stdint.h>

// Bytes that go the shortest way. False: there is no room now, and nothing was sent.
bool pli_immediate_send(const void *data, uint64_t size, int dest, int tag, struct pli_comm *comm,
                        enum pli_chan chan);

#endif
