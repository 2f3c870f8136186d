// SPDX-License-Identifier: BSD-3-Clause
// Neighborhood collectives: a message along every edge.
#include "coll/algorithms.h"

#include "coll/coll_args.h"
#include "coll/sched.h"
#include "obj/comm.h"
#include "obj/datatype.h"
#include "obj/op.h"

#include "coll/neighbors.h"

void pli_neighbor_linear(struct pli_sched *s, const struct pli_coll_args *a)
{
    struct pli_neighbors nb = { 0 };
    if (pli_neighbors_find(a->comm, &nb) != PLI_OK) {
        return; // the check of the arguments would not have let this through
    }
    bool is_gather =
        a->kind == PLI_COLL_NEIGHBOR_ALLGATHER || a->kind == PLI_COLL_NEIGHBOR_ALLGATHERV;
    for (int i = 0; i < nb.n_in; i++) {
        // Messages between the same two processes match in the order they were begun: receiving
        // the directions of a dimension in turned order makes opposite ones meet.
        int k = nb.is_cartesian ? i ^ 1 : i;
        struct pli_block in = pli_blocks_at(&a->recv, k);
        pli_sched_recv(s, in.buf, in.count, in.type, nb.in[k]);
    }
    for (int i = 0; i < nb.n_out; i++) {
        struct pli_block out = is_gather ? pli_blocks_one(&a->send) : pli_blocks_at(&a->send, i);
        pli_sched_send(s, out.buf, out.count, out.type, nb.out[i]);
    }
}
