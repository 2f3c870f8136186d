// SPDX-License-Identifier: BSD-3-Clause
// Makes intercommunicators: the leader of each group sends an offer, a context and the members of
// its group. The context of the leader with the smaller identity is used.
#include "comm/intercomm.h"

#include "comm/comm_make.h"
#include "comm/leader_exchange.h"
#include "comm/intercomm_impi.h"
#include "msg/process.h"
#include "obj/comm.h"
#include "obj/group_build.h"
#include "obj/group_sets.h"
#include "obj/handle_predefined.h"

#include <stdlib.h>
#include <string.h>

struct offer {
    uint64_t context, local_context;
    struct pli_id leader;
    int32_t high;
    int32_t n_run;
    int64_t is_span; // the group has members in other jobs
    struct pli_group_run runs[];
};

static bool is_before(struct pli_id a, struct pli_id b)
{
    return a.proc < b.proc || (a.proc == b.proc && a.ep < b.ep);
}

bool pli_intercomm_is_low(const struct pli_comm *inter)
{
    return is_before(pli_group_at(inter->group, 0), pli_group_at(inter->remote, 0));
}

// The offer of a leader; group: NULL if the other group knows the members. Freed by the caller.
static enum pli_err make_offer(struct pli_id leader, const struct pli_group *group, int high,
                               struct offer **out, size_t *len_out)
{
    int n = group != NULL && group->size > 0 ? group->n_run : 0;
    size_t len = sizeof(struct offer) + (size_t)n * sizeof(struct pli_group_run);
    struct offer *o = calloc(1, len);
    if (o == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory to describe a group in %d pieces", n);
    }
    o->context = pli_process_context();
    o->local_context = pli_process_context();
    o->leader = leader;
    o->high = high;
    o->n_run = n;
    if (n > 0) {
        memcpy(o->runs, group->runs, (size_t)n * sizeof o->runs[0]);
    }
    *out = o;
    *len_out = len;
    return PLI_OK;
}

// The offer of the other leader, or NULL if it is malformed.
static const struct offer *their_offer(const struct pli_leader_exchange *t)
{
    const struct offer *o = (const struct offer *)t->theirs;
    bool is_good = t->n_theirs >= sizeof *o && o->n_run >= 0 &&
                   t->n_theirs == sizeof *o + (size_t)o->n_run * sizeof o->runs[0];
    if (!is_good) {
        pli_fail(PLI_ERR_OTHER, "the other group is in a different call");
    }
    return is_good ? o : NULL;
}

static enum pli_err their_group(const struct offer *o, struct pli_comm *like,
                                struct pli_group **out)
{
    struct pli_group_build b;
    pli_group_build_init(&b);
    for (int i = 0; i < o->n_run; i++) {
        pli_group_build_add(&b, o->runs[i]);
    }
    return pli_group_build_finish(&b, like->group->session, like->group->me, out);
}

enum pli_err pli_intercomm_check_disjoint(struct pli_group *a, struct pli_group *b)
{
    struct pli_group *both;
    enum pli_err err = pli_group_sets_intersection(a, b, &both);
    if (err != PLI_OK) {
        return err;
    }
    if (both->size > 0) {
        err = pli_fail(PLI_ERR_COMM,
                       "the two groups have %d member%s in common, but must be "
                       "disjoint",
                       both->size, both->size == 1 ? "" : "s");
    }
    pli_group_release(both);
    return err;
}

// Make the communicator from both offers; `group` is the local group.
static enum pli_err build(struct pli_comm *parent, struct pli_group *group,
                          const struct pli_leader_exchange *t, struct pli_comm **out)
{
    const struct offer *mine = (const struct offer *)t->mine;
    const struct offer *theirs = their_offer(t);
    struct pli_group *remote;
    if (theirs == NULL) {
        return PLI_ERR_OTHER;
    }
    enum pli_err err = their_group(theirs, parent, &remote);
    if (err != PLI_OK) {
        return err;
    }
    err = pli_intercomm_check_disjoint(group, remote);
    bool is_low = is_before(mine->leader, theirs->leader);
    if (err == PLI_OK && remote->size > 0 && pli_comm_make_is_member(parent, group)) {
        err = pli_comm_make_inter(parent, group, remote, is_low ? mine->context : theirs->context,
                                  mine->local_context, out);
    }
    pli_group_release(remote);
    return err;
}

static enum pli_err check_leader(const struct pli_comm *local, MPI_Comm h, int far,
                                 struct pli_comm **peer_out)
{
    struct pli_comm *peer = pli_handle_get(h, PLI_KIND_COMM);
    if (peer == NULL) {
        return pli_fail(PLI_ERR_COMM,
                        "argument peer_comm %s, but must be a communicator at the "
                        "leader",
                        pli_handle_why(h, PLI_KIND_COMM));
    }
    if (far < 0 || far >= peer->n_peer) {
        return pli_fail(PLI_ERR_RANK, "argument remote_leader is %d, but %s has %d ranks", far,
                        pli_comm_say(peer), peer->n_peer);
    }
    if (peer->session != local->session) {
        return pli_fail(PLI_ERR_COMM, "local_comm and peer_comm come from different sessions (or "
                                      "one from a session and one from MPI_COMM_WORLD), which "
                                      "cannot be mixed in one call");
    }
    *peer_out = peer;
    return PLI_OK;
}

// The local group is inside this job: all of it get what the leaders exchange, and whether the
// intercommunicator is made by IMPI's rules, since the other group or the leaders' communicator
// spans jobs. If not, it is made here.
static enum pli_err propose(struct pli_comm *local, int leader,
                            const struct pli_intercomm_lead *lead, bool *is_span_out,
                            struct pli_comm **out)
{
    struct offer *offer = NULL;
    struct pli_leader_exchange t;
    size_t len = 0;
    enum pli_err why = lead->why;
    bool is_alone = lead->peer != NULL && lead->peer->is_span;
    if (local->rank == leader && why == PLI_OK) {
        why = make_offer(local->group->me, local->group, 0, &offer, &len);
    }
    enum pli_err err = pli_leader_exchange(local, leader, is_alone ? NULL : lead->peer, lead->far,
                                           lead->setup, offer, len, why, &t);
    free(offer);
    if (err != PLI_OK) {
        return err;
    }
    const struct offer *theirs = t.n_theirs > 0 ? their_offer(&t) : NULL;
    *is_span_out = t.n_theirs == 0 || (theirs != NULL && theirs->is_span);
    err = *is_span_out ? PLI_OK : build(local, local->group, &t, out);
    free(t.mine);
    return err;
}

// The local group spans jobs; its leader tells the other leader, with which it shares a
// communicator inside this job.
static enum pli_err warn_leader(const struct pli_comm *local, int leader,
                                const struct pli_intercomm_lead *lead)
{
    struct offer *offer = NULL;
    struct pli_leader_exchange t;
    size_t len;
    if (local->rank != leader || lead->why != PLI_OK || lead->peer->is_span) {
        return PLI_OK;
    }
    enum pli_err err = make_offer(local->group->me, NULL, 0, &offer, &len);
    if (err == PLI_OK) {
        offer->is_span = true;
        err = pli_leader_exchange_lead(lead->peer, lead->far, lead->setup, offer, len, &t);
        free(t.mine);
        free(offer);
    }
    return err;
}

enum pli_err pli_intercomm_create(struct pli_comm *local, int local_leader, MPI_Comm peer,
                                  int remote_leader, int tag, struct pli_comm **out)
{
    if (local->is_inter) {
        return pli_fail(PLI_ERR_COMM, "argument local_comm is an intercommunicator");
    }
    if (local_leader < 0 || local_leader >= local->size) {
        return pli_fail(PLI_ERR_RANK, "argument local_leader is %d, but %s has %d ranks",
                        local_leader, pli_comm_say(local), local->size);
    }
    // A user's tag is mapped to a number below the library's own.
    int setup = tag <= PLI_TAG_UB + PLI_SETUP_LEADER ? PLI_SETUP_LEADER - tag : INT32_MIN;
    struct pli_intercomm_lead lead = { .far = remote_leader, .tag = tag, .setup = setup };
    if (local->rank == local_leader) {
        lead.why = check_leader(local, peer, remote_leader, &lead.peer);
    }
    bool is_span = local->is_span;
    enum pli_err err = is_span ? warn_leader(local, local_leader, &lead)
                               : propose(local, local_leader, &lead, &is_span, out);
    if (is_span) {
        lead.why = lead.why == PLI_OK ? err : lead.why;
        err = pli_intercomm_impi_create(local, local_leader, &lead, out);
    }
    return err;
}

enum pli_err pli_intercomm_join(struct pli_comm *local, int leader, struct pli_comm *via, int far,
                                enum pli_err why, struct pli_comm **out)
{
    struct offer *offer = NULL;
    size_t len = 0;
    if (local->rank == leader && why == PLI_OK) {
        why = make_offer(local->group->me, local->group, 0, &offer, &len);
    }
    struct pli_leader_exchange t;
    enum pli_err err =
        pli_leader_exchange(local, leader, via, far, PLI_SETUP_LEADER, offer, len, why, &t);
    free(offer);
    if (err == PLI_OK) {
        err = build(local, local->group, &t, out);
        free(t.mine);
    }
    return err;
}

enum pli_err pli_intercomm_refuse(struct pli_comm *via, int far, enum pli_err why)
{
    return pli_leader_exchange_refuse(via, far, PLI_SETUP_LEADER, why);
}

// The first members of an intercommunicator's groups exchange their flags and contexts.
static enum pli_err exchange_offers(struct pli_comm *inter, const struct pli_group *group, int high,
                                    struct pli_leader_exchange *t)
{
    struct offer *offer = NULL;
    size_t len = 0;
    enum pli_err err = make_offer(pli_group_at(inter->group, 0), group, high, &offer, &len);
    if (err == PLI_OK) {
        err = pli_leader_exchange_inter(inter, offer, len, t);
    }
    free(offer);
    return err;
}

enum pli_err pli_intercomm_of_groups(struct pli_comm *inter, struct pli_group *group,
                                     struct pli_comm **out)
{
    if (inter->is_span) {
        return pli_intercomm_impi_of_groups(inter, group, out);
    }
    struct pli_leader_exchange t;
    enum pli_err err = exchange_offers(inter, group, 0, &t);
    if (err == PLI_OK) {
        err = build(inter, group, &t, out);
        free(t.mine);
    }
    return err;
}

enum pli_err pli_intercomm_contexts(struct pli_comm *inter, uint64_t contexts_out[2])
{
    if (inter->is_span) {
        return pli_intercomm_impi_dup(inter, contexts_out);
    }
    struct pli_leader_exchange t;
    enum pli_err err = exchange_offers(inter, NULL, 0, &t);
    if (err != PLI_OK) {
        return err;
    }
    const struct offer *mine = (const struct offer *)t.mine, *theirs = their_offer(&t);
    err = theirs != NULL ? PLI_OK : PLI_ERR_OTHER;
    if (err == PLI_OK) {
        contexts_out[0] = pli_intercomm_is_low(inter) ? mine->context : theirs->context;
        contexts_out[1] = mine->local_context;
    }
    free(t.mine);
    return err;
}

// The members of both groups, in order.
static enum pli_err join(struct pli_comm *inter, bool is_first, struct pli_group **out)
{
    struct pli_group_build b;
    pli_group_build_init(&b);
    const struct pli_group *first = is_first ? inter->group : inter->remote;
    const struct pli_group *second = is_first ? inter->remote : inter->group;
    pli_group_build_add_part(&b, first, 0, 1, first->size);
    pli_group_build_add_part(&b, second, 0, 1, second->size);
    return pli_group_build_finish(&b, inter->group->session, inter->group->me, out);
}

// Both groups gave the same `high`: the one with the smaller leader comes first.
static bool is_first(const struct pli_comm *inter, bool high, bool their_high)
{
    return high != their_high ? !high : pli_intercomm_is_low(inter);
}

static enum pli_err agree_merge(struct pli_comm *inter, bool high, bool *their_high_out,
                                uint64_t *context_out)
{
    struct pli_leader_exchange t;
    enum pli_err err = exchange_offers(inter, NULL, high, &t);
    if (err != PLI_OK) {
        return err;
    }
    const struct offer *mine = (const struct offer *)t.mine, *theirs = their_offer(&t);
    if (theirs != NULL) {
        *their_high_out = theirs->high != 0;
        *context_out = is_first(inter, high, *their_high_out) ? mine->context : theirs->context;
    }
    free(t.mine);
    return theirs != NULL ? PLI_OK : PLI_ERR_OTHER;
}

enum pli_err pli_intercomm_merge(struct pli_comm *inter, int high, struct pli_comm **out)
{
    if (!inter->is_inter) {
        return pli_fail(PLI_ERR_COMM, "argument intercomm is %s, an intracommunicator",
                        pli_comm_say(inter));
    }
    bool their_high = false;
    uint64_t context = 0;
    struct pli_group *group;
    enum pli_err err = inter->is_span
                           ? pli_intercomm_impi_merge(inter, high != 0, &their_high, &context)
                           : agree_merge(inter, high != 0, &their_high, &context);
    if (err == PLI_OK) {
        err = join(inter, is_first(inter, high != 0, their_high), &group);
    }
    if (err == PLI_OK) {
        err = pli_comm_make_child(inter, group, NULL, context, out);
        pli_group_release(group);
    }
    return err;
}
