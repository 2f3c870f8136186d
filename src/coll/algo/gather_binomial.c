// SPDX-License-Identifier: BSD-3-Clause
// Binomial gather of small equal blocks: each inner rank collects its subtree, packed, and passes
// it on as one message.
#include "coll/algorithms.h"

#include "coll/coll_args.h"
#include "coll/sched.h"
#include "obj/comm.h"
#include "obj/datatype.h"

// Put the collected blocks, which begin with the root's, into their places.
static void unpack(struct pli_sched *s, const struct pli_coll_args *a, const char *all, int n)
{
    struct pli_datatype *byte = pli_datatype_basic(MPI_BYTE);
    MPI_Count size = a->recv.count * a->recv.type->size;
    int skip = a->is_in_place ? 1 : 0;     // own block is in its place
    for (int part = 0; part < 2; part++) { // from the root to the last rank, then from rank 0
        int first = part == 0 ? a->root + skip : 0;
        int n_block = part == 0 ? n - first : a->root;
        int at = part == 0 ? skip : n - a->root;
        if (n_block > 0) {
            struct pli_block to = pli_blocks_at(&a->recv, first);
            pli_sched_copy(s, all + at * size, n_block * size, byte, to.buf, n_block * to.count,
                           to.type);
        }
    }
}

void pli_gather_binomial(struct pli_sched *s, const struct pli_coll_args *a)
{
    int n = a->n;
    int64_t v = (a->me - a->root + n) % n;
    struct pli_datatype *byte = pli_datatype_basic(MPI_BYTE);
    MPI_Count size = pli_coll_args_bytes(a);
    int64_t mask = 1;
    while (mask < n && (v & mask) == 0) {
        mask *= 2;
    }
    int64_t n_sub = v + mask < n ? mask : n - v; // ranks below me, with me
    int parent = v == 0 ? MPI_PROC_NULL : (int)((v - mask + a->root) % n);
    if (n_sub == 1) {
        pli_sched_send(s, a->send.buf, a->send.count, a->send.type, parent);
        return;
    }
    char *all = pli_sched_bytes(s, (size_t)(n_sub * size));
    for (int64_t m = 1; m < mask && v + m < n; m *= 2) {
        int64_t n_theirs = v + 2 * m < n ? m : n - v - m;
        pli_sched_recv(s, all + m * size, n_theirs * size, byte, (int)((v + m + a->root) % n));
    }
    if (!a->is_in_place) {
        pli_sched_copy(s, a->send.buf, a->send.count, a->send.type, all, size, byte);
    }
    pli_sched_fence(s);
    if (v == 0) {
        unpack(s, a, all, n);
    } else {
        pli_sched_send(s, all, n_sub * size, byte, parent);
    }
}
