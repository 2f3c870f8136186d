// SPDX-License-Identifier: BSD-3-Clause
// Copy plans: the normal form of a datatype. A tree of loops and lists whose leaves are runs of
// bytes, built bottom-up by functions that merge what can be merged, so that a million-block
// vector is one node. Nodes never change once linked and are shared with types derived later,
// which keep the older type alive through their recipe.
#ifndef PLI_OBJ_TYPE_PLAN_H
#define PLI_OBJ_TYPE_PLAN_H

#include "base/err.h"

#include <mpi.h>
#include <stdint.h>

struct pli_datatype;

enum pli_node_kind {
    PLI_NODE_RUN,     // len bytes
    PLI_NODE_STRIDED, // n runs of len bytes, stride apart
    PLI_NODE_BLOCKS,  // n runs at disps; of len bytes each, or by starts when len is 0
    PLI_NODE_LOOP,    // n times the child, stride apart
    PLI_NODE_LIST     // n kids at disps
};

enum { PLI_NODE_DEPTH_MAX = 512 }; // copies recurse this deep at most

struct pli_type_node {
    enum pli_node_kind kind;
    int depth;
    MPI_Count disp; // of the whole node
    MPI_Count size; // bytes of the packed stream, never 0
    MPI_Count runs; // pieces of contiguous memory; saturates
    MPI_Count n, len, stride;
    const struct pli_type_node *child;
    const struct pli_type_node *const *kids;
    const MPI_Count *disps;
    const MPI_Count *starts;    // n + 1: where in the stream each part begins
    struct pli_type_node *next; // owned by the same type
};

// Bytes of run i of PLI_NODE_BLOCKS.
static inline MPI_Count pli_type_plan_block(const struct pli_type_node *p, MPI_Count i)
{
    return p->starts != NULL ? p->starts[i + 1] - p->starts[i] : p->len;
}

// One part of a list: n times a node, stride apart, from disp on. node may be NULL: no data.
struct pli_type_part {
    const struct pli_type_node *node;
    MPI_Count disp, n, stride;
};
typedef void (*pli_type_part_fn)(const void *arg, MPI_Count i, struct pli_type_part *out);

// The loop in place: n >= 1 times child (not NULL), stride apart, from disp on.
static inline void pli_type_plan_fill(struct pli_type_node *out, MPI_Count n, MPI_Count stride,
                                      const struct pli_type_node *child, MPI_Count disp)
{
    MPI_Count span;
    if (n == 1) {
        *out = *child;
        out->disp += disp;
        return;
    }
    if (child->kind == PLI_NODE_RUN && child->len == stride) {
        *out = *child;
        out->len = out->size = n * child->size;
    } else if (child->kind == PLI_NODE_RUN) {
        *out = *child;
        out->kind = PLI_NODE_STRIDED;
        out->n = out->runs = n;
        out->stride = stride;
        out->size = n * child->size;
    } else if ((child->kind == PLI_NODE_STRIDED || child->kind == PLI_NODE_LOOP) &&
               !__builtin_mul_overflow(child->n, child->stride, &span) && span == stride) {
        *out = *child;
        out->n = n * child->n;
        out->size = n * child->size;
        out->runs = __builtin_mul_overflow(n, child->runs, &span) ? INT64_MAX : span;
    } else {
        *out = (struct pli_type_node){ .kind = PLI_NODE_LOOP,
                                       .depth = child->depth + 1,
                                       .size = n * child->size,
                                       .n = n,
                                       .stride = stride,
                                       .child = child };
        out->runs = __builtin_mul_overflow(n, child->runs, &span) ? INT64_MAX : span;
    }
    out->disp += disp;
}

// The same as a node of the type; *out is NULL when there is no data (n == 0 or no child).
enum pli_err pli_type_plan_loop(struct pli_datatype *owner, MPI_Count n, MPI_Count stride,
                                const struct pli_type_node *child, MPI_Count disp,
                                const struct pli_type_node **out);

// n parts one after the other, which `part` describes.
enum pli_err pli_type_plan_list(struct pli_datatype *owner, MPI_Count n, pli_type_part_fn part,
                                const void *arg, const struct pli_type_node **out);

void pli_type_plan_free(struct pli_type_node *nodes); // a whole chain of owned nodes

#endif
