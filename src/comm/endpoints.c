// SPDX-License-Identifier: BSD-3-Clause
// Creates endpoint communicators. Each process makes its endpoints before it announces them, so
// that no message can arrive before the endpoint it is for.
#include "comm/endpoints.h"

#include "base/log.h"
#include "base/memory.h"
#include "boot/boot.h"
#include "coll/coll.h"
#include "comm/comm_make.h"
#include "comm/intercomm.h"
#include "ft/failure.h"
#include "msg/endpoint.h"
#include "msg/lane.h"
#include "msg/process.h"
#include "comm/endpoint_static.h"
#include "obj/attr_predefined.h"
#include "obj/comm.h"
#include "obj/comm_hint.h"
#include "obj/datatype.h"
#include "obj/errhandler.h"
#include "obj/group_build.h"
#include "obj/info.h"

#include <limits.h>
#include <stdlib.h>

// What a member of the parent communicator sends to the others.
struct offer {
    uint64_t context; // proposed; the first member's counts
    int32_t n;        // endpoints
    int32_t why;      // enum pli_err: why it cannot take part
    uint32_t first;   // numbers of those that are new
    uint16_t n_lane;
    uint8_t has_own;   // the first endpoint is the parent's and not new
    uint8_t is_ranked; // their ranks are chosen
};

// What all members have sent: those of the local and, of an intercommunicator, the remote group.
struct offers {
    struct offer *near, *far; // far: NULL of an intracommunicator
    uint64_t context, local_context;
    int *ranks; // the chosen ranks of all endpoints, by member and index; NULL: in that order
};

// Lanes to spread the endpoints over: all, unless a hint says fewer.
static int lanes_wanted(struct pli_info *info)
{
    const char *text = pli_info_find(info, "pliant_num_lanes");
    if (text == NULL) {
        return PLI_NODE_N_LANE;
    }
    char *end;
    long n = strtol(text, &end, 10);
    if (end == text || *end != '\0' || n < 1 || n > PLI_NODE_N_LANE) {
        pli_log(PLI_WARN, "hint pliant_num_lanes=%s is not a number from 1 to %d and is not used",
                text, PLI_NODE_N_LANE);
        return PLI_NODE_N_LANE;
    }
    return (int)n;
}

static void release_all(struct pli_endpoint **eps, int n)
{
    for (int i = 0; eps != NULL && i < n; i++) {
        pli_endpoint_release(eps[i]);
    }
    free(eps);
}

// The memory of an endpoint and its handle, and after how many the free memory is checked again.
enum { BYTES_EACH = 1024, LOOK_EVERY = 16384 };

// Refuse numbers for which the kernel would run out of memory and kill processes. Other processes
// allocate at the same time, so this is checked again on the way.
static enum pli_err check_memory(int n, uint32_t n_left)
{
    uint64_t need = (uint64_t)n_left * BYTES_EACH, left = pli_memory_left();
    return need < left
               ? PLI_OK
               : pli_fail(PLI_ERR_NOMEM,
                          "%d endpoints need about %llu MiB, and %llu MiB of memory are free; ask "
                          "for fewer of them",
                          n, (unsigned long long)((uint64_t)n * BYTES_EACH >> 20),
                          (unsigned long long)(left >> 20));
}

// Allocate the handles before the endpoints are announced: after that nothing may fail.
static enum pli_err reserve_handles(int n, bool is_inter)
{
    size_t n_comm = is_inter ? 2 * (size_t)n : (size_t)n, n_group = is_inter ? 3 * n_comm : n_comm;
    return pli_handle_reserve(sizeof(struct pli_comm), n_comm) &&
                   pli_handle_reserve(sizeof(struct pli_group), n_group + 2)
               ? PLI_OK
               : pli_fail(PLI_ERR_NOMEM, "no memory for the handles of %d endpoints", n);
}

// Make the endpoints of this process; on failure none are left.
static enum pli_err make_eps(struct pli_comm *parent, struct offer *mine,
                             struct pli_endpoint ***out)
{
    uint32_t n_new = (uint32_t)(mine->n - mine->has_own);
    enum pli_err err = n_new >= LOOK_EVERY ? check_memory(mine->n, n_new) : PLI_OK;
    struct pli_endpoint **eps =
        err == PLI_OK ? calloc((size_t)mine->n + 1, sizeof(struct pli_endpoint *)) : NULL;
    if (err == PLI_OK && eps == NULL) {
        err = pli_fail(PLI_ERR_NOMEM, "no memory for %d endpoints", mine->n);
    }
    if (err == PLI_OK) {
        err = pli_endpoint_number(n_new, mine->n_lane, &mine->first);
    }
    if (err == PLI_OK) {
        err = reserve_handles(mine->n, parent->is_inter);
    }
    for (uint32_t i = 0; i < n_new && err == PLI_OK; i++) {
        if (i % LOOK_EVERY == LOOK_EVERY - 1 &&
            (err = check_memory(mine->n, n_new - i)) != PLI_OK) {
            break;
        }
        err = pli_endpoint_create(pli_endpoint_nth(mine->first, mine->n_lane, i),
                                  &eps[mine->has_own + i]);
    }
    if (err == PLI_OK && mine->has_own) {
        eps[0] = pli_endpoint_retain(parent->ep);
    }
    if (err != PLI_OK) {
        release_all(eps, mine->n);
        return err;
    }
    *out = eps;
    return PLI_OK;
}

// Whether all members call the same function.
static enum pli_err check_ranked(const struct offer *offers, const struct pli_comm *parent)
{
    for (int i = 1; i < parent->size; i++) {
        if (offers[i].is_ranked != offers[0].is_ranked) {
            return pli_fail(PLI_ERR_ARG,
                            "ranks 0 and %d of %s do not both choose the ranks of their endpoints",
                            i, pli_comm_say(parent));
        }
    }
    return PLI_OK;
}

// Whether all members of one group can take part and their endpoints are not too many. me: the
// caller's rank in it, whose own error was reported already; -1: the remote group.
static enum pli_err check(const struct offer *offers, int n, int me, const struct pli_comm *parent,
                          int64_t *total_out)
{
    int64_t total = 0;
    for (int i = 0; i < n; i++) {
        total += offers[i].n;
        if (offers[i].why != PLI_OK && i != me) {
            return pli_fail((enum pli_err)offers[i].why,
                            "rank %d of %s%s could not make its endpoints: %s", i,
                            me < 0 ? "the other group of " : "", pli_comm_say(parent),
                            pli_err_text((enum pli_err)offers[i].why));
        }
    }
    *total_out = total;
    return total <= INT_MAX
               ? PLI_OK
               : pli_fail(PLI_ERR_ARG,
                          "%lld endpoints in all are more than a communicator can have",
                          (long long)total);
}

static enum pli_err check_all(const struct offers *all, const struct pli_comm *parent)
{
    int64_t n_near = 0, n_far = 0;
    enum pli_err err = check(all->near, parent->size, parent->rank, parent, &n_near);
    if (err == PLI_OK && all->far != NULL) {
        err = check(all->far, parent->n_peer, -1, parent, &n_far);
        if (err == PLI_OK && (n_near == 0) != (n_far == 0)) {
            err = pli_fail(PLI_ERR_ARG,
                           "one of the two groups of %s asks for endpoints and the other for none: "
                           "there would be no rank to send to",
                           pli_comm_say(parent));
        }
    }
    return err == PLI_OK && all->far == NULL ? check_ranked(all->near, parent) : err;
}

// Gather the ranks that all members choose. One that has no memory for them lets all fail.
static enum pli_err gather_ranks(struct pli_comm *parent, const int *mine, struct offers *all)
{
    struct pli_datatype *type = pli_datatype_basic(MPI_INT);
    struct pli_op *min = pli_handle_get(MPI_MIN, PLI_KIND_OP);
    int *counts = malloc(2 * (size_t)parent->size * sizeof *counts), *at = counts + parent->size;
    int total = 0, all_good = 0;
    for (int i = 0; i < parent->size && counts != NULL; i++) {
        counts[i] = all->near[i].n;
        at[i] = total;
        total += counts[i];
    }
    all->ranks = malloc(((size_t)total + 1) * sizeof *all->ranks);
    int is_good = counts != NULL && all->ranks != NULL;
    enum pli_err err = pli_coll_allreduce(&is_good, &all_good, 1, type, min, parent);
    if (err == PLI_OK && !all_good) {
        err = pli_fail(PLI_ERR_NOMEM, "%s has no memory for the ranks of all endpoints",
                       is_good ? "another process" : "this process");
    }
    if (err == PLI_OK) {
        const struct pli_ints n = { .data = counts }, where = { .data = at };
        err = pli_coll_allgatherv(mine, counts[parent->rank], type, all->ranks, n, where, type,
                                  parent);
    }
    free(counts);
    return err;
}

static void add_run(struct pli_group_build *b, uint64_t proc, uint32_t first, int step, int n)
{
    pli_group_build_add(
        b, (struct pli_group_run){ .first = { proc, first }, .ep_step = step, .n = n });
}

// The group of the endpoints that these offers announce.
static enum pli_err make_group(const struct offer *offers, const struct pli_group *of,
                               const struct pli_comm *parent, struct pli_group **out)
{
    struct pli_group_build b;
    pli_group_build_init(&b);
    for (int i = 0; i < of->size; i++) {
        uint64_t proc = pli_group_at(of, i).proc;
        int n = offers[i].n - offers[i].has_own, width = offers[i].n_lane;
        if (offers[i].has_own) {
            pli_group_build_add_id(&b, pli_group_at(of, i));
        }
        if (width == PLI_NODE_N_LANE && n > 0) {
            add_run(&b, proc, offers[i].first, 1, n);
        } else if (width == 1 && n > 0) {
            add_run(&b, proc, offers[i].first, PLI_NODE_N_LANE, n);
        } else {
            for (int at = 0; at < n; at += width) {
                add_run(&b, proc, pli_endpoint_nth(offers[i].first, width, (uint32_t)at), 1,
                        n - at < width ? n - at : width);
            }
        }
    }
    return pli_group_build_finish(&b, parent->session, parent->group->me, out);
}

// The same in the order of the chosen ranks. All members find the same mistakes.
static enum pli_err make_ranked_group(const struct offers *all, const struct pli_comm *parent,
                                      struct pli_group **out)
{
    int total = 0, k = 0;
    for (int i = 0; i < parent->size; i++) {
        total += all->near[i].n;
    }
    struct pli_id *ids = calloc((size_t)total + 1, sizeof *ids);
    unsigned char *is_taken = calloc((size_t)total + 1, 1);
    enum pli_err err = ids != NULL && is_taken != NULL
                           ? PLI_OK
                           : pli_fail(PLI_ERR_NOMEM, "no memory for %d endpoints", total);
    for (int i = 0; i < parent->size && err == PLI_OK; i++) {
        const struct offer *o = &all->near[i];
        uint64_t proc = pli_group_at(parent->group, i).proc;
        for (int e = 0; e < o->n && err == PLI_OK; e++, k++) {
            int rank = all->ranks[k];
            if (rank < 0 || rank >= total || is_taken[rank]) {
                err = pli_fail(PLI_ERR_RANK, "ranks[%d] at rank %d of %s is %d; %s", e, i,
                               pli_comm_say(parent), rank,
                               rank < 0 || rank >= total
                                   ? "it must be less than the number of all endpoints, and not "
                                     "negative"
                                   : "another endpoint has this rank");
                break;
            }
            is_taken[rank] = 1;
            ids[rank] = (struct pli_id){ proc, pli_endpoint_nth(o->first, o->n_lane, (uint32_t)e) };
        }
    }
    struct pli_group_build b;
    pli_group_build_init(&b);
    for (int r = 0; r < total && err == PLI_OK; r++) {
        pli_group_build_add_id(&b, ids[r]);
    }
    free(ids);
    free(is_taken);
    if (err != PLI_OK) {
        pli_group_build_fini(&b);
        return err;
    }
    return pli_group_build_finish(&b, parent->session, parent->group->me, out);
}

// The number of endpoints of a group that are on this host.
static int64_t count_here(const struct offer *offers, const struct pli_group *of)
{
    int64_t n = 0;
    for (int i = 0; offers != NULL && i < of->size; i++) {
        uint32_t row;
        n += pli_boot_is_here(pli_proc.boot, pli_group_at(of, i).proc, &row) ? offers[i].n : 0;
    }
    return n;
}

// Whether the endpoints on this host outnumber its cores.
static bool is_oversubscribed(const struct offers *all, const struct pli_comm *parent)
{
    return count_here(all->near, parent->group) + count_here(all->far, parent->remote) >
           pli_proc.boot->node.header->n_core;
}

// What all handles that one call makes have in common.
struct shape {
    struct pli_comm *parent;
    struct pli_group *group, *remote; // remote: NULL of an intracommunicator
    uint64_t context, local_context;
    uint32_t hints;
};

// One handle; takes the endpoint over on success.
static enum pli_err make_comm(const struct shape *s, struct pli_endpoint *ep, struct pli_comm **out)
{
    struct pli_comm *c, *local = NULL;
    enum pli_err err = PLI_OK;
    if (s->remote != NULL) {
        pli_endpoint_retain(ep);
        err = pli_comm_create(ep, ep->id, s->group, NULL, s->local_context, &local);
        if (err != PLI_OK) {
            pli_endpoint_release(ep);
            return err;
        }
    }
    err = pli_comm_create(ep, ep->id, s->group, s->remote, s->context, &c);
    if (err != PLI_OK) {
        pli_comm_release(local);
        return err;
    }
    pli_errhandler_release(c->errhandler);
    c->errhandler = pli_errhandler_of(&s->parent->obj);
    c->session = s->parent->session;
    c->hints = s->hints;
    if (local != NULL) {
        pli_errhandler_release(local->errhandler);
        local->errhandler = pli_errhandler_of(&s->parent->obj);
        pli_comm_adopt(c, local);
        pli_failure_begin(local);
    }
    *out = c;
    return PLI_OK;
}

// Make one handle for every endpoint of this process; takes the endpoints over.
static enum pli_err make_comms(const struct shape *s, struct pli_endpoint **eps, int n,
                               struct pli_comm *out[])
{
    enum pli_err err = PLI_OK;
    int made = 0;
    for (; made < n && err == PLI_OK; made += err == PLI_OK) {
        err = make_comm(s, eps[made], &out[made]);
        if (err == PLI_OK) {
            eps[made] = NULL; // now it belongs to the communicator
        }
    }
    for (int i = 0; err != PLI_OK && i < made; i++) {
        pli_comm_release(out[i]);
    }
    return err;
}

static enum pli_err build(struct pli_comm *parent, const struct offers *all, uint32_t hints,
                          struct pli_endpoint **eps, struct pli_comm *out[])
{
    int n = all->near[parent->rank].n;
    struct shape s = { .parent = parent,
                       .context = all->context,
                       .local_context = all->local_context,
                       .hints = hints };
    enum pli_err err = PLI_OK;
    if (all->ranks != NULL) { // also without endpoints here: all members find the same mistakes
        err = make_ranked_group(all, parent, &s.group);
    } else if (n > 0) {
        err = make_group(all->near, parent->group, parent, &s.group);
    }
    if (n == 0 || err != PLI_OK) {
        pli_group_release(s.group);
        return err;
    }
    if (is_oversubscribed(all, parent)) {
        for (int i = 0; i < n; i++) {
            eps[i]->is_crowding = true;
        }
        atomic_fetch_add_explicit(&pli_proc.n_oversubscribed, n, memory_order_relaxed);
    }
    if (all->far != NULL) {
        err = make_group(all->far, parent->remote, parent, &s.remote);
    }
    if (err == PLI_OK) {
        err = make_comms(&s, eps, n, out);
    }
    pli_group_release(s.group);
    pli_group_release(s.remote);
    return err;
}

// Exchange the offers of all members, and the contexts of the new communicator.
static enum pli_err exchange(struct pli_comm *parent, const struct offer *mine, struct offers *all)
{
    struct pli_datatype *byte = pli_comm_make_byte();
    uint64_t contexts[2] = { 0, 0 };
    enum pli_err err = parent->is_inter ? pli_intercomm_contexts(parent, contexts) : PLI_OK;
    struct pli_comm *near = parent->is_inter ? parent->local : parent;
    if (err == PLI_OK) {
        err = pli_coll_allgather(mine, sizeof *mine, byte, all->near, sizeof *mine, byte, near);
    }
    if (err == PLI_OK && parent->is_inter) { // each group gets the other's
        err = pli_coll_allgather(mine, sizeof *mine, byte, all->far, sizeof *mine, byte, parent);
    }
    if (err == PLI_OK) {
        all->context = parent->is_inter ? contexts[0] : all->near[0].context;
        all->local_context = contexts[1];
    }
    return err;
}

static enum pli_err create(struct pli_comm *parent, struct offer mine, const int *ranks,
                           uint32_t hints, enum pli_err why, struct pli_comm *out[])
{
    struct pli_endpoint **eps = NULL;
    size_t n_far = parent->is_inter ? (size_t)parent->n_peer : 0;
    struct offers all = { .near = malloc(((size_t)parent->size + n_far) * sizeof(struct offer)) };
    if (all.near == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory to hear of the endpoints of %d ranks",
                        parent->size);
    }
    all.far = parent->is_inter ? all.near + parent->size : NULL;
    if (why == PLI_OK) {
        why = make_eps(parent, &mine, &eps);
    }
    if (why != PLI_OK) {
        mine.n = mine.has_own = 0;
    }
    mine.why = why;
    mine.context = parent->rank == 0 && !parent->is_inter ? pli_process_context() : 0;
    enum pli_err err = exchange(parent, &mine, &all);
    if (err == PLI_OK) {
        err = why != PLI_OK ? why : check_all(&all, parent);
    }
    if (err == PLI_OK && mine.is_ranked) {
        err = gather_ranks(parent, ranks, &all);
    }
    if (err == PLI_OK) {
        err = build(parent, &all, hints, eps, out);
    }
    release_all(eps, mine.n); // those that no communicator took
    free(all.ranks);
    free(all.near);
    return err;
}

// The hints that the new communicators have, as bits: see comm_hint.h.
static uint32_t hints_of(struct pli_info *info, int n_lane)
{
    struct pli_comm c = { .hints = 0 };
    pli_comm_hint_set(&c, info);
    bool is_given = pli_info_find(info, "pliant_num_lanes") != NULL;
    return c.hints | (is_given ? (uint32_t)n_lane << PLI_HINT_LANES_AT : 0);
}

enum pli_err pli_endpoints_create(struct pli_comm *parent, int n, struct pli_info *info,
                                  enum pli_err why, struct pli_comm *out[])
{
    if (parent->is_span) {
        return pli_comm_refuse_span(parent, "endpoints");
    }
    struct offer mine = { .n = n, .n_lane = (uint16_t)lanes_wanted(info) };
    return create(parent, mine, NULL, hints_of(info, mine.n_lane), why, out);
}

enum pli_err pli_endpoints_create_ranked(struct pli_comm *parent, int n, const int ranks[],
                                         struct pli_info *info, enum pli_err why,
                                         struct pli_comm *out[])
{
    if (parent->is_span) {
        return pli_comm_refuse_span(parent, "endpoints");
    }
    if (parent->is_inter) {
        return pli_fail(PLI_ERR_COMM,
                        "%s is an intercommunicator; the ranks of its endpoints "
                        "cannot be chosen",
                        pli_comm_say(parent));
    }
    struct offer mine = { .n = n, .n_lane = (uint16_t)lanes_wanted(info), .is_ranked = 1 };
    return create(parent, mine, ranks, hints_of(info, mine.n_lane), why, out);
}

enum pli_err pli_endpoints_create_more(struct pli_comm *parent, int n, enum pli_err why,
                                       struct pli_comm *out[])
{
    struct offer mine = { .n = n, .n_lane = PLI_NODE_N_LANE, .has_own = 1 };
    return create(parent, mine, NULL, 0, why, out);
}

enum pli_err pli_endpoints_attach(struct pli_comm *comm)
{
    if (pli_endpoint_static_is(comm)) {
        return pli_fail(PLI_ERR_COMM, "the calling thread is attached to a rank of "
                                      "MPI_COMM_ENDPOINTS already");
    }
    return pli_endpoint_attach(comm->ep);
}

enum pli_err pli_endpoints_detach(struct pli_comm *comm)
{
    if (pli_endpoint_static_is(comm)) {
        return pli_endpoint_static_detach();
    }
    return pli_endpoint_detach(comm->ep)
               ? PLI_OK
               : pli_fail(PLI_ERR_COMM, "no thread is attached to the endpoint of %s",
                          pli_comm_say(comm));
}

enum pli_err pli_endpoints_best(struct pli_comm *comm, int *n_out)
{
    (void)comm; // the same for all
    *n_out = pli_attr_predefined_best();
    return PLI_OK;
}

enum pli_err pli_endpoints_process(struct pli_comm *comm, int rank, int *process_out)
{
    if (rank < 0 || rank >= comm->n_peer) {
        return pli_fail(PLI_ERR_RANK, "argument rank is %d; %s has ranks 0 to %d", rank,
                        pli_comm_say(comm), comm->n_peer - 1);
    }
    const struct pli_comm *world = pli_handle_get(MPI_COMM_WORLD, PLI_KIND_COMM);
    uint64_t proc = pli_group_at(comm->remote, rank).proc;
    int at = -1;
    if (world != NULL) {
        at = pli_group_rank_of(world->group, (struct pli_id){ proc, world->group->me.ep });
    } else if (pli_node_job_of(proc) == pli_proc.boot->job) {
        at = (int)(uint32_t)proc;
    }
    *process_out = at >= 0 ? at : MPI_UNDEFINED;
    return PLI_OK;
}
