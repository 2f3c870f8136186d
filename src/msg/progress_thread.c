// SPDX-License-Identifier: BSD-3-Clause
// Runs the thread that serves one-sided access while the program computes.
// A lane is one of three things at each look: active, a thread has polled it since the last look;
// attended, a thread sleeps at it in a call; or deserted. The progress thread watches deserted
// lanes without a limit of time. Of the others it only has to know when they become so.
#include "msg/progress_thread.h"

#include "base/clock.h"
#include "base/conf.h"
#include "base/futex.h"
#include "base/log.h"
#include "boot/wait_record_wire.h"
#include "ckpt/freeze_wire.h"
#include "msg/lane.h"
#include "msg/placement.h"
#include "msg/process.h"
#include "msg/progress.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

enum {
    REST_NS = 1000000,       // until the next look, while a lane is active
    REST_MOST = 4 * REST_NS, // grows up to this while threads sleep in calls, which then tell
    LOOK_NS = 30000,         // it looks for more: some round trips over TCP
    SOON_NS = 100000         // who asks again within this asks in a row
};

_Atomic int pli_progress_thread_is_deep;

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int n_need;      // guarded by guard
static bool is_running; // the same
static pthread_t thread;
static _Atomic bool is_known; // `thread` is valid
static _Atomic bool is_ending;
static _Atomic int kicks; // changes when it must look again
static _Atomic bool is_serving;

struct look {
    uint32_t polls[PLI_NODE_N_LANE]; // of each lane, as far as they are known
    uint8_t deserted, attended;      // lanes
    bool has_active;
};

static struct pli_lane *lane_at(int i)
{
    return atomic_load_explicit(&pli_proc.lanes[i], memory_order_acquire);
}

static void look(struct look *k)
{
    k->deserted = k->attended = 0;
    k->has_active = false;
    for (int i = 0; i < PLI_NODE_N_LANE; i++) {
        struct pli_lane *lane = lane_at(i);
        if (lane == NULL) {
            continue;
        }
        uint32_t n = atomic_load_explicit(&lane->n_poll, memory_order_relaxed);
        if (n != k->polls[i]) {
            k->polls[i] = n;
            k->has_active = true;
        } else if (atomic_load_explicit(&lane->n_sleep, memory_order_seq_cst) != 0) {
            k->attended |= (uint8_t)(1 << i);
        } else {
            k->deserted |= (uint8_t)(1 << i);
        }
    }
}

static int serve(struct look *k)
{
    int n = 0;
    atomic_store(&is_serving, true);
    for (int i = 0; i < PLI_NODE_N_LANE; i++) {
        if ((k->deserted >> i & 1) != 0) {
            n += pli_progress_serve(lane_at(i), &k->polls[i]);
        }
    }
    atomic_store(&is_serving, false);
    return n;
}

// Whether threads still sleep at all lanes that were attended.
static bool is_attended(const struct look *k)
{
    for (int i = 0; i < PLI_NODE_N_LANE; i++) {
        struct pli_lane *lane = lane_at(i);
        if ((k->attended >> i & 1) != 0 &&
            (atomic_load_explicit(&lane->n_sleep, memory_order_seq_cst) == 0 ||
             atomic_load_explicit(&lane->n_poll, memory_order_relaxed) != k->polls[i])) {
            return false;
        }
    }
    return true;
}

// Whether the deserted lanes are still left to this thread.
static bool is_deserted(const struct look *k)
{
    for (int i = 0; i < PLI_NODE_N_LANE; i++) {
        if ((k->deserted >> i & 1) != 0 &&
            atomic_load_explicit(&lane_at(i)->n_poll, memory_order_relaxed) != k->polls[i]) {
            return false;
        }
    }
    return is_attended(k);
}

// Whether who was served just now asks again so soon that the thread does better to look for it
// than to be woken: the second time, if there is a core for that and it is not the one of who asks.
static bool is_worth_looking(const struct look *k, uint64_t now)
{
    static uint64_t last_ns;
    bool is_soon = now - last_ns < SOON_NS;
    last_ns = now;
    return is_soon && !pli_lane_is_oversubscribed() &&
           pli_placement_leave_peer(lane_at(__builtin_ctz(k->deserted)));
}

// Serve what came, and what comes in the next moment: to be woken costs as much as all the rest.
static void serve_all(struct look *k)
{
    bool is_asked = false, is_looking = false;
    uint64_t until_ns = 0;
    int n;
    do {
        n = serve(k);
        uint64_t now = n > 0 || is_looking ? pli_clock_ns() : 0;
        if (n > 0 && !is_asked) {
            is_asked = true;
            is_looking = is_worth_looking(k, now);
        }
        until_ns = n > 0 ? now + LOOK_NS : until_ns;
        is_looking = is_looking && now < until_ns;
    } while (!atomic_load(&is_ending) && (n > 0 || is_looking) && is_deserted(k));
}

// Watch the deserted lanes and serve what comes, at most for a time, 0: until something comes.
static void watch(struct look *k, int seen, uint64_t time_ns)
{
    struct pli_waiter w = { .lane = lane_at(__builtin_ctz(k->deserted)) };
    pli_progress_announce(&w, k->deserted);
    if (serve(k) == 0 && is_attended(k) && atomic_load(&kicks) == seen) {
        pli_progress_sleep(&w, time_ns);
    }
    serve_all(k);
    pli_progress_end(&w); // threads that came meanwhile look after their lanes themselves
}

static void rest(struct look *k, int seen, uint64_t time_ns)
{
    if (k->deserted != 0) {
        watch(k, seen, time_ns);
    } else if (is_attended(k)) {
        pli_futex_wait(&kicks, seen, true, time_ns);
    }
}

static void *body(void *unused)
{
    struct look k = { .deserted = 0 };
    uint64_t time_ns = REST_NS;
    prctl(PR_SET_NAME, PLI_WAIT_PROGRESS_THREAD);
    while (!atomic_load(&is_ending)) {
        int seen = atomic_load(&kicks);
        look(&k);
        time_ns = k.has_active || k.attended == 0 ? REST_NS : 2 * time_ns;
        if (k.has_active || (k.attended != 0 && time_ns <= REST_MOST)) {
            rest(&k, seen, time_ns);
            continue;
        }
        // Threads that sleep in calls tell when they wake up.
        atomic_store_explicit(&pli_progress_thread_is_deep, k.attended != 0, memory_order_seq_cst);
        rest(&k, seen, 0);
        atomic_store_explicit(&pli_progress_thread_is_deep, 0, memory_order_seq_cst);
        time_ns = REST_NS;
    }
    return unused;
}

// Signals are the program's, but for the one that every thread takes part in a checkpoint with.
static int begin(void)
{
    sigset_t blocked, old;
    sigfillset(&blocked);
    sigdelset(&blocked, PLI_FREEZE_SIGNAL);
    pthread_sigmask(SIG_SETMASK, &blocked, &old);
    atomic_store(&is_ending, false);
    int rc = pthread_create(&thread, NULL, body, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return rc;
}

void pli_progress_thread_kick(void)
{
    if (pli_progress_thread_is_me()) {
        return;
    }
    atomic_fetch_add(&kicks, 1);
    pli_futex_wake(&kicks, 1, true);
    for (int i = 0; i < PLI_NODE_N_LANE; i++) { // where it may watch
        if (lane_at(i) != NULL) {
            pli_lane_wake(lane_at(i));
        }
    }
}

bool pli_progress_thread_serves(bool is_here)
{
    return is_here ? strcmp(pli_conf.progress_thread, "always") == 0
                   : strcmp(pli_conf.progress_thread, "never") != 0;
}

void pli_progress_thread_retain(void)
{
    pthread_mutex_lock(&guard);
    n_need++;
    if (!is_running) {
        pli_process_lock();
        int rc = begin();
        is_running = rc == 0;
        atomic_store(&is_known, is_running);
        if (rc != 0) {
            pli_log(PLI_WARN,
                    "no thread can be started (%s): other processes that access memory of this one "
                    "wait until it calls MPI or UPC",
                    strerror(rc));
        }
    } else {
        pli_progress_thread_kick(); // there may be a lane that it does not know
    }
    pthread_mutex_unlock(&guard);
}

static void end(void)
{
    if (is_running) {
        atomic_store(&is_ending, true);
        pli_progress_thread_kick();
        pthread_join(thread, NULL);
        is_running = false;
        atomic_store(&is_known, false);
    }
}

void pli_progress_thread_release(void)
{
    pthread_mutex_lock(&guard);
    n_need--;
    pthread_mutex_unlock(&guard);
}

void pli_progress_thread_rest(void)
{
    pthread_mutex_lock(&guard);
    if (n_need == 0) {
        end();
    }
    pthread_mutex_unlock(&guard);
}

void pli_progress_thread_stop(void)
{
    pthread_mutex_lock(&guard);
    end();
    pthread_mutex_unlock(&guard);
}

bool pli_progress_thread_is_running(void)
{
    return atomic_load(&is_known);
}

bool pli_progress_thread_is_serving(void)
{
    return atomic_load(&is_known) && atomic_load(&is_serving);
}

bool pli_progress_thread_is_me(void)
{
    return atomic_load(&is_known) && pthread_equal(pthread_self(), thread) != 0;
}
