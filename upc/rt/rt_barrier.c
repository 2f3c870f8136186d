// SPDX-License-Identifier: BSD-3-Clause
// Barriers. Every thread posts one word that says which barrier it has come to and what for; words
// for even and odd phases are apart, because a thread can be one barrier ahead of another.
//
// Flat: each thread looks at all words. Central: each thread counts itself, and the last one
// publishes; this is better when threads share cores, for each then runs once per barrier. Far:
// words and the result travel as messages by way of thread 0.
#include "rt_barrier.h"
#include "rt.h"
#include "rt_ask.h"
#include "rt_wait.h"
#include "upc_calls.h"

#include "base/cpu.h"
#include "msg/lane.h"
#include "msg/progress.h"
#include "onesided/region.h"

#include <pthread.h>
#include <stdio.h>

enum { YIELDS = 3 }; // sched_yield calls before the lane is polled (measured by bench-upc)

// A word: phase, kind, value.
enum kind { ANY, VALUE, OWN }; // OWN: a barrier of the runtime itself; value says what for

static uint64_t word_of(uint64_t phase, enum kind kind, uint32_t value)
{
    return (phase & 0x3fffffff) << 34 | (uint64_t)kind << 32 | value;
}

static bool is_of(uint64_t word, uint64_t phase)
{
    return word >> 34 == (phase & 0x3fffffff);
}

static enum kind kind_of(uint64_t word)
{
    return (enum kind)(word >> 32 & 3);
}

static const char *const names[RT_N_WHAT] = {
    [RT_START] = "start-up",
    [RT_FINAL] = "the end of main",
    [RT_ALL_ALLOC] = "upc_all_alloc",
    [RT_ALL_FREE] = "upc_all_free",
    [RT_ALL_LOCK_ALLOC] = "upc_all_lock_alloc",
    [RT_ALL_LOCK_FREE] = "upc_all_lock_free",
    [RT_DOMAIN_ALLOC] = "upc_all_atomicdomain_alloc",
    [RT_DOMAIN_FREE] = "upc_all_atomicdomain_free",
    [RT_BROADCAST] = "upc_all_broadcast",
    [RT_SCATTER] = "upc_all_scatter",
    [RT_GATHER] = "upc_all_gather",
    [RT_GATHER_ALL] = "upc_all_gather_all",
    [RT_EXCHANGE] = "upc_all_exchange",
    [RT_PERMUTE] = "upc_all_permute",
    [RT_REDUCE] = "upc_all_reduce",
    [RT_PREFIX_REDUCE] = "upc_all_prefix_reduce",
    [RT_FOPEN] = "upc_all_fopen",
    [RT_FCLOSE] = "upc_all_fclose",
    [RT_FSYNC] = "upc_all_fsync",
    [RT_FSEEK] = "upc_all_fseek",
    [RT_FSIZE] = "a call about the size of a file",
    [RT_FREAD] = "a read from a file",
    [RT_FWRITE] = "a write to a file",
    [RT_VALUES] = "a collective on values (bupc_allv)",
};

static void describe(uint64_t word, char *to, size_t cap)
{
    uint32_t value = (uint32_t)word;
    if (kind_of(word) == OWN) {
        snprintf(to, cap, "%s", value < RT_N_WHAT ? names[value] : "another operation");
    } else if (kind_of(word) == VALUE) {
        snprintf(to, cap, "a barrier with the value %d", (int)value);
    } else {
        snprintf(to, cap, "a barrier without a value");
    }
}

static _Noreturn void differ(int a, uint64_t word_a, int b, uint64_t word_b)
{
    char text[2][64];
    describe(word_a, text[0], sizeof text[0]);
    describe(word_b, text[1], sizeof text[1]);
    pli_rt_die("barrier mismatch detected: thread %d is at %s, thread %d at %s", a, text[0], b,
               text[1]);
}

// All words of the phase have come: returns the common value, as a word, or ends the job.
static uint64_t judge(const struct rt_thread *me, uint64_t phase)
{
    unsigned turn = phase & 1;
    uint64_t agreed = 0;
    int first = -1;
    for (int t = 0; t < pli_rt.n; t++) {
        uint64_t w = pli_rt.has_far
                         ? me->far_slot[t][turn]
                         : atomic_load_explicit(&pli_rt.page[t]->slot[turn], memory_order_relaxed);
        if (first < 0) {
            agreed = w;
            first = t;
        } else if (agreed != w) {
            bool is_own = kind_of(w) == OWN || kind_of(agreed) == OWN;
            if (is_own || (kind_of(w) == VALUE && kind_of(agreed) == VALUE)) {
                differ(first, agreed, t, w);
            }
            if (kind_of(w) == VALUE) {
                agreed = w;
                first = t;
            }
        }
    }
    return agreed;
}

static void publish(struct rt_thread *me, uint64_t phase)
{
    uint64_t word = judge(me, phase);
    if (!pli_rt.has_far) {
        atomic_store_explicit(&pli_rt.page[0]->result[phase & 1], word, memory_order_release);
        pli_rt_wait_wake_all();
        return;
    }
    for (int t = 0; t < pli_rt.n; t++) {
        pli_rt_ask_tell(t, RT_TELL_RELEASE, word);
    }
}

void pli_rt_barrier_far_notify(int t, uint64_t word)
{
    static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER; // its own word comes from the thread
    struct rt_thread *me = pli_rt.threads; // thread 0 is the first of the first process
    uint64_t phase = word >> 34;
    pthread_mutex_lock(&guard);
    me->far_slot[t][phase & 1] = word;
    bool is_last = ++me->far_count[phase & 1] == (uint32_t)pli_rt.n;
    if (is_last) {
        me->far_count[phase & 1] = 0;
    }
    pthread_mutex_unlock(&guard);
    if (is_last) {
        publish(me, phase);
    }
}

void pli_rt_barrier_far_release(uint64_t word)
{
    struct rt_thread *me = rt_me();
    atomic_store_explicit(&me->release[word >> 34 & 1], word, memory_order_release);
}

static void post(struct rt_thread *me, uint64_t word)
{
    uint64_t phase = me->phase;
    if (pli_rt.has_far) {
        pli_rt_ask_tell(0, RT_TELL_NOTIFY, word);
        return;
    }
    struct rt_page *zero = pli_rt.page[0];
    atomic_store_explicit(&pli_rt.page[me->me]->slot[phase & 1], word, memory_order_release);
    if (pli_rt.is_flat) {
        pli_rt_wait_wake_all();
    } else if (atomic_fetch_add_explicit(&zero->arrived, 1, memory_order_acq_rel) + 1 ==
               phase * (uint64_t)pli_rt.n) {
        publish(me, phase);
    }
}

static const _Atomic uint64_t *word_at(const struct rt_thread *me, int t, uint64_t phase)
{
    if (pli_rt.has_far) {
        return &me->release[phase & 1];
    }
    return pli_rt.is_flat ? &pli_rt.page[t]->slot[phase & 1] : &pli_rt.page[0]->result[phase & 1];
}

static void wait_long(const _Atomic uint64_t *word, uint64_t phase, const char *call)
{
    uint32_t spins = pli_rt.has_far ? 0 : pli_progress_spins() / 8;
    for (uint32_t i = 0; i < spins; i++) {
        if (is_of(atomic_load_explicit(word, memory_order_acquire), phase)) {
            return;
        }
        pli_cpu_relax();
    }
    for (int i = 0; i < YIELDS && pli_lane_is_oversubscribed() && pli_cpu_give_way(); i++) {
        if (is_of(atomic_load_explicit(word, memory_order_acquire), phase)) {
            return;
        }
    }
    struct pli_waiter w;
    pli_rt_wait_init(&w, call, false);
    while (!is_of(atomic_load_explicit(word, memory_order_acquire), phase)) {
        pli_progress_step(&w);
    }
    pli_progress_end(&w);
}

static void wait_for(const struct rt_thread *me, int t, const char *call)
{
    const _Atomic uint64_t *word = word_at(me, t, me->phase);
    if (!is_of(atomic_load_explicit(word, memory_order_acquire), me->phase)) {
        wait_long(word, me->phase, call);
    }
}

// Wait until all threads have come; returns the common word.
static uint64_t settle(struct rt_thread *me, const char *call)
{
    if (!pli_rt.is_flat) {
        wait_for(me, 0, call);
        return atomic_load_explicit(word_at(me, 0, me->phase), memory_order_relaxed);
    }
    for (int t = 0; t < pli_rt.n; t++) {
        wait_for(me, t, call);
    }
    return judge(me, me->phase);
}

static void notify(struct rt_thread *me, enum kind kind, uint32_t value)
{
    if (me->region != NULL) {
        pli_region_flush_all(me->region);
    }
    me->phase++;
    if (me->phase % 16 == 0) {
        pli_progress_once(me->lane); // other processes may wait for an answer of this one
    }
    post(me, word_of(me->phase, kind, value));
}

void pli_upc_notify(int has_value, int value)
{
    struct rt_thread *me = rt_me();
    if (me->is_notified) {
        pli_rt_die("upc_notify a second time before upc_wait");
    }
    me->is_notified = true;
    atomic_thread_fence(memory_order_seq_cst);
    notify(me, has_value ? VALUE : ANY, has_value ? (uint32_t)value : 0);
}

void pli_upc_wait(int has_value, int value)
{
    struct rt_thread *me = rt_me();
    if (!me->is_notified) {
        pli_rt_die("upc_wait without upc_notify before it");
    }
    me->is_notified = false;
    uint64_t word = settle(me, "upc_wait");
    if (has_value && kind_of(word) == VALUE && (uint32_t)word != (uint32_t)value) {
        pli_rt_die("barrier mismatch detected: upc_wait has the value %d, upc_notify had %d", value,
                   (int)(uint32_t)word);
    }
    atomic_thread_fence(memory_order_seq_cst);
}

// No fence: a thread that leaves has acquired what all threads released before, so all that was
// done before the barrier, by any thread, is over for all that is done after it.
void pli_upc_barrier(int has_value, int value)
{
    struct rt_thread *me = rt_me();
    if (me->is_notified) {
        pli_rt_die("upc_barrier between upc_notify and upc_wait");
    }
    notify(me, has_value ? VALUE : ANY, has_value ? (uint32_t)value : 0);
    settle(me, "upc_barrier");
}

void pli_rt_barrier_sync(enum rt_what what)
{
    struct rt_thread *me = rt_me();
    if (me->is_notified) {
        pli_rt_die("%s between upc_notify and upc_wait", names[what]);
    }
    notify(me, OWN, (uint32_t)what);
    settle(me, names[what]);
}
