// SPDX-License-Identifier: BSD-3-Clause
// Where ranks run. The kernel leaves two ranks of a job on one core when other work has the rest: a
// rank that wakes its peer and then sleeps seems to leave it the core, sched_yield does nothing
// between sessions, and the load looks even. Each message then costs a turn of the scheduler, a
// hundred times what it costs between two cores. So a rank that waits tells the others of its host
// which processor it is on, and one that shares it moves: it asks for another processor by
// sched_setaffinity and at once gives itself its own mask back. What the user or mpiexec bound
// stays bound, and the kernel may move the rank again.
#include "msg/placement.h"

#include "base/clock.h"
#include "base/conf.h"
#include "base/log.h"
#include "base/process_stat.h"
#include "boot/boot.h"
#include "msg/lane.h"
#include "msg/progress_thread.h"
#include "net/net.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    LOOK_NS = 100000,  // between two looks at where the others are
    MOVE_NS = 4000000, // between two moves, and up to
    MOVE_MAX_NS = 128000000,
    STAY_NS = 128000000, // after a move it sleeps where it is
    CROWDED_EVERY = 16,  // waits are many, and mostly short, where ranks share cores
    MANY = 16,           // so many more ranks on a host look half, a third, ... as often
    NOWHERE = -1,
    PATIENCE = 8, // looks after which also the one moves that should stay
    ASK_MAX = 64  // processes the kernel is asked about, one by one
};

// Who else is where, as far as it is known.
struct others {
    uint16_t n[CPU_SETSIZE]; // on each processor
    uint32_t highest;        // the highest index of those on this one
};

static void add_other(struct others *o, int cpu, uint32_t index, int here)
{
    if (cpu < 0 || cpu >= CPU_SETSIZE) {
        return;
    }
    if (cpu == here) {
        o->highest = o->n[here] > 0 && o->highest > index ? o->highest : index;
    }
    o->n[cpu]++;
}

// What the ranks of this host have told; is_exact: and, where the kernel tells, where they are now.
static void look_at_host(struct others *o, int here, bool is_exact)
{
    const struct pli_node *node = &pli_proc.boot->node;
    uint32_t n = pli_node_n_used(node);
    for (uint32_t i = 0; i < n; i++) {
        const struct pli_node_row *r = &node->rows[i];
        uint32_t told = atomic_load_explicit(&r->processor, memory_order_relaxed);
        if (i == pli_proc.boot->row || told == 0 ||
            atomic_load_explicit(&r->state, memory_order_relaxed) != PLI_NODE_RUNNING) {
            continue;
        }
        uint32_t pid = atomic_load_explicit(&r->pid, memory_order_relaxed);
        bool is_asked = is_exact && n <= ASK_MAX;
        int64_t cpu = is_asked ? pli_process_stat(pid, PLI_PROCESS_STAT_PROCESSOR) : -1;
        add_other(o, cpu >= 0 ? (int)cpu : (int)told - 1, r->index, here);
    }
}

// All that is known of the others. The rank of another host that has the same cores, and with which
// this one exchanges messages now, is where its packets come from.
static void look(struct others *o, struct pli_lane *lane, int here, bool is_exact)
{
    memset(o, 0, sizeof *o);
    look_at_host(o, here, is_exact);
    uint32_t index = 0;
    int cpu = lane->net->ops->peer_processor(lane->net, &index);
    add_other(o, cpu, index, here);
}

int pli_placement_target(int here, const cpu_set_t *allowed, const uint16_t n[CPU_SETSIZE])
{
    int to = -1;
    int left = CPU_COUNT(allowed) - (CPU_ISSET(here, allowed) ? 1 : 0); // to be looked at
    for (int d = 1; d < CPU_SETSIZE && left > 0; d++) {
        for (int sign = -1; sign <= 1; sign += 2) {
            int cpu = here + sign * d;
            if (cpu >= 0 && cpu < CPU_SETSIZE && CPU_ISSET(cpu, allowed)) {
                to = n[cpu] < n[to < 0 ? here : to] ? cpu : to;
                left--;
            }
        }
    }
    return to;
}

_Atomic bool pli_placement_is_shared;

// It and others came to one processor a short while ago.
static _Thread_local uint64_t stay_until;
static _Thread_local int kept_on;                // the processor to which the library has bound it
static _Thread_local const cpu_set_t *kept_mask; // what it gets back; NULL: it is not bound

// False: more processors than a set has room for, or bound to one.
static bool read_mask(cpu_set_t *mask)
{
    return sched_getaffinity(0, sizeof *mask, mask) == 0 && CPU_COUNT(mask) > 1;
}

// Whether it is still as the library has set it. What somebody has bound it to meanwhile stays, and
// so does the affinity that it was given where an image of it goes on, maybe on a machine with
// other processors.
static bool is_kept(void)
{
    cpu_set_t now;
    return sched_getaffinity(0, sizeof now, &now) == 0 && CPU_COUNT(&now) == 1 &&
           CPU_ISSET(kept_on, &now);
}

static bool let_go(void)
{
    bool is_good = !is_kept() || sched_setaffinity(0, sizeof *kept_mask, kept_mask) == 0;
    if (!is_good) {
        pli_log(PLI_WARN, "this rank stays on processor %d: its affinity could not be set back: %s",
                kept_on, strerror(errno));
    }
    kept_mask = NULL;
    return is_good;
}

// A signal handler of the program may fork while the thread is bound.
static void let_child_go(void)
{
    if (kept_mask != NULL) {
        let_go();
    }
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, let_child_go); // where there is no memory for it children stay bound
}

// Bind this thread, until let_go gives it back the mask. False: errno says why.
static bool keep_on(int cpu, const cpu_set_t *mask)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    kept_on = cpu;
    kept_mask = mask;
    if (sched_setaffinity(0, sizeof one, &one) != 0) {
        kept_mask = NULL;
    }
    return kept_mask != NULL;
}

// False: it is not allowed, now and later.
static bool move(int here, int to)
{
    cpu_set_t mask; // as it is now: another thread may have bound this one
    if (!read_mask(&mask) || !CPU_ISSET(to, &mask)) {
        return true;
    }
    if (!keep_on(to, &mask)) {
        return errno != EPERM && errno != ENOSYS; // else the processor has just gone
    }
    if (!let_go()) {
        return false;
    }
    pli_log(PLI_DEBUG, "moved from processor %d, where more ranks are, to %d", here, to);
    return true;
}

static void tell(int here)
{
    _Atomic uint32_t *mine = &pli_proc.boot->node.rows[pli_proc.boot->row].processor;
    if (atomic_load_explicit(mine, memory_order_relaxed) != (uint32_t)(here + 1)) {
        atomic_store_explicit(mine, (uint32_t)(here + 1), memory_order_relaxed);
    }
}

// Threads with an endpoint each are ranks too, and do not tell where they are.
static bool is_of_use(void)
{
    return pli_conf.spread &&
           atomic_load_explicit(&pli_proc.n_attached, memory_order_relaxed) == 0 &&
           !pli_progress_thread_is_me();
}

// How long the next move has to wait. Where one follows the other the kernel moves the ranks as
// well, because much other work runs, and ranks that keep moving only lose their turns.
static uint64_t pause_after(uint64_t now)
{
    static _Thread_local uint64_t pause_ns = MOVE_NS, last_ns;
    bool is_soon = now - last_ns < 8 * pause_ns;
    pause_ns = !is_soon ? MOVE_NS : pause_ns < MOVE_MAX_NS ? 2 * pause_ns : pause_ns;
    last_ns = now;
    return pause_ns;
}

static void set_shared(bool is)
{
    atomic_store_explicit(&pli_placement_is_shared, is, memory_order_relaxed);
}

// Too many are here, by what they have told. Of those the one with the highest index moves, unless
// it never comes to it. False: it cannot, now and later.
__attribute__((cold)) static bool part(struct pli_lane *lane, struct others *o, int here,
                                       const cpu_set_t *mask, uint64_t now)
{
    static _Thread_local uint32_t n_shared;         // looks in a row that found this
    static _Thread_local uint64_t last_ns, move_ns; // the last look, and the next move
    n_shared = now - last_ns < 8 * LOOK_NS ? n_shared + 1 : 1;
    last_ns = now;
    set_shared(true);
    stay_until = now + STAY_NS; // whoever moves, the other one must not be taken after it
    if (now < move_ns || (o->highest > pli_proc.boot->index && n_shared <= PATIENCE)) {
        return true;
    }
    n_shared = 0;
    look(o, lane, here, true);
    int to = pli_placement_target(here, mask, o->n);
    bool is_possible = to < 0 || move(here, to);
    if (to >= 0) {
        tell(sched_getcpu());
        move_ns = now + pause_after(now);
    }
    set_shared(to >= 0 && sched_getcpu() == here);
    return is_possible;
}

void pli_placement_check(struct pli_lane *lane)
{
    static _Thread_local uint64_t next_ns;
    static _Thread_local bool is_over; // moving is not possible
    static _Thread_local uint32_t n_call;
    n_call++;
    if (is_over || (pli_lane_is_oversubscribed() && n_call % CROWDED_EVERY != 0) || !is_of_use()) {
        return;
    }
    int here = sched_getcpu();
    uint64_t now = pli_clock_ns();
    if (here < 0 || here >= CPU_SETSIZE || now < next_ns) {
        return;
    }
    tell(here);
    next_ns = now + LOOK_NS * (1 + pli_node_n_used(&pli_proc.boot->node) / MANY);
    set_shared(false);
    struct others o;
    cpu_set_t mask;
    look(&o, lane, here, false);
    if (o.n[here] == 0) {
        return;
    }
    is_over = !read_mask(&mask);
    if (!is_over && pli_placement_target(here, &mask, o.n) >= 0) {
        is_over = !part(lane, &o, here, &mask, now);
    }
}

bool pli_placement_sleep(bool is_endless, cpu_set_t *mask_out)
{
    if (is_endless && is_of_use()) {
        tell(NOWHERE);
    }
    if (is_endless || stay_until == 0) {
        return false;
    }
    if (pli_clock_ns() > stay_until) {
        stay_until = 0;
        return false;
    }
    int here = sched_getcpu();
    return here >= 0 && here < CPU_SETSIZE &&
           sched_getaffinity(0, sizeof *mask_out, mask_out) == 0 && keep_on(here, mask_out);
}

void pli_placement_wake(void)
{
    if (!let_go()) {
        stay_until = 0;
    }
}

bool pli_placement_leave_peer(struct pli_lane *lane)
{
    static _Thread_local bool is_over; // moving is not possible
    uint32_t index;
    int here = sched_getcpu();
    if (here < 0 || here >= CPU_SETSIZE ||
        lane->net->ops->peer_processor(lane->net, &index) != here) {
        return true;
    }
    cpu_set_t mask;
    is_over = is_over || !pli_conf.spread || !read_mask(&mask);
    if (!is_over) {
        uint16_t n[CPU_SETSIZE] = { 0 };
        n[here] = 1;
        int to = pli_placement_target(here, &mask, n);
        is_over = to >= 0 && !move(here, to);
    }
    return sched_getcpu() != here;
}
