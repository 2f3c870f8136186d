// SPDX-License-Identifier: BSD-3-Clause
// Counts messages, waits and accesses while a tool asks.
#include "msg/statistics.h"

#include "base/clock.h"
#include "boot/boot.h"
#include "msg/endpoint.h"
#include "msg/event.h"
#include "msg/progress.h"
#include "msg/request.h"
#include "msg/unexpected.h"
#include "net/net.h"
#include "obj/comm.h"
#include "obj/impi_span.h"

#include <pthread.h>

static struct pli_statistics all[PLI_NODE_N_LANE];
static _Atomic uint64_t n_access[PLI_STAT_N_RMA], access_bytes[PLI_STAT_N_RMA];
static _Atomic uint32_t n_told; // of pli_statistics_n_checkpoint
static int n_wanted;            // guarded by want_guard
static pthread_mutex_t want_guard = PTHREAD_MUTEX_INITIALIZER;
static struct pli_list marks = { &marks, &marks }; // guarded by mark_guard
static _Atomic int n_mark[PLI_STAT_N_GAUGE];
static pthread_mutex_t mark_guard = PTHREAD_MUTEX_INITIALIZER;

static struct pli_lane *lane_at(int i)
{
    return atomic_load_explicit(&pli_proc.lanes[i], memory_order_acquire);
}

// A checkpoint interrupts a thread wherever it is: it is told of by the next poll.
static int poll(struct pli_poller *p)
{
    struct pli_statistics *s = PLI_CONTAINER(p, struct pli_statistics, poller);
    uint32_t n = atomic_load_explicit(&pli_statistics_n_checkpoint, memory_order_relaxed);
    if (n != atomic_load_explicit(&n_told, memory_order_relaxed) &&
        atomic_exchange(&n_told, n) != n && pli_event_is_wanted(PLI_EVENT_CHECKPOINT)) {
        pli_event_raise(lane_at((int)(s - all)), PLI_EVENT_CHECKPOINT, (int64_t[4]){ n });
    }
    return 0;
}

// Context: lane locked, or not yet in the table.
static void set(struct pli_lane *lane, bool is_on)
{
    struct pli_statistics *s = &all[lane->index];
    if (is_on && lane->statistics == NULL) {
        s->poller.poll = poll;
        pli_list_push(&lane->pollers, &s->poller.link);
        lane->statistics = s;
    } else if (!is_on && lane->statistics != NULL) {
        pli_list_remove(&s->poller.link);
        lane->statistics = NULL;
    }
    pli_lane_set_fast(lane);
}

static int transport_of(const struct pli_conn *c)
{
    int i = 0;
    while (c != NULL && pli_proc.nets[i] != c->ops) {
        i++;
    }
    return c == NULL ? 0 : i + 1 < PLI_STAT_N_TRANSPORT ? i + 1 : PLI_STAT_N_TRANSPORT - 1;
}

static enum pli_stat_peer peer_of(const struct pli_request *r)
{
    const struct pli_conn *c = r->conn;
    if (c == NULL || pli_lane_is_within(r->lane, c)) {
        return PLI_STAT_SAME_PROCESS;
    }
    uint64_t proc = c->key >> 3;
    if (proc >> 32 != (pli_proc.boot->job << 3 >> 3) >> 32) { // a key has lost the top bits
        return PLI_STAT_OTHER_JOB;
    }
    uint32_t row;
    uint64_t whole = pli_proc.boot->job | (uint32_t)proc;
    if (pli_boot.gateway != NULL && pli_impi_span_is_far(whole)) { // its ranks are as if of the job
        return PLI_STAT_OTHER_JOB;
    }
    bool is_here = pli_boot_is_here(pli_proc.boot, whole, &row);
    return is_here ? PLI_STAT_SAME_HOST : PLI_STAT_SAME_JOB;
}

static void sent(const struct pli_request *r, enum pli_stat_protocol p)
{
    struct pli_statistics *s = &all[r->lane->index];
    int t = transport_of(r->conn);
    enum pli_stat_peer peer = peer_of(r);
    s->messages[t][p]++;
    s->bytes[t][p] += r->size;
    s->peer_messages[peer]++;
    s->peer_bytes[peer] += r->size;
    if ((r->item.context & 3) == PLI_CHAN_P2P) {
        r->comm->traffic.sent++;
        r->comm->traffic.sent_bytes += r->size;
    }
}

static void one_copy(const struct pli_request *recv)
{
    struct pli_statistics *s = &all[recv->lane->index];
    int t = transport_of(recv->conn);
    s->messages[t][PLI_STAT_ONE_COPY]++;
    s->bytes[t][PLI_STAT_ONE_COPY] += recv->bytes < recv->size ? recv->bytes : recv->size;
}

static void done(const struct pli_request *r)
{
    struct pli_statistics *s = &all[r->lane->index];
    bool is_received = r->ops->has_peer && (r->flags & PLI_REQ_SEND) == 0 &&
                       (r->state & PLI_REQ_CANCELLED) == 0 && r->source >= 0 &&
                       (r->err == PLI_OK || r->err == PLI_ERR_TRUNC);
    if (!is_received) {
        return;
    }
    uint64_t n = r->bytes < r->size ? r->bytes : r->size;
    s->count[PLI_STAT_RECEIVED]++;
    s->count[PLI_STAT_RECEIVED_BYTES] += n;
    if ((r->item.context & 3) == PLI_CHAN_P2P && r->comm != NULL) {
        r->comm->traffic.received++;
        r->comm->traffic.received_bytes += n;
    }
}

static void raise_marks(enum pli_stat_gauge gauge, uint64_t value)
{
    if (atomic_load_explicit(&n_mark[gauge], memory_order_relaxed) == 0) {
        return;
    }
    pthread_mutex_lock(&mark_guard);
    for (struct pli_list *i = marks.next; i != &marks; i = i->next) {
        struct pli_statistics_mark *m = PLI_CONTAINER(i, struct pli_statistics_mark, link);
        if (m->gauge == gauge && atomic_load_explicit(&m->value, memory_order_relaxed) < value) {
            atomic_store_explicit(&m->value, value, memory_order_relaxed);
        }
    }
    pthread_mutex_unlock(&mark_guard);
}

void pli_statistics_begin_mark(struct pli_statistics_mark *m, enum pli_stat_gauge gauge,
                               uint64_t value)
{
    m->gauge = gauge;
    atomic_store_explicit(&m->value, value, memory_order_relaxed);
    pthread_mutex_lock(&mark_guard);
    pli_list_push(&marks, &m->link);
    atomic_fetch_add(&n_mark[gauge], 1);
    pthread_mutex_unlock(&mark_guard);
}

void pli_statistics_end_mark(struct pli_statistics_mark *m)
{
    pthread_mutex_lock(&mark_guard);
    pli_list_remove(&m->link);
    atomic_fetch_sub(&n_mark[m->gauge], 1);
    pthread_mutex_unlock(&mark_guard);
}

static void posted(const struct pli_endpoint *ep)
{
    raise_marks(PLI_STAT_POSTED, ep->match.posted.n_item);
}

static void kept(const struct pli_unexpected *p)
{
    struct pli_lane *lane = p->ep->lane;
    all[lane->index].count[PLI_STAT_UNEXPECTED]++;
    raise_marks(PLI_STAT_QUEUED, p->ep->match.unexpected.n_item);
    if (pli_event_is_wanted(PLI_EVENT_UNEXPECTED)) {
        const struct pli_match_item *i = &p->item;
        int64_t word[PLI_EVENT_N_WORD] = { i->source, i->tag, (int64_t)p->size,
                                           (int64_t)(i->context & ~(uint64_t)3) };
        pli_event_raise(lane, PLI_EVENT_UNEXPECTED, word);
    }
}

static void held_bytes(const struct pli_lane *lane)
{
    raise_marks(PLI_STAT_HELD_BYTES, lane->held);
}

static void stalled(struct pli_lane *lane)
{
    lane->statistics->count[PLI_STAT_STALLED]++;
}

static int64_t context_of(const struct pli_waiter *w)
{
    const struct pli_comm *comm = w->request != NULL ? w->request->comm : w->comm;
    return comm != NULL ? (int64_t)comm->context : 0;
}

static void wait_begins(struct pli_waiter *w)
{
    w->begin_ns = pli_clock_ns();
    if (pli_event_is_wanted(PLI_EVENT_WAIT_BEGIN)) {
        w->context = context_of(w); // the request may be gone at the end
        pli_event_raise(NULL, PLI_EVENT_WAIT_BEGIN, (int64_t[4]){ w->n_request, w->context });
    }
}

static void wait_ends(struct pli_waiter *w)
{
    uint64_t ns = pli_clock_ns() - w->begin_ns;
    w->begin_ns = 0;
    pli_lock_take(&w->lane->lock);
    all[w->lane->index].count[PLI_STAT_WAITS]++;
    all[w->lane->index].count[PLI_STAT_WAIT_NS] += ns;
    pli_lock_drop(&w->lane->lock);
    if (pli_event_is_wanted(PLI_EVENT_WAIT_END)) {
        int64_t word[PLI_EVENT_N_WORD] = { w->n_request, w->context, (int64_t)ns };
        pli_event_raise(NULL, PLI_EVENT_WAIT_END, word);
    }
}

static void slept(struct pli_lane *lane, uint64_t since_ns)
{
    uint64_t ns = pli_clock_ns() - since_ns;
    pli_lock_take(&lane->lock);
    all[lane->index].count[PLI_STAT_SLEEPS]++;
    all[lane->index].count[PLI_STAT_SLEEP_NS] += ns;
    pli_lock_drop(&lane->lock);
}

static void connected(const struct pli_conn *c)
{
    all[c->lane->index].count[PLI_STAT_CONNECTIONS]++;
    if (pli_event_is_wanted(PLI_EVENT_CONNECT)) {
        pli_event_raise(c->lane, PLI_EVENT_CONNECT, (int64_t[4]){ c->proc, transport_of(c) });
    }
}

static void count_access(enum pli_stat_rma what, uint64_t bytes)
{
    atomic_fetch_add_explicit(&n_access[what], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&access_bytes[what], bytes, memory_order_relaxed);
}

static void open_lane(struct pli_lane *lane)
{
    set(lane, pli_statistics_is_on());
}

static const struct pli_statistics_hooks counting = {
    .open = open_lane,
    .connected = connected,
    .sent = sent,
    .one_copy = one_copy,
    .done = done,
    .posted = posted,
    .kept = kept,
    .held = held_bytes,
    .stalled = stalled,
    .wait_begins = wait_begins,
    .wait_ends = wait_ends,
    .slept = slept,
    .access = count_access,
};

void pli_statistics_hook(void)
{
    atomic_store(&pli_statistics_hooks, &counting);
}

void pli_statistics_want(bool is_wanted)
{
    pthread_mutex_lock(&want_guard);
    pli_statistics_hook();
    n_wanted += is_wanted ? 1 : -1;
    bool is_on = n_wanted > 0;
    if (is_on) {
        atomic_fetch_or(&pli_statistics_asked, PLI_STATISTICS_COUNT);
    } else {
        atomic_fetch_and(&pli_statistics_asked, (uint8_t)~PLI_STATISTICS_COUNT);
    }
    for (int i = 0; i < PLI_NODE_N_LANE; i++) {
        struct pli_lane *lane = lane_at(i);
        if (lane != NULL) {
            pli_lock_take(&lane->lock);
            set(lane, is_on);
            pli_lock_drop(&lane->lock);
        }
    }
    pthread_mutex_unlock(&want_guard);
}

// The sum over the open lanes of a number of each.
static uint64_t sum(uint64_t (*of)(struct pli_lane *lane, const void *arg), const void *arg)
{
    uint64_t n = 0;
    for (int i = 0; i < PLI_NODE_N_LANE; i++) {
        struct pli_lane *lane = lane_at(i);
        if (lane != NULL) {
            pli_lock_take(&lane->lock);
            n += of(lane, arg);
            pli_lock_drop(&lane->lock);
        }
    }
    return n;
}

// A number at an offset in struct pli_statistics.
static uint64_t number_at(struct pli_lane *lane, const void *arg)
{
    return *(const uint64_t *)((const char *)&all[lane->index] + *(const size_t *)arg);
}

static uint64_t sum_of(const uint64_t *first)
{
    size_t at = (size_t)((const char *)first - (const char *)&all[0]);
    return sum(number_at, &at);
}

uint64_t pli_statistics_messages(int transport, int protocol, bool is_bytes)
{
    return sum_of(is_bytes ? &all[0].bytes[transport][protocol]
                           : &all[0].messages[transport][protocol]);
}

uint64_t pli_statistics_peers(int peer, bool is_bytes)
{
    return sum_of(is_bytes ? &all[0].peer_bytes[peer] : &all[0].peer_messages[peer]);
}

uint64_t pli_statistics_count(enum pli_stat_count what)
{
    return sum_of(&all[0].count[what]);
}

uint64_t pli_statistics_rma(enum pli_stat_rma what, bool is_bytes)
{
    return atomic_load(is_bytes ? &access_bytes[what] : &n_access[what]);
}

static uint64_t polls_of(struct pli_lane *lane, const void *arg)
{
    (void)arg;
    return atomic_load_explicit(&lane->n_poll, memory_order_relaxed);
}

uint64_t pli_statistics_polls(void)
{
    return sum(polls_of, NULL);
}

static uint64_t held_of(struct pli_lane *lane, const void *arg)
{
    (void)arg;
    return lane->held;
}

uint64_t pli_statistics_held(void)
{
    return sum(held_of, NULL);
}

static uint64_t requests_of(struct pli_lane *lane, const void *arg)
{
    (void)arg;
    return pli_handle_pool_live(&lane->requests);
}

uint64_t pli_statistics_requests(void)
{
    return sum(requests_of, NULL);
}

static uint64_t connections_of(struct pli_lane *lane, const void *arg)
{
    uint64_t n = 0;
    for (uint32_t b = 0; b < lane->n_bucket; b++) {
        for (const struct pli_conn *c = lane->conns[b]; c != NULL; c = c->next) {
            n += transport_of(c) == *(const int *)arg;
        }
    }
    return n;
}

uint64_t pli_statistics_connections(int transport)
{
    return sum(connections_of, &transport);
}

struct which {
    bool is_posted;
    const struct pli_comm *comm;
};

static uint64_t queue_of(const struct pli_match *m, const struct which *w)
{
    const struct pli_match_table *t = w->is_posted ? &m->posted : &m->unexpected;
    uint64_t n = 0;
    if (w->comm == NULL) {
        return t->n_item;
    }
    for (uint32_t b = 0; b < t->n_bucket; b++) {
        for (const struct pli_match_item *i = t->bucket[b].first; i != NULL; i = i->next) {
            n += (i->context & ~(uint64_t)3) == w->comm->context;
        }
    }
    return n;
}

// The most of a gauge at a lane. Context: lane locked.
static uint64_t most_of(const struct pli_lane *lane, enum pli_stat_gauge gauge)
{
    const struct which w = { .is_posted = gauge == PLI_STAT_POSTED };
    uint64_t most = gauge == PLI_STAT_HELD_BYTES ? lane->held : 0;
    for (uint32_t c = 0; gauge != PLI_STAT_HELD_BYTES && c < lane->n_chunk; c++) {
        for (int i = 0; lane->eps[c] != NULL && i < PLI_LANE_CHUNK; i++) {
            const struct pli_endpoint *ep = lane->eps[c][i];
            uint64_t n = ep != NULL ? queue_of(&ep->match, &w) : 0;
            most = n > most ? n : most;
        }
    }
    return most;
}

uint64_t pli_statistics_gauge(enum pli_stat_gauge gauge)
{
    uint64_t most = 0;
    for (int i = 0; i < PLI_NODE_N_LANE; i++) {
        struct pli_lane *lane = lane_at(i);
        if (lane != NULL) {
            pli_lock_take(&lane->lock);
            uint64_t n = most_of(lane, gauge);
            most = n > most ? n : most;
            pli_lock_drop(&lane->lock);
        }
    }
    return most;
}

static uint64_t queues_of(struct pli_lane *lane, const void *arg)
{
    const struct which *w = arg;
    uint64_t n = 0;
    if (w->comm != NULL) {
        return w->comm->ep->lane == lane ? queue_of(&w->comm->ep->match, w) : 0;
    }
    for (uint32_t c = 0; c < lane->n_chunk; c++) {
        for (int i = 0; lane->eps[c] != NULL && i < PLI_LANE_CHUNK; i++) {
            n += lane->eps[c][i] != NULL ? queue_of(&lane->eps[c][i]->match, w) : 0;
        }
    }
    return n;
}

uint64_t pli_statistics_queue(bool is_posted, const struct pli_comm *comm)
{
    struct which w = { is_posted, comm };
    return sum(queues_of, &w);
}
