// SPDX-License-Identifier: BSD-3-Clause
// Makes endpoint communicators. Everybody makes its endpoints first and tells afterwards, so that a
// message can never come before the endpoint it is for.
#include "endpoint/endpoint.h"

#include "base/log.h"
#include "base/memory.h"
#include "boot/boot.h"
#include "coll/coll.h"
#include "comm/comm_make.h"
#include "core/ep.h"
#include "core/lane.h"
#include "core/process.h"
#include "endpoint/fixed.h"
#include "obj/attr_fixed.h"
#include "obj/comm.h"
#include "obj/errhandler.h"
#include "obj/group_build.h"
#include "obj/info.h"

#include <limits.h>
#include <stdlib.h>

// What a member of the parent tells the others.
struct told {
    uint64_t context; // proposed; the first member's counts
    int32_t n;        // endpoints
    int32_t why;      // enum pli_err: it cannot take part
    uint32_t first;   // numbers of those that are new
    uint16_t n_lane;
    uint16_t has_own; // the first is the member's own endpoint and not new
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

static void release_all(struct pli_ep **eps, int n)
{
    for (int i = 0; eps != NULL && i < n; i++) {
        pli_ep_release(eps[i]);
    }
    free(eps);
}

// What an endpoint and its handle take, and how often it is looked whether there is still room.
enum { BYTES_EACH = 1024, LOOK_EVERY = 16384 };

// Refuse what would end in the kernel's killing processes. Others take memory at the same time, so
// this is asked again on the way.
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

// The memory of the handles, before anybody is told of the endpoints: later nothing may fail.
static enum pli_err reserve_handles(int n)
{
    return pli_handle_reserve(sizeof(struct pli_comm), (size_t)n) &&
                   pli_handle_reserve(sizeof(struct pli_group), (size_t)n + 1)
               ? PLI_OK
               : pli_fail(PLI_ERR_NOMEM, "no memory for the handles of %d endpoints", n);
}

// My endpoints; on failure there are none.
static enum pli_err make_eps(struct pli_comm *parent, struct told *mine, struct pli_ep ***out)
{
    uint32_t n_new = (uint32_t)(mine->n - mine->has_own);
    enum pli_err err = n_new >= LOOK_EVERY ? check_memory(mine->n, n_new) : PLI_OK;
    struct pli_ep **eps =
        err == PLI_OK ? calloc((size_t)mine->n + 1, sizeof(struct pli_ep *)) : NULL;
    if (err == PLI_OK && eps == NULL) {
        err = pli_fail(PLI_ERR_NOMEM, "no memory for %d endpoints", mine->n);
    }
    if (err == PLI_OK) {
        err = pli_ep_number(n_new, mine->n_lane, &mine->first);
    }
    if (err == PLI_OK) {
        err = reserve_handles(mine->n);
    }
    for (uint32_t i = 0; i < n_new && err == PLI_OK; i++) {
        if (i % LOOK_EVERY == LOOK_EVERY - 1 &&
            (err = check_memory(mine->n, n_new - i)) != PLI_OK) {
            break;
        }
        err = pli_ep_create(pli_ep_nth(mine->first, mine->n_lane, i), &eps[mine->has_own + i]);
    }
    if (err == PLI_OK && mine->has_own) {
        eps[0] = pli_ep_retain(parent->ep);
    }
    if (err != PLI_OK) {
        release_all(eps, mine->n);
        return err;
    }
    *out = eps;
    return PLI_OK;
}

// Whether all could take part and together are not too many.
static enum pli_err check(const struct told *told, const struct pli_comm *parent)
{
    int64_t total = 0;
    for (int i = 0; i < parent->size; i++) {
        total += told[i].n;
        if (told[i].why != PLI_OK && i != parent->rank) {
            return pli_fail((enum pli_err)told[i].why,
                            "rank %d of %s could not make its endpoints: %s", i,
                            pli_comm_say(parent), pli_err_text((enum pli_err)told[i].why));
        }
    }
    return total <= INT_MAX
               ? PLI_OK
               : pli_fail(PLI_ERR_ARG,
                          "%lld endpoints in all are more than a communicator can have",
                          (long long)total);
}

static void add_run(struct pli_group_build *b, uint64_t proc, uint32_t first, int step, int n)
{
    pli_group_build_add(
        b, (struct pli_group_run){ .first = { proc, first }, .ep_step = step, .n = n });
}

static enum pli_err make_group(const struct told *told, const struct pli_comm *parent,
                               struct pli_group **out)
{
    struct pli_group_build b;
    pli_group_build_init(&b);
    for (int i = 0; i < parent->size; i++) {
        uint64_t proc = pli_group_at(parent->group, i).proc;
        int n = told[i].n - told[i].has_own, width = told[i].n_lane;
        if (told[i].has_own) {
            pli_group_build_add_id(&b, pli_group_at(parent->group, i));
        }
        if (width == PLI_NODE_N_LANE && n > 0) {
            add_run(&b, proc, told[i].first, 1, n);
        } else if (width == 1 && n > 0) {
            add_run(&b, proc, told[i].first, PLI_NODE_N_LANE, n);
        } else {
            for (int at = 0; at < n; at += width) {
                add_run(&b, proc, pli_ep_nth(told[i].first, width, (uint32_t)at), 1,
                        n - at < width ? n - at : width);
            }
        }
    }
    return pli_group_build_finish(&b, parent->session, parent->group->me, out);
}

// Endpoints on this host, to know whether they outnumber its cores.
static bool is_crowd(const struct told *told, const struct pli_comm *parent)
{
    const struct pli_node *node = &pli_proc.boot->node;
    int64_t n = 0;
    for (int i = 0; i < parent->size; i++) {
        uint64_t proc = pli_group_at(parent->group, i).proc;
        uint32_t row;
        n += pli_boot_is_here(pli_proc.boot, proc, &row) ? told[i].n : 0;
    }
    return n > node->header->n_core;
}

// One handle for every endpoint of mine; takes the endpoints over.
static enum pli_err make_comms(struct pli_comm *parent, struct pli_group *group, uint64_t context,
                               struct pli_ep **eps, int n, struct pli_comm *out[])
{
    enum pli_err err = PLI_OK;
    int made = 0;
    for (; made < n && err == PLI_OK; made += err == PLI_OK) {
        struct pli_comm *c;
        err = pli_comm_create(eps[made], eps[made]->id, group, NULL, context, &c);
        if (err == PLI_OK) {
            eps[made] = NULL; // the communicator's now
            pli_errhandler_release(c->errhandler);
            c->errhandler = pli_errhandler_of(&parent->obj);
            c->session = parent->session;
            out[made] = c;
        }
    }
    for (int i = 0; err != PLI_OK && i < made; i++) {
        pli_comm_release(out[i]);
    }
    return err;
}

static enum pli_err build(struct pli_comm *parent, const struct told *told, struct pli_ep **eps,
                          struct pli_comm *out[])
{
    int n = told[parent->rank].n;
    if (is_crowd(told, parent)) {
        for (int i = 0; i < n; i++) {
            eps[i]->is_crowding = true;
        }
        atomic_fetch_add_explicit(&pli_proc.n_crowd, n, memory_order_relaxed);
    }
    struct pli_group *group;
    enum pli_err err = n > 0 ? make_group(told, parent, &group) : PLI_OK;
    if (err == PLI_OK && n > 0) {
        err = make_comms(parent, group, told[0].context, eps, n, out);
        pli_group_release(group);
    }
    return err;
}

static enum pli_err create(struct pli_comm *parent, struct told mine, enum pli_err why,
                           struct pli_comm *out[])
{
    struct pli_ep **eps = NULL;
    struct told *told = malloc((size_t)parent->size * sizeof *told);
    if (told == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory to hear of the endpoints of %d ranks",
                        parent->size);
    }
    if (why == PLI_OK) {
        why = make_eps(parent, &mine, &eps);
    }
    if (why != PLI_OK) {
        mine.n = mine.has_own = 0;
    }
    mine.why = why;
    mine.context = parent->rank == 0 ? pli_process_context() : 0;
    struct pli_datatype *byte = pli_comm_make_byte();
    enum pli_err err =
        pli_coll_allgather(&mine, sizeof mine, byte, told, sizeof mine, byte, parent);
    if (err == PLI_OK) {
        err = why != PLI_OK ? why : check(told, parent);
    }
    if (err == PLI_OK) {
        err = build(parent, told, eps, out);
    }
    release_all(eps, mine.n); // those that no communicator took
    free(told);
    return err;
}

enum pli_err pli_endpoint_create(struct pli_comm *parent, int n, struct pli_info *info,
                                 enum pli_err why, struct pli_comm *out[])
{
    if (parent->is_inter) {
        return pli_fail(PLI_ERR_COMM, "%s is an intercommunicator and cannot have endpoints",
                        pli_comm_say(parent));
    }
    if (parent->is_span) {
        return pli_comm_refuse_span(parent, "endpoints");
    }
    struct told mine = { .n = n, .n_lane = (uint16_t)lanes_wanted(info) };
    return create(parent, mine, why, out);
}

enum pli_err pli_endpoint_create_more(struct pli_comm *parent, int n, enum pli_err why,
                                      struct pli_comm *out[])
{
    struct told mine = { .n = n, .n_lane = PLI_NODE_N_LANE, .has_own = 1 };
    return create(parent, mine, why, out);
}

enum pli_err pli_endpoint_attach(struct pli_comm *comm)
{
    if (pli_fixed_is(comm)) {
        return pli_fail(PLI_ERR_COMM, "the calling thread is attached to a rank of "
                                      "MPI_COMM_ENDPOINTS already");
    }
    return pli_ep_attach(comm->ep);
}

enum pli_err pli_endpoint_detach(struct pli_comm *comm)
{
    if (pli_fixed_is(comm)) {
        return pli_fixed_detach();
    }
    return pli_ep_detach(comm->ep)
               ? PLI_OK
               : pli_fail(PLI_ERR_COMM, "no thread is attached to the endpoint of %s",
                          pli_comm_say(comm));
}

enum pli_err pli_endpoint_best(struct pli_comm *comm, int *n_out)
{
    (void)comm; // the same for all
    *n_out = pli_attr_fixed_best();
    return PLI_OK;
}
