// SPDX-License-Identifier: BSD-3-Clause
// The arguments of any collective, in one form that checks, choices and algorithms share.
#ifndef PLI_COLL_ARGS_H
#define PLI_COLL_ARGS_H

#include "base/err.h"
#include "coll/coll_kind.h"
#include "obj/datatype.h"
#include "obj/ints.h"

#include <mpi.h>
#include <stdbool.h>

struct pli_comm;
struct pli_op;

// One side of a collective's data: a block for every rank, however the arguments say where.
// Uniform: block i is `count` elements and the blocks lie one after another. By counts: block i has
// counts[i] elements displs[i] extents away, or, with types, displs[i] bytes away.
struct pli_blocks {
    const void *buf;
    MPI_Count count;
    struct pli_datatype *type;
    struct pli_ints counts, displs;
    const MPI_Datatype *types;
};

struct pli_block {
    void *buf;
    MPI_Count count;
    struct pli_datatype *type;
};

// An address that need not be inside an object: types may have holes in front.
static inline void *pli_blocks_shift(const void *buf, MPI_Count bytes)
{
    return (void *)((uintptr_t)buf + (uintptr_t)bytes);
}

// The only block where no rank has one of its own.
static inline struct pli_block pli_blocks_one(const struct pli_blocks *b)
{
    return (struct pli_block){ (void *)(uintptr_t)b->buf, b->count, b->type };
}

static inline struct pli_block pli_blocks_at(const struct pli_blocks *b, int i)
{
    struct pli_block r = { NULL, b->count, b->type };
    MPI_Count away;
    if (b->types != NULL) {
        r.type = pli_handle_get(b->types[i], PLI_KIND_DATATYPE);
        r.count = pli_ints_at(b->counts, i);
        away = pli_ints_at(b->displs, i);
    } else if (b->counts.data != NULL) {
        r.count = pli_ints_at(b->counts, i);
        away = pli_ints_at(b->displs, i) * b->type->extent;
    } else {
        away = i * b->count * b->type->extent;
    }
    r.buf = pli_blocks_shift(b->buf, away);
    return r;
}

static inline MPI_Count pli_blocks_bytes(struct pli_block b)
{
    return b.count * b.type->size;
}

// Broadcast: the buffer is `recv`. Reductions: the vector of `recv.count` elements of `recv.type`;
// reduce_scatter: `recv.counts` elements for each rank.
struct pli_coll_args {
    enum pli_coll_kind kind;
    bool
        is_in_place; // found by pli_coll_args_check: send.buf is MPI_IN_PLACE or the place it means
    int root;
    int n, me; // ranks that take part, and which of them I am; set by pli_coll_args_check
    struct pli_blocks send, recv;
    struct pli_op *op;
    struct pli_comm *comm;
};

// Check the arguments that are significant at this rank and bring them into the form algorithms
// expect: is_in_place is set, and for reductions send.buf is then recv.buf.
enum pli_err pli_coll_args_check(struct pli_coll_args *a);

// Bytes that the choice of an algorithm goes by; the same at every rank. [docs/design/coll.md]
MPI_Count pli_coll_args_bytes(const struct pli_coll_args *a);

// Elements of all ranks together, of a reduce_scatter.
MPI_Count pli_coll_args_total(const struct pli_coll_args *a);
// Elements of a rank's block of it, and of all blocks before that.
MPI_Count pli_coll_args_block(const struct pli_coll_args *a, int i);
MPI_Count pli_coll_args_before(const struct pli_coll_args *a, int i);

// Whether this rank contributes data, gets some, on an intracommunicator or an intercommunicator.
bool pli_coll_args_is_root(const struct pli_coll_args *a);

#endif
