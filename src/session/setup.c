// SPDX-License-Identifier: BSD-3-Clause
// Makes a communicator of a group that has none yet. Up a binomial tree goes the message that all
// members have called; down it goes the context that the first member made.
//
// The messages use a context that every member computes by itself, from the members, the tag and
// the call, and a private communicator. A member that calls late finds them among its unexpected
// messages. The top bit keeps such contexts apart from those that processes count; messages carry a
// second hash, so two concurrent set-ups are confused only if 126 bits agree.
#include "session/setup.h"

#include "base/clock.h"
#include "boot/boot.h"
#include "comm/comm_make.h"
#include "comm/agree.h"
#include "ft/failure.h"
#include "msg/endpoint.h"
#include "msg/lane.h"
#include "msg/p2p.h"
#include "msg/process.h"
#include "msg/progress.h"
#include "msg/request.h"
#include "obj/comm.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { TAG_UP = 1, TAG_DOWN = 2, N_CHILD = 32 };

// How long after a process has ended the news of its failure is waited for.
static const uint64_t FAILURE_NEWS_NS = 5000000000u;

struct up {
    uint64_t check;
    int32_t why; // enum pli_err of the first error in this part of the tree
    int32_t who; // rank of the member that the error is about, -1: none
};

struct down {
    uint64_t check, context;
    int32_t why, who;
};

struct setup {
    struct pli_comm *comm; // private
    const char *call;
    uint64_t check;
    int32_t why, who;
};

// A wait for messages of members that may have ended.
struct wait {
    struct pli_waiter w; // must be first: find_ended casts it
    const struct pli_group *group;
    struct pli_request *reqs[N_CHILD];
    int ranks[N_CHILD], n;
    int ended;         // index of a member that has ended, -1: none seen
    uint64_t ended_ns; // since when one has, 0: none seen
};

static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

static uint64_t fingerprint(uint64_t h, const struct pli_group *group, const char *tag,
                            const char *call)
{
    for (; *call != '\0'; call++) {
        h = mix(h, (unsigned char)*call);
    }
    for (h = mix(h, 256); *tag != '\0'; tag++) {
        h = mix(h, (unsigned char)*tag);
    }
    h = mix(h, (uint64_t)group->size + 512);
    for (int i = 0; i < group->size; i++) { // equal groups may consist of different runs
        struct pli_id id = pli_group_at(group, i);
        h = mix(mix(h, id.proc), id.ep);
    }
    return mix(h, h >> 32);
}

static void set_error(struct setup *s, int32_t why, int32_t who)
{
    if (s->why == PLI_OK) {
        s->why = why;
        s->who = who;
    }
}

// Whether a member of the group has ended.
static bool has_ended(const struct pli_group *group, int rank)
{
    struct pli_id id = pli_group_at(group, rank);
    return pli_node_job_of(id.proc) == pli_proc.boot->job &&
           pli_node_has_ended(&pli_proc.boot->node, (uint32_t)id.proc);
}

// Whether the news of a failure may still come: a job that goes on after failures tells of them a
// moment after the process has ended.
static bool is_failure_due(struct wait *wait)
{
    uint64_t now = pli_clock_ns();
    wait->ended_ns = wait->ended_ns != 0 ? wait->ended_ns : now;
    return (pli_boot.node.header->mode & PLI_NODE_SURVIVES) != 0 &&
           now - wait->ended_ns < FAILURE_NEWS_NS;
}

static void find_ended(const struct pli_waiter *w)
{
    struct wait *wait = (struct wait *)(uintptr_t)w;
    for (int i = 0; i < wait->n; i++) {
        if (!pli_request_is_done(wait->reqs[i]) && has_ended(wait->group, wait->ranks[i]) &&
            !is_failure_due(wait)) {
            wait->ended = i;
        }
    }
}

// Whether a member failed. The wait then ends; the other members get the same news.
static bool has_failed(const struct setup *s)
{
    return atomic_load_explicit(&s->comm->n_failed, memory_order_relaxed) > 0;
}

// The member that failed first, -1: none.
static int first_failed(const struct setup *s)
{
    uint32_t first = UINT32_MAX;
    int who = -1;
    for (int i = 0; i < s->comm->size; i++) {
        uint32_t at = pli_failure_failed_at(pli_group_at(s->comm->group, i).proc);
        if (at != 0 && at < first) {
            first = at;
            who = i;
        }
    }
    return who;
}

static bool all_done(const struct wait *wait)
{
    for (int i = 0; i < wait->n; i++) {
        if (!pli_request_is_done(wait->reqs[i])) {
            return false;
        }
    }
    return true;
}

// Wait until all messages are here or a sender has ended, and complete or cancel the requests.
// Returns the rank that has ended, or -1.
static int wait_for(struct setup *s, struct wait *wait)
{
    wait->w = (struct pli_waiter){
        .lane = s->comm->ep->lane, .comm = s->comm, .call = s->call, .watch = find_ended
    };
    wait->group = s->comm->group;
    wait->ended = -1;
    wait->ended_ns = 0;
    while (!all_done(wait) && wait->ended < 0 && !has_failed(s)) {
        pli_progress_step(&wait->w);
        if (wait->ended >= 0) {
            // What it sent before it ended is in the mailbox.
            while (pli_progress_once(wait->w.lane) > 0) {
            }
            wait->ended = pli_request_is_done(wait->reqs[wait->ended]) ? -1 : wait->ended;
        }
    }
    pli_progress_end(&wait->w);
    for (int i = 0; i < wait->n; i++) {
        bool is_gone;
        if (!pli_request_is_done(wait->reqs[i])) {
            wait->reqs[i]->ops->cancel(wait->reqs[i]);
            pli_progress_wait(wait->reqs[i]);
        }
        pli_request_report(wait->reqs[i], MPI_STATUS_IGNORE, &is_gone);
    }
    if (has_failed(s)) {
        set_error(s, PLI_ERR_PROC_FAILED, first_failed(s));
    }
    return wait->ended >= 0 ? wait->ranks[wait->ended] : -1;
}

static enum pli_err post_recv(struct setup *s, struct wait *wait, void *buf, size_t len, int rank,
                              int tag)
{
    enum pli_err err = pli_p2p_irecv_on(buf, (MPI_Count)len, pli_comm_make_byte(), rank, tag,
                                        s->comm, PLI_CHAN_SETUP, &wait->reqs[wait->n]);
    if (err == PLI_OK) {
        wait->ranks[wait->n++] = rank;
    }
    return err;
}

static enum pli_err send_to(struct setup *s, const void *buf, size_t len, int rank, int tag)
{
    return pli_p2p_send_on(buf, (MPI_Count)len, pli_comm_make_byte(), rank, tag, s->comm,
                           PLI_CHAN_SETUP, 0);
}

// The children of a rank are rank + 1, 2, 4, ... below the lowest bit of the rank. Returns that
// bit, or for rank 0 the first power of 2 that is not below the size.
static int subtree_span(const struct pli_comm *c)
{
    int bit = 1;
    while (bit < c->size && (c->rank & bit) == 0) {
        bit <<= 1;
    }
    return bit;
}

// Receive from the children, then send to the parent.
static void gather_ready(struct setup *s)
{
    struct pli_comm *c = s->comm;
    struct wait wait = { .n = 0 };
    struct up from[N_CHILD];
    int bit = subtree_span(c);
    for (int d = 1; d < bit && c->rank + d < c->size; d <<= 1) {
        enum pli_err err = post_recv(s, &wait, &from[wait.n], sizeof from[0], c->rank + d, TAG_UP);
        if (err != PLI_OK) {
            set_error(s, err, -1);
            break;
        }
    }
    int ended = wait_for(s, &wait);
    if (ended >= 0) {
        set_error(s, PLI_ERR_PROC_ABORTED, ended);
    }
    for (int i = 0; ended < 0 && s->why == PLI_OK && i < wait.n; i++) {
        set_error(s, from[i].check == s->check ? from[i].why : PLI_ERR_INTERN, from[i].who);
    }
    if (c->rank != 0) {
        struct up up = { s->check, s->why, s->who };
        enum pli_err err = send_to(s, &up, sizeof up, c->rank - bit, TAG_UP);
        set_error(s, err, -1);
    }
}

// Receive the outcome from the parent, then send it to the children.
static uint64_t spread_outcome(struct setup *s)
{
    struct pli_comm *c = s->comm;
    struct down down = { .check = s->check };
    int bit = subtree_span(c);
    if (c->rank == 0) {
        down.context = pli_process_context();
    } else {
        struct wait wait = { .n = 0 };
        enum pli_err err = post_recv(s, &wait, &down, sizeof down, c->rank - bit, TAG_DOWN);
        int ended = err == PLI_OK ? wait_for(s, &wait) : -1;
        set_error(s, ended >= 0 ? PLI_ERR_PROC_ABORTED : err, ended);
        if (s->why == PLI_OK && ended < 0) {
            set_error(s, down.check == s->check ? down.why : PLI_ERR_INTERN, down.who);
        }
    }
    down.check = s->check;
    down.why = s->why;
    down.who = s->who;
    for (int d = bit >> 1; d > 0; d >>= 1) {
        if (c->rank + d < c->size && !has_ended(c->group, c->rank + d)) {
            set_error(s, send_to(s, &down, sizeof down, c->rank + d, TAG_DOWN), -1);
        }
    }
    return down.context;
}

static enum pli_err failure(const struct setup *s, const char *tag)
{
    if (s->why == PLI_ERR_PROC_FAILED) {
        char who[440];
        pli_failure_say_failed(s->comm, who, sizeof who);
        if (who[0] == '\0') { // other members got the news earlier
            snprintf(who, sizeof who, "rank %d died", s->who);
        }
        return pli_fail(PLI_ERR_PROC_FAILED,
                        "no communicator can be made of a group with failed members, without hint "
                        "pliant_skip_failed: %s; the string tag is '%s'",
                        who, tag);
    }
    if (s->why == PLI_ERR_PROC_ABORTED && s->who >= 0 && s->who < s->comm->size) {
        return pli_fail(PLI_ERR_PROC_ABORTED,
                        "member %d of the group (process %u of the job) has ended and cannot take "
                        "part; the string tag is '%s'",
                        s->who, (uint32_t)pli_group_at(s->comm->group, s->who).proc, tag);
    }
    if (s->who < 0 && s->why != PLI_ERR_INTERN) {
        return pli_fail((enum pli_err)s->why, "a member of the group failed: %s",
                        pli_err_text((enum pli_err)s->why));
    }
    return pli_fail(PLI_ERR_INTERN,
                    "a message of another set-up arrived; choose another string "
                    "tag than '%s'",
                    tag);
}

static enum pli_err make_comm(struct pli_group *group, uint64_t context, struct pli_comm **out)
{
    struct pli_endpoint *ep = pli_endpoint_find(group->me.ep);
    if (ep == NULL) {
        return pli_fail(PLI_ERR_GROUP, "the endpoint that the group belongs to was freed");
    }
    enum pli_err err = pli_comm_create(ep, group->me, group, NULL, context, out);
    if (err != PLI_OK) {
        pli_endpoint_release(ep);
    }
    return err;
}

// A private communicator for the messages of the set-up.
static enum pli_err make_private(struct pli_group *group, uint64_t context, const char *tag,
                                 struct pli_comm **out)
{
    enum pli_err err = make_comm(group, (context | (uint64_t)1 << 63) & ~(uint64_t)3, out);
    if (err == PLI_OK) {
        (*out)->is_freed = true;
        snprintf((*out)->name, sizeof(*out)->name, "string tag '%.60s'", tag);
    }
    return err;
}

// How often this process has made a communicator of the survivors of a group, with this tag.
struct use {
    struct use *next;
    uint64_t key;
    uint32_t n;
};

static enum pli_err count_use(uint64_t key, uint32_t *n_out)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct use *uses; // guarded by guard
    pthread_mutex_lock(&lock);
    struct use *t = uses;
    while (t != NULL && t->key != key) {
        t = t->next;
    }
    if (t == NULL && (t = calloc(1, sizeof *t)) != NULL) {
        t->key = key;
        t->next = uses;
        uses = t;
    }
    *n_out = t != NULL ? ++t->n : 0;
    pthread_mutex_unlock(&lock);
    return t != NULL ? PLI_OK : pli_fail(PLI_ERR_NOMEM, "no memory to make a communicator");
}

// The members agree on the survivors as in MPIX_Comm_shrink of a private communicator of the whole
// group. Results of agreements are found by its context, so each call needs another one.
static enum pli_err make_of_survivors(struct pli_group *group, const char *tag, const char *call,
                                      struct pli_comm **out)
{
    struct pli_comm *all;
    uint32_t n = 0;
    uint64_t key = fingerprint(0x13198a2e03707344u, group, tag, call);
    enum pli_err err = count_use(key, &n);
    err = err == PLI_OK ? make_private(group, mix(key, n), tag, &all) : err;
    if (err == PLI_OK) {
        err = pli_agree_shrink_in(all, call, out);
        pli_comm_release(all);
    }
    return err;
}

enum pli_err pli_setup_comm(struct pli_group *group, const char *tag, const char *call,
                            bool skip_failed, struct pli_comm **out)
{
    struct setup s = { .call = call, .who = -1 };
    if (skip_failed && (pli_boot.node.header->mode & PLI_NODE_SURVIVES) != 0) {
        return make_of_survivors(group, tag, call, out);
    }
    uint64_t context = fingerprint(0x243f6a8885a308d3u, group, tag, call);
    s.check = fingerprint(0x452821e638d01377u, group, tag, call);
    enum pli_err err = make_private(group, context, tag, &s.comm);
    if (err != PLI_OK) {
        return err;
    }
    gather_ready(&s);
    context = spread_outcome(&s);
    err = s.why == PLI_OK ? make_comm(group, context, out) : failure(&s, tag);
    pli_comm_release(s.comm);
    return err;
}
