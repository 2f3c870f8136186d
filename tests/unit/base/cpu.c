// SPDX-License-Identifier: BSD-3-Clause
// Giving way ends where something else computes on the core, for longer each time while that stays,
// and begins again when it is over. Every thread that gives way has turns of the same length.
// What the kernel gives to something else is played here: how long its turns are depends on what
// else wakes on that core.
#include "base/cpu.h"

#include "base/clock.h"
#include "base/conf.h"
#include "t.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const uint64_t second = 1000000000;
static const uint64_t turn_of_other = 3000000;
static const uint64_t first_pause = 3000000;
static bool is_shared; // something else computes on this core
static long n_yields;

// In place of the C library's.
int sched_yield(void)
{
    n_yields++;
    if (is_shared) {
        nanosleep(&(struct timespec){ .tv_nsec = (long)turn_of_other }, NULL);
    }
    return 0;
}

// Call until the answer is this, at most so long. Returns how often the other one came; -1: it
// never did come.
static long until(bool want, uint64_t limit_ns, long pause_ns)
{
    uint64_t end = pli_clock_ns() + limit_ns;
    for (long n = 0; pli_clock_ns() < end; n++) {
        if (pli_cpu_give_way() == want) {
            return n;
        }
        if (pause_ns > 0) {
            nanosleep(&(struct timespec){ .tv_nsec = pause_ns }, NULL);
        }
    }
    return -1;
}

struct turns {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

static uint64_t turn_ns(void)
{
    struct turns t = { .size = sizeof t };
    T_MUST(syscall(SYS_sched_getattr, 0, &t, sizeof t, 0) == 0);
    return t.runtime;
}

// Giving way costs a turn, so one that has long turns would wait for many times that one with short
// turns gives way: all have to have asked for the same when they do. Linux before 6.12 has one
// length for all, and tells 0 or no other than it was.
static void test_short_turns(void)
{
    pid_t child = fork();
    T_MUST(child >= 0);
    if (child == 0) {
        struct turns t = { .size = sizeof t };
        T_MUST(syscall(SYS_sched_getattr, 0, &t, sizeof t, 0) == 0);
        t.runtime = 200000;
        bool is_heard = syscall(SYS_sched_setattr, 0, &t, 0) == 0 && turn_ns() == t.runtime;
        pli_conf.slice = 150;
        T_OK(pli_cpu_give_way());
        T_OK(!is_heard || turn_ns() == 150000);
        _exit(t_status());
    }
    int status;
    T_MUST(waitpid(child, &status, 0) == child);
    T_EQ(status, 0);
}

int main(void)
{
    test_short_turns();
    is_shared = true;
    // A moment's work of something else is no reason to sleep: it takes more than 20 ms of that.
    n_yields = 0;
    uint64_t begin = pli_clock_ns();
    T_OK(until(false, 10 * second, 0) >= 0);
    T_OK(n_yields > 1 || pli_clock_ns() - begin > second / 50);
    // It is remembered, so that a thread that waits in a loop pays once and not each time.
    begin = pli_clock_ns();
    uint64_t n_turns = 0;
    for (int i = 0; i < 100; i++) {
        n_turns += pli_cpu_give_way();
    }
    T_OK(n_turns <= 1 + (pli_clock_ns() - begin) / first_pause);
    // A loop that knows the time asks for it anew after such an answer, for it sleeps then.
    uint64_t at = pli_clock_ns();
    T_OK(pli_cpu_give_way_at(&at) ? at > begin : at == 0);
    // A pause begins with as long as a turn, and is ten times as long while the other one stays.
    uint64_t longest = 0;
    for (uint64_t limit = pli_clock_ns() + 60 * second; longest < 30000000;) {
        T_MUST(pli_clock_ns() < limit);
        T_MUST(until(false, 10 * second, 1000) >= 0);
        begin = pli_clock_ns();
        T_MUST(until(true, 10 * second, 1000) >= 0);
        uint64_t took = pli_clock_ns() - begin;
        longest = took > longest ? took : longest;
    }
    // Who has nothing that wakes it sleeps then; the program's timers stay as late as they were.
    T_MUST(prctl(PR_SET_TIMERSLACK, 40000) == 0);
    pli_cpu_rest();
    T_EQ(prctl(PR_GET_TIMERSLACK), 40000);
    // A restarted job may find an earlier time, from which on that is no reason.
    T_OK(until(false, 10 * second, 1000) >= 0);
    uint64_t earlier = 1;
    T_OK(pli_cpu_give_way_at(&earlier));
    is_shared = false;
    T_OK(until(true, 10 * second, 10000000) >= 0);
    for (int i = 0; i < 3; i++) {
        uint64_t last = at;
        T_OK(pli_cpu_give_way_at(&at) ? at > last : at == 0);
    }
    return t_status();
}
