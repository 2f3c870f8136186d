// SPDX-License-Identifier: BSD-3-Clause
// The shortest way of a message, for what must not wait. It is not in p2p.c, whose sends have it
// inline.
#include "msg/immediate.h"

#include "msg/fastpath.h"

bool pli_immediate_send(const void *data, uint64_t size, int dest, int tag, struct pli_comm *comm,
                        enum pli_chan chan)
{
    struct pli_lane *lane = comm->ep->lane;
    struct pli_id to = pli_group_at(comm->remote, dest);
    pli_lock_take(&lane->lock);
    bool is_sent = size < pli_fastpath_end(lane, chan) && !pli_lane_is_own(lane, to) &&
                   pli_fastpath_send(lane, comm, data, size, to, tag,
                                     comm->context | (uint64_t)chan, pli_datatype_basic(MPI_BYTE));
    pli_lock_drop(&lane->lock);
    return is_sent;
}
