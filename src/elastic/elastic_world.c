// SPDX-License-Identifier: BSD-3-Clause
// Makes and keeps the communicators of the world's versions, and asks the launcher for a resize.
// The launcher makes the process set of a new version, waits until all new processes are in
// MPI_Init, and then changes the word that holds the number of the newest version, which all ranks
// read.
#include "elastic/elastic_world.h"

#include "base/cpu.h"
#include "boot/boot.h"
#include "coll/coll.h"
#include "comm/comm_make.h"
#include "msg/event.h"
#include "msg/endpoint.h"
#include "msg/lane.h"
#include "msg/process.h"
#include "msg/progress.h"
#include "dynamic/host_hint.h"
#include "elastic/plan.h"
#include "obj/comm.h"
#include "obj/errhandler.h"
#include "session/session_pset.h"

#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { TRIES = 120 }; // a second, with a launcher that is not ready for another resize

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pli_comm **worlds; // by version, made when first asked for; guarded by lock
static uint32_t n_world;
static uint32_t current; // the version that MPI_COMM_WORLD is

static int newest_version(void)
{
    return atomic_load_explicit(&pli_proc.boot->node.header->world, memory_order_acquire);
}

uint64_t pli_elastic_world_context(void)
{
    current = pli_proc.boot->version;
    return current == 0 ? pli_process_world() : pli_process_version_context(current);
}

enum pli_err pli_elastic_world_version(int *version_out)
{
    *version_out = pli_proc.boot != NULL ? newest_version() : 0;
    return PLI_OK;
}

enum pli_err pli_elastic_world_version_of(struct pli_comm *comm, int *version_out)
{
    int version = comm == pli_comm_any(MPI_COMM_WORLD) ? (int)current : MPI_UNDEFINED;
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < n_world && version == MPI_UNDEFINED; i++) {
        version = worlds[i] == comm ? (int)i : MPI_UNDEFINED;
    }
    pthread_mutex_unlock(&lock);
    *version_out = version;
    return PLI_OK;
}

static enum pli_err make_comm(uint32_t version, struct pli_comm **out)
{
    char name[MPI_MAX_PSET_NAME_LEN];
    struct pli_group *group;
    struct pli_comm *c;
    struct pli_endpoint *ep = pli_process_ep();
    pli_session_pset_world(version, name);
    enum pli_err err = pli_session_pset_group(NULL, name, &group);
    if (err != PLI_OK) {
        return err;
    }
    if (pli_group_rank_of(group, ep->id) < 0) {
        pli_group_release(group);
        *out = NULL;
        return PLI_OK;
    }
    err = pli_comm_create(pli_endpoint_retain(ep), ep->id, group, NULL,
                          pli_process_version_context(version), &c);
    pli_group_release(group);
    if (err != PLI_OK) {
        pli_endpoint_release(ep);
        return err;
    }
    snprintf(c->name, sizeof c->name, "world@%u", version);
    *out = c;
    return PLI_OK;
}

static bool grow_table(uint32_t version)
{
    struct pli_comm **more =
        version < n_world ? worlds : realloc(worlds, (version + 8) * sizeof *worlds);
    if (more == NULL) {
        return false;
    }
    worlds = more;
    for (; n_world <= version; n_world++) {
        worlds[n_world] = NULL;
    }
    return true;
}

enum pli_err pli_elastic_world_at(int version, struct pli_comm **out)
{
    int now = newest_version();
    enum pli_err err = PLI_OK;
    if (version < 0 || version > now) {
        return pli_fail(PLI_ERR_ARG, "argument version is %d, but the world's versions are 0 to %d",
                        version, now);
    }
    struct pli_comm *world = pli_comm_any(MPI_COMM_WORLD);
    if (world == NULL) {
        return pli_fail(PLI_ERR_OTHER, "there is no world before MPI_Init and after MPI_Finalize");
    }
    if ((uint32_t)version == current || (uint32_t)version < pli_proc.boot->version) {
        *out = (uint32_t)version == current ? world : NULL; // NULL: older than this process
        return PLI_OK;
    }
    pthread_mutex_lock(&lock);
    if (!grow_table((uint32_t)version)) {
        err = pli_fail(PLI_ERR_NOMEM, "no memory for versions of the world");
    } else if (worlds[version] == NULL) {
        err = make_comm((uint32_t)version, &worlds[version]);
    }
    if (err == PLI_OK) {
        *out = worlds[version];
    }
    pthread_mutex_unlock(&lock);
    return err;
}

struct pli_comm *pli_elastic_world_newest(uint32_t *version_out)
{
    struct pli_comm *c = pli_comm_any(MPI_COMM_WORLD);
    *version_out = current;
    for (uint32_t v = current + 1; v < n_world; v++) {
        if (worlds[v] != NULL) {
            *version_out = v;
            c = worlds[v];
        }
    }
    return c;
}

// Let MPI_COMM_WORLD be another communicator, which takes over name, error handler, attributes,
// info and buffer.
static void move_handle(struct pli_comm *from, struct pli_comm *to)
{
    struct pli_errhandler *e = to->errhandler;
    snprintf(to->name, sizeof to->name, "%s", from->name);
    snprintf(from->name, sizeof from->name, "world@%u", current);
    to->errhandler = pli_errhandler_retain(from->errhandler);
    pli_errhandler_release(e);
    to->attrs = from->attrs;
    to->info = from->info;
    to->hints = from->hints;
    to->buffer = from->buffer;
    from->attrs = NULL;
    from->info = NULL;
    from->buffer = NULL;
    to->obj.value = from->obj.value;
    from->obj.value = 0;
    pli_handle_predefined[to->obj.value] = &to->obj;
}

enum pli_err pli_elastic_world_set(uint32_t version)
{
    struct pli_comm *old = pli_comm_any(MPI_COMM_WORLD), *c = NULL;
    enum pli_err err = PLI_OK;
    pthread_mutex_lock(&lock);
    if (!grow_table(version) || !grow_table(current)) {
        err = pli_fail(PLI_ERR_NOMEM, "no memory for versions of the world");
    } else if (worlds[version] == NULL) {
        err = make_comm(version, &worlds[version]);
    }
    c = err == PLI_OK ? worlds[version] : NULL;
    if (err == PLI_OK && c == NULL) {
        err = pli_fail(PLI_ERR_OTHER, "this process is not in version %u of the world", version);
    }
    if (c != NULL) {
        worlds[version] = NULL;
        move_handle(old, c);
        worlds[current] = current >= pli_proc.boot->version ? old : NULL;
        if (worlds[current] == NULL) {
            pli_comm_lose(old); // it belongs to the parent that this process was forked from
        }
        current = version;
        if (pli_event_is_wanted(PLI_EVENT_RESIZE)) {
            pli_event_raise(NULL, PLI_EVENT_RESIZE,
                            (int64_t[PLI_EVENT_N_WORD]){ version, c->size });
        }
    }
    pthread_mutex_unlock(&lock);
    return err;
}

void pli_elastic_world_clone(void)
{
    free(worlds); // the communicators belong to the parent
    worlds = NULL;
    n_world = 0;
    pli_session_pset_clone();
}

static void forget_comm(struct pli_comm *c)
{
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < n_world; i++) {
        worlds[i] = worlds[i] == c ? NULL : worlds[i];
    }
    pthread_mutex_unlock(&lock);
}

void pli_elastic_world_end(void)
{
    pli_plan_end();
    for (uint32_t i = 0; i < n_world; i++) {
        pli_comm_release(worlds[i]); // forget_comm() clears the entry
    }
    free(worlds);
    worlds = NULL;
    n_world = 0;
}

PLI_START void pli_elastic_world_prepare(void)
{
    pli_comm_on_end(forget_comm);
}

enum pli_err pli_elastic_world_resize(struct pli_comm *comm, int size)
{
    return pli_elastic_world_resize_info(comm, size, NULL);
}

void pli_elastic_world_pause(struct pli_comm *comm, const char *call)
{
    struct pli_waiter w = {
        .lane = comm->ep->lane, .comm = comm, .call = call, .is_restless = true
    };
    for (int i = 0; i < 100; i++) {
        pli_progress_step(&w);
    }
    pli_progress_end(&w);
}

// A rank that came by the last resize says that it works only when it has met the others, who may
// go on before it does. So a launcher that is not ready is asked again.
static enum pli_err ask(struct pli_comm *comm, int size, struct pli_info *info,
                        struct pli_answer *answer)
{
    enum pli_err err = pli_host_hint_resize(comm->ep->lane, size, info, answer);
    for (int i = 0; i < TRIES && err == PLI_OK && answer->error == EBUSY; i++) {
        pli_elastic_world_pause(comm, "MPIX_World_resize");
        *answer = (struct pli_answer){ 0 };
        err = pli_host_hint_resize(comm->ep->lane, size, info, answer);
    }
    return err;
}

// Wait until this host knows the version; the host of the first member knows it earlier.
static void await_version(struct pli_comm *comm, uint32_t version)
{
    struct pli_waiter w = {
        .lane = comm->ep->lane, .comm = comm, .call = "MPIX_World_resize", .is_restless = true
    };
    while ((uint32_t)newest_version() < version) {
        pli_progress_step(&w);
    }
    pli_progress_end(&w);
}

enum pli_err pli_elastic_world_resize_info(struct pli_comm *comm, int size, struct pli_info *info)
{
    struct pli_answer answer = { 0 };
    enum pli_err err = PLI_OK;
    if (comm->is_inter) {
        return pli_fail(PLI_ERR_COMM, "argument comm is an intercommunicator");
    }
    if (comm->is_span) {
        return pli_comm_refuse_span(comm, "a world of another size");
    }
    if (comm->rank == 0 && size < 0) { // of which the launcher would hear as 0
        answer.error = -1;
        snprintf(answer.text, sizeof answer.text, "a world cannot have %d ranks", size);
    } else if (comm->rank == 0) {
        err = ask(comm, size, info, &answer);
        answer.error = err != PLI_OK && answer.error == 0 ? -1 : answer.error;
        if (err != PLI_OK) {
            snprintf(answer.text, sizeof answer.text, "%.230s", pli_fail_take(NULL));
        }
    }
    err = pli_coll_bcast(&answer, sizeof answer, pli_comm_make_byte(), 0, comm);
    if (err == PLI_OK && answer.error != 0) {
        answer.text[sizeof answer.text - 1] = '\0';
        err = pli_fail(PLI_ERR_SPAWN, "%s", answer.text);
    }
    if (err == PLI_OK) {
        await_version(comm, answer.first);
    }
    pli_process_recount();
    return err;
}

// The launcher writes the number of the first version without a rank into the row of that rank
// before the version becomes the newest.
enum pli_err pli_elastic_world_leaving(int *flag_out)
{
    const struct pli_node *node = &pli_boot.node;
    *flag_out = node->rows != NULL &&
                atomic_load_explicit(&node->rows[pli_boot.row].leave, memory_order_acquire) != 0;
    return PLI_OK;
}
