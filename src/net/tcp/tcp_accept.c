// SPDX-License-Identifier: BSD-3-Clause
// The door. Any lane may find a call for another one there, and passes it on. While no descriptor
// is free calls wait at the door, which is looked at now and then instead of being watched.
#include "base/clock.h"
#include "base/log.h"
#include "base/nofile.h"
#include "boot/boot.h"
#include "ckpt/sock.h"
#include "msg/lane.h"
#include "net/tcp/tcp_conn.h"
#include "net/tcp/tcp_lane_priv.h"
#include "net/shm/shm.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>

enum {
    FILES = 65536, // descriptors to ask for, and two for each process of a larger job
    STARVED_S = 10 // for the program to close something, before the job ends
};

// Calls for lanes that other threads look after.
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static struct waiting {
    struct waiting *next;
    struct pli_caller caller;
} * waiting[PLI_NODE_N_LANE]; // guarded by guard
static _Atomic int n_waiting[PLI_NODE_N_LANE];

void pli_tcp_lane_ask_room(void)
{
    uint64_t n = 2 * (uint64_t)pli_proc.boot->node.header->n_world;
    pli_nofile_raise(n > FILES ? n : FILES);
}

static void pass_on(const struct pli_caller *c)
{
    struct waiting *w = malloc(sizeof *w);
    if (w == NULL) {
        pli_sock_close(c->fd);
        return;
    }
    w->caller = *c;
    pthread_mutex_lock(&guard);
    w->next = waiting[c->to_lane];
    waiting[c->to_lane] = w;
    atomic_fetch_add_explicit(&n_waiting[c->to_lane], 1, memory_order_release);
    pthread_mutex_unlock(&guard);
    struct pli_lane *lane = atomic_load_explicit(&pli_proc.lanes[c->to_lane], memory_order_acquire);
    if (lane != NULL) {
        pli_shm_wake(lane->shm.box);
    }
}

// No descriptor is free for a call. The program may close some.
static void starve(struct pli_tcp_lane *net)
{
    struct pli_boot *boot = pli_proc.boot;
    uint64_t now = pli_clock_ns();
    if (net->starved_ns == 0) {
        net->starved_ns = now;
        pli_tcp_lane_unwatch(net, &net->door); // it would be ready for ever
        pli_log(PLI_WARN,
                "connections of other ranks wait: this process has all %llu descriptors open that "
                "it may have; raise the hard limit of open files (ulimit -Hn)",
                (unsigned long long)pli_nofile_limit());
    } else if (now - net->starved_ns > (uint64_t)STARVED_S * 1000000000u) {
        char why[160];
        snprintf(why, sizeof why,
                 "no descriptor was free for connections for %d s; raise the limit of open files, "
                 "which is %llu (ulimit -n)",
                 STARVED_S, (unsigned long long)pli_nofile_limit());
        pli_log(PLI_ERROR, "%s", why);
        boot->ops->abort(boot, 1, why);
    }
}

void pli_tcp_lane_see_door(struct pli_fd_watch *e, uint32_t events)
{
    struct pli_tcp_lane *net = e->net;
    struct pli_boot *boot = pli_proc.boot;
    struct pli_caller c;
    enum pli_err err;
    while ((err = boot->ops->accept(boot, &c)) == PLI_OK) {
        if (c.to_lane == net->lane->index) {
            pli_tcp_conn_adopt(net, &c);
        } else {
            pass_on(&c);
        }
    }
    net->is_crowded = err == PLI_ERR_PENDING; // then look again soon
    if (err == PLI_ERR_NO_SPACE) {
        starve(net);
    } else if (net->starved_ns != 0) {
        net->starved_ns = 0;
        pli_tcp_lane_watch(net, e, EPOLLIN);
    }
    if ((events & (EPOLLHUP | EPOLLERR)) != 0) { // the launcher is gone, and so are we soon
        pli_tcp_lane_unwatch(net, e);
    }
}

static int take_waiting(struct pli_tcp_lane *net)
{
    int i = net->lane->index, n = 0;
    if (atomic_load_explicit(&n_waiting[i], memory_order_acquire) == 0) {
        return 0;
    }
    pthread_mutex_lock(&guard);
    struct waiting *w = waiting[i];
    waiting[i] = NULL;
    atomic_store_explicit(&n_waiting[i], 0, memory_order_relaxed);
    pthread_mutex_unlock(&guard);
    while (w != NULL) {
        struct waiting *next = w->next;
        pli_tcp_conn_adopt(net, &w->caller);
        free(w);
        w = next;
        n++;
    }
    return n;
}

int pli_tcp_lane_take_calls(struct pli_tcp_lane *net)
{
    int n = take_waiting(net);
    if (pli_sock_has_untaken() || net->starved_ns != 0 || net->is_crowded) {
        pli_tcp_lane_see_door(&net->door, 0);
    }
    return n;
}

void pli_tcp_lane_forget_calls(int lane)
{
    struct pli_caller c;
    while (pli_sock_untaken(&c)) {
        pli_sock_close(c.fd);
    }
    while (waiting[lane] != NULL) {
        struct waiting *w = waiting[lane];
        waiting[lane] = w->next;
        pli_sock_close(w->caller.fd);
        free(w);
    }
    atomic_store_explicit(&n_waiting[lane], 0, memory_order_relaxed);
}
