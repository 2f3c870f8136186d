// SPDX-License-Identifier: BSD-3-Clause
// Broadcast along a chain in pieces: every link is busy at once, for long messages.
#include "coll/algorithms.h"

#include "coll/coll_args.h"
#include "coll/sched.h"
#include "obj/comm.h"
#include "obj/datatype.h"

enum { PIECE = 128 * 1024 };

void pli_bcast_chain(struct pli_sched *s, const struct pli_coll_args *a)
{
    int n = a->n;
    int v = (a->me - a->root + n) % n;
    int before = v == 0 ? MPI_PROC_NULL : (v - 1 + a->root) % n;
    int after = v == n - 1 ? MPI_PROC_NULL : (v + 1 + a->root) % n;
    const struct pli_blocks *b = &a->recv;
    MPI_Count step = b->type->size > 0 && b->type->size < PIECE ? PIECE / b->type->size : 1;
    MPI_Count n_piece = (b->count + step - 1) / step;
    int first = -1;
    for (MPI_Count i = 0; i < n_piece; i++) {
        MPI_Count count = i < n_piece - 1 ? step : b->count - i * step;
        void *at = pli_blocks_shift(b->buf, i * step * b->type->extent);
        int got = pli_sched_recv(s, at, count, b->type, before);
        first = i == 0 ? got : first;
    }
    for (MPI_Count i = 0; i < n_piece; i++) {
        MPI_Count count = i < n_piece - 1 ? step : b->count - i * step;
        void *at = pli_blocks_shift(b->buf, i * step * b->type->extent);
        if (before != MPI_PROC_NULL) {
            pli_sched_wait(s, first + (int)i); // receives are numbered in a row
        }
        pli_sched_send(s, at, count, b->type, after);
    }
}
