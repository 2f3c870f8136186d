// SPDX-License-Identifier: BSD-3-Clause
// Giving way ends where something else computes on the core, for longer each time while that stays,
// and begins again when it is over.
#include "base/cpu.h"

#include "base/clock.h"
#include "t.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const uint64_t second = 1000000000;

// Call until the answer is this, at most so long. Returns how often the other one came; -1: it
// never did come.
static long until(bool want, uint64_t limit_ns, long pause_ns)
{
    uint64_t end = pli_clock_ns() + limit_ns;
    for (long n = 0; pli_clock_ns() < end; n++) {
        if (pli_cpu_give_way() == want) {
            return n;
        }
        nanosleep(&(struct timespec){ .tv_nsec = pause_ns }, NULL);
    }
    return -1;
}

int main(void)
{
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET(sched_getcpu(), &here);
    T_MUST(sched_setaffinity(0, sizeof here, &here) == 0); // and so of the child
    pid_t child = fork();
    T_MUST(child >= 0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (volatile long i = 0;; i++) {
        }
    }
    T_OK(until(false, 10 * second, 1000) >= 0);
    // It is remembered, so that a thread that waits in a loop pays once and not each time.
    uint64_t begin = pli_clock_ns();
    bool all = true;
    for (int i = 0; i < 100; i++) {
        all = all && !pli_cpu_give_way();
    }
    T_OK(all || pli_clock_ns() - begin > second / 20);
    // A pause begins with as long as a turn, and is ten times as long while the other one stays.
    uint64_t longest = 0;
    for (uint64_t limit = pli_clock_ns() + 10 * second; longest < 30000000;) {
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
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    T_OK(until(true, 10 * second, 10000000) >= 0);
    return t_status();
}
