// SPDX-License-Identifier: BSD-3-Clause
// Schedules: a collective operation as a list of steps, built once and run as often as it is
// started. Steps are begun in order; a wait holds back what follows it. A schedule moves on
// whenever its lane is polled, so it needs no thread and any number can be under way.
#ifndef PLI_COLL_SCHED_H
#define PLI_COLL_SCHED_H

#include "base/err.h"
#include "coll/coll_args.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

struct pli_comm;
struct pli_datatype;
struct pli_op;
struct pli_request;
struct pli_sched;

enum pli_sched_use {
    PLI_SCHED_ONCE,
    PLI_SCHED_PERSISTENT, // may be started many times, and has a tag of its own while it lives
    PLI_SCHED_MANY,       // once, with very many others at the same time: see sched_mem.h
};

// Nonblocking collectives of so many ranks are PLI_SCHED_MANY.
enum { PLI_SCHED_MANY_RANKS = 512 };

// kind: for messages. Context: any thread.
enum pli_err pli_sched_create(enum pli_coll_kind kind, enum pli_sched_use use,
                              struct pli_sched **out);
void pli_sched_destroy(struct pli_sched *s);

// All members name this root: messages of a member that names another one do not match. Before
// pli_sched_on.
void pli_sched_set_root(struct pli_sched *s, int root);

// What follows talks on this communicator, under a tag that no other collective uses. All its
// members call this in the same order.
void pli_sched_on(struct pli_sched *s, struct pli_comm *comm);

// The whole part of this member is a small message to the root. False: it cannot go at once, and
// nothing was done. Else the request is done.
bool pli_sched_send_now(enum pli_coll_kind kind, int root, const struct pli_block *b,
                        struct pli_comm *comm, struct pli_request **out);

// One without data, in which nobody has anything to do: the request is done.
enum pli_err pli_sched_nothing(struct pli_comm *comm, struct pli_request **out);

// A collective in which this member has nothing to do: its tag is used up all the same.
void pli_sched_skip(struct pli_comm *comm);

// Peers named from here on are places in this list of ranks; NULL: ranks themselves. The list must
// stay until the schedule is built.
void pli_sched_among(struct pli_sched *s, const int *ranks);

// The call whose messages have this tag: "MPI_Bcast with root 1". Not for communicators that span
// MPI jobs.
enum { PLI_SCHED_CALL = 64 };
const char *pli_sched_say_tag(const struct pli_comm *comm, int tag, char to[PLI_SCHED_CALL]);

// The tag that steps now get, and return to a communicator under a tag it had before.
int pli_sched_tag(const struct pli_sched *s);
void pli_sched_return_to(struct pli_sched *s, struct pli_comm *comm, int tag);

// On a communicator that spans MPI jobs, after pli_sched_on: this operation may overlap others, so
// its messages between jobs have a tag of their own. All jobs count such operations alike.
void pli_sched_take_own(struct pli_sched *s, struct pli_comm *comm);
int pli_sched_own(const struct pli_sched *s); // 0: it has none

// Call fn before the request of this schedule completes with an error. Context of fn: the lane is
// not locked.
void pli_sched_on_error(struct pli_sched *s, void (*fn)(void *arg, enum pli_err err), void *arg);

// Memory was lacking for what belongs to the schedule.
void pli_sched_no_memory(struct pli_sched *s);

// False once memory was lacking: what pli_sched_bytes returned may not be written to.
bool pli_sched_ok(const struct pli_sched *s);

// Adding a step cannot fail: a lack of memory is remembered and reported at the end. Buffers stay
// with the caller until the schedule is done; types and operations are retained. Peers may be
// MPI_PROC_NULL. The number that send and recv return names the step to pli_sched_wait.
int pli_sched_send(struct pli_sched *s, const void *buf, MPI_Count count, struct pli_datatype *type,
                   int dest);
int pli_sched_recv(struct pli_sched *s, void *buf, MPI_Count count, struct pli_datatype *type,
                   int source);
void pli_sched_copy(struct pli_sched *s, const void *src, MPI_Count n_src,
                    struct pli_datatype *src_type, void *dst, MPI_Count n_dst,
                    struct pli_datatype *dst_type);
// inout = in op inout.
void pli_sched_reduce(struct pli_sched *s, const void *in, void *inout, MPI_Count count,
                      struct pli_datatype *type, struct pli_op *op);
void pli_sched_wait(struct pli_sched *s, int step); // for one since the last fence
// This send or receive is to or from a root, which takes from several ranks or gives to several.
void pli_sched_rooted(struct pli_sched *s, int step);
void pli_sched_fence(struct pli_sched *s); // for all so far

// Memory that lives as long as the schedule: `size` bytes, or room for elements laid out as the
// type says. Never NULL: a lack of memory is remembered.
void *pli_sched_bytes(struct pli_sched *s, size_t size);
void *pli_sched_room(struct pli_sched *s, MPI_Count count, const struct pli_datatype *type);

#endif
