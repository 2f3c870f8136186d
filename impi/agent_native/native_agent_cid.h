// SPDX-License-Identifier: BSD-3-Clause
// Contexts as the ranks have them, and as IMPI numbers them: a communicator has two numbers that
// follow each other, an even one for messages of the user and an odd one for collectives. What is
// not IMPI's (set-up between jobs of Pliant MPI) travels as it is, above all of its numbers.
#ifndef PLI_IMPI_NATIVE_AGENT_CID_H
#define PLI_IMPI_NATIVE_AGENT_CID_H

#include "msg/msg_wire.h"
#include "obj/comm.h"

#include <stdint.h>

static inline uint64_t pli_native_agent_cid_out(uint64_t context)
{
    unsigned chan = context & 3;
    if ((context & PLI_MSG_PRIVATE) != 0 || (context & PLI_MSG_SPAN) == 0 || chan > PLI_CHAN_COLL) {
        return context;
    }
    return ((context & ~PLI_MSG_SPAN) >> 2) + chan;
}

static inline uint64_t pli_native_agent_cid_in(uint64_t cid)
{
    if (cid >> 60 != 0) {
        return cid;
    }
    return PLI_MSG_SPAN | (cid & ~(uint64_t)1) << 2 | (cid & 1);
}

#endif
