// SPDX-License-Identifier: BSD-3-Clause
// Threads of a lane sleep on its connections and on the mailbox at once: they wait in the kernel's
// poll, and who writes to their mailbox rings a bell, a datagram socket whose name is in the
// mailbox (see docs/design/network.md for why).
#include "net/tcp/tcp_conn.h"

#include "base/epollset.h"
#include "base/futex.h"
#include "net/ucx/ucx_conn.h"
#include "net/shm/shm_sleep.h"

#include <limits.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

enum {
    MIXED_NS = 1000000, // sleep of a thread that looks after lanes of different watchers
    SOON_NS = 100000000 // look again while something is under way
};

void pli_tcp_lane_stir(struct pli_tcp_lane *net)
{
    // Who goes to sleep counts itself and makes all threads pass a barrier before it looks again.
    atomic_signal_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&pli_shm_must_fence, memory_order_relaxed)) {
        atomic_thread_fence(memory_order_seq_cst);
    }
    if (atomic_load_explicit(&net->lane->n_sleep, memory_order_relaxed) != 0) {
        atomic_fetch_add_explicit(&net->stirs, 1, memory_order_release);
        pli_futex_wake(&net->stirs, INT_MAX, true);
    }
}

// Somebody rang for all who sleep here, not for the watcher alone.
static void answer_bell(struct pli_tcp_lane *net)
{
    char byte[8];
    int n = 0;
    while (n < 64 && recv(net->bell.fd, byte, sizeof byte, MSG_DONTWAIT) >= 0) {
        n++;
    }
    if (n > 0 && atomic_load_explicit(&net->lane->n_sleep, memory_order_relaxed) > 1) {
        pli_tcp_lane_stir(net);
    }
}

static void sleep_on_descriptors(struct pli_tcp_lane *const nets[], int n, uint64_t timeout_ns)
{
    struct pollfd fds[2 * PLI_NODE_N_LANE];
    if (timeout_ns == 0 || timeout_ns > PLI_WAKE_SOCK_NS) {
        timeout_ns = PLI_WAKE_SOCK_NS;
    }
    struct timespec t = { .tv_sec = (time_t)(timeout_ns / 1000000000u),
                          .tv_nsec = (long)(timeout_ns % 1000000000u) };
    nfds_t n_fd = 0;
    bool is_quiet = true;
    for (int i = 0; i < n; i++) {
        fds[n_fd++] = (struct pollfd){ .fd = pli_epollset_fd(nets[i]->set), .events = POLLIN };
        if (nets[i]->ucx != NULL) {
            fds[n_fd++] =
                (struct pollfd){ .fd = pli_ucx_worker_fd(nets[i]->ucx), .events = POLLIN };
            is_quiet = is_quiet && pli_ucx_worker_arm(nets[i]);
        }
    }
    if (is_quiet) {
        ppoll(fds, n_fd, &t, NULL);
    }
    for (int i = 0; i < n; i++) {
        atomic_store_explicit(&nets[i]->must_look, 1, memory_order_relaxed);
        // An exchange, so that who found us here and counted on us is seen.
        atomic_exchange_explicit(&nets[i]->watcher, 0, memory_order_acq_rel);
        answer_bell(nets[i]);
    }
}

bool pli_tcp_sleep(struct pli_tcp_lane *const nets[], int n, int stirs, uint64_t timeout_ns)
{
    int mine = 0;
    while (mine < n &&
           atomic_exchange_explicit(&nets[mine]->watcher, 1, memory_order_acq_rel) == 0) {
        mine++;
    }
    if (mine == n) {
        sleep_on_descriptors(nets, n, timeout_ns);
        return true;
    }
    for (int i = 0; i < mine; i++) {
        atomic_store_explicit(&nets[i]->watcher, 0, memory_order_release);
    }
    // Another thread has one of the lanes. Where there are several this one cannot wait for all in
    // one way, and sleeps for moments only.
    bool is_short = n > 1 && (timeout_ns == 0 || timeout_ns > MIXED_NS);
    pli_futex_wait(&nets[0]->stirs, stirs, true, is_short ? MIXED_NS : timeout_ns);
    return false;
}

// Whether what was written has not all arrived at the other host.
static bool is_unsure(struct pli_tcp_conn *l)
{
    int left = 0;
    if (l->is_unsure && l->out != NULL) {
        l->is_unsure = ioctl(l->out->eye.fd, SIOCOUTQ, &left) == 0 && left > 0;
    }
    return l->is_unsure && l->out != NULL;
}

uint64_t pli_tcp_lane_patience(struct pli_tcp_lane *net)
{
    pli_lock_take(&net->lane->lock);
    bool is_soon = net->n_dial > 0 || net->n_lost > 0 || net->n_dying > 0 || net->starved_ns != 0 ||
                   net->is_crowded;
    for (struct pli_list *at = net->links.next; at != &net->links && !is_soon; at = at->next) {
        struct pli_tcp_conn *l = PLI_CONTAINER(at, struct pli_tcp_conn, at);
        is_soon = l->state == PLI_TCP_CONN_UP && (pli_tcp_conn_has_unsent(l) || is_unsure(l) ||
                                                  (l->ucx != NULL && pli_ucx_worker_is_unsure(l)));
    }
    pli_lock_drop(&net->lane->lock);
    return is_soon ? SOON_NS : 0;
}
