// SPDX-License-Identifier: BSD-3-Clause
// Bruck's allgather of small equal blocks: the number of blocks known doubles in every round, kept
// packed in the order that begins with the rank's own block.
#include "coll/algorithms.h"

#include "coll/coll_args.h"
#include "coll/sched.h"
#include "obj/comm.h"
#include "obj/datatype.h"

void pli_allgather_bruck(struct pli_sched *s, const struct pli_coll_args *a)
{
    int n = a->n, me = a->me;
    struct pli_datatype *byte = pli_datatype_basic(MPI_BYTE);
    MPI_Count size = pli_coll_args_bytes(a);
    struct pli_block mine = pli_blocks_at(&a->recv, me);
    char *all = pli_sched_bytes(s, (size_t)(n * size));
    if (a->is_in_place) {
        pli_sched_copy(s, mine.buf, mine.count, mine.type, all, size, byte);
    } else {
        pli_sched_copy(s, a->send.buf, a->send.count, a->send.type, all, size, byte);
    }
    for (int64_t have = 1; have < n; have *= 2) {
        MPI_Count more = have * 2 < n ? have : n - have;
        pli_sched_recv(s, all + have * size, more * size, byte, (int)((me + have) % n));
        pli_sched_send(s, all, more * size, byte, (int)((me - have + n) % n));
        pli_sched_fence(s);
    }
    pli_sched_copy(s, all, (n - me) * size, byte, mine.buf, (n - me) * mine.count, mine.type);
    if (me > 0) {
        pli_sched_copy(s, all + (n - me) * size, me * size, byte, (void *)(uintptr_t)a->recv.buf,
                       me * a->recv.count, a->recv.type);
    }
}
