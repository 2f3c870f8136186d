// SPDX-License-Identifier: BSD-3-Clause
// Writes this process's record into its row of the node's memory.
#include "msg/wait_record.h"

#include "base/call_site.h"
#include "base/clock.h"
#include "boot/boot.h"
#include "boot/wait_record_wire.h"
#include "msg/endpoint.h"
#include "msg/lane.h"
#include "msg/unexpected.h"
#include "msg/progress.h"
#include "msg/request.h"
#include "net/shm/shm_wire.h"
#include "obj/comm.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct pli_waiter *pli_wait_record_first; // guarded by list_guard
static pthread_mutex_t list_guard = PTHREAD_MUTEX_INITIALIZER;

static void write_record(struct pli_waiter *w, const char *poll);

static struct pli_node_row *my_row(void)
{
    return &pli_proc.boot->node.rows[pli_proc.boot->row];
}

// The unexpected messages, those of the same communicator first.
static void note_kept(struct pli_node_wait *to, const struct pli_comm *comm)
{
    uint32_t n = 0;
    to->n_kept = 0;
    for (int round = 0; round < 2; round++) {
        struct pli_match_item *i = comm->ep->match.arrival.first;
        for (; i != NULL; i = i->later) {
            bool is_same = (i->context & ~(uint64_t)3) == comm->context;
            if (is_same == (round == 0) && n < PLI_NODE_N_KEPT) {
                struct pli_unexpected *p = PLI_CONTAINER(i, struct pli_unexpected, item);
                to->kept[n++] = (struct pli_node_kept){ i->source, i->tag, i->context, p->size };
            }
            to->n_kept += round == 0;
        }
    }
}

static void note_peer(struct pli_node_wait *to, const struct pli_comm *comm, int peer, int tag)
{
    to->peer = peer;
    to->tag = tag;
    to->peer_index = peer >= 0 && peer < comm->n_peer
                         ? (uint32_t)pli_group_at(comm->remote, peer).proc
                         : UINT32_MAX;
}

static void note_collective(struct pli_node_wait *to, const struct pli_waiter *w)
{
    const struct pli_request *r = w->request;
    const char *call = w->call;
    int root = w->has_root ? w->peer : -1, number = w->tag;
    if (call == NULL) {
        call = r->ops->call != NULL ? r->ops->call(r, &root, &number) : r->ops->name;
    }
    to->peer = root >= 0 ? root : MPI_UNDEFINED;
    to->tag = number;
    snprintf(to->call, sizeof to->call, "%s", call);
}

// Fill a record. Context: the waiter's lane locked.
static uint32_t fill(struct pli_node_wait *to, const struct pli_waiter *w, uint64_t site)
{
    const struct pli_request *r = w->request;
    const struct pli_comm *comm = r != NULL ? r->comm : w->comm;
    uint32_t what = PLI_NODE_WAIT_OTHER;
    *to->comm = *to->call = '\0';
    *to->poll = '\0';
    atomic_store_explicit(&to->answered, 0, memory_order_relaxed);
    to->peer = to->tag = to->rank = MPI_UNDEFINED;
    to->peer_index = UINT32_MAX;
    to->context = to->bytes = 0;
    to->n_kept = 0;
    to->n_request = w->n_request;
    to->site = site;
    to->since_ns = pli_clock_ns() - PLI_PROGRESS_NAP_NS; // a sleep of that length came before
    if (comm != NULL) {
        snprintf(to->comm, sizeof to->comm, "%.*s", (int)sizeof to->comm - 1, comm->name);
        to->context = comm->context;
        to->rank = comm->rank;
        note_kept(to, comm);
    }
    if (r != NULL && r->ops->has_peer) {
        bool is_send = (r->flags & PLI_REQ_SEND) != 0;
        what = is_send ? PLI_NODE_WAIT_SEND : PLI_NODE_WAIT_RECV;
        note_peer(to, comm, is_send ? r->source : r->item.source, r->item.tag);
        to->bytes = r->size;
    } else if (comm != NULL && (w->call != NULL || r != NULL)) {
        what = PLI_NODE_WAIT_COLL;
        note_collective(to, w);
    } else if (comm != NULL && r == NULL) {
        what = PLI_NODE_WAIT_PROBE;
        note_peer(to, comm, w->peer, w->tag);
    }
    return what;
}

static void publish(struct pli_node_wait *to, uint32_t what)
{
    atomic_fetch_add_explicit(&to->seq, 1, memory_order_relaxed);
    atomic_store_explicit(&to->what, what, memory_order_release);
}

static _Atomic bool is_row_taken;               // a thread has its record in the row
static _Atomic uint32_t taken[PLI_NODE_N_LANE]; // bits: records of threads, by lane
_Static_assert(PLI_THREAD_N <= 32, "a bit for each");
_Static_assert(sizeof(struct pli_shm_mailbox) <= PLI_THREAD_AT, "behind the mailbox");

// In a process that was forked only the calling thread is left.
static void forget_parent(void)
{
    static _Atomic int owner;
    int me = (int)getpid(), was = atomic_exchange(&owner, me);
    if (was != me && was != 0) {
        atomic_store(&is_row_taken, false);
        for (int i = 0; i < PLI_NODE_N_LANE; i++) {
            atomic_store(&taken[i], 0);
        }
    }
}

// A free place among the records of the lane's threads, counted from 1; 0: there is none.
static uint8_t take_slot(int lane)
{
    uint32_t bits = atomic_load_explicit(&taken[lane], memory_order_relaxed);
    while (bits != UINT32_MAX) {
        int i = __builtin_ctz(~bits);
        if (atomic_compare_exchange_weak_explicit(&taken[lane], &bits, bits | 1u << i,
                                                  memory_order_acq_rel, memory_order_relaxed)) {
            return (uint8_t)(i + 1);
        }
    }
    return 0;
}

static struct pli_thread_wait *slot_of(const struct pli_waiter *w)
{
    const struct pli_boot *boot = pli_proc.boot;
    return &pli_thread_waits(&boot->node, boot->row, w->lane->index)[w->n_slot - 1];
}

// The first record of a lane: another process may have had the row before. Context: lane locked.
static void begin_lane(struct pli_node_row *row, int lane)
{
    uint64_t bit = (uint64_t)1 << lane;
    if ((atomic_load_explicit(&row->slept, memory_order_relaxed) & bit) == 0) {
        const struct pli_boot *boot = pli_proc.boot;
        memset(pli_thread_waits(&boot->node, boot->row, lane), 0,
               PLI_THREAD_N * sizeof(struct pli_thread_wait));
        atomic_fetch_or_explicit(&row->slept, bit, memory_order_release);
    }
}

static const struct pli_comm *comm_of(const struct pli_waiter *w)
{
    return w->request != NULL ? w->request->comm : w->comm;
}

static struct pli_waiter poller; // stands for the rank while it polls
static bool is_polling;          // its record is there

void pli_wait_record_write(struct pli_waiter *w)
{
    pli_wait_record_end_polling();
    write_record(w, "");
    pthread_mutex_lock(&list_guard);
    w->next_recorded = pli_wait_record_first;
    pli_wait_record_first = w;
    pthread_mutex_unlock(&list_guard);
}

static void unlist(const struct pli_waiter *w)
{
    pthread_mutex_lock(&list_guard);
    struct pli_waiter **at = &pli_wait_record_first;
    while (*at != NULL && *at != w) {
        at = &(*at)->next_recorded;
    }
    if (*at != NULL) {
        *at = w->next_recorded;
    }
    pthread_mutex_unlock(&list_guard);
}

uint32_t pli_wait_record_polling(const struct pli_waiter *w, const char *call)
{
    if (!is_polling) {
        poller = *w;
        write_record(&poller, call);
        poller.request = NULL; // it may be gone when this is looked at again
        poller.comm = NULL;
        is_polling = true;
    }
    return pli_wait_record_question(&poller);
}

void pli_wait_record_answer_polling(uint32_t question)
{
    pli_wait_record_answer(&poller, question);
}

void pli_wait_record_end_polling(void)
{
    if (is_polling) {
        is_polling = false;
        pli_wait_record_erase(&poller);
    }
}

static void write_record(struct pli_waiter *w, const char *poll)
{
    struct pli_node_row *row = my_row();
    const struct pli_comm *comm = comm_of(w);
    uint32_t ep = comm != NULL ? comm->ep->id.ep : 0;
    uint64_t site = pli_call_site();
    uint32_t what = PLI_NODE_WAIT_OTHER;
    bool is_none = false;
    forget_parent();
    w->has_row = atomic_compare_exchange_strong(&is_row_taken, &is_none, true);
    pli_lock_take(&w->lane->lock);
    if (pli_lock_threads || ep != 0) {
        begin_lane(row, w->lane->index);
        w->n_slot = take_slot(w->lane->index);
    }
    struct pli_thread_wait *slot = w->n_slot != 0 ? slot_of(w) : NULL;
    if (w->has_row) {
        what = fill(&row->wait, w, site);
        snprintf(row->wait.poll, sizeof row->wait.poll, "%s", poll);
    }
    if (slot != NULL) {
        what = fill(&slot->wait, w, site);
        slot->tid = (uint32_t)gettid();
        slot->ep = ep;
        *slot->site = '\0';
    }
    pli_lock_drop(&w->lane->lock);
    if (slot != NULL) {
        publish(&slot->wait, what);
    }
    if (w->has_row) {
        publish(&row->wait, what);
    }
}

// The record that the launcher reads; NULL: there was no place for one.
static struct pli_node_wait *record_of(const struct pli_waiter *w)
{
    return w->n_slot != 0 ? &slot_of(w)->wait : w->has_row ? &my_row()->wait : NULL;
}

uint32_t pli_wait_record_question(const struct pli_waiter *w)
{
    const struct pli_node_header *h = pli_proc.boot->node.header;
    const struct pli_node_wait *r = record_of(w);
    uint32_t q = atomic_load_explicit(&h->question, memory_order_acquire);
    return r == NULL || atomic_load_explicit(&r->answered, memory_order_relaxed) == q ? 0 : q;
}

void pli_wait_record_answer(struct pli_waiter *w, uint32_t question)
{
    atomic_store_explicit(&record_of(w)->answered, question, memory_order_release);
}

void pli_wait_record_erase(struct pli_waiter *w)
{
    struct pli_node_row *row = my_row();
    unlist(w);
    if (w->n_slot != 0) {
        atomic_store_explicit(&slot_of(w)->wait.what, PLI_NODE_AWAKE, memory_order_release);
        atomic_fetch_and_explicit(&taken[w->lane->index], ~(1u << (w->n_slot - 1)),
                                  memory_order_acq_rel);
        w->n_slot = 0;
    }
    if (w->has_row) {
        atomic_store_explicit(&row->wait.what, PLI_NODE_AWAKE, memory_order_release);
        w->has_row = false;
        atomic_store_explicit(&is_row_taken, false, memory_order_release);
    }
}
