// SPDX-License-Identifier: BSD-3-Clause
// The root asks the launcher, waits for the first of the new processes to say that it is there, and
// both sides make an intercommunicator as if their leaders had known each other all along.
#include "dynamic/spawner.h"
#include "base/cpu.h"

#include "boot/boot.h"
#include "coll/coll.h"
#include "comm/intercomm.h"
#include "msg/endpoint.h"
#include "msg/lane.h"
#include "msg/process.h"
#include "dynamic/bcast_error.h"
#include "dynamic/launcher_call.h"
#include "dynamic/first_contact.h"
#include "dynamic/spawn_part.h"
#include "obj/comm.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct pli_comm *_Atomic parent; // of a spawned process, until it is freed

// The request for the launcher; counts: of each part, for what was made of it.
static enum pli_err write_order(const struct pli_spawner_order *order, const struct pli_comm *comm,
                                uint64_t context, struct pli_spawn_text *t,
                                struct pli_spawner_count *counts)
{
    struct pli_ask_spawn head = { .context = context,
                                  .parent = (uint32_t)comm->group->me.proc,
                                  .parent_ep = comm->group->me.ep,
                                  .n_part = (uint32_t)order->n_part };
    int64_t n_all = 0;
    enum pli_err err = order->why;
    pli_spawn_text_put(t, &head, sizeof head);
    for (int i = 0; err == PLI_OK && i < order->n_part; i++) {
        int n = order->maxprocs[i];
        err =
            pli_spawn_part_add(t, order->commands[i], order->argvs != NULL ? order->argvs[i] : NULL,
                               &n, order->infos[i]);
        counts[i].made = n;
        n_all += n;
    }
    if (err == PLI_OK && n_all > PLI_NODE_MAX_INDEX) {
        err = pli_fail(PLI_ERR_SPAWN, "%lld processes are more than a job can have",
                       (long long)n_all);
    }
    if (err == PLI_OK && n_all == 0) {
        err = pli_fail(PLI_ERR_SPAWN, "no process is to be started: there would be nobody at the "
                                      "other side of the intercommunicator");
    }
    return err;
}

// Whether one of the new processes has ended before it called MPI_Init.
static enum pli_err look(void *arg)
{
    const struct pli_answer *a = arg;
    const struct pli_node *node = &pli_proc.boot->node;
    for (uint32_t i = 0; i < a->n; i++) {
        uint32_t row = pli_node_row_of(node, a->first + i);
        if (row != UINT32_MAX && node->rows[row].has_ended != 0) {
            return PLI_ERR_SPAWN; // give_up has the words
        }
    }
    return PLI_OK;
}

static const char *program_of(const struct pli_spawner_order *order,
                              const struct pli_spawner_count *counts, uint32_t index)
{
    int i = 0;
    while (i + 1 < order->n_part && index >= (uint32_t)counts[i].made) {
        index -= (uint32_t)counts[i++].made;
    }
    return order->commands[i];
}

// The new processes cannot be met: none of them is to stay. The sentence that says why.
static enum pli_err give_up(const struct pli_spawner_order *order,
                            const struct pli_spawner_count *counts, struct pli_comm *comm,
                            const struct pli_answer *made)
{
    struct pli_ask_unspawn ask = { made->first, made->n };
    struct pli_answer a = { 0 };
    enum pli_err err = pli_launcher_call(comm->ep->lane, PLI_ASK_UNSPAWN, &ask, sizeof ask, &a);
    a.text[sizeof a.text - 1] = '\0';
    return err != PLI_OK ? err
                         : pli_fail(PLI_ERR_SPAWN,
                                    "process %u of the %u that were started, %s, %s without having "
                                    "called MPI_Init",
                                    a.first, made->n, program_of(order, counts, a.first),
                                    a.text[0] != '\0' ? a.text : "ended");
}

// Wait for the first of the new processes, which speaks for all.
static enum pli_err hear(const struct pli_spawner_order *order,
                         const struct pli_spawner_count *counts, struct pli_comm *comm,
                         struct pli_answer *made, uint64_t context, struct pli_comm **bridge_out)
{
    struct pli_id first = { pli_proc.boot->job | made->first, 0 };
    uint64_t hello = 0;
    enum pli_err err = pli_first_contact_make(comm, first, true, context, bridge_out);
    if (err == PLI_OK) {
        err = pli_first_contact_hear(*bridge_out, &hello, sizeof hello, look, made);
        err = err == PLI_ERR_SPAWN ? give_up(order, counts, comm, made) : err;
    }
    if (err == PLI_OK && hello != context) {
        err = pli_fail(PLI_ERR_INTERN, "a spawned process said something else than its name");
    }
    return err;
}

// The root's part up to a bridge to the first of the new processes.
static enum pli_err start(const struct pli_spawner_order *order, struct pli_comm *comm,
                          struct pli_spawner_count *counts, struct pli_comm **bridge_out)
{
    struct pli_spawn_text t = { 0 };
    struct pli_answer answer;
    uint64_t context = pli_process_context();
    enum pli_err err = write_order(order, comm, context, &t, counts);
    if (err == PLI_OK) {
        err = pli_launcher_call(comm->ep->lane, PLI_ASK_SPAWN, t.data, t.len, &answer);
    }
    pli_spawn_text_fini(&t);
    if (err != PLI_OK) {
        return err;
    }
    if (answer.error != 0) {
        answer.text[sizeof answer.text - 1] = '\0';
        return pli_fail(PLI_ERR_SPAWN, "%s", answer.text);
    }
    return hear(order, counts, comm, &answer, context, bridge_out);
}

// What was made of each part. Collective; the root's count, others get a copy.
static enum pli_err share_counts(struct pli_spawner_count **counts, int n_part, int root,
                                 struct pli_comm *comm)
{
    if (*counts == NULL) {
        *counts = calloc((size_t)n_part + 1, sizeof **counts);
    }
    if (*counts == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for %d error codes", n_part);
    }
    return pli_bcast_error_copy(comm, root, *counts, (size_t)n_part * sizeof **counts);
}

enum pli_err pli_spawner_start(const struct pli_spawner_order *order, int root,
                               struct pli_comm *comm, struct pli_spawner_count **counts_out,
                               int *n_part_out, struct pli_comm **out)
{
    struct pli_comm *bridge = NULL;
    enum pli_err why = PLI_OK;
    int32_t n_part = 0;
    *counts_out = NULL;
    *n_part_out = 0;
    if (comm->is_inter) {
        return pli_fail(PLI_ERR_COMM, "argument comm is an intercommunicator");
    }
    if (comm->is_span) {
        return pli_comm_refuse_span(comm, "spawned processes");
    }
    if (comm->rank == root) {
        n_part = order->n_part > 0 && order->maxprocs != NULL ? order->n_part : 0;
        *counts_out = calloc((size_t)n_part + 1, sizeof **counts_out);
        n_part = *counts_out != NULL ? n_part : 0;
        for (int i = 0; i < n_part; i++) {
            (*counts_out)[i].asked = order->maxprocs[i] > 0 ? order->maxprocs[i] : 0;
        }
        why = *counts_out != NULL ? start(order, comm, *counts_out, &bridge)
                                  : pli_fail(PLI_ERR_NOMEM, "no memory for error codes");
    }
    why = pli_bcast_error_share(comm, root, why, &n_part);
    enum pli_err err = share_counts(counts_out, n_part, root, comm);
    *n_part_out = err == PLI_OK ? n_part : 0;
    err = why != PLI_OK ? why : err;
    if (err == PLI_OK) {
        err = pli_intercomm_join(comm, root, bridge, 1, PLI_OK, out);
    }
    pli_first_contact_drop(bridge);
    pli_process_recount();
    return err;
}

// The first of the spawned processes says that it is there.
static enum pli_err say_hello(struct pli_comm *world, const struct pli_node_row *row,
                              struct pli_comm **bridge_out)
{
    struct pli_id id = { pli_proc.boot->job | row->parent, row->parent_ep };
    uint64_t context = row->parent_context;
    enum pli_err err = pli_first_contact_make(world, id, false, context, bridge_out);
    return err == PLI_OK ? pli_first_contact_say(*bridge_out, 0, &context, sizeof context) : err;
}

enum pli_err pli_spawner_meet_parent(struct pli_comm *world)
{
    const struct pli_boot *boot = pli_proc.boot;
    const struct pli_node_row *row = &boot->node.rows[boot->row];
    struct pli_comm *bridge = NULL;
    enum pli_err why = PLI_OK;
    if (boot->row < boot->node.header->n_row || row->parent_context == 0) {
        return PLI_OK;
    }
    // All are there, or nobody is: who ends before it gets here makes the spawning call fail.
    enum pli_err err = pli_coll_barrier(world);
    if (err != PLI_OK) {
        return err;
    }
    if (world->rank == 0) {
        why = say_hello(world, row, &bridge);
    }
    struct pli_comm *c = NULL;
    err = pli_intercomm_join(world, 0, bridge, 0, why, &c);
    pli_first_contact_drop(bridge);
    if (err == PLI_OK) {
        pli_comm_set_name(c, "MPI_COMM_PARENT");
        atomic_store_explicit(&parent, c, memory_order_release);
    }
    return err;
}

static void forget(struct pli_comm *c)
{
    atomic_compare_exchange_strong(&parent, &c, NULL);
}

PLI_START void pli_spawner_prepare(void)
{
    pli_comm_on_end(forget);
}

void pli_spawner_leave_parent(void)
{
    atomic_store(&parent, NULL);
}

enum pli_err pli_spawner_get_parent(struct pli_comm **out)
{
    struct pli_comm *c = atomic_load(&parent);
    *out = c != NULL && !c->is_freed ? c : NULL;
    return PLI_OK;
}
