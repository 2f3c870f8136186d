// SPDX-License-Identifier: BSD-3-Clause
// Makes the copy that an alltoall in place sends.
// In place, an alltoall sends a packed copy of all it holds.
#include "coll/algo/alltoall_copy.h"

#include "coll/coll_args.h"
#include "coll/sched.h"
#include "obj/comm.h"

static MPI_Count total(const struct pli_coll_args *a)
{
    MPI_Count bytes = 0;
    for (int i = 0; i < a->n; i++) {
        bytes += pli_blocks_bytes(pli_blocks_at(&a->recv, i));
    }
    return bytes;
}

struct pli_blocks pli_alltoall_copy(struct pli_sched *s, const struct pli_coll_args *a)
{
    int n = a->n, me = a->me;
    if (!a->is_in_place) {
        struct pli_block from = pli_blocks_at(&a->send, me), to = pli_blocks_at(&a->recv, me);
        pli_sched_copy(s, from.buf, from.count, from.type, to.buf, to.count, to.type);
        return a->send;
    }
    struct pli_datatype *byte = pli_datatype_basic(MPI_BYTE);
    char *copy = pli_sched_bytes(s, (size_t)total(a));
    // Where each packed block begins and how long it is, in the form of arguments.
    MPI_Count *place = pli_sched_bytes(s, 2 * (size_t)n * sizeof *place);
    MPI_Count at = 0;
    for (int i = 0; i < n && pli_sched_ok(s); i++) {
        struct pli_block b = pli_blocks_at(&a->recv, i);
        place[i] = pli_blocks_bytes(b);
        place[n + i] = at;
        pli_sched_copy(s, b.buf, b.count, b.type, copy + at, place[i], byte);
        at += place[i];
    }
    return (struct pli_blocks){
        .buf = copy, .type = byte, .counts = { place, true }, .displs = { place + n, true }
    };
}
