// SPDX-License-Identifier: BSD-3-Clause
// The first contact of a group: up a binomial tree that everybody is there, down it the context
// that the first member made.
//
// The messages travel on a context that every member computes by itself, from the members, the tag
// and the call, over a communicator that nobody but this file sees. A member that comes late finds
// them among its unexpected messages. The top bit keeps such contexts apart from those that
// processes count; messages carry a second hash, so two set-ups mix only if 126 bits agree.
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

// How long after the end of a process its death is still expected to be told.
static const uint64_t DEATH_NS = 5000000000u;

struct up {
    uint64_t check;
    int32_t why; // enum pli_err of the first trouble below
    int32_t who; // rank of the member it is about, -1: nobody
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

// Requests to members that may have ended.
struct wait {
    struct pli_waiter w; // first: the watch gets it
    const struct pli_group *group;
    struct pli_request *reqs[N_CHILD];
    int ranks[N_CHILD], n;
    int gone;          // index of a member that has ended, -1: none seen
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
    for (int i = 0; i < group->size; i++) { // equal groups may be cut into different runs
        struct pli_id id = pli_group_at(group, i);
        h = mix(mix(h, id.proc), id.ep);
    }
    return mix(h, h >> 32);
}

static void note(struct setup *s, int32_t why, int32_t who)
{
    if (s->why == PLI_OK) {
        s->why = why;
        s->who = who;
    }
}

// Whether a member of the group is gone for good.
static bool has_ended(const struct pli_group *group, int rank)
{
    struct pli_id id = pli_group_at(group, rank);
    return (id.proc & ~(uint64_t)UINT32_MAX) == pli_proc.boot->job &&
           pli_node_has_ended(&pli_proc.boot->node, (uint32_t)id.proc);
}

// Where a job survives deaths, these are told a moment after a process has ended.
static bool may_have_died(struct wait *wait)
{
    uint64_t now = pli_clock_ns();
    wait->ended_ns = wait->ended_ns != 0 ? wait->ended_ns : now;
    return (pli_boot.node.header->mode & PLI_NODE_SURVIVES) != 0 && now - wait->ended_ns < DEATH_NS;
}

static void look(const struct pli_waiter *w)
{
    struct wait *wait = (struct wait *)(uintptr_t)w;
    for (int i = 0; i < wait->n; i++) {
        if (!pli_request_is_done(wait->reqs[i]) && has_ended(wait->group, wait->ranks[i]) &&
            !may_have_died(wait)) {
            wait->gone = i;
        }
    }
}

// Whether a member died: nobody waits for the others then, who find out by themselves.
static bool has_failed(const struct setup *s)
{
    return atomic_load_explicit(&s->comm->n_failed, memory_order_relaxed) > 0;
}

// The member that died first, -1: none.
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

// Until all messages are here or a sender is gone; the requests are over then. The rank that is
// gone, or -1.
static int wait_for(struct setup *s, struct wait *wait)
{
    wait->w = (struct pli_waiter){
        .lane = s->comm->ep->lane, .comm = s->comm, .call = s->call, .watch = look
    };
    wait->group = s->comm->group;
    wait->gone = -1;
    wait->ended_ns = 0;
    while (!all_done(wait) && wait->gone < 0 && !has_failed(s)) {
        pli_progress_step(&wait->w);
        if (wait->gone >= 0) {
            // What it sent before its end is in the mailbox.
            while (pli_progress_once(wait->w.lane) > 0) {
            }
            wait->gone = pli_request_is_done(wait->reqs[wait->gone]) ? -1 : wait->gone;
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
        note(s, PLI_ERR_PROC_FAILED, first_failed(s));
    }
    return wait->gone >= 0 ? wait->ranks[wait->gone] : -1;
}

static enum pli_err expect(struct setup *s, struct wait *wait, void *buf, size_t len, int rank,
                           int tag)
{
    enum pli_err err = pli_p2p_irecv_on(buf, (MPI_Count)len, pli_comm_make_byte(), rank, tag,
                                        s->comm, PLI_CHAN_SETUP, &wait->reqs[wait->n]);
    if (err == PLI_OK) {
        wait->ranks[wait->n++] = rank;
    }
    return err;
}

static enum pli_err tell(struct setup *s, const void *buf, size_t len, int rank, int tag)
{
    return pli_p2p_send_on(buf, (MPI_Count)len, pli_comm_make_byte(), rank, tag, s->comm,
                           PLI_CHAN_SETUP, 0);
}

// My children are rank + 1, 2, 4, ... below my lowest bit. Returns that bit, or what covers all.
static int reach(const struct pli_comm *c)
{
    int bit = 1;
    while (bit < c->size && (c->rank & bit) == 0) {
        bit <<= 1;
    }
    return bit;
}

// Hear from the members below me, then tell the one above.
static void go_up(struct setup *s)
{
    struct pli_comm *c = s->comm;
    struct wait wait = { .n = 0 };
    struct up from[N_CHILD];
    int bit = reach(c);
    for (int d = 1; d < bit && c->rank + d < c->size; d <<= 1) {
        enum pli_err err = expect(s, &wait, &from[wait.n], sizeof from[0], c->rank + d, TAG_UP);
        if (err != PLI_OK) {
            note(s, err, -1);
            break;
        }
    }
    int gone = wait_for(s, &wait);
    if (gone >= 0) {
        note(s, PLI_ERR_PROC_ABORTED, gone);
    }
    for (int i = 0; gone < 0 && s->why == PLI_OK && i < wait.n; i++) {
        note(s, from[i].check == s->check ? from[i].why : PLI_ERR_INTERN, from[i].who);
    }
    if (c->rank != 0) {
        struct up up = { s->check, s->why, s->who };
        enum pli_err err = tell(s, &up, sizeof up, c->rank - bit, TAG_UP);
        note(s, err, -1);
    }
}

// Hear the outcome from the member above me, then tell those below.
static uint64_t go_down(struct setup *s)
{
    struct pli_comm *c = s->comm;
    struct down down = { .check = s->check };
    int bit = reach(c);
    if (c->rank == 0) {
        down.context = pli_process_context();
    } else {
        struct wait wait = { .n = 0 };
        enum pli_err err = expect(s, &wait, &down, sizeof down, c->rank - bit, TAG_DOWN);
        int gone = err == PLI_OK ? wait_for(s, &wait) : -1;
        note(s, gone >= 0 ? PLI_ERR_PROC_ABORTED : err, gone);
        if (s->why == PLI_OK && gone < 0) {
            note(s, down.check == s->check ? down.why : PLI_ERR_INTERN, down.who);
        }
    }
    down.check = s->check;
    down.why = s->why;
    down.who = s->who;
    for (int d = bit >> 1; d > 0; d >>= 1) {
        if (c->rank + d < c->size && !has_ended(c->group, c->rank + d)) {
            note(s, tell(s, &down, sizeof down, c->rank + d, TAG_DOWN), -1);
        }
    }
    return down.context;
}

static enum pli_err failure(const struct setup *s, const char *tag)
{
    if (s->why == PLI_ERR_PROC_FAILED) {
        char who[440];
        pli_failure_say_failed(s->comm, who, sizeof who);
        if (who[0] == '\0') { // others have heard of it before
            snprintf(who, sizeof who, "rank %d died", s->who);
        }
        return pli_fail(PLI_ERR_PROC_FAILED,
                        "no communicator can be made of a group with dead members, without hint "
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

static enum pli_err make(struct pli_group *group, uint64_t context, struct pli_comm **out)
{
    struct pli_endpoint *ep = pli_endpoint_find(group->me.ep);
    if (ep == NULL) {
        return pli_fail(PLI_ERR_GROUP, "the endpoint that the group belongs to is gone");
    }
    enum pli_err err = pli_comm_create(ep, group->me, group, NULL, context, out);
    if (err != PLI_OK) {
        pli_endpoint_release(ep);
    }
    return err;
}

// A communicator for messages of the set-up, which nobody else has a handle of.
static enum pli_err make_private(struct pli_group *group, uint64_t context, const char *tag,
                                 struct pli_comm **out)
{
    enum pli_err err = make(group, (context | (uint64_t)1 << 63) & ~(uint64_t)3, out);
    if (err == PLI_OK) {
        (*out)->is_freed = true;
        snprintf((*out)->name, sizeof(*out)->name, "string tag '%.60s'", tag);
    }
    return err;
}

// How often this process has made a communicator of the living of a group, with a tag.
struct turn {
    struct turn *next;
    uint64_t key;
    uint32_t n;
};

static enum pli_err count_turn(uint64_t key, uint32_t *n_out)
{
    static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
    static struct turn *turns; // guarded by guard
    pthread_mutex_lock(&guard);
    struct turn *t = turns;
    while (t != NULL && t->key != key) {
        t = t->next;
    }
    if (t == NULL && (t = calloc(1, sizeof *t)) != NULL) {
        t->key = key;
        t->next = turns;
        turns = t;
    }
    *n_out = t != NULL ? ++t->n : 0;
    pthread_mutex_unlock(&guard);
    return t != NULL ? PLI_OK : pli_fail(PLI_ERR_NOMEM, "no memory to make a communicator");
}

// Who lives is agreed on as by MPIX_Comm_shrink, of a communicator of the whole group that nobody
// uses. Results of agreements are found by its context, so each call has another one.
static enum pli_err make_of_living(struct pli_group *group, const char *tag, const char *call,
                                   struct pli_comm **out)
{
    struct pli_comm *all;
    uint32_t n = 0;
    uint64_t key = fingerprint(0x13198a2e03707344u, group, tag, call);
    enum pli_err err = count_turn(key, &n);
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
        return make_of_living(group, tag, call, out);
    }
    uint64_t context = fingerprint(0x243f6a8885a308d3u, group, tag, call);
    s.check = fingerprint(0x452821e638d01377u, group, tag, call);
    enum pli_err err = make_private(group, context, tag, &s.comm);
    if (err != PLI_OK) {
        return err;
    }
    go_up(&s);
    context = go_down(&s);
    err = s.why == PLI_OK ? make(group, context, out) : failure(&s, tag);
    pli_comm_release(s.comm);
    return err;
}
