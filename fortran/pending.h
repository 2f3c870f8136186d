// SPDX-License-Identifier: BSD-3-Clause
// Copies of array sections that nonblocking calls work on: what a copy got is put back when the
// request is complete.
#ifndef PLI_FORTRAN_PENDING_H
#define PLI_FORTRAN_PENDING_H

#include "fortran/cdesc.h"

#include <stdatomic.h>

extern atomic_int pli_pending_count; // copies that wait

struct pli_pending;

// Room for what add notes down of a section; NULL: no memory.
struct pli_pending *pli_pending_prepare(const struct pli_cdesc *d);
void pli_pending_destroy(struct pli_pending *p);
// The copy belongs to a request now, by its Fortran handle, and the record to the list. That of a
// persistent request is made anew at each start.
void pli_pending_add(struct pli_pending *p, int request, void *packed, bool changed,
                     bool is_persistent);

int *pli_pending_copy(const int *requests, int n);
void pli_pending_complete(int *saved, const int *requests, int n);

void pli_pending_renew(const int *requests, int n);

// Before persistent requests are started.
static inline void pli_pending_start(const int *requests, int n)
{
    if (__builtin_expect(atomic_load_explicit(&pli_pending_count, memory_order_relaxed) != 0, 0)) {
        pli_pending_renew(requests, n);
    }
}

// Around each call that may complete requests: those that were there and are null afterwards are
// complete. Context: any thread. NULL when nothing waits, or without memory for the list.
static inline int *pli_pending_before(const int *requests, int n)
{
    bool is_idle = atomic_load_explicit(&pli_pending_count, memory_order_relaxed) == 0;
    return __builtin_expect(is_idle, 1) ? NULL : pli_pending_copy(requests, n);
}

static inline void pli_pending_after(int *saved, const int *requests, int n)
{
    if (__builtin_expect(saved != NULL, 0)) {
        pli_pending_complete(saved, requests, n);
    }
}

#endif
