// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_spawn and MPI_Comm_get_parent. The root asks the launcher to start the processes and
// waits for a message of the first of them; then both sides make an intercommunicator as
// MPI_Intercomm_create does.
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

// Write the request for the launcher; counts[i].started: the processes of each part.
static enum pli_err write_request(const struct pli_spawner_request *request,
                                  const struct pli_comm *comm, uint64_t context,
                                  struct pli_spawn_buf *t, struct pli_spawner_count *counts)
{
    struct pli_ask_spawn head = { .context = context,
                                  .parent = (uint32_t)comm->group->me.proc,
                                  .parent_ep = comm->group->me.ep,
                                  .n_part = (uint32_t)request->n_part };
    int64_t n_all = 0;
    enum pli_err err = request->why;
    pli_spawn_buf_put(t, &head, sizeof head);
    for (int i = 0; err == PLI_OK && i < request->n_part; i++) {
        int n = request->maxprocs[i];
        err = pli_spawn_part_add(t, request->commands[i],
                                 request->argvs != NULL ? request->argvs[i] : NULL, &n,
                                 request->infos[i]);
        counts[i].started = n;
        n_all += n;
    }
    if (err == PLI_OK && n_all > PLI_NODE_MAX_INDEX) {
        err = pli_fail(PLI_ERR_SPAWN, "%lld processes are more than a job can have",
                       (long long)n_all);
    }
    if (err == PLI_OK && n_all == 0) {
        err = pli_fail(PLI_ERR_SPAWN, "no process is to be started: the remote group of the "
                                      "intercommunicator would be empty");
    }
    return err;
}

// The new processes, and the communicator whose members wait for them.
struct newcomers {
    struct pli_answer *started;
    const struct pli_comm *comm;
};

// Whether a member can take part no more, or one of the new processes has ended before it called
// MPI_Init.
static enum pli_err check_started(void *arg)
{
    const struct newcomers *w = arg;
    const struct pli_answer *a = w->started;
    const struct pli_node *node = &pli_proc.boot->node;
    enum pli_err err = pli_bcast_error_await(w->comm);
    if (err != PLI_OK) {
        return err; // whatever became of the new ones: those who wait hear of this
    }
    for (uint32_t i = 0; i < a->n; i++) {
        uint32_t row = pli_node_row_of(node, a->first + i);
        if (row != UINT32_MAX && node->rows[row].has_ended != 0) {
            return PLI_ERR_SPAWN; // undo_spawn gives the reason
        }
    }
    return PLI_OK;
}

static const char *program_of(const struct pli_spawner_request *request,
                              const struct pli_spawner_count *counts, uint32_t index)
{
    int i = 0;
    while (i + 1 < request->n_part && index >= (uint32_t)counts[i].started) {
        index -= (uint32_t)counts[i++].started;
    }
    return request->commands[i];
}

// The new processes cannot be connected to: have all of them ended. is_known: others may think that
// they are. The answer says which one ended by itself.
static enum pli_err unspawn(struct pli_comm *comm, struct pli_answer *started, bool is_known,
                            struct pli_answer *answer)
{
    struct pli_ask_unspawn ask = { started->first, started->n, is_known, 0 };
    started->n = 0;
    return pli_launcher_call(comm->ep->lane, PLI_ASK_UNSPAWN, &ask, sizeof ask, answer);
}

// One of them did not come: an error that says why.
static enum pli_err undo_spawn(const struct pli_spawner_request *request,
                               const struct pli_spawner_count *counts, struct pli_comm *comm,
                               struct pli_answer *started)
{
    uint32_t n = started->n;
    struct pli_answer a = { 0 };
    enum pli_err err = unspawn(comm, started, false, &a);
    a.text[sizeof a.text - 1] = '\0';
    return err != PLI_OK ? err
                         : pli_fail(PLI_ERR_SPAWN,
                                    "process %u of the %u that were started, %s, %s without having "
                                    "called MPI_Init",
                                    a.first, n, program_of(request, counts, a.first),
                                    a.text[0] != '\0' ? a.text : "ended");
}

// Wait for the message of the first of the new processes, which it sends when all are ready.
static enum pli_err wait_for_first(const struct pli_spawner_request *request,
                                   const struct pli_spawner_count *counts, struct pli_comm *comm,
                                   struct pli_answer *started, uint64_t context,
                                   struct pli_comm **pair_out)
{
    struct pli_id first = { pli_proc.boot->job | started->first, 0 };
    struct newcomers who = { started, comm };
    uint64_t hello = 0;
    enum pli_err err = pli_first_contact_make(comm, first, true, context, pair_out);
    if (err == PLI_OK) {
        err = pli_first_contact_recv(*pair_out, &hello, sizeof hello, check_started, &who);
        err = err == PLI_ERR_SPAWN ? undo_spawn(request, counts, comm, started) : err;
    }
    if (err == PLI_OK && hello != context) {
        err = pli_fail(PLI_ERR_INTERN, "a spawned process sent a wrong first message");
    }
    return err;
}

// The root's part, up to a communicator with the first of the new processes. started->n: how many
// wait for what follows, 0: none.
static enum pli_err start_as_root(const struct pli_spawner_request *request, struct pli_comm *comm,
                                  struct pli_spawner_count *counts, struct pli_answer *started,
                                  struct pli_comm **pair_out)
{
    struct pli_spawn_buf t = { 0 };
    struct pli_answer answer = { 0 };
    uint64_t context = pli_process_context();
    enum pli_err err = write_request(request, comm, context, &t, counts);
    if (err == PLI_OK) {
        err = pli_launcher_call(comm->ep->lane, PLI_ASK_SPAWN, t.data, t.len, &answer);
    }
    pli_spawn_buf_free(&t);
    if (err != PLI_OK) {
        return err;
    }
    if (answer.error != 0) {
        answer.text[sizeof answer.text - 1] = '\0';
        return pli_fail(PLI_ERR_SPAWN, "%s", answer.text);
    }
    *started = answer;
    return wait_for_first(request, counts, comm, started, context, pair_out);
}

// Broadcast the root's counts of each part. Collective.
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

enum pli_err pli_spawner_start(const struct pli_spawner_request *request, int root,
                               struct pli_comm *comm, struct pli_spawner_count **counts_out,
                               int *n_part_out, struct pli_comm **out)
{
    struct pli_comm *pair_comm = NULL;
    struct pli_answer started = { 0 }, unused;
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
        n_part = request->n_part > 0 && request->maxprocs != NULL ? request->n_part : 0;
        *counts_out = calloc((size_t)n_part + 1, sizeof **counts_out);
        n_part = *counts_out != NULL ? n_part : 0;
        for (int i = 0; i < n_part; i++) {
            (*counts_out)[i].asked = request->maxprocs[i] > 0 ? request->maxprocs[i] : 0;
        }
        why = *counts_out != NULL ? start_as_root(request, comm, *counts_out, &started, &pair_comm)
                                  : pli_fail(PLI_ERR_NOMEM, "no memory for error codes");
    }
    why = pli_bcast_error_share(comm, root, why, &n_part);
    enum pli_err err = share_counts(counts_out, n_part, root, comm);
    *n_part_out = err == PLI_OK ? n_part : 0;
    err = why != PLI_OK ? why : err;
    bool is_known = err == PLI_OK;
    if (err == PLI_OK) {
        err = pli_intercomm_join(comm, root, pair_comm, 1, PLI_OK, out);
    }
    if (err != PLI_OK && started.n > 0) { // they would wait in MPI_Init for ever
        unspawn(comm, &started, is_known, &unused);
    }
    pli_first_contact_free(pair_comm);
    pli_process_recount();
    return err;
}

// The first of the spawned processes sends its first message to the root.
static enum pli_err announce(struct pli_comm *world, const struct pli_node_row *row,
                             struct pli_comm **pair_out)
{
    struct pli_id id = { pli_proc.boot->job | row->parent, row->parent_ep };
    uint64_t context = row->parent_context;
    enum pli_err err = pli_first_contact_make(world, id, false, context, pair_out);
    return err == PLI_OK ? pli_first_contact_send(*pair_out, 0, &context, sizeof context) : err;
}

bool pli_spawner_has_parent(void)
{
    const struct pli_boot *boot = pli_proc.boot;
    return boot->row >= boot->node.header->n_row && boot->node.rows[boot->row].parent_context != 0;
}

enum pli_err pli_spawner_connect_parent(struct pli_comm *world)
{
    const struct pli_boot *boot = pli_proc.boot;
    const struct pli_node_row *row = &boot->node.rows[boot->row];
    struct pli_comm *pair_comm = NULL;
    enum pli_err why = PLI_OK;
    // All new processes must get here: if one ends before, the spawning call fails.
    enum pli_err err = pli_coll_barrier(world);
    if (err != PLI_OK) {
        return err;
    }
    if (world->rank == 0) {
        why = announce(world, row, &pair_comm);
    }
    struct pli_comm *c = NULL;
    err = pli_intercomm_join(world, 0, pair_comm, 0, why, &c);
    pli_first_contact_free(pair_comm);
    if (err == PLI_OK) {
        pli_comm_set_name(c, "MPI_COMM_PARENT");
        atomic_store_explicit(&parent, c, memory_order_release);
    }
    return err;
}

static void forget_parent(struct pli_comm *c)
{
    atomic_compare_exchange_strong(&parent, &c, NULL);
}

PLI_START void pli_spawner_prepare(void)
{
    pli_comm_on_end(forget_parent);
}

void pli_spawner_forget_parent(void)
{
    atomic_store(&parent, NULL);
}

enum pli_err pli_spawner_get_parent(struct pli_comm **out)
{
    struct pli_comm *c = atomic_load(&parent);
    *out = c != NULL && !c->is_freed ? c : NULL;
    return PLI_OK;
}
