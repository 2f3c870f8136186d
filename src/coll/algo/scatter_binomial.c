// SPDX-License-Identifier: BSD-3-Clause
// Binomial scatter of small equal blocks: the root packs them, and each inner rank passes on the
// blocks of its subtree.
#include "coll/algorithms.h"

#include "coll/coll_args.h"
#include "coll/sched.h"
#include "obj/comm.h"
#include "obj/datatype.h"

static void pack(struct pli_sched *s, const struct pli_coll_args *a, char *all, int n)
{
    struct pli_datatype *byte = pli_datatype_basic(MPI_BYTE);
    MPI_Count size = a->send.count * a->send.type->size;
    struct pli_block upper = pli_blocks_at(&a->send, a->root);
    int n_upper = n - a->root;
    pli_sched_copy(s, upper.buf, n_upper * upper.count, upper.type, all, n_upper * size, byte);
    if (a->root > 0) {
        pli_sched_copy(s, a->send.buf, a->root * a->send.count, a->send.type, all + n_upper * size,
                       a->root * size, byte);
    }
}

void pli_scatter_binomial(struct pli_sched *s, const struct pli_coll_args *a)
{
    int n = a->n;
    int64_t v = (a->me - a->root + n) % n;
    struct pli_datatype *byte = pli_datatype_basic(MPI_BYTE);
    MPI_Count size = pli_coll_args_bytes(a);
    void *mine = (void *)(uintptr_t)a->recv.buf;
    int64_t mask = 1;
    while (mask < n && (v & mask) == 0) {
        mask *= 2;
    }
    int64_t n_sub = v + mask < n ? mask : n - v;
    int parent = (int)((v - mask + a->root + n) % n);
    if (n_sub == 1 && v != 0) {
        pli_sched_recv(s, mine, a->recv.count, a->recv.type, parent);
        return;
    }
    char *all = pli_sched_bytes(s, (size_t)(n_sub * size));
    if (v == 0) {
        pack(s, a, all, n);
    } else {
        pli_sched_wait(s, pli_sched_recv(s, all, n_sub * size, byte, parent));
    }
    for (int64_t m = mask / 2; m > 0; m /= 2) {
        if (v + m < n) {
            int64_t n_theirs = v + 2 * m < n ? m : n - v - m;
            pli_sched_send(s, all + m * size, n_theirs * size, byte, (int)((v + m + a->root) % n));
        }
    }
    if (!a->is_in_place) {
        pli_sched_copy(s, all, size, byte, mine, a->recv.count, a->recv.type);
    }
}
