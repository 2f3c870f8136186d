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
#include <stdlib.h>
#include <string.h>

enum {
    LOOK_NS = 100000,  // between two looks at where the others are
    MOVE_NS = 4000000, // between two moves, and up to
    MOVE_MAX_NS = 128000000,
    PATIENCE = 8, // looks after which also the one moves that should stay
    ASK_MAX = 64  // processes the kernel is asked about, one by one
};

// Who else is where, as far as it is known.
struct others {
    cpu_set_t taken;
    bool is_here;     // one of them on this processor
    uint32_t highest; // the highest index of those
};

static void add_other(struct others *o, int cpu, uint32_t index, int here)
{
    if (cpu < 0 || cpu >= CPU_SETSIZE) {
        return;
    }
    CPU_SET(cpu, &o->taken);
    if (cpu == here) {
        o->highest = o->is_here && o->highest > index ? o->highest : index;
        o->is_here = true;
    }
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
static struct others look(struct pli_lane *lane, int here, bool is_exact)
{
    struct others o = { .is_here = false };
    CPU_ZERO(&o.taken);
    look_at_host(&o, here, is_exact);
    uint32_t index = 0;
    int cpu = lane->net->ops->peer_processor(lane->net, &index);
    add_other(&o, cpu, index, here);
    return o;
}

int pli_placement_target(int here, const cpu_set_t *allowed, const cpu_set_t *taken)
{
    for (int d = 1; d < CPU_SETSIZE; d++) {
        for (int sign = -1; sign <= 1; sign += 2) {
            int cpu = here + sign * d;
            if (cpu >= 0 && cpu < CPU_SETSIZE && CPU_ISSET(cpu, allowed) &&
                !CPU_ISSET(cpu, taken)) {
                return cpu;
            }
        }
    }
    return -1;
}

// False: it is not allowed, or has no sense, now and later.
static bool move(const struct others *o, int here)
{
    cpu_set_t mask, one;
    if (sched_getaffinity(0, sizeof mask, &mask) != 0 || CPU_COUNT(&mask) < 2) {
        return false; // more processors than a set has room for, or bound to one
    }
    int to = pli_placement_target(here, &mask, &o->taken);
    if (to < 0) {
        return true;
    }
    CPU_ZERO(&one);
    CPU_SET(to, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0) {
        return errno != EPERM && errno != ENOSYS; // else the processor has just gone
    }
    if (sched_setaffinity(0, sizeof mask, &mask) != 0) {
        pli_log(PLI_WARN, "this rank stays on processor %d: its affinity could not be set back: %s",
                to, strerror(errno));
        return false;
    }
    pli_log(PLI_DEBUG, "moved from processor %d, which another rank has, to %d", here, to);
    return true;
}

static void tell(int here)
{
    _Atomic uint32_t *mine = &pli_proc.boot->node.rows[pli_proc.boot->row].processor;
    if (atomic_load_explicit(mine, memory_order_relaxed) != (uint32_t)here + 1) {
        atomic_store_explicit(mine, (uint32_t)here + 1, memory_order_relaxed);
    }
}

// Threads with an endpoint each are ranks too, and do not tell where they are.
static bool is_of_use(void)
{
    return pli_conf.spread && !pli_lane_is_oversubscribed() &&
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

void pli_placement_check(struct pli_lane *lane)
{
    static _Thread_local uint64_t next_ns;
    static _Thread_local uint32_t n_shared; // looks in a row that found another rank here
    static _Thread_local bool is_over;      // moving is not possible
    if (is_over || !is_of_use()) {
        return;
    }
    int here = sched_getcpu();
    uint64_t now = pli_clock_ns();
    if (here < 0 || now < next_ns) {
        return;
    }
    tell(here);
    next_ns = now + LOOK_NS;
    struct others o = look(lane, here, false);
    n_shared = o.is_here ? n_shared + 1 : 0;
    // Of two the one with the higher index moves, unless it never comes to it.
    if (o.is_here && (o.highest < pli_proc.boot->index || n_shared > PATIENCE)) {
        o = look(lane, here, true);
        if (o.is_here) {
            is_over = !move(&o, here);
            tell(sched_getcpu());
            next_ns = now + pause_after(now);
            n_shared = 0;
        }
    }
}

bool pli_placement_leave_peer(struct pli_lane *lane)
{
    static _Thread_local bool is_over; // moving is not possible
    uint32_t index;
    int here = sched_getcpu();
    if (here < 0 || lane->net->ops->peer_processor(lane->net, &index) != here) {
        return true;
    }
    struct others o = { .is_here = true };
    CPU_ZERO(&o.taken);
    CPU_SET(here, &o.taken);
    is_over = is_over || !pli_conf.spread || !move(&o, here);
    return sched_getcpu() != here;
}
