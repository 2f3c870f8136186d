// SPDX-License-Identifier: BSD-3-Clause
// Error handlers: the three predefined ones, users' own, and setting them on objects.
#include "obj/errhandler.h"
#include "base/cpu.h"

#include "base/conf.h"
#include "base/lock.h"
#include "obj/handle_predefined.h"

#include <pthread.h>
#include <string.h>

#define PREDEFINED(number)                                                                         \
    {                                                                                              \
        .obj = {.kind = PLI_KIND_ERRHANDLER, .value = (number), .refs = 1 }                        \
    }

struct pli_errhandler pli_errhandler_fatal = PREDEFINED(0x141);
struct pli_errhandler pli_errhandler_abort = PREDEFINED(0x142);
struct pli_errhandler pli_errhandler_return = PREDEFINED(0x143);

static struct {
    struct pli_obj obj;
    struct pli_errhandler *errhandler;
} no_file = { .obj = { .kind = PLI_KIND_FILE, .value = 0x118, .refs = 1 },
              .errhandler = &pli_errhandler_return }; // [MPI-5.0 14.7]
struct pli_obj *const pli_errhandler_no_file = &no_file.obj;

static struct pli_errhandler *initial = &pli_errhandler_fatal;
PLI_START_VAR static size_t offset_of[PLI_N_KIND]; // 0: objects of the kind have no handler

// Errors are rare and handlers change rarely: one mutex makes "read it and take a reference" one
// step. It must work before the thread level is known.
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

struct pli_errhandler *pli_errhandler_retain(struct pli_errhandler *e)
{
    return pli_handle_retain(e);
}

void pli_errhandler_release(struct pli_errhandler *e)
{
    if (e != NULL && e->obj.value == 0 && pli_handle_release(e)) {
        pli_handle_destroy(e, sizeof *e);
    }
}

PLI_START void pli_errhandler_init(void)
{
    pli_conf_load();
    if (strcmp(pli_conf.initial_errhandler, "mpi_errors_return") == 0) {
        initial = &pli_errhandler_return;
    } else if (strcmp(pli_conf.initial_errhandler, "mpi_errors_abort") == 0) {
        initial = &pli_errhandler_abort;
    }
}

struct pli_errhandler *pli_errhandler_initial(void)
{
    return initial;
}

PLI_START void pli_errhandler_keep(enum pli_kind kind, size_t offset)
{
    offset_of[kind] = offset;
}

// Where the object keeps its handler, or NULL.
static struct pli_errhandler **place_in(struct pli_obj *owner)
{
    if (owner == pli_errhandler_no_file) {
        return &no_file.errhandler;
    }
    size_t offset = offset_of[pli_handle_kind(owner)];
    return offset != 0 ? (struct pli_errhandler **)((char *)owner + offset) : NULL;
}

struct pli_errhandler *pli_errhandler_of(struct pli_obj *owner)
{
    struct pli_obj *world = NULL;
    if (owner == NULL) {
        owner = pli_handle_get(MPI_COMM_SELF, PLI_KIND_COMM);
        world = pli_handle_predefined[(uintptr_t)MPI_COMM_WORLD];
    }
    struct pli_errhandler **place = owner != NULL ? place_in(owner) : NULL;
    pthread_mutex_lock(&guard);
    struct pli_errhandler *e = place != NULL && *place != NULL ? *place : initial;
    // Until MPI-3 errors of no object went to MPI_COMM_WORLD. A program of that time has set a
    // handler there and none on MPI_COMM_SELF: it means what it did.
    if (world != NULL && e == initial && *place_in(world) != NULL) {
        e = *place_in(world);
    }
    pli_errhandler_retain(e);
    pthread_mutex_unlock(&guard);
    return e;
}

enum pli_err pli_errhandler_set(struct pli_obj *owner, struct pli_errhandler *e)
{
    struct pli_errhandler **place = place_in(owner);
    if (e->on != PLI_KIND_NONE && e->on != pli_handle_kind(owner)) {
        return pli_fail(PLI_ERR_ERRHANDLER,
                        "argument errhandler was made for a %s and cannot be set on a %s",
                        pli_handle_kind_name(e->on), pli_handle_kind_name(pli_handle_kind(owner)));
    }
    pthread_mutex_lock(&guard);
    struct pli_errhandler *old = *place;
    *place = pli_errhandler_retain(e);
    pthread_mutex_unlock(&guard);
    pli_errhandler_release(old);
    return PLI_OK;
}

enum pli_err pli_errhandler_get(struct pli_obj *owner, struct pli_errhandler **out)
{
    struct pli_errhandler *e = pli_errhandler_of(owner);
    atomic_fetch_add_explicit(&e->n_user, 1, memory_order_relaxed);
    *out = e;
    return PLI_OK;
}

// A handler for objects of a kind; the caller fills in the function.
static enum pli_err create(enum pli_kind on, bool has_fn, struct pli_errhandler **out)
{
    if (!has_fn) {
        return pli_fail(PLI_ERR_ARG, "the error handler function is NULL");
    }
    struct pli_errhandler *e = pli_handle_create(PLI_KIND_ERRHANDLER, sizeof *e);
    if (e == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory for an error handler");
    }
    e->on = on;
    e->n_user = 1;
    *out = e;
    return PLI_OK;
}

enum pli_err pli_errhandler_create_comm(MPI_Comm_errhandler_function *fn,
                                        struct pli_errhandler **out)
{
    enum pli_err err = create(PLI_KIND_COMM, fn != NULL, out);
    if (err == PLI_OK) {
        (*out)->fn.comm = fn;
    }
    return err;
}

enum pli_err pli_errhandler_create_file(MPI_File_errhandler_function *fn,
                                        struct pli_errhandler **out)
{
    enum pli_err err = create(PLI_KIND_FILE, fn != NULL, out);
    if (err == PLI_OK) {
        (*out)->fn.file = fn;
    }
    return err;
}

enum pli_err pli_errhandler_create_win(MPI_Win_errhandler_function *fn, struct pli_errhandler **out)
{
    enum pli_err err = create(PLI_KIND_WIN, fn != NULL, out);
    if (err == PLI_OK) {
        (*out)->fn.win = fn;
    }
    return err;
}

enum pli_err pli_errhandler_create_session(MPI_Session_errhandler_function *fn,
                                           struct pli_errhandler **out)
{
    enum pli_err err = create(PLI_KIND_SESSION, fn != NULL, out);
    if (err == PLI_OK) {
        (*out)->fn.session = fn;
    }
    return err;
}

enum pli_err pli_errhandler_free(struct pli_errhandler *e)
{
    uint32_t n = atomic_load_explicit(&e->n_user, memory_order_relaxed);
    if (e->obj.value != 0) {
        return PLI_OK; // the user got it from MPI_Comm_get_errhandler; it always exists
    }
    do {
        if (n == 0) {
            return pli_fail(PLI_ERR_ERRHANDLER, "argument errhandler was freed before; it lives on "
                                                "only where it is set");
        }
    } while (!atomic_compare_exchange_weak_explicit(&e->n_user, &n, n - 1, memory_order_relaxed,
                                                    memory_order_relaxed));
    pli_errhandler_release(e);
    return PLI_OK;
}

struct pli_obj *pli_errhandler_file(MPI_File h)
{
    struct pli_obj *owner =
        h == MPI_FILE_NULL ? pli_errhandler_no_file : pli_handle_get(h, PLI_KIND_FILE);
    if (owner == NULL) {
        pli_fail(PLI_ERR_FILE, "argument file %s, but must be a file or MPI_FILE_NULL",
                 pli_handle_why(h, PLI_KIND_FILE));
    }
    return owner;
}

enum pli_err pli_errhandler_set_file(MPI_File h, struct pli_errhandler *e)
{
    struct pli_obj *owner = pli_errhandler_file(h);
    return owner != NULL ? pli_errhandler_set(owner, e) : PLI_ERR_FILE;
}

enum pli_err pli_errhandler_get_file(MPI_File h, struct pli_errhandler **out)
{
    struct pli_obj *owner = pli_errhandler_file(h);
    return owner != NULL ? pli_errhandler_get(owner, out) : PLI_ERR_FILE;
}
