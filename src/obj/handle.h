// SPDX-License-Identifier: BSD-3-Clause
// Handles: what the user holds. Predefined objects have the small values of the standard ABI;
// all others are the address of their object inside one reserved arena, so that a null, freed,
// foreign or mistaken handle is recognised without touching memory that is not ours.
#ifndef PLI_OBJ_HANDLE_H
#define PLI_OBJ_HANDLE_H

#include "base/lock.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pli_kind {
    PLI_KIND_NONE, // a slot that is free
    PLI_KIND_COMM,
    PLI_KIND_GROUP,
    PLI_KIND_DATATYPE,
    PLI_KIND_OP,
    PLI_KIND_REQUEST,
    PLI_KIND_INFO,
    PLI_KIND_ERRHANDLER,
    PLI_KIND_SESSION,
    PLI_KIND_WIN,
    PLI_KIND_FILE,
    PLI_KIND_MESSAGE,
    PLI_KIND_LOST,   // a communicator or window of the process that this one was forked from
    PLI_KIND_BARRED, // a communicator on which all communication fails
    PLI_N_KIND
};

// First member of every object a handle can name.
struct pli_obj {
    _Atomic uint16_t kind; // enum pli_kind; a stale handle may be looked at while it changes
    uint16_t value;        // the ABI value of a predefined object, 0 for all others
    _Atomic uint32_t refs; // retain/release
};

enum { PLI_N_PREDEFINED = 1024, PLI_HANDLE_ALIGN = 64 };

// The predefined objects by ABI value (handle_predefined.c); NULL: the value names nothing now.
extern struct pli_obj *pli_handle_predefined[PLI_N_PREDEFINED];
extern uintptr_t pli_handle_base; // start of the arena
extern _Atomic size_t pli_handle_used;

// Whether an object can begin at this address; says nothing of what is there.
static inline bool pli_handle_is_inside(uintptr_t v)
{
    return v - pli_handle_base < atomic_load_explicit(&pli_handle_used, memory_order_relaxed) &&
           v % PLI_HANDLE_ALIGN == 0;
}

// The object of the given kind that h names, or NULL. Context: any thread.
static inline void *pli_handle_get(const void *h, enum pli_kind kind)
{
    uintptr_t v = (uintptr_t)h;
    struct pli_obj *o;
    if (pli_handle_is_inside(v)) {
        o = (struct pli_obj *)v;
    } else if (v < PLI_N_PREDEFINED) {
        o = pli_handle_predefined[v];
    } else {
        return NULL;
    }
    return o != NULL && atomic_load_explicit(&o->kind, memory_order_relaxed) == kind ? o : NULL;
}

// What an object is, whatever calls may do with it.
static inline enum pli_kind pli_handle_kind(const struct pli_obj *o)
{
    uint16_t kind = atomic_load_explicit(&o->kind, memory_order_relaxed);
    return kind == PLI_KIND_BARRED ? PLI_KIND_COMM : (enum pli_kind)kind;
}

// The handle of an object; for NULL the null handle of the kind.
void *pli_handle_of(const void *obj, enum pli_kind kind);

const char *pli_handle_kind_name(enum pli_kind kind); // "communicator"
const char *pli_handle_null_name(const void *h);      // "MPI_COMM_NULL"; NULL: no null handle

// 32-bit form of a handle and back, for Fortran and tools. [MPI-5.0 20.4]
int pli_handle_to_int(const void *h);
void *pli_handle_from_int(int i, enum pli_kind kind);

// A new object of `size` bytes, zeroed but for the header, with one reference; NULL: no memory.
// Context: any thread. The memory is never given back, so a stale handle is safe to look at.
void *pli_handle_create(enum pli_kind kind, size_t size);
// Get the memory of n objects of a size now, so that creating them cannot fail for want of it.
// False: there is not enough.
bool pli_handle_reserve(size_t size, size_t n);
void pli_handle_destroy(void *obj, size_t size); // NULL and predefined objects are left alone

// Objects of a kind created and not destroyed, to find leaks.
size_t pli_handle_live(enum pli_kind kind);

// Below MPI_THREAD_MULTIPLE a plain addition does: the locked one costs a message 5 % (bench rate).
static inline void *pli_handle_retain(void *obj)
{
    struct pli_obj *o = obj;
    if (pli_lock_threads) {
        atomic_fetch_add_explicit(&o->refs, 1, memory_order_relaxed);
    } else {
        uint32_t n = atomic_load_explicit(&o->refs, memory_order_relaxed);
        atomic_store_explicit(&o->refs, n + 1, memory_order_relaxed);
    }
    return obj;
}

// True when the caller dropped the last reference of an object that may be destroyed.
static inline bool pli_handle_release(void *obj)
{
    struct pli_obj *o = obj;
    if (pli_lock_threads) {
        return atomic_fetch_sub_explicit(&o->refs, 1, memory_order_acq_rel) == 1;
    }
    uint32_t n = atomic_load_explicit(&o->refs, memory_order_relaxed);
    atomic_store_explicit(&o->refs, n - 1, memory_order_relaxed);
    return n == 1;
}

// Slots of one size and kind, owned and guarded by the caller: the fast way for requests.
struct pli_handle_pool {
    struct pli_obj *free; // linked through the word after the header
    enum pli_kind kind;
    size_t size;
    size_t n_slot; // all, free or not
};

// Get more slots; false: no memory.
bool pli_handle_pool_grow(struct pli_handle_pool *p);
// How many are in use: looks at all that are not.
size_t pli_handle_pool_live(const struct pli_handle_pool *p);

// While the process is dumped, addresses that are reserved and not in use are given up: to look
// through them would take longer than all the rest. Async-signal-safe.
void pli_handle_park(bool is_leaving);

#endif
