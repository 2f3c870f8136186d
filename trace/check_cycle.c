// SPDX-License-Identifier: BSD-3-Clause
// Blocking sends that go round in a circle among any number of ranks. A send whose receive was
// posted only after another blocking send of the receiver would have to wait for that one, if
// messages were not buffered. Each rank notes such pairs and tells them to rank 0, which goes
// through the sends of all as if none were buffered, and where it cannot go on there is a cycle.
#include "trace/check.h"

#include <stdlib.h>
#include <string.h>

enum { N_KEY = 256, N_EACH = 8, N_EDGE = 2048, N_CALL = 8 };

// Send `order` of rank `sender` waits for send `before` of rank `receiver`. What is not noted only
// leaves out reasons to wait.
struct edge {
    uint32_t sender, order, receiver, before;
    uint64_t sent, before_place, received; // lines
};
enum { HALF = PLI_OBSERVE_NOTE, OTHER_HALF = sizeof(struct edge) - HALF };
_Static_assert(sizeof(struct edge) <= 2 * HALF, "an edge is two notes");

static struct {
    uint32_t n_send;
    uint64_t last_place;
    int n_edge;
    struct edge edges[N_EDGE];
    struct {
        uint64_t key;
        int n;
    } seen[N_KEY]; // of each triple of lines the first few
    uint32_t n_call;
    bool is_over;
    struct edge *told; // to rank 0, by all
    int n_told, n_judged, cap;
} state;

// In a world of several jobs others may not be looked at. A world that was resized or forked is not
// looked at: its members have begun with different ones. All members of a world say the same.
static bool is_whole_world(struct pli_observe_process *me)
{
    int size = 0, version = 0;
    return pli_check_lib.get_process(me) &&
           pli_check_lib.comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS && (int)me->size == size &&
           size > 2 && pli_check_lib.world_version(MPI_COMM_WORLD, &version) == MPI_SUCCESS &&
           version <= 0;
}

uint32_t pli_check_cycle_send(const void *site, uint32_t max)
{
    if (pli_check_has_threads() || state.n_send == max) {
        return 0;
    }
    state.last_place = pli_line_place(site);
    return ++state.n_send;
}

uint32_t pli_check_cycle_last(uint64_t *place)
{
    *place = state.last_place;
    return pli_check_has_threads() ? 0 : state.n_send;
}

static bool is_wanted(uint64_t key)
{
    size_t slot = (key * 0x9e3779b97f4a7c15u >> 40) % N_KEY;
    for (size_t i = 0; i < N_KEY; i++, slot = (slot + 1) % N_KEY) {
        if (state.seen[slot].n == 0 || state.seen[slot].key == key) {
            state.seen[slot].key = key;
            return state.seen[slot].n++ < N_EACH;
        }
    }
    return false;
}

static void keep_told(const struct edge *e)
{
    if (state.n_told == state.cap) {
        int cap = state.cap > 0 ? 2 * state.cap : 256;
        struct edge *more = realloc(state.told, (size_t)cap * sizeof *more);
        if (more == NULL) {
            return; // the gather of MPI_Finalize has it again
        }
        state.told = more;
        state.cap = cap;
    }
    state.told[state.n_told++] = *e;
}

// The second note goes first: who finds the other has both.
static void tell(const struct edge *e)
{
    struct pli_observe_process me;
    unsigned char other[PLI_OBSERVE_NOTE] = { 0 };
    if (!is_whole_world(&me)) {
        return;
    }
    if (me.rank == 0) {
        keep_told(e);
        return;
    }
    memcpy(other, (const char *)e + HALF, OTHER_HALF);
    if (pli_check_lib.send(MPI_COMM_WORLD, 0, 1, PLI_OBSERVE_CYCLE, other)) {
        pli_check_lib.send(MPI_COMM_WORLD, 0, 0, PLI_OBSERVE_CYCLE, e);
    }
}

void pli_check_cycle_edge(const struct pli_check_comm *c, const struct pli_check_posted *p,
                          uint32_t order, uint64_t place)
{
    struct pli_observe_process me;
    uint32_t ep = 0;
    uint64_t line = pli_line_place(p->site);
    if (state.n_edge == N_EDGE || !is_wanted(place ^ p->order_place * 3 ^ line * 7) ||
        !pli_check_lib.get_process(&me)) {
        return;
    }
    uint32_t sender = pli_check_lib.get_peer(c->handle, p->from, &ep) - me.world;
    if (sender < me.size && sender != me.rank) {
        struct edge *e = &state.edges[state.n_edge++];
        *e = (struct edge){ sender, order, me.rank, p->order, place, p->order_place, line };
        tell(e);
    }
}

static int by_sender(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    return x->sender != y->sender ? (x->sender < y->sender ? -1 : 1)
                                  : (x->order > y->order) - (x->order < y->order);
}

// The edges of a rank that are not behind it yet.
struct walk {
    const struct edge *at, *end;
};

static bool may_pass(const struct walk *walks, const struct edge *e)
{
    const struct walk *w = &walks[e->receiver];
    return w->at == w->end || w->at->order > e->before;
}

static void go_on(struct walk *walks, int n_rank)
{
    bool is_again = true;
    while (is_again) {
        is_again = false;
        for (int i = 0; i < n_rank; i++) {
            while (walks[i].at < walks[i].end && may_pass(walks, walks[i].at)) {
                walks[i].at++;
                is_again = true;
            }
        }
    }
}

// All that cannot go on wait for one that cannot: following them leads into the cycle. Two ranks
// are told of where they meet (trace/check_p2p.c).
static void say_cycle(const struct walk *walks, int n_rank, int from)
{
    for (int i = 0; i < n_rank; i++) {
        from = (int)walks[from].at->receiver;
    }
    int n = 0, at = from;
    do {
        n++;
        at = (int)walks[at].at->receiver;
    } while (at != from);
    const struct edge *e = walks[from].at;
    uint64_t lines = 0; // the same wherever it begins
    for (int i = 0; i < n; i++, at = (int)walks[at].at->receiver) {
        lines += walks[at].at->sent * 0x9e3779b97f4a7c15u;
    }
    if (n > 2) {
        pli_check_say(
            "unsafe", NULL, lines,
            "MPI_Send at %s of rank %u needs rank %u, which sends by MPI_Send at %s before "
            "it receives at %s, and so on around %d ranks: their sends return only "
            "because messages are buffered; use MPI_Sendrecv or MPI_Irecv",
            pli_line_text(e->sent), e->sender, e->receiver, pli_line_text(e->before_place),
            pli_line_text(e->received), n);
    }
}

static void judge(struct edge *edges, int n_edge, int n_rank)
{
    struct walk *walks = calloc((size_t)n_rank, sizeof *walks);
    if (walks == NULL) {
        return;
    }
    qsort(edges, (size_t)n_edge, sizeof *edges, by_sender);
    for (int i = 0, k = 0; i < n_rank; i++) {
        walks[i].at = &edges[k];
        while (k < n_edge && edges[k].sender == (uint32_t)i) {
            k++;
        }
        walks[i].end = &edges[k];
    }
    go_on(walks, n_rank);
    for (int i = 0; i < n_rank; i++) {
        while (walks[i].at < walks[i].end) {
            say_cycle(walks, n_rank, i);
            walks[i].at++; // as if it had been buffered
            go_on(walks, n_rank);
        }
    }
    free(walks);
}

// What the others have told, now and then. Threads are not looked at here.
void pli_check_cycle_poll(void)
{
    struct pli_observe_process me;
    struct edge e;
    unsigned char other[PLI_OBSERVE_NOTE];
    if (pli_check_has_threads() || ++state.n_call % N_CALL != 0 || state.is_over ||
        !pli_check_lib.get_process(&me) || me.rank != 0) {
        return;
    }
    while (pli_check_lib.take(MPI_COMM_WORLD, MPI_ANY_SOURCE, 0, PLI_OBSERVE_CYCLE, &e) !=
               PLI_OBSERVE_NONE &&
           e.receiver < me.size &&
           pli_check_lib.take(MPI_COMM_WORLD, (int)e.receiver, 1, PLI_OBSERVE_CYCLE, other) !=
               PLI_OBSERVE_NONE) {
        memcpy((char *)&e + HALF, other, OTHER_HALF);
        keep_told(&e);
    }
    if (state.n_told > state.n_judged) {
        state.n_judged = state.n_told;
        judge(state.told, state.n_told, (int)me.size);
    }
}

// Rank 0 gets all of them.
static void collect(int rank, int size)
{
    int n = state.n_edge * (int)sizeof(struct edge), total = 0;
    int *counts = calloc(2 * (size_t)size, sizeof *counts), *places = counts + size;
    if (counts == NULL) {
        abort(); // the others wait
    }
    if (pli_check_lib.gather(&n, 1, MPI_INT, counts, 1, MPI_INT, 0, MPI_COMM_WORLD) ==
        MPI_SUCCESS) {
        for (int i = 0; i < size; i++) {
            places[i] = total;
            total += counts[i];
        }
        struct edge *all = malloc((size_t)total + sizeof *all);
        if (all == NULL) {
            abort();
        }
        if (pli_check_lib.gatherv(state.edges, n, MPI_BYTE, all, counts, places, MPI_BYTE, 0,
                                  MPI_COMM_WORLD) == MPI_SUCCESS &&
            rank == 0) {
            judge(all, total / (int)sizeof *all, size);
        }
        free(all);
    }
    free(counts);
}

void pli_check_cycle_finalize(void)
{
    struct pli_observe_process me;
    state.is_over = true;
    if (is_whole_world(&me)) {
        unsigned char told[PLI_OBSERVE_NOTE];
        pli_check_lib.set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        collect((int)me.rank, (int)me.size);
        for (int half = 0; half < 2; half++) { // senders keep them until they are taken
            while (pli_check_lib.take(MPI_COMM_WORLD, MPI_ANY_SOURCE, half,
                                      PLI_OBSERVE_CYCLE | PLI_OBSERVE_WHOLE,
                                      told) != PLI_OBSERVE_NONE) {
            }
        }
    }
    free(state.told);
    state.told = NULL;
}
