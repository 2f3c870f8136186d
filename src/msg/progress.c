// SPDX-License-Identifier: BSD-3-Clause
// Polls the lanes until what is waited for is done: look, give way, sleep.
#include "msg/progress.h"

#include "base/clock.h"
#include "base/conf.h"
#include "base/cpu.h"
#include "base/fault.h"
#include "base/futex.h"
#include "boot/boot.h"
#include "msg/deliver.h"
#include "msg/external32.h"
#include "msg/failure_hooks.h"
#include "msg/msg_wire.h"
#include "msg/placement.h"
#include "msg/poll_record.h"
#include "msg/progress_thread.h"
#include "msg/request.h"
#include "msg/rndv.h"
#include "msg/statistics_hooks.h"
#include "msg/wait_record.h"
#include "net/net.h"
#include "net/shm/other_job.h"
#include "net/shm/shm_sleep.h"

enum {
    BATCH = 64,          // messages per poll, so that other work gets its turn
    SPIN_QUIET = 4000,   // looks when every rank has a core: some 50 us
    SPIN_THREADS = 300,  // the core may be wanted by another thread of this rank
    YIELD_QUIET = 4000,  // then: some 1 ms. Ranks that sleep sooner can stay two on one core
    YIELD_FAR = 100,     // what comes through an agent needs a core of its own (bench-impi)
    YIELD_BULK = 6,      // more so where it is a large message
    BULK = 1 << 16,      // elements
    YIELD_CROWDED = 6,   // ranks share cores: give way at once, then sleep (bench ring16),
    LOOK_NS = 50000,     // but not before so long: sleep and wake cost ten turns of two ranks
    STALL_NS = 1000000,  // sleep with something to push: look again after this
    OTHERS_EVERY = 16,   // looks between two at other lanes
    PATIENCE = 2,        // tests in a row without a result before the core is left to others
    CLOSE_NS = 50,       // the time between tests in a loop may differ by this and by half
    CLOSE_GROWS = 8192,  // and grows by this part with each
    WARM = 6,            // tests after a turn of others until the core is as fast as before
    SWITCH_NS = 1000,    // giving way that takes so long was one
    COMPUTE_NS = 50000,  // a program that computes between tests gives way after so long
    TESTS = 256,         // the same where every rank has a core: some 10 us
    IDLE_EVERY = 1024,   // tests without a result between two at lanes of threads not in MPI
    IDLE_NS = 2000000,   // sleep: then lanes of threads that are not in MPI are driven too
    WATCH_NS = 200000000 // but for a thread that watches something besides
};

static int retry_stalled(struct pli_lane *lane)
{
    int n = 0;
    struct pli_list *at = lane->stalled.next;
    while (at != &lane->stalled) {
        struct pli_conn *c = PLI_CONTAINER(at, struct pli_conn, stalled);
        at = at->next;
        c->ops->retry(c);
        n += pli_list_is_empty(&c->stalled); // it went through
    }
    return n;
}

static int run_pollers(struct pli_lane *lane)
{
    int n = 0;
    struct pli_list *at = lane->pollers.next;
    while (at != &lane->pollers) {
        struct pli_poller *p = PLI_CONTAINER(at, struct pli_poller, link);
        at = at->next;
        n += p->poll(p);
    }
    return n;
}

static int poll(struct pli_lane *lane)
{
    int n = 0;
    const struct pli_shm_cell *cell;
    uint32_t n_poll = atomic_load_explicit(&lane->n_poll, memory_order_relaxed);
    atomic_store_explicit(&lane->n_poll, n_poll + 1, memory_order_relaxed);
    while (n < BATCH && (cell = pli_shm_peek(&lane->shm)) != NULL) {
        if (__builtin_expect(cell->src_proc >> PLI_OTHER_JOB_INDEX != 0, 0) &&
            pli_other_job_is_lost(cell->src_proc)) {
            // nothing is done
        } else if (cell->kind <= PLI_MSG_RTS) {
            pli_deliver_cell(lane, cell);
        } else {
            pli_rndv_cell(lane, cell);
        }
        pli_shm_next_row(&lane->shm, pli_deliver_n_cell(cell));
        n++;
    }
    enum pli_net_poll why = n > 0 ? PLI_NET_POLL_SHM : PLI_NET_POLL;
    if (n == 0) {
        pli_shm_settle(&lane->shm);
    }
    if (!pli_list_is_empty(&lane->stalled)) {
        n += retry_stalled(lane);
    }
    if (!pli_list_is_empty(&lane->streams)) {
        n += pli_rndv_push(lane);
    }
    if (!pli_list_is_empty(&lane->pollers)) {
        n += run_pollers(lane);
    }
    if (lane->polled != NULL) {
        n += lane->net->ops->poll(lane->net, why);
    }
    return n;
}

static struct pli_list *next_task(struct pli_lane *lane, bool has_users)
{
    struct pli_list *at = lane->tasks.next;
    while (!has_users && at != &lane->tasks && PLI_CONTAINER(at, struct pli_task, link)->is_users) {
        at = at->next;
    }
    return at;
}

// Each task is taken out under the lock, so two threads never run the same one. has_users: also
// those that call functions of the program.
static int run_tasks(struct pli_lane *lane, bool has_users)
{
    int n = 0;
    while (n < BATCH) {
        pli_lock_take(&lane->lock);
        struct pli_list *at = next_task(lane, has_users);
        bool is_none = at == &lane->tasks;
        if (!is_none) {
            pli_list_remove(at);
        }
        pli_lock_drop(&lane->lock);
        if (is_none) {
            break;
        }
        struct pli_task *t = PLI_CONTAINER(at, struct pli_task, link);
        t->run(t);
        n++;
    }
    return n;
}

// Context: lane locked; it is unlocked on return.
static int progress_locked(struct pli_lane *lane)
{
    int n = poll(lane);
    bool has_dead = lane->dead != NULL;
    bool has_task = !pli_list_is_empty(&lane->tasks);
    pli_lock_drop(&lane->lock);
    if (has_task) {
        n += run_tasks(lane, true);
    }
    if (has_dead) {
        pli_request_reap(lane);
    }
    return n;
}

static int count_culls(struct pli_lane *lane)
{
    pli_lock_take(&lane->lock);
    int n = (int)lane->n_dead;
    pli_lock_drop(&lane->lock);
    return n;
}

// What was withdrawn counts as done: a thread that waits for it must look again and not go to sleep
// now.
__attribute__((cold)) static int hear_news(struct pli_lane *lane)
{
    int before = count_culls(lane);
    pli_failure_hooks->look(lane);
    return count_culls(lane) != before;
}

static inline int once_locked(struct pli_lane *lane)
{
    int n = progress_locked(lane);
    bool may_be = n == 0 && (__builtin_expect(pli_request_may_be_withdrawn, 0) ||
                             atomic_load_explicit(&pli_boot.is_linked, memory_order_relaxed));
    return may_be && pli_failure_hooks->is_due() ? hear_news(lane) : n;
}

int pli_progress_once(struct pli_lane *lane)
{
    return pli_lock_try(&lane->lock) ? once_locked(lane) : 0; // else another thread polls it
}

// The last look before a thread sleeps must not be left out: another thread that has the lock may
// have it for something else, such as to read a counter.
__attribute__((cold)) static int look_before_sleep(struct pli_lane *lane)
{
    pli_lock_take(&lane->lock);
    return once_locked(lane);
}

int pli_progress_serve(struct pli_lane *lane, uint32_t *n_own)
{
    if (!pli_lock_try(&lane->lock)) {
        return 0;
    }
    int n = poll(lane);
    (*n_own)++;
    pli_lock_drop(&lane->lock);
    n += run_tasks(lane, false);
    if (n > 0) {
        pli_lane_wake(lane); // a sleeping thread may have waited for this
    }
    return n;
}

uint32_t pli_progress_spins(void)
{
    // Threads with an endpoint each have a core each, as ranks that are processes, while they are
    // no crowd.
    bool has_others = pli_proc.is_multiple &&
                      atomic_load_explicit(&pli_proc.n_attached, memory_order_relaxed) == 0;
    bool is_shared = atomic_load_explicit(&pli_placement_is_shared, memory_order_relaxed);
    return pli_conf.spin >= 0                          ? (uint32_t)pli_conf.spin
           : pli_lane_is_oversubscribed() || is_shared ? 1
           : has_others                                ? SPIN_THREADS
                                                       : SPIN_QUIET;
}

static uint32_t yields(const struct pli_waiter *w)
{
    bool is_bulk = w->is_far && w->request != NULL && w->request->count > BULK;
    return pli_conf.yield >= 0            ? (uint32_t)pli_conf.yield
           : pli_lane_is_oversubscribed() ? YIELD_CROWDED
           : is_bulk                      ? YIELD_BULK
           : w->is_far                    ? YIELD_FAR
                                          : YIELD_QUIET;
}

// Whether it has given way as often, and for as long, as is better than to sleep. Turns count as
// well as time: one of them may be all the work that another rank had.
static bool has_waited_enough(const struct pli_waiter *w, uint32_t spins)
{
    bool is_timed = pli_conf.yield < 0 && pli_lane_is_oversubscribed();
    return w->n_idle >= spins + yields(w) && (!is_timed || w->given_ns > LOOK_NS);
}

static bool give_way(struct pli_waiter *w)
{
    uint64_t begin = w->way_ns;
    bool has = pli_cpu_give_way_at(&w->way_ns);
    w->given_ns += has && begin != 0 ? w->way_ns - begin : 0;
    return has;
}

// Whether no thread waits at another lane: its threads compute, wait for something outside MPI, or
// have ended.
static bool is_idle(const struct pli_lane *lane)
{
    return atomic_load_explicit(&lane->n_wait, memory_order_relaxed) == 0;
}

// Whether another lane needs this thread: no thread waits at it, and it has endpoints that are this
// thread's or no thread's. A thread that blocks moves on all it is responsible for, so one thread
// may drive any number of endpoints.
static bool is_orphan(const struct pli_lane *lane)
{
    return is_idle(lane) && (atomic_load_explicit(&lane->n_free, memory_order_relaxed) != 0 ||
                             pli_lane_attached[lane->index] != 0);
}

static struct pli_lane *lane_at(int i)
{
    return atomic_load_explicit(&pli_proc.lanes[i], memory_order_acquire);
}

static bool has_others(void)
{
    return atomic_load_explicit(&pli_proc.n_open, memory_order_relaxed) > 1;
}

// Poll the lanes that no other thread drives, those of other threads too.
static int poll_idle(const struct pli_lane *mine)
{
    int n = 0;
    for (int i = 0; i < PLI_NODE_N_LANE; i++) {
        struct pli_lane *lane = lane_at(i);
        n += lane != NULL && lane != mine && is_idle(lane) ? pli_progress_once(lane) : 0;
    }
    return n;
}

// Serving an access of another lane may wait for a message, and that one may have to pass through
// the lane at which this thread waits: in the meantime no thread waits there, so that the wait
// inside looks after it.
static void leave_count(const struct pli_waiter *w, bool is_leaving)
{
    if (w->is_counted) {
        atomic_fetch_add_explicit(&w->lane->n_wait, is_leaving ? -1u : 1u, memory_order_relaxed);
    }
}

// Poll the lanes that no other thread looks after, or that this thread announced its sleep at. One
// that belongs to another thread is left to it until we would sleep.
static int poll_orphans(const struct pli_waiter *w)
{
    int n = 0;
    for (int i = 0; i < PLI_NODE_N_LANE; i++) {
        struct pli_lane *lane = lane_at(i);
        if (lane == NULL || lane == w->lane) {
            continue;
        }
        if ((w->watched >> i & 1) != 0) {
            leave_count(w, true);
            n += look_before_sleep(lane);
            leave_count(w, false);
        } else if (is_orphan(lane) && pli_lock_try_gently(&lane->lock)) {
            leave_count(w, true);
            n += progress_locked(lane);
            leave_count(w, false);
        }
    }
    return n;
}

// Whether the program does nothing but test: it was away from the library for as short a time as
// ever, twice in a row. After a turn of others a core runs slower at first, so each of the first
// tests is compared with its like. What is taken for short grows slowly, for a loop that takes
// longer. The time that the tests themselves take says nothing: it differs by a factor of five. Nor
// does the time after a test that found something, which the program has used.
struct test_pace {
    uint64_t left_ns;               // when the last test returned
    uint64_t shortest_ns[WARM + 1]; // before the first test after a turn, the second, ... others
    uint32_t n_since;               // tests since the turn, up to WARM
    bool was_short;                 // the last time
};

static _Thread_local struct test_pace pace = { .n_since = WARM };

static bool is_testing_only(struct test_pace *p, uint64_t now)
{
    uint64_t away = now - p->left_ns, *shortest = &p->shortest_ns[p->n_since];
    p->n_since += p->n_since < WARM ? 1 : 0;
    if (*shortest == 0) {
        *shortest = UINT64_MAX / 4;
    }
    *shortest += *shortest / CLOSE_GROWS;
    *shortest = away < *shortest ? away : *shortest;
    bool is_short = away < 2 * *shortest + CLOSE_NS, is_loop = is_short && p->was_short;
    p->was_short = is_short;
    return is_loop;
}

// A program that asks again and again waits: where ranks share cores, what it waits for may need
// this one. Those that ask now and then while they compute find something, or ask once, or have
// done something since they last asked; these give way now and then only.
static void give_way_after(struct pli_lane *lane, uint32_t n_empty, bool is_loop, uint64_t now)
{
    static _Thread_local uint64_t way_ns; // when it last gave way
    if (__builtin_expect(now == 0, 1)) {
        if (__builtin_expect(n_empty % TESTS == TESTS - 1, 0)) {
            pli_placement_check(lane);
            pli_cpu_give_way(); // another job may be here, or even the rank that it waits for
        }
        return;
    }
    is_loop = (n_empty > 1 && is_testing_only(&pace, now)) || is_loop;
    if (n_empty >= PATIENCE && (is_loop || now - way_ns > COMPUTE_NS)) {
        pli_placement_check(lane);
        way_ns = pli_cpu_rest_at(now);
        pace.n_since = way_ns - now > SWITCH_NS ? 0 : pace.n_since;
        pace.left_ns = way_ns;
    } else {
        pace.left_ns = pli_clock_ns();
    }
}

static int test(struct pli_lane *lane, bool is_loop)
{
    static _Thread_local uint32_t n_test; // that found nothing
    bool is_crowded = pli_lane_is_oversubscribed();
    uint64_t now = __builtin_expect(is_crowded, 0) ? pli_clock_ns() : 0;
    int n = pli_progress_once(lane);
    uint32_t n_empty = n > 0 ? 0 : pli_poll_record_n_empty + 1;
    pli_poll_record_n_empty = n_empty;
    if (n == 0) {
        give_way_after(lane, n_empty, is_loop, now);
    }
    if (n > 0 || !has_others()) {
        return n;
    }
    n_test++;
    struct pli_waiter w = { .lane = lane };
    return n_test % IDLE_EVERY == 0     ? poll_idle(lane)
           : n_test % OTHERS_EVERY == 0 ? poll_orphans(&w)
                                        : 0;
}

int pli_progress_test(struct pli_lane *lane)
{
    return test(lane, false);
}

int pli_progress_test_memory(struct pli_lane *lane)
{
    return test(lane, true);
}

void pli_progress_announce(struct pli_waiter *w, uint8_t lanes)
{
    w->watched = lanes;
    for (int i = 0; i < PLI_NODE_N_LANE; i++) {
        if ((w->watched >> i & 1) != 0) {
            struct pli_lane *lane = lane_at(i);
            pli_lock_take(&lane->lock);
            atomic_fetch_add_explicit(&lane->n_sleep, 1, memory_order_seq_cst);
            w->wakes[i] =
                pli_shm_announce(&lane->shm, (enum pli_shm_sleep)lane->net->ops->sleeps_by);
            pli_lock_drop(&lane->lock);
            lane->net->ops->arm(lane->net);
        }
    }
    if (!pli_shm_order()) {
        w->is_restless = true;
    }
    w->net_wakes = atomic_load_explicit(&w->lane->net->wakes, memory_order_acquire);
}

static void announce(struct pli_waiter *w)
{
    uint8_t lanes = (uint8_t)(1 << w->lane->index);
    for (int i = 0; has_others() && i < PLI_NODE_N_LANE; i++) {
        struct pli_lane *lane = lane_at(i);
        if (lane != NULL && lane != w->lane && (is_orphan(lane) || (w->is_late && is_idle(lane)))) {
            lanes |= (uint8_t)(1 << i);
        }
    }
    pli_progress_announce(w, lanes);
}

static void retract(struct pli_waiter *w)
{
    bool has_slept = w->watched != 0;
    for (int i = 0; w->watched != 0; i++, w->watched >>= 1) {
        if ((w->watched & 1) != 0) {
            struct pli_lane *lane = lane_at(i);
            pli_lock_take(&lane->lock);
            if (atomic_fetch_sub_explicit(&lane->n_sleep, 1, memory_order_seq_cst) == 1) {
                pli_shm_retract(&lane->shm);
            }
            pli_lock_drop(&lane->lock);
        }
    }
    if (has_slept &&
        atomic_load_explicit(&pli_progress_thread_is_deep, memory_order_seq_cst) != 0) {
        pli_progress_thread_kick(); // no thread looks after the lane
    }
}

bool pli_progress_is_stalled(struct pli_lane *lane)
{
    pli_lock_take(&lane->lock);
    bool is = !pli_list_is_empty(&lane->stalled) || !pli_list_is_empty(&lane->streams) ||
              lane->net->ops->is_busy(lane->net);
    pli_lock_drop(&lane->lock);
    return is || pli_failure_hooks->is_blocked(lane);
}

// How long the network lets us sleep, 0: as long as we like.
static uint64_t net_sleep_limit(const struct pli_waiter *w)
{
    uint64_t least = 0;
    for (int i = 0; i < PLI_NODE_N_LANE; i++) {
        struct pli_lane *lane = lane_at(i);
        if ((w->watched >> i & 1) != 0) {
            uint64_t t = lane->net->ops->sleep_limit(lane->net);
            least = least == 0 || (t != 0 && t < least) ? t : least;
        }
    }
    return least;
}

// How long to sleep at the watched lanes, 0: without end. Where other threads look after other
// lanes they may leave them to us without a word: look again after a while. A lane whose threads
// are all outside MPI is left to them for a moment, because taking its lock away from its owner
// makes both slower.
static uint64_t sleep_time(struct pli_waiter *w, bool *is_long_out)
{
    *is_long_out = false;
    bool is_short = w->is_restless, is_shared = false, has_idle = false;
    for (int i = 0; i < PLI_NODE_N_LANE; i++) {
        struct pli_lane *lane = lane_at(i);
        bool is_mine = (w->watched >> i & 1) != 0;
        is_short = is_short || (lane != NULL && is_mine && pli_progress_is_stalled(lane));
        is_shared = is_shared || (lane != NULL && !is_mine);
        has_idle = has_idle || (lane != NULL && !is_mine && is_idle(lane));
    }
    bool is_early = has_idle && !w->is_late;
    w->is_late = w->is_late || has_idle;
    if (is_short) {
        return STALL_NS;
    }
    if (is_early) {
        return IDLE_NS;
    }
    uint64_t nap = w->is_unwoken ? STALL_NS : PLI_PROGRESS_NAP_NS;
    if (w->n_nap < PLI_PROGRESS_NAP_NS / nap) {
        w->n_nap++;
        return nap;
    }
    uint64_t sleep_limit = net_sleep_limit(w);
    if (sleep_limit != 0) {
        // Something of this process is on its way: this is no deadlock.
        return w->is_unwoken && nap < sleep_limit ? nap : sleep_limit;
    }
    if (!w->is_recorded && !pli_progress_thread_is_me()) { // it is no rank
        pli_wait_record_write(w);
        w->is_recorded = true;
    }
    *is_long_out = w->is_recorded;
    return is_shared || w->is_unwoken ? nap : w->watch != NULL ? WATCH_NS : 0;
}

__attribute__((cold)) static void sleep_at(struct pli_waiter *w, uint64_t time_ns)
{
    _Atomic int *words[PLI_NODE_N_LANE];
    int wakes[PLI_NODE_N_LANE];
    struct pli_net_lane *nets[PLI_NODE_N_LANE] = { w->lane->net };
    int n = 0, n_net = 1;
    for (int i = 0; i < PLI_NODE_N_LANE; i++) {
        if ((w->watched >> i & 1) != 0) {
            wakes[n] = w->wakes[i];
            words[n++] = &lane_at(i)->shm.box->wakes;
            if (i != w->lane->index) {
                nets[n_net++] = lane_at(i)->net;
            }
        }
    }
    if (nets[0]->ops->sleeps_by != PLI_SHM_BY_FUTEX) { // so do all lanes
        w->held |= nets[0]->ops->sleep(nets, n, w->net_wakes, time_ns) ? w->watched : 0;
    } else if (n == 1) {
        pli_futex_wait(words[0], wakes[0], false, time_ns);
    } else {
        pli_futex_wait_any(words, wakes, n, time_ns);
    }
}

void pli_progress_sleep(struct pli_waiter *w, uint64_t time_ns)
{
    bool is_counted = pli_statistics_is_on();
    uint64_t since_ns = is_counted ? pli_clock_ns() : 0;
    cpu_set_t mask;
    bool is_bound = pli_placement_sleep(time_ns == 0, &mask);
    sleep_at(w, time_ns);
    if (is_bound) {
        pli_placement_wake();
    }
    retract(w);
    if (is_counted) {
        pli_statistics_hooks->slept(w->lane, since_ns);
    }
}

static void forget_record(struct pli_waiter *w)
{
    if (w->is_recorded) {
        w->is_recorded = false;
        pli_wait_record_erase(w);
    }
}

// Poll the lanes that this thread sleeps at. Another thread that polls one of them is waited for.
static int poll_watched(const struct pli_waiter *w)
{
    int n = 0;
    for (int i = 0; i < PLI_NODE_N_LANE; i++) {
        if ((w->watched >> i & 1) != 0) {
            struct pli_lane *lane = lane_at(i);
            leave_count(w, true);
            pli_lock_take(&lane->lock);
            n += progress_locked(lane);
            leave_count(w, false);
        }
    }
    return n;
}

// The launcher believes that all ranks wait for each other, but a rank that was woken may not have
// had a processor since, and a message may lie in a socket. So it asks each rank to look. True: the
// caller must look at its condition before it sleeps; when it comes back here the question is
// answered.
static bool must_look_first(struct pli_waiter *w)
{
    uint32_t question = pli_wait_record_question(w);
    if (__builtin_expect(question == 0, 1)) {
        return false;
    }
    if (w->asked != question) {
        w->asked = question;
        if (poll_watched(w) > 0) {
            w->asked = 0;
            w->n_idle = w->n_nap = 0;
            w->way_ns = w->given_ns = 0;
            forget_record(w);
        }
        return true;
    }
    w->asked = 0;
    if (!pli_progress_thread_is_serving()) { // else it may have taken what this thread waits for
        pli_wait_record_answer(w, question);
    }
    return false;
}

// First announce, so that no message arrives unseen; the caller looks at its condition again;
// only the next step really sleeps.
static void go_to_sleep(struct pli_waiter *w)
{
    if (w->watched == 0) {
        if (w->n_nap > 0 && pli_request_may_be_withdrawn) { // this time without end
            pli_fault_hold("sleep", pli_boot.index);
        }
        announce(w);
        return;
    }
    bool is_long;
    uint64_t time_ns = sleep_time(w, &is_long);
    if (is_long && must_look_first(w)) {
        return;
    }
    pli_progress_sleep(w, time_ns);
    if (w->watch != NULL) {
        w->watch(w);
    }
}

void pli_progress_end(struct pli_waiter *w)
{
    retract(w);
    for (int i = 0; w->held != 0; i++, w->held >>= 1) { // others must look after the sockets now
        if ((w->held & 1) != 0) {
            lane_at(i)->net->ops->wake(lane_at(i)->net);
        }
    }
    forget_record(w);
    if (w->is_counted) {
        w->is_counted = false;
        atomic_fetch_sub_explicit(&w->lane->n_wait, 1, memory_order_relaxed);
    }
    if (__builtin_expect(w->begin_ns != 0, 0)) {
        pli_statistics_hooks->wait_ends(w);
    }
}

static uint32_t look_cost(const struct pli_waiter *w)
{
    return w->lane->net->ops->look_cost;
}

// Looks before giving way.
static uint32_t looks(const struct pli_waiter *w)
{
    return w->is_far ? 0 : pli_progress_spins();
}

// Lanes of others get their turn now and then while we look, and always before we sleep.
static int step_others(struct pli_waiter *w)
{
    if (!w->is_counted) {
        w->is_counted = true;
        atomic_fetch_add_explicit(&w->lane->n_wait, 1, memory_order_relaxed);
    }
    bool is_looking = w->n_idle < looks(w);
    return is_looking && w->n_idle % OTHERS_EVERY != look_cost(w) ? 0 : poll_orphans(w);
}

// Looks at the network count for several, but never for the yields behind them.
static void count_idle(struct pli_waiter *w, uint32_t spins)
{
    uint32_t next = w->n_idle + look_cost(w);
    w->n_idle = w->n_idle >= spins ? w->n_idle + 1 : next < spins ? next : spins;
}

__attribute__((cold)) static void tell_of_look(struct pli_waiter *w)
{
    if (pli_statistics_is_on() && w->begin_ns == 0) {
        pli_statistics_hooks->wait_begins(w);
    }
    pli_statistics_look(1);
}

void pli_progress_step(struct pli_waiter *w)
{
    uint32_t spins = looks(w);
    if (pli_statistics_is_any_asked()) {
        tell_of_look(w);
    }
    bool is_last = __builtin_expect(w->watched != 0, 0);
    if ((is_last ? look_before_sleep(w->lane) : pli_progress_once(w->lane)) > 0) {
        w->n_idle = 0;
        w->n_nap = 0;
        w->way_ns = w->given_ns = 0;
        forget_record(w);
        return;
    }
    count_idle(w, spins);
    if (has_others() && step_others(w) > 0) {
        w->n_nap = 0;
        w->way_ns = 0;
        forget_record(w);
        return; // n_idle stays: what others need is no reason to look longer for ourselves
    }
    if (w->n_idle < spins) {
        pli_cpu_relax();
        return;
    }
    if (w->n_idle <= spins + 1) { // it has looked in vain
        pli_placement_check(w->lane);
    }
    if (has_waited_enough(w, spins) || !give_way(w)) {
        go_to_sleep(w);
    }
}

// The rank that a request waits for, or a wildcard. Other than sends and receives wait for many.
static int peer_of(const struct pli_request *r)
{
    bool is_send = (r->flags & PLI_REQ_SEND) != 0;
    return !r->ops->has_peer ? MPI_ANY_SOURCE : is_send ? r->source : r->item.source;
}

bool pli_progress_is_far(const struct pli_request *r)
{
    return r->comm != NULL && pli_external32_is_used(r->comm, peer_of(r));
}

void pli_progress_wait(struct pli_request *r)
{
    struct pli_waiter w = {
        .lane = r->lane, .request = r, .n_request = 1, .is_far = pli_progress_is_far(r)
    };
    while (!pli_request_is_done(r)) {
        pli_progress_step(&w);
    }
    pli_progress_end(&w);
}
