// SPDX-License-Identifier: BSD-3-Clause
// Matching, one per endpoint: which receive gets which message. A message finds its receive in
// constant time however long the queues are, and so does an exact receive its message; order is
// kept for wildcards. [MPI-5.0 3.5]
#ifndef PLI_MSG_MATCH_H
#define PLI_MSG_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// One posted receive or one unexpected message, inside a request or a message.
struct pli_match_item {
    struct pli_match_item *next, *prev;   // same bucket
    struct pli_match_item *later, *older; // unexpected only: order of arrival
    uint64_t context;                     // with the channel
    uint64_t seq;                         // order of posting; 0: before all others
    int32_t source, tag;
};

struct pli_match_bucket {
    struct pli_match_item *first, *last;
};

struct pli_match_table {
    struct pli_match_bucket *bucket; // NULL until something must be kept
    uint32_t n_bucket, n_item;
};

struct pli_match {
    struct pli_match_table posted, unexpected;
    uint32_t n_wild;                 // posted receives with a wildcard
    struct pli_match_bucket arrival; // all unexpected messages, by later/older
    uint64_t seq;
};

// All of these: context: the endpoint's lane is locked.

// Keep a receive that found nothing. source and tag of the item may be wildcards. is_first: the
// user promised that no wildcard competes with it, or that order is all the same. False: no memory.
bool pli_match_post(struct pli_match *m, struct pli_match_item *recv, bool is_first);
// Take the receive that a message with these values belongs to, or NULL.
struct pli_match_item *pli_match_arrive(struct pli_match *m, uint64_t context, int32_t source,
                                        int32_t tag);
// Keep a message that found no receive. False: no memory.
bool pli_match_keep(struct pli_match *m, struct pli_match_item *message);
// The oldest message that fits, left where it is; NULL: none.
struct pli_match_item *pli_match_find(struct pli_match *m, uint64_t context, int32_t source,
                                      int32_t tag);
void pli_match_take(struct pli_match *m, struct pli_match_item *message); // found by find
void pli_match_unpost(struct pli_match *m, struct pli_match_item *recv);  // cancel
// A posted receive that `wants` accepts, left where it is; NULL: none. Looks at all of them.
struct pli_match_item *pli_match_scan(const struct pli_match *m,
                                      bool (*wants)(struct pli_match_item *recv, void *arg),
                                      void *arg);
void pli_match_fini(struct pli_match *m);

static inline bool pli_match_has_unexpected(const struct pli_match *m)
{
    return m->unexpected.n_item != 0;
}

static inline bool pli_match_has_posted(const struct pli_match *m)
{
    return m->posted.n_item != 0;
}

#endif
