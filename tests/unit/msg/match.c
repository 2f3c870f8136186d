// SPDX-License-Identifier: BSD-3-Clause
// Matching against a plain list that is searched from its start, over random receives and messages;
// and the cost of a message among many wildcards.
#include "msg/match.h"

#include <mpi.h>
#include <time.h>

#include "t.h"

enum { N_ITEM = 4000, N_MANY = 20000 };

struct entry {
    struct pli_match_item item;
    bool is_queued;
    int order;
};

static struct entry recvs[N_ITEM], sends[N_ITEM];
static int clock_now;

static unsigned dice(unsigned n)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)(state >> 33) % n;
}

static bool fits(const struct pli_match_item *r, const struct pli_match_item *m)
{
    return r->context == m->context && (r->source == m->source || r->source == MPI_ANY_SOURCE) &&
           (r->tag == m->tag || r->tag == MPI_ANY_TAG);
}

// The oldest queued entry of `in` that fits; `is_recv`: `in` holds receives.
static struct entry *reference(struct entry *in, const struct pli_match_item *with, bool is_recv)
{
    struct entry *best = NULL;
    for (int i = 0; i < N_ITEM; i++) {
        bool is_fit = is_recv ? fits(&in[i].item, with) : fits(with, &in[i].item);
        if (in[i].is_queued && is_fit && (best == NULL || in[i].order < best->order)) {
            best = &in[i];
        }
    }
    return best;
}

static void receive(struct pli_match *m, struct entry *e)
{
    struct pli_match_item *i = &e->item;
    i->context = dice(2);
    i->source = dice(3) == 0 ? MPI_ANY_SOURCE : (int32_t)dice(3);
    i->tag = dice(3) == 0 ? MPI_ANY_TAG : (int32_t)dice(3);
    struct entry *want = reference(sends, i, false);
    struct pli_match_item *got = pli_match_find(m, i->context, i->source, i->tag);
    T_OK(got == (want != NULL ? &want->item : NULL));
    if (got != NULL) {
        pli_match_take(m, got);
        want->is_queued = false;
        return;
    }
    T_MUST(pli_match_post(m, i, false));
    e->is_queued = true;
    e->order = clock_now++;
}

static void arrive(struct pli_match *m, struct entry *e)
{
    struct pli_match_item *i = &e->item;
    i->context = dice(2);
    i->source = (int32_t)dice(3);
    i->tag = (int32_t)dice(3);
    struct entry *want = reference(recvs, i, true);
    struct pli_match_item *got = pli_match_arrive(m, i->context, i->source, i->tag);
    T_OK(got == (want != NULL ? &want->item : NULL));
    if (got != NULL) {
        want->is_queued = false;
        return;
    }
    T_MUST(pli_match_keep(m, i));
    e->is_queued = true;
    e->order = clock_now++;
}

static void against_reference(void)
{
    struct pli_match m = { 0 };
    for (int i = 0; i < N_ITEM; i++) {
        unsigned phase = (unsigned)i / 500 % 2; // more of the one, then more of the other
        if (dice(5) < 2 + phase) {
            receive(&m, &recvs[i]);
        } else {
            arrive(&m, &sends[i]);
        }
        int gone = (int)dice(N_ITEM);
        if (dice(10) == 0 && recvs[gone].is_queued) {
            pli_match_unpost(&m, &recvs[gone].item);
            recvs[gone].is_queued = false;
        }
    }
    pli_match_fini(&m);
}

// A receive on a communicator without wildcards goes before one with a wildcard that is older.
static void promised(void)
{
    struct pli_match m = { 0 };
    struct pli_match_item any = { .context = 4, .source = MPI_ANY_SOURCE, .tag = 1 };
    struct pli_match_item one = { .context = 4, .source = 2, .tag = 1 }, two = one;
    T_MUST(pli_match_post(&m, &any, false) && pli_match_post(&m, &one, true) &&
           pli_match_post(&m, &two, true));
    T_OK(pli_match_arrive(&m, 4, 2, 1) == &one);
    T_OK(pli_match_arrive(&m, 4, 2, 1) == &two);
    T_OK(pli_match_arrive(&m, 4, 2, 1) == &any);
    T_OK(!pli_match_has_posted(&m) && m.n_wild == 0);
    pli_match_fini(&m);
}

static double seconds(int n)
{
    static struct pli_match_item item[N_MANY];
    struct pli_match m = { 0 };
    struct timespec a, b;
    for (int i = 0; i < n; i++) {
        item[i] = (struct pli_match_item){ .context = 8, .source = MPI_ANY_SOURCE, .tag = i };
        T_MUST(pli_match_post(&m, &item[i], false));
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
    for (int i = n - 1; i >= 0; i--) {
        T_OK(pli_match_arrive(&m, 8, 3, i) == &item[i]);
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
    pli_match_fini(&m);
    return (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) * 1e-9;
}

int main(void)
{
    against_reference();
    promised();
    seconds(N_MANY);
    double few = seconds(N_MANY / 20) * 20, many = seconds(N_MANY);
    T_OK(many < 10 * few + 0.01); // walking a list would take 20 times as long
    return t_status();
}
