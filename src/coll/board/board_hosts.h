// SPDX-License-Identifier: BSD-3-Clause
// Collectives of a communicator on several hosts that meet on a board inside each host; one rank of
// each host, its leader, sends messages between. Context of all: no lock held.
#ifndef PLI_COLL_BOARD_HOSTS_H
#define PLI_COLL_BOARD_HOSTS_H

#include "base/err.h"
#include "coll/algorithms.h"
#include "coll/coll_args.h"
#include "coll/hostmap.h"

#include <stdbool.h>
#include <stddef.h>

// Whether every host has a board of its members, with windows of two halves of this size (0: none
// is needed). May make them: all members of the communicator ask in the same order. PLI_AGAIN: no.
enum pli_err pli_board_hosts_ready(const struct pli_coll_args *a, size_t half);

// My host in an operation with this root; -1: no root, so the first rank of each host leads.
struct pli_board_hosts {
    const struct pli_hostmap *hosts;
    int leader;     // its place among the members of my host
    bool is_leader; // it is me
    bool is_alone;  // it is the only one
};
struct pli_board_hosts pli_board_hosts_view(const struct pli_coll_args *a, int root);

// The operation among the leaders of all hosts, by an algorithm for messages. All members call it;
// one that is no leader returns at once.
enum pli_err pli_board_hosts_between(const struct pli_board_hosts *v, const struct pli_coll_args *a,
                                     int root, pli_coll_build_fn fn);

// Send what the leader has in a->recv to the other members of its host. When the leader has failed,
// the others fail here.
enum pli_err pli_board_hosts_spread(const struct pli_board_hosts *v, const struct pli_coll_args *a,
                                    enum pli_err err);

#endif
