// SPDX-License-Identifier: BSD-3-Clause
// Broadcast on several hosts: over the leaders, then through the ring of each host's board. The
// root is the leader of its host. Long messages come in pieces, so that the members of a host read
// one while the next one is on its way.
#include "coll/algorithms.h"
#include "coll/board/board_hosts.h"
#include "obj/comm.h"
#include "obj/datatype.h"

enum { PIECE = 128 * 1024 };

enum pli_err pli_bcast_board_hosts(const struct pli_coll_args *a)
{
    struct pli_board_hosts v = pli_board_hosts_view(a, a->root);
    const struct pli_datatype *t = a->recv.type;
    MPI_Count total = a->recv.count, most = total;
    if (t->is_dense && t->extent == t->size && t->size > 0 && t->size <= PIECE) {
        most = PIECE / t->size;
    }
    MPI_Count first = 0;
    do {
        struct pli_coll_args p = *a;
        p.recv.count = total - first < most ? total - first : most;
        p.recv.buf = pli_blocks_shift(a->recv.buf, first * t->extent);
        enum pli_err err = pli_board_hosts_between(&v, &p, a->root, pli_bcast_binomial);
        err = pli_board_hosts_spread(&v, &p, err);
        if (err != PLI_OK) {
            return err;
        }
        first += p.recv.count;
    } while (first < total);
    return PLI_OK;
}
