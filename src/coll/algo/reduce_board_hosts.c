// SPDX-License-Identifier: BSD-3-Clause
// Reduce and allreduce of short vectors on several hosts: on the board of each host, over the
// leaders, and for allreduce back through the rings. The root of a reduce leads its host.
#include "coll/board/board.h"
#include "coll/algorithms.h"
#include "coll/board/board_hosts.h"
#include "coll/comm_state.h"
#include "coll/board/board_window.h"
#include "obj/comm.h"
#include "obj/op.h"

// The sum of my host, at its leader.
static enum pli_err sum_here(const struct pli_board_hosts *v, const struct pli_coll_args *a,
                             void *to)
{
    struct pli_coll_args l = *a;
    struct pli_board *b = pli_comm_state_here(a->comm);
    l.kind = PLI_COLL_REDUCE;
    l.root = v->leader;
    l.recv.buf = to;
    // Where the result comes back the others sleep on.
    b->only = a->kind == PLI_COLL_ALLREDUCE ? v->leader : -1;
    b->whole = a;
    enum pli_err err =
        pli_coll_args_bytes(a) <= PLI_BOARD_INLINE ? pli_reduce_board(&l) : pli_allreduce_whole(&l);
    b->only = -1;
    b->whole = NULL;
    return err;
}

enum pli_err pli_reduce_board_hosts(const struct pli_coll_args *a)
{
    bool is_all = a->kind == PLI_COLL_ALLREDUCE;
    int root = is_all ? -1 : a->root;
    struct pli_board_hosts v = pli_board_hosts_view(a, root);
    _Alignas(16) unsigned char room[PLI_BOARD_WINDOW_SMALL];
    struct pli_coll_args across = *a;
    enum pli_err err = PLI_OK;
    if (!v.is_alone) {
        void *sum = is_all ? (void *)(uintptr_t)a->recv.buf : room;
        err = sum_here(&v, a, sum);
        across.send.buf = sum;
        across.is_in_place = is_all;
    }
    // Also after a failure: the other hosts wait.
    enum pli_err far = pli_board_hosts_between(
        &v, &across, root, is_all ? pli_allreduce_doubling : pli_reduce_binomial);
    err = err != PLI_OK ? err : far;
    return is_all ? pli_board_hosts_spread(&v, a, err) : err;
}
