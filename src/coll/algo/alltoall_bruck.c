// SPDX-License-Identifier: BSD-3-Clause
// Bruck's alltoall of small equal blocks: in round k every block that has the bit k in its distance
// moves 2^k ranks on, so there are only log(n) messages.
#include "coll/algorithms.h"

#include "coll/coll_args.h"
#include "coll/sched.h"
#include "obj/comm.h"
#include "obj/datatype.h"

// Blocks by distance from their sender, packed: block i is for rank me+i.
static char *rotate(struct pli_sched *s, const struct pli_coll_args *a, MPI_Count size)
{
    int n = a->n, me = a->me;
    struct pli_datatype *byte = pli_datatype_basic(MPI_BYTE);
    const struct pli_blocks *from = a->is_in_place ? &a->recv : &a->send;
    char *all = pli_sched_bytes(s, (size_t)(n * size));
    for (int i = 0; i < n; i++) {
        struct pli_block b = pli_blocks_at(from, (me + i) % n);
        pli_sched_copy(s, b.buf, b.count, b.type, all + i * size, size, byte);
    }
    return all;
}

void pli_alltoall_bruck(struct pli_sched *s, const struct pli_coll_args *a)
{
    int n = a->n, me = a->me;
    struct pli_datatype *byte = pli_datatype_basic(MPI_BYTE);
    MPI_Count size = pli_coll_args_bytes(a);
    char *all = rotate(s, a, size);
    char *out = pli_sched_bytes(s, (size_t)((n + 1) / 2 * size) + 1);
    char *in = pli_sched_bytes(s, (size_t)((n + 1) / 2 * size) + 1);
    for (int64_t bit = 1; bit < n; bit *= 2) {
        int n_move = 0;
        for (int i = 0; i < n; i++) {
            if (i & bit) {
                pli_sched_copy(s, all + i * size, size, byte, out + n_move++ * size, size, byte);
            }
        }
        pli_sched_recv(s, in, n_move * size, byte, (int)((me - bit + n) % n));
        pli_sched_send(s, out, n_move * size, byte, (int)((me + bit) % n));
        pli_sched_fence(s);
        n_move = 0;
        for (int i = 0; i < n; i++) {
            if (i & bit) {
                pli_sched_copy(s, in + n_move++ * size, size, byte, all + i * size, size, byte);
            }
        }
    }
    for (int i = 0; i < n; i++) { // what has come i ranks far is from rank me-i
        struct pli_block b = pli_blocks_at(&a->recv, (me - i + n) % n);
        pli_sched_copy(s, all + i * size, size, byte, b.buf, b.count, b.type);
    }
}
