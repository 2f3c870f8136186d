// SPDX-License-Identifier: BSD-3-Clause
// Two groups exchange a message through their leaders, and every member gets both messages.
#ifndef PLI_COMM_LEADER_EXCHANGE_H
#define PLI_COMM_LEADER_EXCHANGE_H

#include "base/err.h"

#include <stddef.h>

struct pli_comm;

struct pli_leader_exchange {
    unsigned char *mine, *theirs; // the messages of the two leaders; one allocation, at mine
    size_t n_mine, n_theirs;
};

// Collective over `local`. The leader sends `said` to rank `far` of `peer` on its set-up channel
// and receives a message from there, or none if `peer` is NULL; the arguments from `peer` on are
// significant at the leader. why: the error of a leader that cannot take part; its group then fails
// with it, and the other group is not told. Context: no lock held; waits. The caller frees t->mine.
enum pli_err pli_leader_exchange(struct pli_comm *local, int leader, struct pli_comm *peer, int far,
                                 int tag, const void *said, size_t len, enum pli_err why,
                                 struct pli_leader_exchange *t);

// Only the leaders' part. The caller frees t->mine, whatever the result.
enum pli_err pli_leader_exchange_lead(struct pli_comm *peer, int far, int tag, const void *said,
                                      size_t len, struct pli_leader_exchange *t);

// Instead of that: the group of this leader cannot take part any more. The other leader, which
// waits for the exchange or will, gets an error. Returns why, whose reason is kept.
enum pli_err pli_leader_exchange_refuse(struct pli_comm *peer, int far, int tag, enum pli_err why);

// The exchange between the groups of an intercommunicator, led by their first members.
enum pli_err pli_leader_exchange_inter(struct pli_comm *inter, const void *said, size_t len,
                                       struct pli_leader_exchange *t);

// Only between two leaders, as ordinary messages of unknown length: the other may be of another
// MPI. The caller frees *in_out, whatever the result.
enum pli_err pli_leader_exchange_open(struct pli_comm *peer, int far, int tag, const void *said,
                                      int len, unsigned char **in_out, int *n_in_out);

#endif
