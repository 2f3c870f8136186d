// SPDX-License-Identifier: BSD-3-Clause
// The part of a lane that polls sockets: it watches the connections, accepts those that other
// processes made, and lets threads sleep on all of them and on the mailbox at once: they wait in
// the kernel's poll, and a process that writes to their mailbox sends a datagram to the wake
// socket, whose name is in the mailbox (see docs/design/network.md for why).
#include "net/tcp/tcp_lane.h"

#include "base/clock.h"
#include "base/cpu.h"
#include "base/epollset.h"
#include "base/futex.h"
#include "base/log.h"
#include "base/nofile.h"
#include "boot/boot.h"
#include "ckpt/sock.h"
#include "msg/msg_wire.h"
#include "msg/progress.h"
#include "net/shm/shm_sleep.h"
#include "net/shm/wake_sock.h"
#include "net/tcp/dial.h"
#include "net/tcp/tcp_bypass.h"
#include "net/tcp/tcp_conn.h"
#include "net/tcp/tcp_connect.h"
#include "net/tcp/tcp_recv.h"
#include "obj/comm.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <linux/sockios.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    EVENTS = 16,
    LOOK_ONE = 64, // polls between two looks at all descriptors, while the only connection is
    LOOK_MANY = 2, // looked at by itself; the same while the last active one of many is
    UNWATCH_AFTER =
        256,           // messages in a row from a connection that is then looked at by itself alone
    LOOK_UCX = 64,     // the same while messages go by UCX
    CHECK_EVERY = 256, // and at the clock
    SHM_EVERY = 16,    // polls between two looks at any, while shared memory is busy
    QUICK_SHM = 256,   // looks at the mailbox alone for a message of a process of this host,
    QUICK_ANY = 8,     // and for one of any source
    QUICK_EVERY = 64,  // receives, of which one looks at the network in any case
    FILES = 65536,     // descriptors to ask for, and two for each process of a larger job
    STARVED_S = 10,    // for the program to close something, before the job ends
    MIXED_NS = 1000000,  // sleep of a thread that looks after lanes of different watchers
    SOON_NS = 100000000, // look again while something is under way
};

static struct pli_tcp_lane *of(struct pli_net_lane *base)
{
    return (struct pli_tcp_lane *)base;
}

bool pli_tcp_lane_watch(struct pli_tcp_lane *net, struct pli_fd_watch *e, uint32_t events)
{
    e->is_unwatched = false;
    return pli_epollset_watch(net->set, &e->key, e->fd, events, e);
}

void pli_tcp_lane_unwatch(struct pli_tcp_lane *net, struct pli_fd_watch *e)
{
    e->is_unwatched = false;
    pli_epollset_remove(net->set, &e->key, e->fd);
}

// To be watched costs a tenth of a microsecond with every packet (bench: hosts_lat). So a
// socket that gives message after message is not watched, as long as no thread sleeps.
static void count_active(struct pli_tcp_lane *net)
{
    struct pli_tcp_sock *s = net->active;
    if (++net->n_active % UNWATCH_AFTER == 0 && s != NULL && !s->watch.is_unwatched &&
        !s->is_armed && s->deferred == NULL &&
        atomic_load_explicit(&net->base.lane->n_sleep, memory_order_seq_cst) == 0) {
        s->watch.is_unwatched = pli_epollset_pause(net->set, s->watch.key, s->watch.fd);
    }
}

// Have it watched again. Context: lane locked.
static void watch_active(struct pli_tcp_lane *net)
{
    struct pli_tcp_sock *s = net->active;
    if (s != NULL && s->watch.is_unwatched && !pli_tcp_lane_watch(net, &s->watch, EPOLLIN)) {
        pli_tcp_connect_lose(s->owner, "the connection cannot be watched");
    }
}

void pli_tcp_lane_set_active(struct pli_tcp_lane *net, struct pli_tcp_sock *s)
{
    if (net->active != s) {
        watch_active(net);
        net->active = s;
        net->n_active = 0;
    }
}

static void ignore_wake(struct pli_fd_watch *e, uint32_t events)
{
    (void)e;
    (void)events; // the thread that slept on it empties it
}

static void free_dead(struct pli_tcp_lane *net)
{
    while (!pli_list_is_empty(&net->dead)) {
        struct pli_tcp_sock *s = PLI_CONTAINER(net->dead.next, struct pli_tcp_sock, at);
        pli_list_remove(&s->at);
        free(s);
    }
}

// Connections that other processes made. Any lane may accept one for another lane, and passes it
// on. While no descriptor is free they wait in the listening socket, which is then polled now and
// then instead of being watched. Here are those for lanes that other threads look after.
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static struct waiting {
    struct waiting *next;
    struct pli_caller caller;
} * waiting[PLI_NODE_N_LANE]; // guarded by guard
static _Atomic int n_waiting[PLI_NODE_N_LANE];

// Have the system allow as many descriptors as connections may need.
static void raise_descriptor_limit(void)
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

// No descriptor is free for a connection. The program may close some.
static void starve(struct pli_tcp_lane *net)
{
    struct pli_boot *boot = pli_proc.boot;
    uint64_t now = pli_clock_ns();
    if (net->starved_ns == 0) {
        net->starved_ns = now;
        pli_tcp_lane_unwatch(net, &net->listener); // it would be ready for ever
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

// The listening socket is ready. Context: lane locked, as of the next.
static void accept_calls(struct pli_fd_watch *e, uint32_t events)
{
    struct pli_tcp_lane *net = e->net;
    struct pli_boot *boot = pli_proc.boot;
    struct pli_caller c;
    enum pli_err err;
    while ((err = boot->ops->accept(boot, &c)) == PLI_OK) {
        if (c.to_lane == net->base.lane->index) {
            pli_tcp_connect_accept(net, &c);
        } else {
            pass_on(&c);
        }
    }
    net->has_backlog = err == PLI_ERR_PENDING; // then look again soon
    if (err == PLI_ERR_NO_SPACE) {
        starve(net);
    } else if (net->starved_ns != 0) {
        net->starved_ns = 0;
        pli_tcp_lane_watch(net, e, EPOLLIN);
    }
    if ((events & (EPOLLHUP | EPOLLERR)) != 0) { // the launcher is gone, and this process soon
        pli_tcp_lane_unwatch(net, e);
    }
}

static int take_waiting(struct pli_tcp_lane *net)
{
    int i = net->base.lane->index, n = 0;
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
        pli_tcp_connect_accept(net, &w->caller);
        free(w);
        w = next;
        n++;
    }
    return n;
}

// Take the connections that threads of other lanes accepted for this one, and those that had to
// wait. How many.
static int take_calls(struct pli_tcp_lane *net)
{
    int n = take_waiting(net);
    if (pli_sock_has_untaken() || net->starved_ns != 0 || net->has_backlog) {
        accept_calls(&net->listener, 0);
    }
    return n;
}

// In a forked process: they are the other one's.
static void forget_calls(int lane)
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

static int look_at_all(struct pli_tcp_lane *net)
{
    struct epoll_event ev[EVENTS];
    int done = 0, n = epoll_wait(pli_epollset_fd(net->set), ev, EVENTS, 0);
    for (int i = 0; i < n; i++) {
        struct pli_fd_watch *e = pli_epollset_find(net->set, ev[i].data.u64);
        if (e != NULL && e->fd >= 0 && e != &net->wake_sock) {
            e->ready(e, ev[i].events);
            done++;
        }
    }
    return done;
}

static int push_busy(struct pli_tcp_lane *net)
{
    int n = 0;
    struct pli_list *at = net->busy.next;
    while (at != &net->busy) {
        struct pli_tcp_conn *tc = PLI_CONTAINER(at, struct pli_tcp_conn, busy);
        at = at->next;
        n += pli_tcp_conn_push(tc);
    }
    return n;
}

// Something that must not wait for long: data to be written, answers to come, connections to make.
static bool is_urgent(struct pli_tcp_lane *net)
{
    return !pli_list_is_empty(&net->busy) || net->n_dial > 0 || net->reqids.n_out > 0 ||
           net->n_dying > 0 || atomic_load_explicit(&net->must_look, memory_order_relaxed) != 0;
}

static uint32_t spins(struct pli_net_lane *base, const struct pli_comm *comm, int source)
{
    struct pli_tcp_lane *net = of(base);
    struct pli_lane *lane = base->lane;
    if (++net->n_quick % QUICK_EVERY == 0 || is_urgent(net)) {
        return 0;
    }
    if (source < 0 || source >= comm->n_peer) {
        return QUICK_ANY;
    }
    const struct pli_conn *c = pli_lane_conn(lane, pli_group_at(comm->remote, source));
    if (c == NULL || c->net != NULL) { // it is on another host
        return 0;
    }
    net->every = SHM_EVERY;
    uint32_t most = pli_progress_spins();
    return most < QUICK_SHM ? most : QUICK_SHM;
}

static int poll_lane(struct pli_net_lane *base, enum pli_net_poll why)
{
    struct pli_tcp_lane *net = of(base);
    bool must =
        why == PLI_NET_POLL_ALL || atomic_load_explicit(&net->must_look, memory_order_relaxed) != 0;
    if (why == PLI_NET_POLL_SHM) {
        net->every = SHM_EVERY;
    }
    if (!must && ++net->skip < net->every) {
        return 0;
    }
    net->skip = 0;
    int n = 0;
    if (net->ucx != NULL) {
        n = net->bypass->poll(net, must);
    }
    if (net->active != NULL && pli_tcp_recv_read(net->active) > 0) {
        count_active(net);
        n++;
    }
    net->n_look++;
    bool is_steady = net->active != NULL;
    uint32_t every = net->n_sock > 1 ? LOOK_MANY : LOOK_ONE;
    if (net->ucx != NULL && !is_steady && net->bypass->is_steady(net)) {
        is_steady = true;
        every = LOOK_UCX;
    }
    if (must || (n == 0 && !is_steady) || net->n_look % every == 0) {
        atomic_store_explicit(&net->must_look, 0, memory_order_relaxed);
        n += look_at_all(net) + take_calls(net);
    }
    if (!pli_list_is_empty(&net->busy)) {
        n += push_busy(net);
    }
    if (must || net->n_dying > 0 || net->n_look % CHECK_EVERY == 0) {
        pli_tcp_connect_check(net);
    }
    if (!pli_list_is_empty(&net->dead)) {
        free_dead(net);
    }
    return n;
}

// The wake socket is another one afterwards, with one datagram in it: a process that wanted to wake
// this one may have had the old name. Its descriptor number stays in use.
static void freeze(struct pli_net_lane *base, bool is_leaving)
{
    struct pli_tcp_lane *net = of(base);
    if (is_leaving) { // a copy of it in a forked process would keep it there
        pli_epollset_pause(net->set, net->wake_sock.key, net->wake_sock.fd);
    }
    int fd = is_leaving ? open("/dev/null", O_RDWR | O_CLOEXEC)
                        : pli_wake_sock_open(&net->base.lane->shm);
    if (fd < 0 || dup3(fd, net->wake_sock.fd, O_CLOEXEC) < 0) {
        pli_log(PLI_ERROR, "the wake socket of a lane cannot be made: %s", strerror(errno));
        abort();
    }
    close(fd);
    if (!is_leaving) {
        if (net->ucx != NULL) {
            net->bypass->thawed();
        }
        pli_tcp_lane_watch(net, &net->wake_sock, EPOLLIN);
        atomic_store_explicit(&net->must_look, 1, memory_order_relaxed);
        pli_shm_wake(net->base.lane->shm.box);
    }
}

static void hold(struct pli_net_lane *base, bool is_full)
{
    struct pli_tcp_lane *net = of(base);
    for (struct pli_list *at = net->conns.next; at != &net->conns; at = at->next) {
        struct pli_tcp_conn *tc = PLI_CONTAINER(at, struct pli_tcp_conn, at);
        if (tc->state == PLI_TCP_CONN_UP || tc->state == PLI_TCP_CONN_DIALING) {
            pli_lane_note(tc->conn, PLI_MSG_HOLD, is_full, 0, 0);
        }
    }
}

static void bye(struct pli_net_lane *base)
{
    struct pli_tcp_lane *net = of(base);
    struct pli_list *at = net->conns.next;
    while (at != &net->conns) {
        struct pli_tcp_conn *tc = PLI_CONTAINER(at, struct pli_tcp_conn, at);
        at = at->next;
        if (tc->state == PLI_TCP_CONN_UP) {
            pli_tcp_conn_note(tc, PLI_MSG_BYE, tc->ucx != NULL ? net->bypass->bye(tc) : 0, 0, 0);
        }
    }
}

// Whether the kernel holds something back for want of room at the other end. What it has sent it
// sends again if need be, also after this process is gone; waiting for the acknowledgement would
// cost the 40 ms by which the other end may put it off.
static bool is_held(const struct pli_tcp_conn *tc)
{
    int left = 0;
    return tc->out != NULL && ioctl(tc->out->watch.fd, SIOCOUTQNSD, &left) == 0 && left > 0;
}

static bool has_unsent(struct pli_net_lane *base)
{
    struct pli_tcp_lane *net = of(base);
    for (struct pli_list *at = net->conns.next; at != &net->conns; at = at->next) {
        struct pli_tcp_conn *tc = PLI_CONTAINER(at, struct pli_tcp_conn, at);
        if (tc->state < PLI_TCP_CONN_LOST && !tc->is_gone &&
            (pli_tcp_conn_has_unsent(tc) || is_held(tc))) {
            return true;
        }
    }
    return false;
}

static void arm(struct pli_net_lane *base)
{
    struct pli_tcp_lane *net = of(base);
    pli_lock_take(&net->base.lane->lock);
    watch_active(net);
    for (struct pli_list *at = net->busy.next; at != &net->busy; at = at->next) {
        struct pli_tcp_sock *s = PLI_CONTAINER(at, struct pli_tcp_conn, busy)->out;
        if (s != NULL && !s->is_armed) {
            s->is_armed = pli_tcp_lane_watch(net, &s->watch, EPOLLIN | EPOLLOUT);
        }
    }
    pli_lock_drop(&net->base.lane->lock);
}

static void wake(struct pli_net_lane *base)
{
    struct pli_tcp_lane *net = of(base);
    // A thread that goes to sleep counts itself and makes all threads pass a barrier before it
    // looks again.
    atomic_signal_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&pli_shm_must_fence, memory_order_relaxed)) {
        atomic_thread_fence(memory_order_seq_cst);
    }
    if (atomic_load_explicit(&net->base.lane->n_sleep, memory_order_relaxed) != 0) {
        atomic_fetch_add_explicit(&net->base.wakes, 1, memory_order_release);
        pli_futex_wake(&net->base.wakes, INT_MAX, true);
    }
}

// The datagrams were for all threads that sleep here, not for the watcher alone.
static void drain_wake(struct pli_tcp_lane *net)
{
    char byte[8];
    int n = 0;
    while (n < 64 && recv(net->wake_sock.fd, byte, sizeof byte, MSG_DONTWAIT) >= 0) {
        n++;
    }
    if (n > 0 && atomic_load_explicit(&net->base.lane->n_sleep, memory_order_relaxed) > 1) {
        wake(&net->base);
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
            fds[n_fd++] = (struct pollfd){ .fd = nets[i]->bypass->fd(nets[i]), .events = POLLIN };
            is_quiet = is_quiet && nets[i]->bypass->arm(nets[i]);
        }
    }
    if (is_quiet) {
        ppoll(fds, n_fd, &t, NULL);
    }
    for (int i = 0; i < n; i++) {
        atomic_store_explicit(&nets[i]->must_look, 1, memory_order_relaxed);
        // An exchange, so that this thread sees the one that found it here and relied on it.
        atomic_exchange_explicit(&nets[i]->watcher, 0, memory_order_acq_rel);
        drain_wake(nets[i]);
    }
}

static bool sleep_at(struct pli_net_lane *const bases[], int n, int wakes, uint64_t timeout_ns)
{
    struct pli_tcp_lane *nets[PLI_NODE_N_LANE] = { NULL };
    for (int i = 0; i < n; i++) {
        nets[i] = of(bases[i]);
    }
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
    pli_futex_wait(&nets[0]->base.wakes, wakes, true, is_short ? MIXED_NS : timeout_ns);
    return false;
}

// Whether what was written has not all arrived at the other host.
static bool is_unacked(struct pli_tcp_conn *tc)
{
    int left = 0;
    if (tc->is_unacked && tc->out != NULL) {
        tc->is_unacked = ioctl(tc->out->watch.fd, SIOCOUTQ, &left) == 0 && left > 0;
    }
    return tc->is_unacked && tc->out != NULL;
}

static uint64_t sleep_limit(struct pli_net_lane *base)
{
    struct pli_tcp_lane *net = of(base);
    pli_lock_take(&net->base.lane->lock);
    bool is_soon = net->n_dial > 0 || net->n_lost > 0 || net->n_dying > 0 || net->starved_ns != 0 ||
                   net->has_backlog;
    for (struct pli_list *at = net->conns.next; at != &net->conns && !is_soon; at = at->next) {
        struct pli_tcp_conn *tc = PLI_CONTAINER(at, struct pli_tcp_conn, at);
        is_soon =
            tc->state == PLI_TCP_CONN_UP && (pli_tcp_conn_has_unsent(tc) || is_unacked(tc) ||
                                             (tc->ucx != NULL && net->bypass->is_unacked(tc)));
    }
    pli_lock_drop(&net->base.lane->lock);
    return is_soon ? SOON_NS : 0;
}

static bool is_busy(struct pli_net_lane *base)
{
    const struct pli_tcp_lane *net = of(base);
    return net->ucx != NULL && net->bypass->is_busy(net);
}

// Whether a process runs on the cores of this one: that of a host with the same cores, or of one
// that is pretended, which has a row here.
static bool is_beside(const struct pli_node *node, uint32_t index)
{
    const struct pli_node_proc *p = pli_node_find(node, index);
    const struct pli_node_host *here = &node->hosts[pli_proc.boot->host];
    return p != NULL && ((here->cores != 0 && node->hosts[p->host].cores == here->cores) ||
                         pli_node_row_of(node, index) != UINT32_MAX);
}

// What comes from a host with the same kernel was put into the socket by the processor that sent
// it, and the socket remembers which that was.
static int peer_processor(struct pli_net_lane *base, uint32_t *index_out)
{
    struct pli_tcp_lane *net = of(base);
    const struct pli_node *node = &pli_proc.boot->node;
    int cpu = -1;
    pli_lock_take(&net->base.lane->lock);
    if (net->active != NULL && node->header->n_host > 1) {
        socklen_t len = sizeof cpu;
        *index_out = net->active->owner->conn->proc;
        if (!is_beside(node, *index_out) ||
            getsockopt(net->active->watch.fd, SOL_SOCKET, SO_INCOMING_CPU, &cpu, &len) != 0) {
            cpu = -1;
        }
    }
    pli_lock_drop(&net->base.lane->lock);
    return cpu;
}

static const struct pli_net_lane_ops lane_ops = {
    .peer_processor = peer_processor,
    .sleeps_by = PLI_SHM_BY_SOCKET,
    .look_cost = 8,
    .poll = poll_lane,
    .spins = spins,
    .hold = hold,
    .bye = bye,
    .has_unsent = has_unsent,
    .is_busy = is_busy,
    .arm = arm,
    .sleep_limit = sleep_limit,
    .sleep = sleep_at,
    .wake = wake,
    .freeze = freeze,
};

struct pli_tcp_lane *pli_tcp_lane_of(const struct pli_lane *lane)
{
    struct pli_net_lane *net = lane->polled;
    return net != NULL && net->ops == &lane_ops ? of(net) : NULL;
}

PLI_START enum pli_err pli_tcp_lane_open(struct pli_lane *lane)
{
    struct pli_boot *boot = pli_proc.boot;
    int listener = boot->ops->accept_fd(boot);
    if (listener < 0 || lane->polled != NULL) {
        return PLI_OK;
    }
    struct pli_tcp_lane *net = calloc(1, sizeof *net);
    char *read_buf = malloc(PLI_TCP_RECV_BUFFER);
    if (net == NULL || read_buf == NULL) {
        free(net);
        free(read_buf);
        return pli_fail(PLI_ERR_NOMEM, "no memory for the network side of a lane");
    }
    net->read_buf = read_buf;
    net->base.ops = &lane_ops;
    net->base.lane = lane;
    net->every = 1;
    pli_list_init(&net->conns);
    pli_list_init(&net->busy);
    pli_list_init(&net->socks);
    pli_list_init(&net->dead);
    net->set = pli_epollset_create();
    net->wake_sock = (struct pli_fd_watch){ .fd = pli_wake_sock_open(&lane->shm),
                                            .ready = ignore_wake,
                                            .net = net };
    net->listener = (struct pli_fd_watch){ .fd = listener, .ready = accept_calls, .net = net };
    if (net->set == NULL || net->wake_sock.fd < 0 ||
        !pli_tcp_lane_watch(net, &net->wake_sock, EPOLLIN) ||
        !pli_tcp_lane_watch(net, &net->listener, EPOLLIN)) {
        enum pli_err err = pli_fail(PLI_ERR_OTHER, "cannot watch the network: %s", strerror(errno));
        pli_epollset_destroy(net->set);
        close(net->wake_sock.fd);
        free(net->read_buf);
        free(net);
        return err;
    }
    atomic_store_explicit(&net->must_look, 1, memory_order_relaxed);
    lane->net = lane->polled = &net->base;
    raise_descriptor_limit();
    return PLI_OK;
}

// The connections are the other process's, and go on there: nothing may be said over them here.
void pli_tcp_lane_leave(struct pli_lane *lane)
{
    struct pli_tcp_lane *net = pli_tcp_lane_of(lane);
    if (net == NULL) {
        return;
    }
    while (!pli_list_is_empty(&net->socks)) {
        struct pli_tcp_sock *s = PLI_CONTAINER(net->socks.next, struct pli_tcp_sock, at);
        pli_dial_end(s->watch.fd);
        pli_tcp_recv_drop(s);
        pli_list_remove(&s->at);
        pli_list_push(&net->dead, &s->at);
    }
    free_dead(net);
    if (net->ucx != NULL) {
        net->bypass->leave(net);
    }
    while (!pli_list_is_empty(&net->conns)) {
        struct pli_tcp_conn *tc = PLI_CONTAINER(net->conns.next, struct pli_tcp_conn, at);
        pli_list_remove(&tc->at);
        pli_dial_close(tc->dial);
        free(tc);
    }
    forget_calls(lane->index);
    pli_epollset_destroy(net->set);
    pli_wake_sock_drop(net->wake_sock.fd);
    close(net->wake_sock.fd);
    pli_reqid_fini(&net->reqids);
    free(net->read_buf);
    free(net);
    lane->net = &pli_net_none;
    lane->polled = NULL;
}
