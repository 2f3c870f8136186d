// SPDX-License-Identifier: BSD-3-Clause
// Lets the members of a board wait for each other: they announce an operation and wait for each
// other.
//
// Flat: each member writes its slot and looks at all others. Central: each member counts itself in,
// and the last one announces the result; this is what works when members share cores, because each
// needs to run only once before it can go on.
#include "coll/board/board.h"

#include "base/cpu.h"
#include "ft/failure.h"
#include "msg/arena.h"
#include "msg/lane.h"
#include "msg/placement.h"
#include "msg/progress.h"
#include "net/shm/shm.h"
#include "obj/comm.h"

#include <stdio.h>
#include <string.h>

enum {
    POLL_EVERY = 16,
    LED_LOOKS = 10, // for what a member gives that has its core now, before others get this one
    GIVE_WAY = 3 // times to let others run before the lanes are looked after (bench ep_allreduce)
};

// The rank in the communicator, where messages name it.
static int rank_at(const struct pli_board *b, uint32_t member)
{
    return member < (uint32_t)b->n ? b->ranks[member] : (int)member;
}

// Whether a message has come. Where threads share the lane this is not looked at without its lock.
static inline bool has_message(struct pli_lane *lane)
{
    return !pli_lock_threads && pli_shm_peek(&lane->shm) != NULL;
}

// What a wait is for: one of two words, which may be the same.
struct awaited {
    const _Atomic uint64_t *word, *other;
    uint64_t want;
};

static inline bool has_come(const struct awaited *w)
{
    return atomic_load_explicit(w->word, memory_order_acquire) >= w->want ||
           atomic_load_explicit(w->other, memory_order_acquire) >= w->want;
}

static bool wait_long(struct pli_board *b, const struct awaited *what, bool is_unwoken)
{
    uint32_t spins = b->is_led ? LED_LOOKS : pli_progress_spins() / 8;
    b->is_led = false;
    for (uint32_t i = 0; i < spins; i++) {
        if (has_come(what)) {
            return true;
        }
        if (__builtin_expect(has_message(b->lane), 0)) {
            pli_progress_once(b->lane); // a member may do to this one what it waits for itself
        }
        pli_cpu_relax();
    }
    bool is_crowded = pli_lane_is_oversubscribed();
    if (is_crowded) {
        pli_placement_check(b->lane);
    }
    for (int i = 0; i < GIVE_WAY && is_crowded && pli_cpu_give_way(); i++) {
        if (has_come(what)) {
            return true;
        }
    }
    const struct pli_coll_args *whole = b->whole; // the program has called it, and knows no other
    uint32_t kind = whole != NULL ? (uint32_t)whole->kind : b->what % PLI_BOARD_KINDS;
    int root = whole != NULL ? whole->root : rank_at(b, b->what / PLI_BOARD_KINDS);
    const struct pli_coll_kind_info *info = &pli_coll_kind_info[kind];
    struct pli_waiter w = { .lane = b->lane,
                            .is_unwoken = is_unwoken,
                            .comm = b->comm,
                            .call = info->function,
                            .has_root = info->is_rooted,
                            .peer = info->is_rooted ? root : -1 };
    bool is_there = true;
    while (is_there && !has_come(what)) {
        pli_progress_step(&w);
        is_there = !pli_comm_is_stopped(b->comm);
    }
    pli_progress_end(&w);
    return is_there || has_come(what);
}

bool pli_board_wait_slow(struct pli_board *b, const _Atomic uint64_t *word, uint64_t want)
{
    return wait_long(b, &(struct awaited){ word, word, want }, false);
}

bool pli_board_wait_any(struct pli_board *b, const _Atomic uint64_t *word,
                        const _Atomic uint64_t *other, uint64_t want)
{
    return atomic_load_explicit(word, memory_order_acquire) >= want ||
           wait_long(b, &(struct awaited){ word, other, want }, false);
}

bool pli_board_wait_short(struct pli_board *b, const _Atomic uint64_t *word, uint64_t want)
{
    return atomic_load_explicit(word, memory_order_acquire) >= want ||
           wait_long(b, &(struct awaited){ word, word, want }, true);
}

void pli_board_wake_all(struct pli_board *b)
{
    for (int i = 0; i < b->n_box; i++) {
        pli_shm_wake(b->boxes[i]);
    }
}

// Wait until all have arrived at the last operation. False: they never will.
static bool finish_last(struct pli_board *b)
{
    if (!b->is_flat) {
        return pli_board_wait(b, &b->w->result.seq, b->seq);
    }
    bool is_good = true;
    for (int i = 0; i < b->n && is_good; i++) {
        is_good = pli_board_wait(b, &pli_board_slot(b, i)->seq, b->seq);
    }
    return is_good;
}

enum pli_board_error pli_board_judge(const struct pli_board *b)
{
    const struct pli_board_slot *mine = &b->members[b->me].slot[b->seq & 1];
    for (int i = 0; i < b->n; i++) {
        const struct pli_board_slot *s = &b->members[i].slot[b->seq & 1];
        if (s->what != mine->what || s->before != mine->before) {
            return PLI_BOARD_CALLS;
        }
        if (s->bytes != mine->bytes) {
            return PLI_BOARD_SIZES;
        }
    }
    return PLI_BOARD_FINE;
}

// Of the last operation, once all have arrived.
static enum pli_board_error error_of(const struct pli_board *b)
{
    return b->is_flat ? pli_board_judge(b) : (enum pli_board_error)b->w->result.error;
}

struct pli_board_slot *pli_board_begin(struct pli_board *b, const struct pli_coll_args *a,
                                       uint64_t bytes)
{
    if (b->is_unfinished) {
        finish_last(b); // if it fails, so will this operation
        b->is_unfinished = false;
        b->was_wrong = error_of(b) == PLI_BOARD_CALLS;
    }
    b->seq++;
    b->gives_way = b->is_taker && b->is_oversubscribed;
    b->leader = b->gives_way ? b->giver : -1;
    b->is_taker = false;
    if (b->seq % POLL_EVERY == 0) {
        pli_progress_once(b->lane); // others may need us for something else
    }
    struct pli_board_slot *s = pli_board_slot(b, b->me);
    s->bytes = bytes;
    s->what = b->what = pli_board_what(a);
    // Members that called the same operations so far have counted all of these alike.
    s->before = (uint32_t)b->ring_at + b->post_calls * 0x9e3779b1u + b->comm->n_coll * 0x85ebca77u;
    return s;
}

bool pli_board_arrive(struct pli_board *b)
{
    if (b->is_flat) {
        atomic_store_explicit(&pli_board_slot(b, b->me)->seq, b->seq, memory_order_release);
        pli_board_wake_all(b);
        return false;
    }
    uint64_t n = (uint64_t)b->n;
    if (b->n_group > 0) {
        uint64_t before =
            atomic_fetch_add_explicit(&b->w->groups[b->group].arrived, 1, memory_order_acq_rel);
        if (before + 1 != b->seq * b->n_together) {
            return false;
        }
        n = b->n_group;
    }
    uint64_t before = atomic_fetch_add_explicit(&b->w->arrived, 1, memory_order_acq_rel);
    return before + 1 == b->seq * n;
}

void pli_board_release(struct pli_board *b, enum pli_board_error error)
{
    b->w->result.error = error;
    atomic_store_explicit(&b->w->result.seq, b->seq, memory_order_release);
    if (b->only < 0) {
        pli_board_wake_all(b);
    } else if (b->only != b->me) {
        pli_board_wake(b, b->only);
    }
    // Members that share cores have to run in turn. One that takes what another one gives comes to
    // nothing before that one has run, and this one has just had its turn.
    if (b->gives_way) {
        pli_cpu_give_way();
    }
}

// "MPI_Bcast with root 1"
static const char *say_call(const struct pli_board *b, uint32_t what, char to[64])
{
    const struct pli_coll_kind_info *info = &pli_coll_kind_info[what % PLI_BOARD_KINDS];
    if (info->is_rooted) {
        snprintf(to, 64, "%s with root %d", info->function, rank_at(b, what / PLI_BOARD_KINDS));
        return to;
    }
    return info->function;
}

enum pli_err pli_board_other_call(const struct pli_board *b, const struct pli_coll_args *a,
                                  int member, uint32_t what)
{
    char its[64], mine[64];
    return pli_fail(PLI_ERR_OTHER,
                    "rank %d of %s is in %s and this rank in %s: collective calls must be the same "
                    "in all ranks",
                    b->ranks[member], pli_comm_say(a->comm), say_call(b, what, its),
                    say_call(b, pli_board_what(a), mine));
}

// Name a member that differs from this one, or at least from another.
static enum pli_err complain_calls(const struct pli_board *b, const struct pli_coll_args *a)
{
    const struct pli_board_slot *mine = &b->members[b->me].slot[b->seq & 1];
    int other = -1;
    for (int i = 0; i < b->n; i++) {
        const struct pli_board_slot *s = &b->members[i].slot[b->seq & 1];
        if (s->what != mine->what) {
            return pli_board_other_call(b, a, i, s->what);
        }
        other = s->before != mine->before ? i : other;
    }
    if (other >= 0) {
        char call[64];
        return pli_fail(PLI_ERR_OTHER,
                        "rank %d of %s and this rank have called different collectives before %s: "
                        "collective calls must be the same in all ranks",
                        b->ranks[other], pli_comm_say(a->comm), say_call(b, mine->what, call));
    }
    return pli_fail(PLI_ERR_OTHER, "the members of %s are in different collective operations",
                    pli_comm_say(a->comm));
}

static enum pli_err complain(struct pli_board *b, const struct pli_coll_args *a,
                             enum pli_board_error error)
{
    if (error == PLI_BOARD_CALLS) {
        return complain_calls(b, a);
    }
    if (b->was_wrong) {
        b->was_wrong = false;
        return pli_fail(PLI_ERR_OTHER,
                        "the ranks of %s have called different collectives, or named different "
                        "roots, before %s: collective calls must be the same in all ranks",
                        pli_comm_say(a->comm), pli_coll_kind_info[a->kind].function);
    }
    return pli_fail(PLI_ERR_TRUNC,
                    "%s on %s: this rank has %lld bytes and another one has not; the ranks' counts "
                    "and datatypes do not fit together",
                    pli_coll_kind_info[a->kind].name, pli_comm_say(a->comm),
                    (long long)pli_coll_args_bytes(a));
}

enum pli_err pli_board_finish(struct pli_board *b, const struct pli_coll_args *a, uint64_t bytes)
{
    (void)bytes;
    if (!finish_last(b)) {
        return pli_failure_refuse(pli_coll_kind_info[a->kind].name, b->comm);
    }
    enum pli_board_error error = error_of(b);
    bool is_fine = error == PLI_BOARD_FINE && !b->was_wrong;
    return __builtin_expect(is_fine, 1) ? PLI_OK : complain(b, a, error);
}

enum pli_err pli_board_meet(struct pli_board *b, const struct pli_coll_args *a, uint64_t bytes)
{
    if (pli_board_arrive(b)) {
        pli_board_release(b, pli_board_judge(b));
    }
    return pli_board_finish(b, a, bytes);
}

// The last one to come lets the leader go, which lets the others go when it leaves. They would wait
// for what it gives next in any case, so nobody runs more often for that.
static void release_by(struct pli_board *b, int leader)
{
    b->w->result.error = PLI_BOARD_FINE;
    atomic_store_explicit(&b->members[leader].leads, b->seq, memory_order_release);
    pli_board_wake(b, leader);
    pli_cpu_give_way();
}

enum pli_err pli_board_meet_led(struct pli_board *b, const struct pli_coll_args *a)
{
    struct pli_board_slot *result = &b->w->result;
    if (pli_board_arrive(b)) {
        enum pli_board_error error = pli_board_judge(b);
        if (error == PLI_BOARD_FINE && b->leader >= 0 && b->leader != b->me) {
            release_by(b, b->leader);
        } else {
            pli_board_release(b, error);
        }
    }
    if (!pli_board_wait_any(b, &result->seq, &b->members[b->me].leads, b->seq)) {
        return pli_failure_refuse(pli_coll_kind_info[a->kind].name, b->comm);
    }
    if (atomic_load_explicit(&result->seq, memory_order_acquire) < b->seq) {
        atomic_store_explicit(&result->seq, b->seq, memory_order_release);
        pli_board_wake_all(b);
    }
    b->is_led = b->leader >= 0 && b->leader != b->me;
    return pli_board_finish(b, a, 0);
}

void pli_board_leave(struct pli_board *b)
{
    b->is_unfinished = true;
}

unsigned char *pli_board_show(struct pli_board *b)
{
    b->turn = !b->turn;
    unsigned char *at = b->window + (b->turn ? b->window_half : 0);
    pli_board_slot(b, b->me)->offset = pli_arena_offset(at);
    return at;
}

// Each member says whether it has the memory; one that has none makes all do without.
enum pli_err pli_board_widen(struct pli_board *b, const struct pli_coll_args *a, size_t half)
{
    if (b->window_half >= half || b->has_no_window) {
        return b->window_half >= half ? PLI_OK : PLI_AGAIN;
    }
    void *fresh = pli_arena_take(2 * half);
    pli_board_begin(b, a, half)->offset = fresh != NULL;
    enum pli_err err = pli_board_meet(b, a, half);
    for (int i = 0; i < b->n && err == PLI_OK; i++) {
        b->has_no_window = b->has_no_window || pli_board_slot(b, i)->offset == 0;
    }
    if (err != PLI_OK || b->has_no_window) {
        pli_arena_give(fresh);
        return err != PLI_OK ? err : PLI_AGAIN;
    }
    pli_arena_give(b->window); // all are here, so no member looks at the old one any more
    b->window = fresh;
    b->window_half = half;
    return PLI_OK;
}
