// SPDX-License-Identifier: BSD-3-Clause
// Gives the processor to other threads, for a while or until woken.
// Giving way. Some kernels charge a whole slice for it: beside a program that computes, a few dozen
// calls in a row cost a second. A thread that sleeps instead is not charged, and runs when it is
// woken.
#include "base/cpu.h"

#include "base/clock.h"
#include "base/conf.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    TURN_NS = 1000000,       // a call that takes so long: something else computes on this core
    PAUSE_NS = 3000000,      // then no thread gives way for this long, and while that thing stays
    PAUSE_MAX_NS = 48000000, // twice as long each time, up to this
    SOON = 4,                // pauses within which the next such call means that it stays
    LOST_MOST_NS = 20000000, // so much may be lost in such calls before the first pause,
    LOST_PART = 4,           // which is forgotten in so many times the time
    REST_NS = 3000
};

static _Atomic uint64_t busy_until;
static _Atomic uint64_t pause_ns = PAUSE_NS; // the last one
static _Atomic uint64_t lost_ns, lost_at;    // in calls that took so long; up to when

// As the kernel has it, which glibc of 2022 does not declare.
struct sched_attr_0 {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};
_Static_assert(sizeof(struct sched_attr_0) == 48, "SCHED_ATTR_SIZE_VER0");

// Whether this thread has asked for short turns, or need not.
static _Thread_local bool has_asked;

// Ask for short turns: a thread that sleeps and is woken then runs at once, and not when the turns
// of others are over; when it has had its part of the time it waits as long as ever. Linux 6.12
// hears it; others take it for nothing. Every thread asks before it gives way for the first time:
// giving way costs a turn, so one with short turns would have to do it as many times as its turn is
// shorter until one with long turns runs that has done it once. Context: any thread, for itself.
__attribute__((cold)) static void ask_for_short_turns(void)
{
    struct sched_attr_0 a = { .size = sizeof a };
    has_asked = true;
    if (pli_conf.slice != 0 && syscall(SYS_sched_getattr, 0, &a, sizeof a, 0) == 0 &&
        a.policy == SCHED_OTHER) {
        a.runtime = (uint64_t)pli_conf.slice * 1000;
        syscall(SYS_sched_setattr, 0, &a, 0);
    }
}

// Up to when no thread gives way, 0: not known. A job that is restarted on a machine which has run
// for less long finds an earlier time there.
static uint64_t paused_until(uint64_t now)
{
    uint64_t until = atomic_load_explicit(&busy_until, memory_order_relaxed);
    return until <= now + PAUSE_MAX_NS ? until : 0;
}

// A call has taken a turn of something else. Mostly that was a moment's work, and to sleep costs
// ten times what giving way does; beside what stays it is tried again rarely.
static void pause_after(uint64_t begin, uint64_t end)
{
    uint64_t until = paused_until(end);
    uint64_t last = atomic_load_explicit(&pause_ns, memory_order_relaxed);
    bool has_stayed = until != 0 && begin < until + SOON * last;
    uint64_t next = !has_stayed ? PAUSE_NS : 2 * last < PAUSE_MAX_NS ? 2 * last : PAUSE_MAX_NS;
    atomic_store_explicit(&pause_ns, next, memory_order_relaxed);
    atomic_store_explicit(&busy_until, end + next, memory_order_relaxed);
}

// Whether so much of the last time went to something else that this thread had better sleep.
static bool loses_much(uint64_t begin, uint64_t end)
{
    uint64_t lost = atomic_load_explicit(&lost_ns, memory_order_relaxed);
    uint64_t since = atomic_load_explicit(&lost_at, memory_order_relaxed);
    uint64_t until = paused_until(end);
    since = since > until ? since : until; // in a pause nothing is known
    uint64_t forgotten = begin > since ? (begin - since) / LOST_PART : 0;
    lost = (lost > forgotten ? lost - forgotten : 0) + end - begin;
    bool is_much = lost > LOST_MOST_NS;
    atomic_store_explicit(&lost_ns, is_much ? LOST_MOST_NS : lost, memory_order_relaxed);
    atomic_store_explicit(&lost_at, end, memory_order_relaxed);
    return is_much;
}

// *end_out: the time afterwards.
static bool give_way(uint64_t begin, uint64_t *end_out)
{
    *end_out = begin;
    if (begin < paused_until(begin)) {
        return false;
    }
    if (__builtin_expect(!has_asked, 0)) {
        ask_for_short_turns();
    }
    sched_yield();
    uint64_t end = pli_clock_ns();
    if (end - begin > TURN_NS && loses_much(begin, end)) {
        pause_after(begin, end);
    }
    *end_out = end;
    return true;
}

bool pli_cpu_give_way_at(uint64_t *at)
{
    bool has = give_way(*at != 0 ? *at : pli_clock_ns(), at);
    *at = has ? *at : 0; // who sleeps instead comes back much later
    return has;
}

bool pli_cpu_give_way(void)
{
    uint64_t at = 0;
    return pli_cpu_give_way_at(&at);
}

// Sleep for so short a time: timers are late by 50 us by default, to wake the processor less often.
static void nap(void)
{
    int slack = prctl(PR_GET_TIMERSLACK);
    prctl(PR_SET_TIMERSLACK, 1);
    nanosleep(&(struct timespec){ .tv_nsec = REST_NS }, NULL);
    if (slack > 0) {
        prctl(PR_SET_TIMERSLACK, slack);
    }
}

uint64_t pli_cpu_rest_at(uint64_t now_ns)
{
    uint64_t end;
    if (give_way(now_ns, &end)) {
        return end;
    }
    nap();
    return pli_clock_ns();
}

void pli_cpu_rest(void)
{
    pli_cpu_rest_at(pli_clock_ns());
}
