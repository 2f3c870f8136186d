// SPDX-License-Identifier: BSD-3-Clause
// Ring reduce_scatter: the piece of rank k begins at rank k+1, travels around, is combined on the
// way and ends at rank k. Needs an operation whose order does not matter.
#include "coll/algorithms.h"

#include "coll/coll_args.h"
#include "coll/sched.h"
#include "obj/comm.h"
#include "obj/datatype.h"
#include "obj/op.h"

static struct pli_block piece_of(const struct pli_coll_args *a, int i)
{
    int n = a->n;
    int k = ((i % n) + n) % n;
    struct pli_block b = { NULL, pli_coll_args_block(a, k), a->recv.type };
    b.buf = pli_blocks_shift(a->send.buf, pli_coll_args_before(a, k) * b.type->extent);
    return b;
}

static MPI_Count largest(const struct pli_coll_args *a)
{
    MPI_Count max = 0;
    for (int i = 0; i < a->n; i++) {
        MPI_Count n = pli_coll_args_block(a, i);
        max = n > max ? n : max;
    }
    return max;
}

void pli_reduce_scatter_ring(struct pli_sched *s, const struct pli_coll_args *a)
{
    int n = a->n, me = a->me;
    struct pli_datatype *type = a->recv.type;
    void *result = (void *)(uintptr_t)a->recv.buf;
    MPI_Count max = largest(a);
    void *room[2] = { pli_sched_room(s, max, type), pli_sched_room(s, max, type) };
    struct pli_block out = piece_of(a, me - 1);
    if (n == 1 && !a->is_in_place) {
        pli_sched_copy(s, out.buf, out.count, type, result, out.count, type);
    }
    for (int i = 1; i < n; i++) {
        struct pli_block own = piece_of(a, me - 1 - i);
        struct pli_block in = { room[i % 2], own.count, type };
        pli_sched_recv(s, in.buf, in.count, type, (me - 1 + n) % n);
        pli_sched_send(s, out.buf, out.count, type, (me + 1) % n);
        pli_sched_fence(s);
        pli_sched_reduce(s, own.buf, in.buf, in.count, type, a->op);
        out = in;
    }
    if (n > 1) {
        pli_sched_copy(s, out.buf, out.count, type, result, out.count, type);
    }
}
