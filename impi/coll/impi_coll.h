// SPDX-License-Identifier: BSD-3-Clause
// The global phases of collective operations on a communicator that spans clients, written once for
// all libraries that run them: which messages a rank sends and receives, to and from whom, with
// which tag, in which order. A plan is a list of steps; how a step is carried out is up to the
// library. Pure but for the memory of the plan. Context: any thread.
//
// Messages are standard sends on context cid + 1, in external32, with the rank in the communicator
// in pk_lsrank. A player does its steps in order; a SEND need not have completed before the next
// step, all must have at the end. Ranks of one client may use whatever their MPI has.
//
//   operation           the player does
//   barrier             local barrier; plan; local barrier
//   bcast               plan at heads; local bcast from the head
//   reduce              local reduce to the head; plan at heads (commutative operations)
//   reduce, ordered     no local phase: the plan names local ranks too (not commutative)
//   gather, short       local gather to the head; plan at heads: a message holds all of a client
//   gather, long        local gather in the root's client; plan: every other rank to the root
//   scatter             the mirror image of gather
//   gatherv, scatterv   as the long forms, whatever the length
//   alltoall(v)         plan between clients; inside a client as it likes
//   scan                no local phase: the plan names local ranks too
//
// Made of these, all with rank 0 as root:  allreduce = reduce + bcast; allgather = gather + bcast;
// allgatherv = gatherv + bcast; reduce_scatter = reduce + scatterv; reduce_scatter_block = reduce +
// scatter; a context id = allreduce of the largest in use (see pli_impi_coll_take_cid); dup and
// create = a context id; split = allgather of (colour, key) as two Int4, colour -1 for none, then a
// context id; free = barrier; finalize = barrier on MPI_COMM_WORLD.
// An operation is long if one rank's contribution has at least COLL_XSIZE bytes of external32.
#ifndef PLI_IMPI_COLL_H
#define PLI_IMPI_COLL_H

#include <stdbool.h>
#include <stdint.h>
#include "impi/coll/impi_map.h"

enum pli_impi_coll_tag {
    PLI_IMPI_TAG_BARRIER = 110,
    PLI_IMPI_TAG_BCAST = 120,
    PLI_IMPI_TAG_GATHER = 130,
    PLI_IMPI_TAG_GATHERV = 140,
    PLI_IMPI_TAG_SCATTER = 150,
    PLI_IMPI_TAG_SCATTERV = 160,
    PLI_IMPI_TAG_ALLTOALL = 170,
    PLI_IMPI_TAG_ALLTOALLV = 180,
    PLI_IMPI_TAG_REDUCE = 190,
    PLI_IMPI_TAG_SCAN = 200,
    PLI_IMPI_TAG_DUP = 210,
    PLI_IMPI_TAG_MERGE = 220,
    PLI_IMPI_TAG_COMM_FREE = 230,
    PLI_IMPI_TAG_CREATE = 240, // of an inter-communicator
    PLI_IMPI_TAG_SPLIT = 250,
};

enum pli_impi_coll_op {
    PLI_IMPI_COLL_BARRIER,
    PLI_IMPI_COLL_BCAST,
    PLI_IMPI_COLL_REDUCE,
    PLI_IMPI_COLL_REDUCE_ORDERED,
    PLI_IMPI_COLL_GATHER,
    PLI_IMPI_COLL_GATHER_LONG,
    PLI_IMPI_COLL_GATHERV,
    PLI_IMPI_COLL_SCATTER,
    PLI_IMPI_COLL_SCATTER_LONG,
    PLI_IMPI_COLL_SCATTERV,
    PLI_IMPI_COLL_ALLTOALL,
    PLI_IMPI_COLL_ALLTOALLV,
    PLI_IMPI_COLL_SCAN,
    PLI_IMPI_N_COLL,
};

enum pli_impi_coll_kind {
    PLI_IMPI_STEP_SEND, // barrier: nothing; bcast: the buffer; reduce, scan: the result so far;
                        // gather: own part; scatter, alltoall: the part of `rank`
    PLI_IMPI_STEP_RECV, // the same the other way round; scan and reduce have FOLD instead
    PLI_IMPI_STEP_FOLD, // receive, then result = op(received, result); with is_first: result =
                        // received. Own data stand for the received if `rank` is the caller
};

struct pli_impi_coll_step {
    enum pli_impi_coll_kind kind;
    int rank;      // in the communicator
    bool is_block; // the parts of all ranks of that side's client, ascending, in one message
    bool is_first; // see FOLD
};

struct pli_impi_coll_plan {
    int tag, n_step;
    struct pli_impi_coll_step step[];
};

// What rank `me` does in `op` with root `root` (0 where there is none). `maxlinear` is the job's.
// The plan is the caller's, to be freed with free(). ERR_NOMEM.
enum pli_impi_err pli_impi_coll_make(const struct pli_impi_map *m, enum pli_impi_coll_op op, int me,
                                     int root, int maxlinear, struct pli_impi_coll_plan **out);

// Context ids come in pairs: cid for point-to-point, cid + 1 for collectives; MPI_COMM_WORLD has 0
// and 1. `max` is the largest in use, 1 at first. The largest of all members of the parent having
// been found by an allreduce (MPI_MAX of one Uint8) and stored in *max: take `n` ids and name the
// first. ERR_RANGE: there are no more.
enum pli_impi_err pli_impi_coll_take_cid(uint64_t *max, unsigned n, uint64_t *cid_out);

#endif
