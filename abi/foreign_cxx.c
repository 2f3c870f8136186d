// SPDX-License-Identifier: BSD-3-Clause
// Operations and error handlers of the C++ bindings.
#include "foreign_cxx.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static struct pli_foreign_cxx *_Atomic all; // the newest is the first; they stay

struct pli_foreign_cxx *pli_foreign_cxx_keep(pli_foreign_function *user,
                                             pli_foreign_function *proxy, void *object)
{
    struct pli_foreign_cxx *c = malloc(sizeof *c);
    if (c != NULL) {
        *c = (struct pli_foreign_cxx){ user, proxy, object, atomic_load(&all) };
        while (!atomic_compare_exchange_weak(&all, &c->next, c)) {
        }
    }
    return c;
}

struct pli_foreign_cxx *pli_foreign_cxx_of(pli_foreign_function *fn)
{
    struct pli_foreign_cxx *c = atomic_load_explicit(&all, memory_order_acquire);
    while (c != NULL && (uintptr_t)c != (uintptr_t)fn) {
        c = c->next;
    }
    return c;
}

// Made when they are first set.
static MPI_Errhandler throwers[3];
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER; // of throwers

MPI_Errhandler pli_foreign_cxx_handler_in(F_Errhandler h, enum pli_foreign_on on)
{
    if (h != pli_foreign_cxx_throwing) {
        return pli_foreign_errhandler_in(h);
    }
    pthread_mutex_lock(&guard);
    if (throwers[on] == NULL) {
        throwers[on] = pli_foreign_cxx_thrower(on);
    }
    MPI_Errhandler e = throwers[on];
    pthread_mutex_unlock(&guard);
    return e;
}

F_Errhandler pli_foreign_cxx_handler_out(MPI_Errhandler h)
{
    pthread_mutex_lock(&guard);
    bool is_one =
        h != MPI_ERRHANDLER_NULL && (h == throwers[0] || h == throwers[1] || h == throwers[2]);
    pthread_mutex_unlock(&guard);
    return is_one ? pli_foreign_cxx_throwing : pli_foreign_errhandler_out(h);
}

// Those that throw stay: which of them it was is not known any more.
int pli_foreign_cxx_handler_free(F_Errhandler *errhandler)
{
    bool is_thrower = errhandler != NULL && *errhandler == pli_foreign_cxx_throwing;
    MPI_Errhandler e = MPI_ERRHANDLER_NULL;
    if (errhandler != NULL && !is_thrower) {
        e = pli_foreign_errhandler_in(*errhandler);
    }
    int err = is_thrower ? 0 : pli_std_MPI_Errhandler_free(errhandler != NULL ? &e : NULL);
    if (err == 0) {
        *errhandler = pli_foreign_errhandler_out(MPI_ERRHANDLER_NULL);
    }
    return err == 0 ? 0 : pli_foreign_error_out(err);
}
