// SPDX-License-Identifier: BSD-3-Clause
// Matches messages with receives.
// Two hash tables per endpoint, and a list of messages by arrival. A receive with a wildcard is in
// the table under the wildcard itself: a message looks there too, while there are any.
#include "msg/match.h"

#include <mpi.h>
#include <stdlib.h>

enum { FIRST_SIZE = 4 }; // small: a process may have very many endpoints

static uint32_t hash(uint64_t context, int32_t source, int32_t tag)
{
    uint64_t h = context ^ (uint64_t)(uint32_t)source << 32 ^ (uint32_t)tag;
    h *= 0x9e3779b97f4a7c15u;
    h ^= h >> 29;
    h *= 0xbf58476d1ce4e5b9u;
    return (uint32_t)(h >> 32);
}

static bool is_wild(const struct pli_match_item *i)
{
    return i->source == MPI_ANY_SOURCE || i->tag == MPI_ANY_TAG;
}

static bool fits(const struct pli_match_item *want, uint64_t context, int32_t source, int32_t tag)
{
    return want->context == context && (want->source == source || want->source == MPI_ANY_SOURCE) &&
           (want->tag == tag || want->tag == MPI_ANY_TAG);
}

static void append(struct pli_match_bucket *b, struct pli_match_item *i)
{
    i->next = NULL;
    i->prev = b->last;
    if (b->last != NULL) {
        b->last->next = i;
    } else {
        b->first = i;
    }
    b->last = i;
}

static void unlink_item(struct pli_match_bucket *b, struct pli_match_item *i)
{
    if (i->prev != NULL) {
        i->prev->next = i->next;
    } else {
        b->first = i->next;
    }
    if (i->next != NULL) {
        i->next->prev = i->prev;
    } else {
        b->last = i->prev;
    }
}

static struct pli_match_bucket *bucket_of(const struct pli_match_table *t, uint64_t context,
                                          int32_t source, int32_t tag)
{
    return &t->bucket[hash(context, source, tag) & (t->n_bucket - 1)];
}

// Double the table; order inside a bucket is kept because items of one key move together.
__attribute__((cold)) static bool grow(struct pli_match_table *t)
{
    uint32_t n = t->n_bucket == 0 ? FIRST_SIZE : t->n_bucket * 4;
    struct pli_match_bucket *fresh = calloc(n, sizeof *fresh);
    if (fresh == NULL) {
        return t->n_bucket != 0; // a full table is slow, not wrong
    }
    struct pli_match_table bigger = { fresh, n, t->n_item };
    for (uint32_t b = 0; b < t->n_bucket; b++) {
        struct pli_match_item *i = t->bucket[b].first;
        while (i != NULL) {
            struct pli_match_item *next = i->next;
            append(bucket_of(&bigger, i->context, i->source, i->tag), i);
            i = next;
        }
    }
    free(t->bucket);
    *t = bigger;
    return true;
}

static bool insert(struct pli_match_table *t, struct pli_match_item *i)
{
    if (t->n_item >= t->n_bucket && !grow(t)) {
        return false;
    }
    append(bucket_of(t, i->context, i->source, i->tag), i);
    t->n_item++;
    return true;
}

static void erase(struct pli_match_table *t, struct pli_match_item *i)
{
    unlink_item(bucket_of(t, i->context, i->source, i->tag), i);
    t->n_item--;
}

static struct pli_match_item *first_in(const struct pli_match_bucket *b, uint64_t context,
                                       int32_t source, int32_t tag)
{
    struct pli_match_item *i = b->first;
    while (i != NULL && !(i->context == context && i->source == source && i->tag == tag)) {
        i = i->next;
    }
    return i;
}

static struct pli_match_item *first_of(const struct pli_match_table *t, uint64_t context,
                                       int32_t source, int32_t tag)
{
    return t->n_item == 0 ? NULL
                          : first_in(bucket_of(t, context, source, tag), context, source, tag);
}

bool pli_match_post(struct pli_match *m, struct pli_match_item *recv, bool is_first)
{
    recv->seq = is_first ? 0 : ++m->seq;
    if (!insert(&m->posted, recv)) {
        return false;
    }
    m->n_wild += is_wild(recv);
    return true;
}

static struct pli_match_item *older(struct pli_match_item *a, struct pli_match_item *b)
{
    return a == NULL || (b != NULL && b->seq < a->seq) ? b : a;
}

void pli_match_unpost(struct pli_match *m, struct pli_match_item *recv)
{
    erase(&m->posted, recv);
    m->n_wild -= is_wild(recv);
}

// The oldest receive with these values or wildcards for them.
__attribute__((noinline)) static struct pli_match_item *arrive_wild(struct pli_match *m,
                                                                    struct pli_match_item *best,
                                                                    uint64_t context,
                                                                    int32_t source, int32_t tag)
{
    if (best == NULL || best->seq != 0) {
        best = older(best, first_of(&m->posted, context, MPI_ANY_SOURCE, tag));
        best = older(best, first_of(&m->posted, context, source, MPI_ANY_TAG));
        best = older(best, first_of(&m->posted, context, MPI_ANY_SOURCE, MPI_ANY_TAG));
    }
    if (best != NULL) {
        pli_match_unpost(m, best);
    }
    return best;
}

struct pli_match_item *pli_match_arrive(struct pli_match *m, uint64_t context, int32_t source,
                                        int32_t tag)
{
    if (m->posted.n_item == 0) {
        return NULL;
    }
    struct pli_match_bucket *b = bucket_of(&m->posted, context, source, tag);
    struct pli_match_item *best = first_in(b, context, source, tag);
    if (m->n_wild != 0) {
        return arrive_wild(m, best, context, source, tag);
    }
    if (best != NULL) { // its place is known: the hash is a tenth of what a message costs here
        unlink_item(b, best);
        m->posted.n_item--;
    }
    return best;
}

bool pli_match_keep(struct pli_match *m, struct pli_match_item *message)
{
    if (!insert(&m->unexpected, message)) {
        return false;
    }
    message->later = NULL;
    message->older = m->arrival.last;
    if (m->arrival.last != NULL) {
        m->arrival.last->later = message;
    } else {
        m->arrival.first = message;
    }
    m->arrival.last = message;
    return true;
}

struct pli_match_item *pli_match_find(struct pli_match *m, uint64_t context, int32_t source,
                                      int32_t tag)
{
    struct pli_match_item want = { .context = context, .source = source, .tag = tag };
    if (!is_wild(&want)) {
        return first_of(&m->unexpected, context, source, tag);
    }
    struct pli_match_item *i = m->arrival.first;
    while (i != NULL && !fits(&want, i->context, i->source, i->tag)) {
        i = i->later;
    }
    return i;
}

void pli_match_take(struct pli_match *m, struct pli_match_item *message)
{
    erase(&m->unexpected, message);
    if (message->older != NULL) {
        message->older->later = message->later;
    } else {
        m->arrival.first = message->later;
    }
    if (message->later != NULL) {
        message->later->older = message->older;
    } else {
        m->arrival.last = message->older;
    }
}

struct pli_match_item *pli_match_scan(const struct pli_match *m,
                                      bool (*wants)(struct pli_match_item *recv, void *arg),
                                      void *arg)
{
    for (uint32_t b = 0; b < m->posted.n_bucket; b++) {
        for (struct pli_match_item *i = m->posted.bucket[b].first; i != NULL; i = i->next) {
            if (wants(i, arg)) {
                return i;
            }
        }
    }
    return NULL;
}

__attribute__((cold)) void pli_match_fini(struct pli_match *m)
{
    free(m->posted.bucket);
    free(m->unexpected.bucket);
    *m = (struct pli_match){ 0 };
}
