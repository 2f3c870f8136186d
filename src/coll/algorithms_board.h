// SPDX-License-Identifier: BSD-3-Clause
// The algorithms that do a whole blocking collective on a board, one per file. The communicator has
// one, or its members on this host do; arguments have passed pli_coll_args_check. Context: no lock
// held.
#ifndef PLI_COLL_ALGORITHMS_BOARD_H
#define PLI_COLL_ALGORITHMS_BOARD_H

#include "base/err.h"

struct pli_coll_args;

enum pli_err pli_barrier_board(const struct pli_coll_args *a);
enum pli_err pli_bcast_board(const struct pli_coll_args *a);
enum pli_err pli_reduce_board(const struct pli_coll_args *a);    // a few bytes, and allreduce
enum pli_err pli_allreduce_whole(const struct pli_coll_args *a); // needs a small window
enum pli_err pli_allreduce_split(const struct pli_coll_args *a); // needs a large window
enum pli_err pli_allgather_board(const struct pli_coll_args *a); // needs a window
enum pli_err pli_alltoall_board(const struct pli_coll_args *a);  // needs a window

// On several hosts: boards inside each, messages between.
enum pli_err pli_barrier_board_hosts(const struct pli_coll_args *a);
enum pli_err pli_bcast_board_hosts(const struct pli_coll_args *a);
enum pli_err pli_reduce_board_hosts(const struct pli_coll_args *a); // and allreduce; a small window
enum pli_err pli_allreduce_shares(const struct pli_coll_args *a);   // a large window
enum pli_err pli_allgather_board_hosts(const struct pli_coll_args *a); // as many ranks on each host
enum pli_err pli_alltoall_board_hosts(const struct pli_coll_args *a);  // the same

#endif
