// SPDX-License-Identifier: BSD-3-Clause
// Opens and closes this process's part in the job.
#include "msg/process.h"

#include "base/clock.h"
#include "base/conf.h"
#include "base/cpu.h"
#include "boot/boot.h"
#include "boot/boot_open.h"
#include "ckpt/freeze.h"
#include "msg/endpoint.h"
#include "msg/failure_hooks.h"
#include "msg/lane.h"
#include "msg/message_log.h"
#include "msg/msg_wire.h"
#include "msg/progress.h"
#include "msg/progress_thread.h"
#include "net/net.h"

#include <pthread.h>
#include <sys/random.h>

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int n_user;               // guarded by guard
static struct pli_endpoint *ep0; // made once
static _Atomic uint64_t next_context = 1;
static uint64_t span_mark; // of contexts made here, in a client of an IMPI job; else 0
static bool is_crowded;    // more processes than cores; counted in pli_proc.n_oversubscribed

// Counted contexts of two jobs may be the same. Bit 62 keeps these apart from counted ones, bit 63
// is that of contexts which a group computes; 60 random bits do not meet by chance.
static uint64_t random_context(void)
{
    uint64_t r = 0;
    if (getrandom(&r, sizeof r, 0) != (ssize_t)sizeof r) {
        r = pli_clock_ns() * 0x9e3779b97f4a7c15u ^ pli_proc.id << 7;
    }
    // no number that IMPI counts
    return (r | (span_mark & PLI_MSG_PRIVATE) | (uint64_t)1 << 62) & ~((uint64_t)1 << 63 | 3);
}

struct pli_endpoint *pli_process_ep(void)
{
    return ep0;
}

uint64_t pli_process_context(void)
{
    if (atomic_load_explicit(&pli_proc.boot->is_linked, memory_order_relaxed)) {
        return random_context();
    }
    // 24 bits say which process, 38 count: a new one every microsecond lasts for three days.
    uint64_t n = atomic_fetch_add_explicit(&next_context, 1, memory_order_relaxed);
    return span_mark | (pli_proc.id & PLI_CONTEXT_MAKER_MAX) << PLI_CONTEXT_MAKER_BIT |
           (PLI_CONTEXT_FIRST + n * 4);
}

uint64_t pli_process_world(void)
{
    return span_mark != 0 ? PLI_MSG_SPAN : PLI_CONTEXT_WORLD;
}

void pli_process_leave(void)
{
    for (const struct pli_net_ops *const *n = pli_proc.nets; *n != NULL; n++) {
        (*n)->finalize();
    }
}

PLI_START void pli_process_recount(void)
{
    const struct pli_node_header *h = pli_proc.boot->node.header;
    uint32_t n = atomic_load_explicit(&h->n_running, memory_order_relaxed);
    bool is = (n > h->n_row ? n : h->n_row) + h->n_beside > h->n_core;
    if (is != is_crowded) {
        is_crowded = is;
        atomic_fetch_add_explicit(&pli_proc.n_oversubscribed, is ? 1 : -1, memory_order_relaxed);
    }
}

static enum pli_err open_first(void)
{
    enum pli_err err = pli_boot_open(&pli_proc.boot);
    if (err == PLI_OK) {
        err = pli_freeze_open(pli_proc.boot);
    }
    if (err != PLI_OK) {
        return err;
    }
    struct pli_boot *b = pli_proc.boot;
    pli_proc.id = b->job | b->index;
    pli_shm_wake_fd = b->gateway_fd;
    if (pli_conf.message_log[0] != '\0' && !pli_message_log_is_on) {
        err = pli_message_log_open(pli_conf.message_log, b->node.header->job, b->index);
        if (err != PLI_OK) {
            return err;
        }
    }
    span_mark = b->gateway != NULL ? PLI_MSG_SPAN | PLI_MSG_PRIVATE : 0;
    pli_process_recount();
    struct pli_lane *lane;
    err = pli_lane_open(0, &lane);
    uint32_t first;
    if (err == PLI_OK && ep0 == NULL) {
        err = pli_endpoint_number(1, 1, &first);
        err = err == PLI_OK ? pli_endpoint_create(first, &ep0) : err;
    }
    return err;
}

PLI_START void pli_process_lock(void)
{
    if (!pli_lock_threads) { // not written again while others read it
        pli_lock_threads = true;
    }
}

PLI_START enum pli_err pli_process_open(bool is_multiple, const struct pli_net_ops *const nets[],
                                        const struct pli_failure_hooks *hooks)
{
    pthread_mutex_lock(&guard);
    enum pli_err err = PLI_OK;
    if (n_user == 0) {
        pli_conf_load();
        pli_proc.nets = nets;
        pli_failure_hooks = hooks;
        err = open_first();
        if (err == PLI_OK) {
            pli_proc.boot->ops->tell(pli_proc.boot, PLI_NODE_RUNNING);
            pli_boot_join_world(pli_proc.boot);
        }
    }
    if (err == PLI_OK) {
        n_user++;
        if (is_multiple && !pli_proc.is_multiple) { // not written again while others read it
            pli_proc.is_multiple = true;
            pli_process_lock();
        }
    }
    pthread_mutex_unlock(&guard);
    return err;
}

bool pli_process_is_open(void)
{
    pthread_mutex_lock(&guard);
    bool is_open = n_user > 0;
    pthread_mutex_unlock(&guard);
    return is_open;
}

bool pli_process_has_threads(void)
{
    pthread_mutex_lock(&guard);
    bool has = pli_proc.is_multiple;
    pthread_mutex_unlock(&guard);
    return has;
}

static bool has_unsent(struct pli_lane *lane, bool is_leaving)
{
    pli_lock_take(&lane->lock);
    bool has = lane->net->ops->has_unsent(lane->net) || pli_lane_has_unsent(lane, is_leaving);
    pli_lock_drop(&lane->lock);
    return has;
}

// Wait until nothing is on its way out any more. All lanes move on meanwhile: what one has to send
// may need an answer that another process can give only when one of ours has answered it.
void pli_process_drain(bool is_leaving)
{
    struct pli_waiter w = { .lane = pli_proc.lanes[0], .is_restless = true };
    bool is_busy = true;
    while (is_busy) {
        is_busy = has_unsent(w.lane, is_leaving);
        for (int i = 1; i < PLI_NODE_N_LANE; i++) {
            struct pli_lane *lane = pli_proc.lanes[i];
            if (lane != NULL && has_unsent(lane, is_leaving)) {
                is_busy = true;
            }
            if (lane != NULL) {
                pli_progress_once(lane);
            }
        }
        if (is_busy) {
            pli_progress_step(&w);
        }
    }
    pli_progress_end(&w);
}

// Tell the other hosts that this process leaves in good order.
static void say_bye(void)
{
    for (int i = 0; i < PLI_NODE_N_LANE; i++) {
        struct pli_lane *lane = pli_proc.lanes[i];
        if (lane != NULL) {
            pli_lock_take(&lane->lock);
            lane->net->ops->bye(lane->net);
            pli_lock_drop(&lane->lock);
        }
    }
}

static void close_nets(bool is_over)
{
    for (const struct pli_net_ops *const *n = pli_proc.nets; *n != NULL; n++) {
        (*n)->close(is_over);
    }
}

void pli_process_close(void)
{
    pthread_mutex_lock(&guard);
    if (--n_user == 0) {
        pli_progress_thread_stop();
        pli_process_drain(true);
        close_nets(false);
        say_bye();
        pli_process_drain(true);
        close_nets(true);
        pli_proc.boot->ops->tell(pli_proc.boot, PLI_NODE_FINALIZED);
    }
    pthread_mutex_unlock(&guard);
}
