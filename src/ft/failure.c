// SPDX-License-Identifier: BSD-3-Clause
// Reads news of failed processes and revoked communicators, and withdraws what can never complete.
#include "ft/failure.h"

#include "base/glibc.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/log.h"
#include "boot/boot.h"
#include "boot/failure_wire.h"
#include "ft/fail_ops.h"
#include "ft/reclaim.h"
#include "ft/revoke_table.h"
#include "msg/endpoint.h"
#include "msg/failure_hooks.h"
#include "msg/lane.h"
#include "msg/request.h"
#include "net/net.h"
#include "net/shm/other_job.h"
#include "obj/comm.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A writer that lives fills the place it has claimed within nanoseconds, unless it does not get a
// core. Of those of other jobs that died it is known which place they were about to claim, but not
// whether another was faster.
enum { HOLE_NS = 500000000, SALVAGE_NS = 100000000 };

enum { LINKED_EVERY = 64 }; // polls, where there are other jobs and no news of this one

static const _Atomic uint32_t none;
const _Atomic uint32_t *pli_failure_news = &none;
static _Atomic uint32_t heard; // of the news
static bool is_told;           // resizes are, by errors
static const struct pli_failure_resize *resize;
static void (*_Atomic on_news)(void);
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

uint32_t pli_failure_failed_at(uint64_t proc)
{
    const struct pli_node_proc *p = pli_node_job_of(proc) == pli_boot.job
                                        ? pli_node_find(&pli_boot.node, (uint32_t)proc)
                                        : NULL;
    bool is = p != NULL && atomic_load_explicit(&p->failure, memory_order_acquire) != 0;
    return is ? p->failed_at : 0;
}

static int count_failed(const struct pli_group *g)
{
    int n = 0;
    for (int i = 0; i < g->size; i++) {
        n += pli_failure_failed_at(pli_group_at(g, i).proc) != 0;
    }
    return n;
}

// What the news means for a communicator. That of the local group of an intercommunicator carries
// the collectives of both.
static void update(struct pli_comm *c, void *arg)
{
    const struct pli_comm *whole = c->outer != NULL ? c->outer : c;
    bool *is_early = arg;
    int n = count_failed(whole->group) + (whole->is_inter ? count_failed(whole->remote) : 0);
    int stop_err = atomic_load_explicit(&whole->stop_err, memory_order_relaxed);
    *is_early = *is_early || (whole->context == 0 && stop_err == 0);
    atomic_store_explicit(&c->n_failed, n, memory_order_relaxed);
    if (pli_revoke_table_is_revoked(whole)) {
        pli_comm_abandon(c, PLI_ERR_REVOKED);
    }
}

// A communicator that is being made may have been revoked by others already.
void pli_failure_begin(struct pli_comm *c)
{
    bool is_early = false;
    if (pli_failure_is_due()) {
        update(c, &is_early);
    }
}

PLI_START static void open(void)
{
    uint32_t mode = pli_boot.node.header->mode;
    pli_request_may_be_withdrawn = (mode & (PLI_NODE_SURVIVES | PLI_NODE_TELLS)) != 0;
    is_told = (mode & PLI_NODE_TELLS) != 0;
    pli_failure_news = &pli_boot.node.header->n_news;
    if (pli_request_may_be_withdrawn) {
        pli_comm_on_begin(pli_failure_begin);
        pli_comm_on_end(pli_revoke_table_leave);
    }
}

static void move(void)
{
    pli_failure_news = &pli_boot.node.header->n_news;
}

// How many died up to one that did.
static int count_until(const struct pli_group *g, uint32_t last)
{
    int n = 0;
    for (int i = 0; i < g->size; i++) {
        uint32_t at = pli_failure_failed_at(pli_group_at(g, i).proc);
        n += at != 0 && at <= last;
    }
    return n;
}

// Whether a process died whose message might have been waited for, and the program does not know.
static bool has_lost(const struct pli_comm *c)
{
    int n_acked = atomic_load_explicit(&c->n_acked, memory_order_relaxed);
    bool is = atomic_load_explicit(&c->n_failed, memory_order_relaxed) > n_acked;
    if (!is || !c->is_inter) {
        return is;
    }
    is = false;
    for (int i = 0; i < c->n_peer && !is; i++) {
        uint32_t at = pli_failure_failed_at(pli_group_at(c->remote, i).proc);
        is = at != 0 && count_until(c->group, at) + count_until(c->remote, at) > n_acked;
    }
    return is;
}

// Of one that died and shares no memory with us all that it had sent must have come first.
static enum pli_err judge_peer(struct pli_lane *lane, const struct pli_request *r, int peer)
{
    const struct pli_comm *c = r->comm;
    struct pli_id id = pli_group_at(c->remote, peer);
    const struct pli_conn *conn = pli_lane_is_own(lane, id) ? NULL : pli_lane_conn(lane, id);
    bool has_died = atomic_load_explicit(&c->n_failed, memory_order_relaxed) > 0 &&
                    pli_failure_failed_at(id.proc) != 0;
    if (conn == NULL) {
        return has_died ? PLI_ERR_PROC_FAILED : PLI_OK;
    }
    return conn->ops->fate(conn, has_died, (r->flags & PLI_REQ_SEND) != 0);
}

enum pli_err pli_failure_judge(struct pli_lane *lane, const struct pli_request *r, int peer)
{
    const struct pli_comm *c = r->comm;
    uint64_t chan = r->item.context & 3;
    if (c == NULL) {
        return PLI_OK;
    }
    if (atomic_load_explicit(&c->stop_err, memory_order_relaxed) != 0) {
        return (enum pli_err)atomic_load_explicit(&c->stop_err, memory_order_relaxed);
    }
    if (atomic_load_explicit(&c->is_left, memory_order_relaxed) == PLI_COMM_LEFT &&
        chan == PLI_CHAN_P2P && (r->flags & PLI_REQ_BLOCKING) != 0) {
        return PLI_ERR_WORLD_RESIZED;
    }
    int n = atomic_load_explicit(&c->n_failed, memory_order_relaxed);
    // Of a collective, and of the making of communicators, it is not known which members it depends
    // on.
    if (n > 0 && (chan == PLI_CHAN_COLL || (chan == PLI_CHAN_SETUP && r->item.tag < 0))) {
        return PLI_ERR_PROC_FAILED;
    }
    if (peer >= 0 && peer < c->n_peer) {
        return judge_peer(lane, r, peer);
    }
    bool is_open = peer == MPI_ANY_SOURCE && (r->flags & PLI_REQ_BLOCKING) != 0;
    return is_open && has_lost(c) ? PLI_ERR_PROC_FAILED : PLI_OK;
}

bool pli_failure_is_open_slow(struct pli_request *r)
{
    if (r->comm != NULL &&
        atomic_load_explicit(&r->comm->is_left, memory_order_relaxed) == PLI_COMM_LEFT) {
        return true;
    }
    if ((r->flags & PLI_REQ_SEND) != 0 || r->comm == NULL || r->item.source != MPI_ANY_SOURCE) {
        return false;
    }
    pli_lock_take(&r->lane->lock);
    bool is = (r->state & PLI_REQ_POSTED) != 0 && has_lost(r->comm);
    pli_lock_drop(&r->lane->lock);
    return is;
}

static void handle(void)
{
    pthread_mutex_lock(&guard);
    uint32_t news = atomic_load_explicit(pli_failure_news, memory_order_acquire);
    if (news != atomic_load_explicit(&heard, memory_order_relaxed)) {
        bool is_early = false;
        pli_comm_visit(update, &is_early);
        pli_fail_ops_all();
        void (*tell)(void) = atomic_load_explicit(&on_news, memory_order_acquire);
        if (tell != NULL) {
            tell();
        }
        if (!is_early) { // else it may be about a communicator whose context is yet to come
            atomic_store_explicit(&heard, news, memory_order_relaxed);
        }
    }
    pthread_mutex_unlock(&guard);
}

// Processes of other jobs may die at any time, and nobody tells. Those of jobs that IMPI has joined
// share no memory with this one.
static bool is_linked(void)
{
    return atomic_load_explicit(&pli_boot.is_linked, memory_order_relaxed) &&
           pli_boot.gateway == NULL;
}

static bool is_due(void)
{
    return pli_failure_is_due() || is_linked();
}

static bool is_blocked(struct pli_lane *lane)
{
    if (!is_due()) {
        return false;
    }
    pli_lock_take(&lane->lock);
    bool is = pli_shm_has_hole(&lane->shm);
    pli_lock_drop(&lane->lock);
    return is;
}

static bool has_failed(void)
{
    return atomic_load_explicit(&pli_boot.node.header->n_failed, memory_order_relaxed) != 0;
}

// How many places of the mailbox, from the next one on, no living process is about to fill.
static uint32_t n_abandoned(struct pli_lane *lane)
{
    const struct pli_node *node = &pli_boot.node;
    uint32_t number = pli_shm_number(pli_boot.row, lane->index);
    if (is_linked() && pli_clock_ns() - lane->hole_ns < HOLE_NS) {
        return 0;
    }
    uint32_t n = is_linked() ? pli_other_job_left_places(number, lane->shm.head) : 0;
    if (n > 0 || !has_failed()) {
        return n;
    }
    for (uint32_t row = 0; row < pli_node_n_used(node); row++) {
        struct pli_node_row *r = &node->rows[row];
        bool is_dead = pli_node_failure(node, r->index) != 0;
        for (int k = 0; k < PLI_NODE_N_LANE && !is_dead; k++) {
            if (atomic_load_explicit(&r->claims[k], memory_order_acquire) == number) {
                return 0;
            }
        }
    }
    return pli_shm_has_hole(&lane->shm) ? 1 : 0; // 0: the writer that was about to has done it
}

// A process may have died between claiming a place in the mailbox and filling it, and with blocks
// that are missing now.
static void put_right(struct pli_lane *lane)
{
    pli_lock_take(&lane->lock);
    if ((!pli_list_is_empty(&lane->stalled) || !pli_list_is_empty(&lane->streams)) &&
        pli_clock_ns() - lane->reclaim_ns > SALVAGE_NS) {
        lane->reclaim_ns = pli_clock_ns();
        pli_reclaim_blocks(lane);
    }
    if (!pli_shm_has_hole(&lane->shm)) {
        lane->hole_ns = 0;
    } else if (lane->hole_ns == 0 || lane->hole_at != lane->shm.head) {
        lane->hole_ns = pli_clock_ns();
        lane->hole_at = lane->shm.head;
    }
    uint32_t n = lane->hole_ns != 0 ? n_abandoned(lane) : 0;
    if (n > 0) {
        pli_log(PLI_INFO, "skipped a message that its sender died over");
        lane->hole_ns = 0;
        pli_shm_next_row(&lane->shm, n);
    }
    pli_lock_drop(&lane->lock);
}

static bool is_new(void)
{
    return atomic_load_explicit(pli_failure_news, memory_order_relaxed) !=
           atomic_load_explicit(&heard, memory_order_relaxed);
}

void pli_failure_look(struct pli_lane *lane)
{
    if (is_new()) {
        handle();
    }
    if (is_told) {
        resize->handle();
    }
    if (has_failed()) {
        put_right(lane);
    }
}

static void look(struct pli_lane *lane)
{
    uint32_t n_poll = atomic_load_explicit(&lane->n_poll, memory_order_relaxed);
    if (pli_failure_is_due()) {
        pli_failure_look(lane);
    }
    if (!has_failed() && is_linked() && n_poll % LINKED_EVERY == 0) {
        put_right(lane);
    }
}

// "was killed by signal 9, SIGKILL"
static void say_how(uint32_t failure, char *to, size_t cap)
{
    int n = (int)(failure & PLI_FAILURE_NUMBER);
    switch (failure & ~(uint32_t)PLI_FAILURE_NUMBER) {
    case PLI_FAILURE_SIGNAL:
        snprintf(to, cap, "was killed by signal %d, SIG%s", n,
                 sigabbrev_np(n) != NULL ? sigabbrev_np(n) : "?");
        break;
    case PLI_FAILURE_EXIT:
        snprintf(to, cap, "ended with exit status %d and without MPI_Finalize", n);
        break;
    case PLI_FAILURE_ABORT:
        snprintf(to, cap, "was ended by MPI_Abort with code %d", n);
        break;
    case PLI_FAILURE_HOST:
        snprintf(to, cap, "is gone with its host");
        break;
    default:
        snprintf(to, cap, "died");
        break;
    }
}

struct list {
    char *to;
    size_t at, cap;
    int n_more;
};

// "rank 2 (process 4711 on host here) was killed by ...", of as many as there is room for.
static void say_failed(const struct pli_group *g, const char *where, struct list *l)
{
    const struct pli_node *node = &pli_boot.node;
    for (int i = 0; i < g->size; i++) {
        struct pli_id id = pli_group_at(g, i);
        if (pli_failure_failed_at(id.proc) == 0) {
            continue;
        }
        const struct pli_node_proc *p = pli_node_find(node, (uint32_t)id.proc);
        char how[80];
        say_how(atomic_load_explicit(&p->failure, memory_order_relaxed), how, sizeof how);
        char number[32] = "";
        if (p->pid != 0) { // one that is gone with its host has not said it
            snprintf(number, sizeof number, "process %u ", p->pid);
        }
        if (l->cap - l->at > 200) {
            l->at += (size_t)snprintf(l->to + l->at, l->cap - l->at,
                                      "%srank %d%s (%son host %.40s) %s", l->at > 0 ? "; " : "", i,
                                      where, number, node->hosts[p->host].name, how);
        } else {
            l->n_more++;
        }
    }
}

void pli_failure_say_failed(const struct pli_comm *c, char *to, size_t cap)
{
    struct list l = { to, 0, cap, 0 };
    to[0] = '\0';
    say_failed(c->remote, c->is_inter ? " of the remote group" : "", &l);
    if (c->is_inter) {
        say_failed(c->group, " of the local group", &l);
    }
    if (l.n_more > 0) {
        snprintf(to + l.at, cap - l.at, "; and %d more", l.n_more);
    }
}

enum pli_err pli_failure_explain(enum pli_err err, const char *what, const struct pli_comm *c)
{
    char who[440];
    c = c->outer != NULL ? c->outer : c;
    if (err == PLI_ERR_WORLD_RESIZED) {
        enum pli_err told = resize->tell((struct pli_comm *)(uintptr_t)c);
        return told != PLI_OK ? told : pli_fail(err, "the world was resized");
    }
    if (err == PLI_ERR_REVOKED) {
        return pli_fail(err, "%s on %s failed: the communicator was revoked (MPIX_Comm_revoke)",
                        what, pli_comm_say(c));
    }
    pli_failure_say_failed(c, who, sizeof who);
    return pli_fail(err, "%s on %s failed: %s", what, pli_comm_say(c),
                    who[0] != '\0' ? who : pli_err_text(err));
}

enum pli_err pli_failure_refuse(const char *what, const struct pli_comm *c)
{
    int err_of_comm = atomic_load_explicit(&c->stop_err, memory_order_relaxed);
    int n = atomic_load_explicit(&c->n_failed, memory_order_relaxed);
    bool is_left = atomic_load_explicit(&c->is_left, memory_order_relaxed) == PLI_COMM_LEFT;
    enum pli_err err = err_of_comm != 0 ? (enum pli_err)err_of_comm
                       : is_left        ? PLI_ERR_WORLD_RESIZED
                       : n > 0          ? PLI_ERR_PROC_FAILED
                                        : PLI_OK;
    return err == PLI_OK ? PLI_OK : pli_failure_explain(err, what, c);
}

enum pli_err pli_failure_enter(const char *what, struct pli_comm *c)
{
    if (is_new()) {
        pli_failure_look(c->ep->lane); // threads that are never idle look here
    }
    if (!is_told) {
        return pli_failure_refuse(what, c);
    }
    uint32_t n = atomic_fetch_add_explicit(&c->n_begun, 1, memory_order_seq_cst) + 1;
    bool is_left = atomic_load_explicit(&c->is_left, memory_order_seq_cst) != 0;
    enum pli_err err = is_left ? resize->enter(c, n) : PLI_OK;
    return err != PLI_OK ? err : pli_comm_is_stopped(c) ? pli_failure_refuse(what, c) : PLI_OK;
}

void pli_failure_on_news(void (*fn)(void))
{
    atomic_store_explicit(&on_news, fn, memory_order_release);
}

void pli_failure_on_resize(const struct pli_failure_resize *ops)
{
    resize = ops;
}

enum pli_err pli_failure_revoke(struct pli_comm *c)
{
    if (c->is_span) {
        return pli_comm_refuse_span(c, "revocation");
    }
    if ((pli_boot.node.header->mode & PLI_NODE_SURVIVES) == 0) {
        return pli_fail(PLI_ERR_UNSUPPORTED,
                        "no process would be told: start the job with mpiexec --on-failure=shrink");
    }
    enum pli_err err = pli_revoke_table_revoke(c);
    if (err != PLI_OK) {
        return err;
    }
    // A process that revokes at the same time may have come first, and may not have told yet; and
    // what all hosts are to hear is not here at once.
    pthread_mutex_lock(&guard);
    pli_comm_abandon(c, PLI_ERR_REVOKED);
    pli_fail_ops_all();
    pthread_mutex_unlock(&guard);
    pli_failure_look(c->ep->lane);
    return PLI_OK;
}

const struct pli_failure_hooks pli_failure_handlers = {
    .open = open,
    .move = move,
    .is_due = is_due,
    .look = look,
    .is_blocked = is_blocked,
    .meet = pli_fail_ops_meet,
    .judge = pli_failure_judge,
    .explain = pli_failure_explain,
};
