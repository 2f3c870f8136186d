// SPDX-License-Identifier: BSD-3-Clause
// Watches the connections of a lane.
#include "net/tcp/tcp_conn.h"
#include "base/cpu.h"

#include "base/epollset.h"
#include "base/log.h"
#include "boot/boot.h"
#include "net/tcp/tcp_lane_priv.h"
#include "msg/progress.h"
#include "net/ucx/ucx_conn.h"
#include "msg/msg_wire.h"
#include "net/shm/shm_sleep.h"
#include "net/tcp/dial.h"
#include "obj/comm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <linux/sockios.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    EVENTS = 16,
    LOOK_ONE = 64,     // polls between two looks at all descriptors, while the only connection is
    LOOK_MANY = 2,     // looked at by itself; the same while the last active one of many is
    BARE_AFTER = 256,  // messages in a row from a connection that is then looked at by itself alone
    LOOK_UCX = 64,     // the same while messages go by UCX
    JUDGE_EVERY = 256, // and at the clock
    SHM_EVERY = 16,    // polls between two looks at any, while shared memory is busy
    QUICK_SHM = 256,   // looks at the mailbox alone for a message of a neighbour,
    QUICK_ANY = 8,     // and for one of anybody
    QUICK_EVERY = 64   // receives, of which one looks at the network in any case
};

bool pli_tcp_lane_watch(struct pli_tcp_lane *net, struct pli_fd_watch *e, uint32_t events)
{
    e->is_bare = false;
    return pli_epollset_watch(net->set, &e->key, e->fd, events, e);
}

void pli_tcp_lane_unwatch(struct pli_tcp_lane *net, struct pli_fd_watch *e)
{
    e->is_bare = false;
    pli_epollset_remove(net->set, &e->key, e->fd);
}

// To be watched costs a tenth of a microsecond with every packet (bench: hosts_lat). So who gives
// message after message is taken out, as long as nobody sleeps.
static void count_hot(struct pli_tcp_lane *net)
{
    struct pli_tcp_sock *s = net->hot;
    if (++net->n_hot % BARE_AFTER == 0 && s != NULL && !s->eye.is_bare && !s->is_armed &&
        s->rest == NULL && atomic_load_explicit(&net->lane->n_sleep, memory_order_seq_cst) == 0) {
        s->eye.is_bare = pli_epollset_pause(net->set, s->eye.key, s->eye.fd);
    }
}

// Have it watched again. Context: lane locked.
static void cover_hot(struct pli_tcp_lane *net)
{
    struct pli_tcp_sock *s = net->hot;
    if (s != NULL && s->eye.is_bare && !pli_tcp_lane_watch(net, &s->eye, EPOLLIN)) {
        pli_tcp_conn_lose(s->link, "the connection cannot be watched");
    }
}

void pli_tcp_lane_heat(struct pli_tcp_lane *net, struct pli_tcp_sock *s)
{
    if (net->hot != s) {
        cover_hot(net);
        net->hot = s;
        net->n_hot = 0;
    }
}

void pli_tcp_lane_defer(struct pli_tcp_lane *net)
{
    net->every = SHM_EVERY;
}

static void bell_see(struct pli_fd_watch *e, uint32_t events)
{
    (void)e;
    (void)events; // who slept on it empties it
}

static void free_dead(struct pli_tcp_lane *net)
{
    while (!pli_list_is_empty(&net->dead)) {
        struct pli_tcp_sock *s = PLI_CONTAINER(net->dead.next, struct pli_tcp_sock, at);
        pli_list_remove(&s->at);
        free(s);
    }
}

static int look_at_all(struct pli_tcp_lane *net)
{
    struct epoll_event ev[EVENTS];
    int done = 0, n = epoll_wait(pli_epollset_fd(net->set), ev, EVENTS, 0);
    for (int i = 0; i < n; i++) {
        struct pli_fd_watch *e = pli_epollset_find(net->set, ev[i].data.u64);
        if (e != NULL && e->fd >= 0 && e != &net->bell) {
            e->see(e, ev[i].events);
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
        struct pli_tcp_conn *l = PLI_CONTAINER(at, struct pli_tcp_conn, busy);
        at = at->next;
        n += pli_tcp_conn_push(l);
    }
    return n;
}

// Something that must not wait for long: data to be written, answers to come, calls.
static bool is_hurried(struct pli_tcp_lane *net)
{
    return !pli_list_is_empty(&net->busy) || net->n_dial > 0 || net->tickets.n_out > 0 ||
           net->n_dying > 0 || atomic_load_explicit(&net->must_look, memory_order_relaxed) != 0;
}

uint32_t pli_tcp_lane_looks(struct pli_lane *lane, const struct pli_comm *comm, int source)
{
    struct pli_tcp_lane *net = lane->net;
    if (++net->n_quick % QUICK_EVERY == 0 || is_hurried(net)) {
        return 0;
    }
    if (source < 0 || source >= comm->n_peer) {
        return QUICK_ANY;
    }
    const struct pli_conn *c = pli_lane_conn(lane, pli_group_at(comm->remote, source));
    if (c == NULL || c->link != NULL) {
        return 0;
    }
    net->every = SHM_EVERY;
    uint32_t most = pli_progress_spins();
    return most < QUICK_SHM ? most : QUICK_SHM;
}

int pli_tcp_lane_poll(struct pli_tcp_lane *net)
{
    bool must = atomic_load_explicit(&net->must_look, memory_order_relaxed) != 0;
    if (!must && ++net->skip < net->every) {
        return 0;
    }
    net->skip = 0;
    int n = 0;
    if (net->ucx != NULL) {
        n = pli_ucx_worker_poll(net->ucx);
        if (net->ucx->is_unsettled || (must && pli_ucx_quiesce_is_wanted())) {
            pli_ucx_quiesce_poll(net->ucx);
        }
    }
    if (net->hot != NULL && pli_tcp_recv_read(net->hot) > 0) {
        count_hot(net);
        n++;
    }
    net->n_look++;
    bool is_steady = net->hot != NULL;
    uint32_t every = net->n_sock > 1 ? LOOK_MANY : LOOK_ONE;
    if (net->ucx != NULL && !is_steady && pli_ucx_worker_is_steady(net->ucx)) {
        is_steady = true;
        every = LOOK_UCX;
    }
    if (must || (n == 0 && !is_steady) || net->n_look % every == 0) {
        atomic_store_explicit(&net->must_look, 0, memory_order_relaxed);
        n += look_at_all(net) + pli_tcp_lane_take_calls(net);
    }
    if (!pli_list_is_empty(&net->busy)) {
        n += push_busy(net);
    }
    if (must || net->n_dying > 0 || net->n_look % JUDGE_EVERY == 0) {
        pli_tcp_conn_judge(net);
    }
    if (!pli_list_is_empty(&net->dead)) {
        free_dead(net);
    }
    return n;
}

PLI_START enum pli_err pli_tcp_lane_open(struct pli_lane *lane)
{
    struct pli_boot *boot = pli_proc.boot;
    int door = boot->ops->accept_fd(boot);
    if (door < 0) {
        return PLI_OK;
    }
    struct pli_tcp_lane *net = calloc(1, sizeof *net);
    char *room = malloc(PLI_TCP_RECV_ROOM);
    if (net == NULL || room == NULL) {
        free(net);
        free(room);
        return pli_fail(PLI_ERR_NOMEM, "no memory for the network side of a lane");
    }
    net->room = room;
    net->lane = lane;
    net->every = 1;
    pli_list_init(&net->links);
    pli_list_init(&net->busy);
    pli_list_init(&net->socks);
    pli_list_init(&net->dead);
    net->set = pli_epollset_create();
    net->bell =
        (struct pli_fd_watch){ .fd = pli_wake_sock_open(&lane->shm), .see = bell_see, .net = net };
    net->door = (struct pli_fd_watch){ .fd = door, .see = pli_tcp_lane_see_door, .net = net };
    if (net->set == NULL || net->bell.fd < 0 || !pli_tcp_lane_watch(net, &net->bell, EPOLLIN) ||
        !pli_tcp_lane_watch(net, &net->door, EPOLLIN)) {
        enum pli_err err = pli_fail(PLI_ERR_OTHER, "cannot watch the network: %s", strerror(errno));
        pli_epollset_destroy(net->set);
        close(net->bell.fd);
        free(net->room);
        free(net);
        return err;
    }
    atomic_store_explicit(&net->must_look, 1, memory_order_relaxed);
    lane->net = net;
    pli_tcp_lane_ask_room();
    return pli_ucx_worker_open(net);
}

// The connections are the other process's, and go on there: nothing may be said over them here.
void pli_tcp_lane_leave(struct pli_lane *lane)
{
    struct pli_tcp_lane *net = lane->net;
    if (net == NULL) {
        return;
    }
    while (!pli_list_is_empty(&net->socks)) {
        struct pli_tcp_sock *s = PLI_CONTAINER(net->socks.next, struct pli_tcp_sock, at);
        pli_dial_end(s->eye.fd);
        pli_tcp_recv_drop(s);
        pli_list_remove(&s->at);
        pli_list_push(&net->dead, &s->at);
    }
    free_dead(net);
    while (!pli_list_is_empty(&net->links)) {
        struct pli_tcp_conn *l = PLI_CONTAINER(net->links.next, struct pli_tcp_conn, at);
        pli_list_remove(&l->at);
        pli_dial_close(l->dial);
        free(l->ucx);
        free(l);
    }
    pli_ucx_worker_clone(net);
    pli_tcp_lane_forget_calls(lane->index);
    pli_epollset_destroy(net->set);
    pli_wake_sock_drop(net->bell.fd);
    close(net->bell.fd);
    pli_reqid_fini(&net->tickets);
    free(net->room);
    free(net);
    lane->net = NULL;
}

// The bell is another one afterwards, rung once: who wanted to wake us may have had the old name.
// Its number stays taken.
void pli_tcp_lane_park(struct pli_tcp_lane *net, bool is_leaving)
{
    if (is_leaving) { // a copy of it in a forked process would keep it there
        pli_epollset_pause(net->set, net->bell.key, net->bell.fd);
    }
    int fd =
        is_leaving ? open("/dev/null", O_RDWR | O_CLOEXEC) : pli_wake_sock_open(&net->lane->shm);
    if (fd < 0 || dup3(fd, net->bell.fd, O_CLOEXEC) < 0) {
        pli_log(PLI_ERROR, "the bell of a lane cannot be made: %s", strerror(errno));
        abort();
    }
    close(fd);
    if (!is_leaving) {
        pli_ucx_quiesce_parked();
        pli_tcp_lane_watch(net, &net->bell, EPOLLIN);
        atomic_store_explicit(&net->must_look, 1, memory_order_relaxed);
        pli_shm_wake(net->lane->shm.box);
    }
}

void pli_tcp_lane_hold(struct pli_tcp_lane *net, bool is_full)
{
    for (struct pli_list *at = net->links.next; at != &net->links; at = at->next) {
        struct pli_tcp_conn *l = PLI_CONTAINER(at, struct pli_tcp_conn, at);
        if (l->state == PLI_TCP_CONN_UP || l->state == PLI_TCP_CONN_DIALING) {
            pli_tcp_conn_note(l, PLI_MSG_HOLD, is_full, 0, 0);
        }
    }
}

void pli_tcp_lane_bye(struct pli_tcp_lane *net)
{
    struct pli_list *at = net->links.next;
    while (at != &net->links) {
        struct pli_tcp_conn *l = PLI_CONTAINER(at, struct pli_tcp_conn, at);
        at = at->next;
        if (l->state == PLI_TCP_CONN_UP) {
            pli_tcp_conn_say(l, PLI_MSG_BYE, l->ucx != NULL ? pli_ucx_worker_leave(l) : 0, 0, 0);
        }
    }
}

// Whether the kernel holds something back for want of room at the other end. What it has sent it
// sends again if need be, also after this process is gone; waiting for the acknowledgement would
// cost the 40 ms by which the other end may put it off.
static bool is_held(const struct pli_tcp_conn *l)
{
    int left = 0;
    return l->out != NULL && ioctl(l->out->eye.fd, SIOCOUTQNSD, &left) == 0 && left > 0;
}

bool pli_tcp_lane_has_unsent(struct pli_tcp_lane *net)
{
    for (struct pli_list *at = net->links.next; at != &net->links; at = at->next) {
        struct pli_tcp_conn *l = PLI_CONTAINER(at, struct pli_tcp_conn, at);
        if (l->state < PLI_TCP_CONN_LOST && !l->is_gone &&
            (pli_tcp_conn_has_unsent(l) || is_held(l))) {
            return true;
        }
    }
    return false;
}

void pli_tcp_lane_arm(struct pli_tcp_lane *net)
{
    pli_lock_take(&net->lane->lock);
    cover_hot(net);
    for (struct pli_list *at = net->busy.next; at != &net->busy; at = at->next) {
        struct pli_tcp_sock *s = PLI_CONTAINER(at, struct pli_tcp_conn, busy)->out;
        if (s != NULL && !s->is_armed) {
            s->is_armed = pli_tcp_lane_watch(net, &s->eye, EPOLLIN | EPOLLOUT);
        }
    }
    pli_lock_drop(&net->lane->lock);
}
