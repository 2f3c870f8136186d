// SPDX-License-Identifier: BSD-3-Clause
// The list of all algorithms of collectives, one per file of coll/algo. Arguments have passed
// pli_coll_args_check.
#ifndef PLI_COLL_ALGORITHMS_H
#define PLI_COLL_ALGORITHMS_H

#include "base/err.h"

struct pli_coll_args;
struct pli_sched;

// Algorithms that are schedules. Each adds its steps for this rank; the schedule is already on the
// communicator of the arguments, which is an intracommunicator unless said otherwise. Context: any
// thread.
typedef void (*pli_coll_build_fn)(struct pli_sched *s, const struct pli_coll_args *a);

void pli_barrier_tree(struct pli_sched *s, const struct pli_coll_args *a);
void pli_barrier_dissem(struct pli_sched *s, const struct pli_coll_args *a);
void pli_bcast_binomial(struct pli_sched *s, const struct pli_coll_args *a);
void pli_bcast_linear(struct pli_sched *s, const struct pli_coll_args *a);
void pli_bcast_chain(struct pli_sched *s, const struct pli_coll_args *a);
void pli_gather_linear(struct pli_sched *s, const struct pli_coll_args *a); // and gatherv
void pli_gather_binomial(struct pli_sched *s, const struct pli_coll_args *a);
void pli_scatter_linear(struct pli_sched *s, const struct pli_coll_args *a); // and scatterv
void pli_scatter_binomial(struct pli_sched *s, const struct pli_coll_args *a);
void pli_allgather_ring(struct pli_sched *s, const struct pli_coll_args *a);   // and allgatherv
void pli_allgather_linear(struct pli_sched *s, const struct pli_coll_args *a); // and allgatherv
void pli_allgather_turns(struct pli_sched *s, const struct pli_coll_args *a);  // and allgatherv
void pli_allgather_bruck(struct pli_sched *s, const struct pli_coll_args *a);
void pli_alltoall_linear(struct pli_sched *s, const struct pli_coll_args *a);   // and v, w
void pli_alltoall_pairwise(struct pli_sched *s, const struct pli_coll_args *a); // and v, w
void pli_alltoall_bruck(struct pli_sched *s, const struct pli_coll_args *a);
void pli_reduce_binomial(struct pli_sched *s, const struct pli_coll_args *a);
void pli_allreduce_doubling(struct pli_sched *s, const struct pli_coll_args *a);
void pli_allreduce_halving(struct pli_sched *s, const struct pli_coll_args *a);
void pli_allreduce_ring(struct pli_sched *s, const struct pli_coll_args *a);
void pli_allreduce_tree(struct pli_sched *s, const struct pli_coll_args *a);
void pli_reduce_scatter_ring(struct pli_sched *s, const struct pli_coll_args *a); // and block
void pli_reduce_scatter_tree(struct pli_sched *s, const struct pli_coll_args *a); // and block
void pli_reduce_scatter_doubling(struct pli_sched *s, const struct pli_coll_args *a);
void pli_scan_doubling(struct pli_sched *s, const struct pli_coll_args *a);   // and exscan
void pli_scan_linear(struct pli_sched *s, const struct pli_coll_args *a);     // and exscan
void pli_neighbor_linear(struct pli_sched *s, const struct pli_coll_args *a); // all five
void pli_barrier_hier(struct pli_sched *s, const struct pli_coll_args *a);
void pli_bcast_hier(struct pli_sched *s, const struct pli_coll_args *a);
void pli_reduce_hier(struct pli_sched *s, const struct pli_coll_args *a);
void pli_allreduce_hier(struct pli_sched *s, const struct pli_coll_args *a);
void pli_inter_rooted(struct pli_sched *s, const struct pli_coll_args *a); // intercommunicators
void pli_inter_all(struct pli_sched *s, const struct pli_coll_args *a);    // intercommunicators

// Algorithms that do a whole blocking collective on a board. The communicator has one, or its
// members on this host do. Context: no lock held.
typedef enum pli_err (*pli_coll_direct_fn)(const struct pli_coll_args *a);

enum pli_err pli_barrier_board(const struct pli_coll_args *a);
enum pli_err pli_bcast_board(const struct pli_coll_args *a);
enum pli_err pli_reduce_board(const struct pli_coll_args *a);    // a few bytes, and allreduce
enum pli_err pli_allreduce_whole(const struct pli_coll_args *a); // needs a small window
enum pli_err pli_allreduce_split(const struct pli_coll_args *a); // needs a large window
enum pli_err pli_allgather_slots(const struct pli_coll_args *a); // a few bytes
enum pli_err pli_allgather_board(const struct pli_coll_args *a); // and v; needs a window
enum pli_err pli_alltoall_slots(const struct pli_coll_args *a);  // a few bytes of all ranks
enum pli_err pli_alltoall_board(const struct pli_coll_args *a);  // needs a window
enum pli_err pli_gather_windows(const struct pli_coll_args *a);
// And block; needs a window that has room for an element of every rank.
enum pli_err pli_reduce_scatter_board(const struct pli_coll_args *a);
enum pli_err pli_reduce_scatter_slots(const struct pli_coll_args *a); // a few bytes
enum pli_err pli_scan_board(const struct pli_coll_args *a);           // and exscan
// Small blocks by postings, larger ones by messages.
enum pli_err pli_move_post_gather(const struct pli_coll_args *a);  // and gatherv
enum pli_err pli_move_post_scatter(const struct pli_coll_args *a); // and scatterv
enum pli_err pli_move_post_allgatherv(const struct pli_coll_args *a);
enum pli_err pli_move_post_alltoallv(const struct pli_coll_args *a); // and alltoallw, not in place
enum pli_err pli_neighbor_post(const struct pli_coll_args *a);       // all five
// Large blocks from buffer to buffer. PLI_AGAIN: all members are to take another algorithm.
enum pli_err pli_move_cma_gather(const struct pli_coll_args *a);
enum pli_err pli_move_cma_scatter(const struct pli_coll_args *a);
enum pli_err pli_move_cma_allgather(const struct pli_coll_args *a);
enum pli_err pli_move_cma_allgatherv(const struct pli_coll_args *a);
enum pli_err pli_move_cma_alltoall(const struct pli_coll_args *a);

// On several hosts: boards inside each, messages between.
enum pli_err pli_barrier_board_hosts(const struct pli_coll_args *a);
enum pli_err pli_bcast_board_hosts(const struct pli_coll_args *a);
enum pli_err pli_reduce_board_hosts(const struct pli_coll_args *a); // and allreduce; a small window
enum pli_err pli_allreduce_shares(const struct pli_coll_args *a);   // a large window
enum pli_err pli_allgather_board_hosts(const struct pli_coll_args *a); // as many ranks on each host
enum pli_err pli_alltoall_board_hosts(const struct pli_coll_args *a);  // the same

#endif
