// SPDX-License-Identifier: BSD-3-Clause
// What a schedule is made of, for the file that builds schedules and the one that runs them.
#ifndef PLI_COLL_SCHED_PRIV_H
#define PLI_COLL_SCHED_PRIV_H

#include "coll/sched.h"
#include "msg/lane.h"
#include "msg/request.h"

enum kind { K_SEND, K_RECV, K_COPY, K_REDUCE, K_WAIT, K_FENCE };

enum { FEW_STEPS = 8, FEW_CHILDREN = 4, INLINE_ROOM = 256, LEAN_STEPS = 5 };

struct step {
    enum kind kind;
    int peer, tag;
    int child;      // place among the children; K_WAIT: of the step waited for
    bool is_rooted; // see pli_sched_rooted
    union {
        struct pli_comm *comm; // of what talks
        struct pli_op *op;     // K_REDUCE
    };
    const void *in;
    void *out;
    MPI_Count n_in, n_out;
    struct pli_datatype *in_type, *out_type;
};

struct child {
    struct pli_request_child c; // first
    struct pli_sched *sched;
};

// Memory handed out by pli_sched_bytes.
struct pli_sched {
    struct pli_task task; // in the lane's list when a wait is over
    enum pli_coll_kind kind;
    const char *name;
    bool is_persistent;
    bool is_lean;        // its memory is of sched_mem.h, and others' is where its arrays would be
    bool has_withdrawn;  // a child's memory must stay, see PLI_REQ_WITHDRAWN
    bool is_span;        // of a communicator that spans MPI jobs
    bool is_stopped;     // it failed for good: what is left is not begun
    const int *among;    // building: the ranks that peers are places among
    struct pli_comm *on; // building: where steps talk, and under which tag
    int tag;
    int own;       // of an operation between MPI jobs that may overlap others, 0: IMPI's tags
    uint32_t mark; // in every tag: the operation, and its root where all name one
    int root;      // for the record of a long wait; -1: there is none
    struct step *steps;
    int n_step, cap;
    struct child *children;
    int n_child;      // since the last fence: behind it they are used again
    int n_child_most; // at a time
    struct pli_scratch *scratch_list;
    enum pli_err build_err;
    // Running, by one thread at a time. The request completes at the end.
    struct pli_request *req;
    struct pli_lane *lane;
    int at;             // next step
    _Atomic int n_open; // children begun and not done
    int waits_for;      // child, or one of the two below; guarded by the lane's lock
    enum pli_err err;   // first failure; guarded by the lane's lock
    void (*on_error)(void *arg, enum pli_err err);
    void *on_error_arg;
    uint64_t got, want; // bytes, for the sentence of a wrong size
    int from;
    // Room for what most operations need: a schedule of a few steps is one piece of memory.
    // bench: tcp_allreduce size=8.
    size_t n_inline; // bytes of `room` that were handed out
    struct step few_steps[FEW_STEPS];
    struct child few_children[FEW_CHILDREN];
    unsigned char room[INLINE_ROOM];
};

enum { FOR_NONE = -1, FOR_ALL = -2, TAGS = 0x40000000 };
// On communicators that span MPI jobs the tags below SPAN_FIRST are given by IMPI; those below
// SPAN_INSIDE are for operations that may overlap, and all jobs count them alike; from there to
// TAGS they are for messages inside a job.
enum { SPAN_FIRST = 2048, SPAN_INSIDE = 0x20000000 };
// The low bits of a tag: the kind, and above it the root modulo 32.
enum { MARK_KINDS = 32, MARKS = 1024 };
_Static_assert((int)PLI_N_COLL <= (int)MARK_KINDS, "a mark tells all kinds apart");

// Memory that belongs to the schedule.
void *pli_sched_take(const struct pli_sched *s, size_t size);

#endif
