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
    // Members may have other datatypes for the same data, so a piece is a number of bytes.
    const struct pli_blocks *b = &a->recv;
    struct pli_datatype *byte = pli_datatype_basic(MPI_BYTE);
    MPI_Count bytes = b->count * b->type->size, n_piece = (bytes + PIECE - 1) / PIECE;
    bool has_holes = !pli_datatype_is_run(b->type, b->count);
    char *data =
        has_holes ? pli_sched_bytes(s, (size_t)bytes) : pli_blocks_shift(b->buf, b->type->true_lb);
    if (has_holes && v == 0) {
        pli_sched_copy(s, b->buf, b->count, b->type, data, bytes, byte);
    }
    int first = -1;
    for (MPI_Count i = 0; i < n_piece; i++) {
        MPI_Count n_byte = i < n_piece - 1 ? PIECE : bytes - i * PIECE;
        int got = pli_sched_recv(s, data + i * PIECE, n_byte, byte, before);
        first = i == 0 ? got : first;
    }
    for (MPI_Count i = 0; i < n_piece; i++) {
        MPI_Count n_byte = i < n_piece - 1 ? PIECE : bytes - i * PIECE;
        if (v != 0) {
            pli_sched_wait(s, first + (int)i); // receives are numbered in a row
        }
        pli_sched_send(s, data + i * PIECE, n_byte, byte, after);
    }
    if (has_holes && v != 0) {
        pli_sched_copy(s, data, bytes, byte, (void *)(uintptr_t)b->buf, b->count, b->type);
    }
}
