// SPDX-License-Identifier: BSD-3-Clause
// Answers which members of a communicator have failed, and which of these the user knows of.
// Failures are numbered by the launcher, so that every process lists them in the same order.
#include "ft/failed_query.h"

#include "ft/failure.h"
#include "msg/endpoint.h"
#include "obj/comm.h"
#include "obj/group_build.h"

#include <stdlib.h>

struct loss {
    uint32_t at;
    struct pli_id id;
};

static int by_time(const void *a, const void *b)
{
    const struct loss *x = a, *y = b;
    return x->at != y->at ? (x->at > y->at) - (x->at < y->at)
                          : (x->id.ep > y->id.ep) - (x->id.ep < y->id.ep);
}

static int collect(const struct pli_group *g, struct loss *to)
{
    int n = 0;
    for (int i = 0; i < g->size; i++) {
        struct pli_id id = pli_group_at(g, i);
        uint32_t at = pli_failure_failed_at(id.proc);
        if (at != 0) {
            to[n++] = (struct loss){ at, id };
        }
    }
    return n;
}

// The first `most` that died.
static enum pli_err list(struct pli_comm *c, int most, struct pli_group **out)
{
    struct pli_group_build b;
    struct loss *all = malloc(((size_t)c->size + (size_t)c->n_peer) * sizeof *all);
    if (all == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory to list the failed ranks");
    }
    int n = collect(c->group, all);
    n += c->is_inter ? collect(c->remote, all + n) : 0;
    qsort(all, (size_t)n, sizeof *all, by_time);
    pli_group_build_init(&b);
    for (int i = 0; i < n && i < most; i++) {
        pli_group_build_add_id(&b, all[i].id);
    }
    free(all);
    return pli_group_build_finish(&b, c->group->session, c->group->me, out);
}

// Hear the newest; how many members have died.
static int count(struct pli_comm *c)
{
    pli_failure_look(c->ep->lane);
    return atomic_load_explicit(&c->n_failed, memory_order_relaxed);
}

enum pli_err pli_failed_query_get(struct pli_comm *comm, struct pli_group **out)
{
    return list(comm, count(comm), out);
}

enum pli_err pli_failed_query_ack(struct pli_comm *comm, int n, int *n_out)
{
    int most = count(comm), was = atomic_load_explicit(&comm->n_acked, memory_order_relaxed);
    n = n < most ? n : most;
    *n_out = n > was ? n : was; // what is known stays known
    atomic_store_explicit(&comm->n_acked, *n_out, memory_order_relaxed);
    return PLI_OK;
}

enum pli_err pli_failed_query_ack_all(struct pli_comm *comm)
{
    int n;
    return pli_failed_query_ack(comm, count(comm), &n);
}

enum pli_err pli_failed_query_get_acked(struct pli_comm *comm, struct pli_group **out)
{
    return list(comm, atomic_load_explicit(&comm->n_acked, memory_order_relaxed), out);
}

enum pli_err pli_failed_query_is_revoked(struct pli_comm *comm, int *flag)
{
    count(comm);
    *flag = atomic_load_explicit(&comm->stop_err, memory_order_relaxed) == PLI_ERR_REVOKED;
    return PLI_OK;
}
