// SPDX-License-Identifier: BSD-3-Clause
// MPI_Init to MPI_Finalize: opens a session that no user sees and makes MPI_COMM_WORLD and
// MPI_COMM_SELF of its process sets. Their contexts are known beforehand, so nothing is sent.
#include "glue/world.h"

#include "base/conf.h"
#include "base/log.h"
#include "boot/boot.h"
#include "boot/boot_open.h"
#include "boot/pset.h"
#include "coll/coll.h"
#include "msg/endpoint.h"
#include "msg/process.h"
#include "msg/progress.h"
#include "dynamic/spawner.h"
#include "elastic/abort_group.h"
#include "elastic/fork_comm.h"
#include "elastic/resize_error.h"
#include "elastic/elastic_world.h"
#include "comm/implicit_init.h"
#include "comm/endpoint_static.h"
#include "glue/check.h"
#include "glue/prepare.h"
#include "glue/raise.h"
#include "io/file_shared_batch.h"
#include "obj/attr.h"
#include "obj/comm.h"
#include "obj/handle_predefined.h"
#include "session/session_open.h"
#include "session/session_pset.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum { S_NEVER, S_OPEN, S_CLOSED };

static _Atomic int state = S_NEVER;
static int level = MPI_THREAD_SINGLE;
static pthread_t main_thread;
static struct pli_session *session; // while open

// A communicator of a process set.
static enum pli_err make_set_comm(const char *set, uint64_t context, struct pli_comm **out)
{
    struct pli_endpoint *ep = pli_process_ep();
    struct pli_group *group;
    enum pli_err err = pli_session_pset_group(NULL, set, &group);
    if (err != PLI_OK) {
        return err;
    }
    err = pli_comm_create(pli_endpoint_retain(ep), ep->id, group, NULL, context, out);
    pli_group_release(group);
    if (err != PLI_OK) {
        pli_endpoint_release(ep);
    }
    return err;
}

// Enter a communicator of a process set under its ABI value.
static enum pli_err make_comm(const char *set, uint64_t context, MPI_Comm handle, const char *name)
{
    struct pli_comm *c;
    enum pli_err err = make_set_comm(set, context, &c);
    if (err != PLI_OK) {
        return err;
    }
    snprintf(c->name, sizeof c->name, "%s", name);
    pli_handle_predefine(&c->obj, PLI_KIND_COMM, (int)(intptr_t)handle);
    return PLI_OK;
}

enum pli_err pli_world_connect_parent(void)
{
    static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
    static bool is_connected;
    char world[PLI_PSET_NAME];
    struct pli_comm *c;
    if (!pli_spawner_has_parent()) {
        return PLI_OK;
    }
    pthread_mutex_lock(&guard);
    enum pli_err err = PLI_OK;
    if (!is_connected) {
        pli_session_pset_world(pli_boot.version, world);
        err = make_set_comm(world, PLI_CONTEXT_SPAWNED, &c);
        if (err == PLI_OK) {
            snprintf(c->name, sizeof c->name, "MPI_COMM_WORLD"); // what a report would name
            err = pli_spawner_connect_parent(c);
            pli_comm_release(c);
        }
        is_connected = err == PLI_OK;
        if (pli_err_is_news(err)) {
            pli_raise_orphan();
        }
    }
    pthread_mutex_unlock(&guard);
    return err;
}

// What an initialisation asks for.
struct wish {
    int required; // thread level
    int count;    // endpoints; 0: no MPI_COMM_ENDPOINTS
    enum pli_err why;
};

static enum pli_err open_world(int required)
{
    enum pli_err err = pli_session_open(required, required == MPI_THREAD_MULTIPLE, &session);
    if (err != PLI_OK) {
        return err;
    }
    char world[PLI_PSET_NAME]; // a newer one may count by now
    uint64_t context = pli_elastic_world_context();
    pli_session_pset_world(pli_boot.version, world);
    err = make_comm(PLI_PSET_SELF, PLI_CONTEXT_SELF, MPI_COMM_SELF, "MPI_COMM_SELF");
    if (err == PLI_OK) {
        err = make_comm(world, context, MPI_COMM_WORLD, "MPI_COMM_WORLD");
        if (err != PLI_OK) {
            pli_comm_release(pli_arg_comm(MPI_COMM_SELF));
        }
    }
    if (err == PLI_OK) {
        err = pli_resize_error_begin();
    }
    if (err == PLI_OK) {
        err = pli_world_connect_parent();
        if (err != PLI_OK) {
            pli_comm_release(pli_arg_comm(MPI_COMM_WORLD));
            pli_comm_release(pli_arg_comm(MPI_COMM_SELF));
        }
    }
    if (err != PLI_OK) {
        pli_session_open_undo(session);
    }
    return err;
}

static void close_world(void)
{
    pli_endpoint_settle(pli_arg_comm_any(MPI_COMM_SELF));
    pli_endpoint_settle(pli_arg_comm_any(MPI_COMM_WORLD));
    pli_comm_release(pli_arg_comm_any(MPI_COMM_SELF));
    pli_comm_release(pli_arg_comm_any(MPI_COMM_WORLD));
    pli_session_open_undo(session);
}

static enum pli_err open_endpoints(struct wish wish)
{
    if (pli_boot.gateway != NULL) {
        return pli_fail(PLI_ERR_UNSUPPORTED,
                        "there is no MPI_COMM_ENDPOINTS in a job that is part of an IMPI job");
    }
    if (pli_boot.version > 0) { // the others are beyond MPI_Init, and would be waited for for ever
        return pli_fail(PLI_ERR_UNSUPPORTED,
                        "there is no MPI_COMM_ENDPOINTS in a process that came to a running job; "
                        "use MPI_Comm_create_endpoints when all ranks can take part");
    }
    return pli_endpoint_static_open(pli_arg_comm(MPI_COMM_WORLD), wish.count, wish.why);
}

static int init(const char *fn, struct wish wish)
{
    pli_prepare();
    int old = S_NEVER;
    if (!atomic_compare_exchange_strong(&state, &old, S_OPEN)) {
        enum pli_err err = pli_fail(
            PLI_ERR_OTHER, old == S_OPEN ? "MPI is initialised already; it can be only once"
                                         : "MPI was finalised and cannot be initialised again; "
                                           "sessions (MPI_Session_init) can");
        return pli_raise(NULL, fn, err);
    }
    main_thread = pthread_self();
    level = wish.required;
    enum pli_err err = open_world(wish.required);
    if (err == PLI_OK && (wish.count > 0 || wish.why != PLI_OK)) {
        err = open_endpoints(wish);
        if (err != PLI_OK) {
            close_world();
        }
    }
    if (err != PLI_OK) {
        atomic_store(&state, S_NEVER);
        return pli_raise(NULL, fn, err);
    }
    return MPI_SUCCESS;
}

int pli_world_init(int *argc, char ***argv)
{
    (void)argc; // the launcher leaves nothing in them
    (void)argv;
    pli_prepare();
    int count = (int)pli_conf.endpoints;
    // A program that asks for endpoints on the command line wants threads to use them.
    int required = count > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
    return init("MPI_Init", (struct wish){ .required = required, .count = count });
}

static int init_thread(const char *fn, struct wish wish, int *provided)
{
    if (wish.required != MPI_THREAD_SINGLE && wish.required != MPI_THREAD_FUNNELED &&
        wish.required != MPI_THREAD_SERIALIZED && wish.required != MPI_THREAD_MULTIPLE) {
        return pli_raise(NULL, fn,
                         pli_fail(PLI_ERR_ARG,
                                  "argument required is %d; it is one of MPI_THREAD_SINGLE, "
                                  "FUNNELED, SERIALIZED, MULTIPLE",
                                  wish.required));
    }
    if (provided == NULL) {
        return pli_bad_pointer(NULL, fn, "provided");
    }
    int rc = init(fn, wish);
    *provided = level;
    return rc;
}

int pli_world_init_thread(int *argc, char ***argv, int required, int *provided)
{
    (void)argc;
    (void)argv;
    pli_prepare();
    struct wish wish = { .required = required, .count = (int)pli_conf.endpoints };
    return init_thread("MPI_Init_thread", wish, provided);
}

int pli_world_init_endpoints(int *argc, void *argv, int count, int required, int *provided)
{
    (void)argc;
    (void)argv;
    pli_prepare();
    struct wish wish = { .required = required, .count = count };
    if (count < 1) { // the others wait for this rank: it takes part with the error, and all fail
        wish.why = pli_fail(PLI_ERR_ARG,
                            "argument count is %d; a process has at least 1 rank in "
                            "MPI_COMM_ENDPOINTS, its own",
                            count);
    }
    return init_thread("MPI_Init_endpoints", wish, provided);
}

// Initialise MPI for a program that uses it without having done so; false: it was already, or is
// over.
static bool begin_by_use(void)
{
    int provided;
    return atomic_load(&state) == S_NEVER &&
           pli_world_init_thread(NULL, NULL, MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS;
}

enum pli_err pli_world_may_call(void)
{
    if (level >= MPI_THREAD_SERIALIZED || pthread_equal(main_thread, pthread_self()) != 0) {
        return PLI_OK;
    }
    return pli_fail(PLI_ERR_OTHER,
                    "MPI was initialised with %s: only the thread that initialised it may call",
                    level == MPI_THREAD_SINGLE ? "MPI_THREAD_SINGLE" : "MPI_THREAD_FUNNELED");
}

// Whether the world is open now, else the complaint is raised.
static bool is_open(const char *fn, int *rc_out)
{
    int s = atomic_load(&state);
    if (s != S_OPEN) {
        *rc_out = pli_raise(NULL, fn,
                            pli_fail(PLI_ERR_OTHER, s == S_NEVER ? "called before MPI_Init"
                                                                 : "called after MPI_Finalize"));
    }
    return s == S_OPEN;
}

int pli_world_finalize(void)
{
    int rc;
    pli_prepare();
    if (!is_open("MPI_Finalize", &rc)) {
        return rc;
    }
    struct pli_comm *self = pli_arg_comm_any(MPI_COMM_SELF);
    struct pli_comm *world = pli_arg_comm_any(MPI_COMM_WORLD);
    // First of all, while everything still works. [MPI-5.0 11.2.4]
    enum pli_err err = pli_attr_delete_all(&self->obj);
    err = err == PLI_OK ? pli_endpoint_static_delete_attrs() : err;
    err = err == PLI_OK ? pli_attr_delete_all(&world->obj) : err;
    if (err == PLI_OK && world->is_span) {
        err = pli_coll_barrier(world); // IMPI wants it: after it no process sends any more
    }
    if (err != PLI_OK) {
        return pli_raise(NULL, "MPI_Finalize", err);
    }
    while (pli_progress_once(world->ep->lane) > 0) {
        // what came for calls that this rank never made is told of when communicators end
    }
    pli_file_shared_batch_leave();
    pli_process_leave();
    pli_endpoint_static_close();
    pli_spawner_forget_parent();
    pli_fork_comm_free_all();
    pli_elastic_world_end();
    close_world();
    atomic_store(&state, S_CLOSED);
    return MPI_SUCCESS;
}

int pli_world_initialized(int *flag)
{
    pli_implicit_init_on_use(begin_by_use); // the runtime of UPC asks this before anything else
    pli_prepare();
    if (flag == NULL) {
        return pli_bad_pointer(NULL, "MPI_Initialized", "flag");
    }
    *flag = atomic_load(&state) != S_NEVER;
    return MPI_SUCCESS;
}

int pli_world_finalized(int *flag)
{
    pli_prepare();
    if (flag == NULL) {
        return pli_bad_pointer(NULL, "MPI_Finalized", "flag");
    }
    *flag = atomic_load(&state) == S_CLOSED;
    return MPI_SUCCESS;
}

int pli_world_query_thread(int *provided)
{
    int rc;
    pli_prepare();
    if (provided == NULL) {
        return pli_bad_pointer(NULL, "MPI_Query_thread", "provided");
    }
    if (!is_open("MPI_Query_thread", &rc)) {
        return rc;
    }
    *provided = level;
    return MPI_SUCCESS;
}

int pli_world_is_thread_main(int *flag)
{
    int rc;
    pli_prepare();
    if (flag == NULL) {
        return pli_bad_pointer(NULL, "MPI_Is_thread_main", "flag");
    }
    if (!is_open("MPI_Is_thread_main", &rc)) {
        return rc;
    }
    *flag = pthread_equal(main_thread, pthread_self()) != 0;
    return MPI_SUCCESS;
}

int pli_world_abort(MPI_Comm comm, int code)
{
    struct pli_boot *boot;
    pli_prepare();
    pli_file_shared_batch_flush_all();
    if (pli_abort_group(pli_arg_comm(comm), code)) {
        pli_boot_exit(pli_boot_exit_code(code));
    }
    if (pli_boot_open(&boot) == PLI_OK) {
        boot->ops->abort(boot, code, "MPI_Abort");
    }
    _exit(code);
}
