// SPDX-License-Identifier: BSD-3-Clause
// The list of memory that is attached to a dynamic window.
#include "rma/win_attach.h"

#include "obj/comm.h"
#include "onesided/region_lock.h"
#include "rma/win.h"
#include "rma/win_wire.h"

#include <stdlib.h>

static enum pli_err check(const struct pli_win *w)
{
    return w->flavor == MPI_WIN_FLAVOR_DYNAMIC
               ? PLI_OK
               : pli_fail(PLI_ERR_RMA_FLAVOR,
                          "%s was not made by MPI_Win_create_dynamic, so no memory is attached to "
                          "it",
                          pli_win_say(w));
}

static size_t guard_bytes(int n)
{
    size_t align = _Alignof(struct pli_win_attach_wire);
    return (pli_region_lock_bytes(n) + align - 1) / align * align;
}

size_t pli_win_attach_bytes(int n)
{
    return guard_bytes(n) + sizeof(struct pli_win_attach_wire);
}

struct pli_win_attach_wire *pli_win_attach_wire(struct pli_guard *guard, int n)
{
    return (struct pli_win_attach_wire *)(void *)((char *)guard + guard_bytes(n));
}

// The list has changed. Readers on other processors see the version odd before, and even after all
// of it.
static void publish(struct pli_win_attach_wire *a, const struct pli_win_attached *list)
{
    uint32_t version = atomic_load_explicit(&a->version, memory_order_relaxed), n = 0;
    atomic_store_explicit(&a->version, version + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    for (; list != NULL && n < PLI_WIN_ATTACH_MOST; list = list->next, n++) {
        atomic_store_explicit(&a->pieces[n].at, list->at, memory_order_relaxed);
        atomic_store_explicit(&a->pieces[n].len, list->len, memory_order_relaxed);
    }
    atomic_store_explicit(&a->n, n, memory_order_relaxed);
    atomic_store_explicit(&a->version, version + 2, memory_order_release);
}

void pli_win_attach_publish(struct pli_win *w)
{
    publish(pli_win_attach_wire(w->guard, w->comm->size), w->attached);
}

bool pli_win_attach_sees(const struct pli_win_attach_wire *a, uint64_t at, uint64_t len)
{
    uint32_t version = atomic_load_explicit(&a->version, memory_order_acquire);
    uint32_t n = atomic_load_explicit(&a->n, memory_order_relaxed);
    bool is_there = false;
    for (uint32_t i = 0; i < n && i < PLI_WIN_ATTACH_MOST && !is_there; i++) {
        uint64_t from = atomic_load_explicit(&a->pieces[i].at, memory_order_relaxed);
        uint64_t have = atomic_load_explicit(&a->pieces[i].len, memory_order_relaxed);
        is_there = at >= from && at - from <= have && len <= have - (at - from);
    }
    atomic_thread_fence(memory_order_acquire);
    return is_there && version % 2 == 0 &&
           atomic_load_explicit(&a->version, memory_order_relaxed) == version;
}

enum pli_err pli_win_attach(struct pli_win *w, void *base, MPI_Aint size)
{
    enum pli_err err = check(w);
    if (err == PLI_OK && size < 0) {
        err = pli_fail(PLI_ERR_SIZE, "argument size is %lld, but must not be negative",
                       (long long)size);
    }
    if (err != PLI_OK) {
        return err;
    }
    struct pli_win_attached *s = malloc(sizeof *s);
    if (s == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory to attach some");
    }
    *s = (struct pli_win_attached){ .at = (uintptr_t)base, .len = (size_t)size };
    pli_lock_take(&w->lock);
    for (const struct pli_win_attached *o = w->attached; o != NULL && err == PLI_OK; o = o->next) {
        if (s->at < o->at + o->len && o->at < s->at + s->len) {
            err = PLI_ERR_RMA_ATTACH;
        }
    }
    if (err == PLI_OK) {
        s->next = w->attached;
        w->attached = s;
        pli_win_attach_publish(w);
    }
    pli_lock_drop(&w->lock);
    if (err != PLI_OK) {
        free(s);
        return pli_fail(err, "part of the %lld bytes from %p on is attached to %s already",
                        (long long)size, base, pli_win_say(w));
    }
    return PLI_OK;
}

enum pli_err pli_win_attach_end(struct pli_win *w, const void *base)
{
    enum pli_err err = check(w);
    if (err != PLI_OK) {
        return err;
    }
    pli_lock_take(&w->lock);
    struct pli_win_attached **at = &w->attached;
    while (*at != NULL && (*at)->at != (uintptr_t)base) {
        at = &(*at)->next;
    }
    struct pli_win_attached *s = *at;
    if (s != NULL) {
        *at = s->next;
        pli_win_attach_publish(w);
    }
    pli_lock_drop(&w->lock);
    free(s);
    return s != NULL ? PLI_OK
                     : pli_fail(PLI_ERR_RMA_ATTACH, "no memory that begins at %p is attached to %s",
                                base, pli_win_say(w));
}

void pli_win_attach_clear(struct pli_win *w)
{
    while (w->attached != NULL) {
        struct pli_win_attached *s = w->attached;
        w->attached = s->next;
        free(s);
    }
}

// Pieces that touch each other are one to an access.
bool pli_win_attach_has(struct pli_win *w, int64_t at, uint64_t len)
{
    if (w->flavor != MPI_WIN_FLAVOR_DYNAMIC) {
        return at >= 0 && (uint64_t)at <= (uint64_t)w->size &&
               len <= (uint64_t)w->size - (uint64_t)at;
    }
    uintptr_t from = (uintptr_t)at, to = from + len;
    pli_lock_take(&w->lock);
    for (bool is_found = true; is_found && from < to;) {
        is_found = false;
        for (const struct pli_win_attached *s = w->attached; s != NULL && !is_found; s = s->next) {
            if (from >= s->at && from < s->at + s->len) {
                from = s->at + s->len;
                is_found = true;
            }
        }
    }
    pli_lock_drop(&w->lock);
    return from >= to;
}
