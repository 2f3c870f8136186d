// SPDX-License-Identifier: BSD-3-Clause
// Barrier on several hosts: the leader waits for its host, leaders meet, the leader releases its
// host.
#include "coll/board/board.h"
#include "coll/algorithms.h"
#include "coll/board/board_hosts.h"
#include "coll/comm_state.h"
#include "obj/comm.h"

static enum pli_err come(const struct pli_board_hosts *v, const struct pli_coll_args *a)
{
    struct pli_board *b = pli_comm_state_here(a->comm);
    pli_board_begin(b, a, 0);
    if (pli_board_arrive(b)) {
        b->only = v->leader; // the others sleep on
        pli_board_release(b, pli_board_judge(b));
        b->only = -1;
    }
    if (v->is_leader) {
        return pli_board_finish(b, a, 0);
    }
    pli_board_leave(b); // the next operation waits for the leader
    return PLI_OK;
}

enum pli_err pli_barrier_board_hosts(const struct pli_coll_args *a)
{
    struct pli_board_hosts v = pli_board_hosts_view(a, -1);
    struct pli_coll_args none = *a;
    none.recv = (struct pli_blocks){ .type = pli_datatype_basic(MPI_BYTE) };
    enum pli_err err = v.is_alone ? PLI_OK : come(&v, a);
    enum pli_err far = pli_board_hosts_between(&v, a, -1, pli_barrier_dissem);
    return pli_board_hosts_spread(&v, &none, err != PLI_OK ? err : far);
}
