// SPDX-License-Identifier: BSD-3-Clause
// Copies between private and shared memory, blocking and not.
#include "rt_copy.h"
#include "rt_prefetch.h"
#include "rt.h"
#include "upc_calls.h"

#include "base/err.h"
#include "boot/boot.h"
#include "onesided/region.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 65536 };

static void check(enum pli_err err, pli_upc_pts p)
{
    if (err != PLI_OK) {
        pli_boot_let_launcher_judge();
        pli_rt_die("shared memory of thread %d cannot be reached: %s", (int)pli_upc_threadof(p),
                   pli_fail_take(NULL));
    }
}

static int owner_of(pli_upc_pts p)
{
    if (pli_upc_threadof(p) >= (size_t)pli_rt.n) {
        pli_rt_die("an access through a wild pointer-to-shared: it names thread %d of %d",
                   (int)pli_upc_threadof(p), pli_rt.n);
    }
    return (int)pli_upc_threadof(p);
}

static struct pli_region *region(void)
{
    return rt_me()->region;
}

// Scalars in one access: others never see half of one.
static inline void copy(void *to, const void *from, size_t n)
{
    if (n == 8 && (((uintptr_t)to | (uintptr_t)from) & 7) == 0) {
        *(volatile uint64_t *)to = *(const volatile uint64_t *)from;
    } else if (n == 4 && (((uintptr_t)to | (uintptr_t)from) & 3) == 0) {
        *(volatile uint32_t *)to = *(const volatile uint32_t *)from;
    } else {
        memcpy(to, from, n);
    }
}

void pli_rt_copy_get(void *to, pli_upc_pts from, size_t n)
{
    int t = owner_of(from);
    char *at = rt_near(from);
    if (at != NULL) {
        copy(to, at, n);
    } else {
        check(pli_region_get(region(), t, pli_upc_addrfield(from), to, n), from);
    }
}

void pli_rt_copy_put(pli_upc_pts to, const void *from, size_t n)
{
    int t = owner_of(to);
    char *at = rt_near(to);
    if (at != NULL) {
        copy(at, from, n);
    } else {
        check(pli_region_put(region(), t, pli_upc_addrfield(to), from, n), to);
    }
}

// These are hidden in expressions of the program, which may look at errno afterwards.
void pli_upc_get(void *to, pli_upc_pts from, size_t n)
{
    int saved = errno;
    pli_rt_copy_get(to, from, n);
    errno = saved;
}

void pli_upc_put(pli_upc_pts to, const void *from, size_t n)
{
    int saved = errno;
    pli_rt_copy_put(to, from, n);
    pli_rt_prefetch_drop(to, n);
    errno = saved;
}

void pli_upc_put_changed(pli_upc_pts to, const void *now, const void *old, size_t n)
{
    const char *fresh = now, *before = old;
    for (size_t i = 0; i < n; i++) {
        if (fresh[i] != before[i]) {
            pli_upc_put(to + i, fresh + i, 1);
        }
    }
}

void *pli_upc_local_far(pli_upc_pts p)
{
    pli_rt_die("a cast to a private pointer of shared memory that belongs to thread %d and is not "
               "mapped here",
               owner_of(p));
}

void pli_upc_flush(void)
{
    if (region() != NULL) {
        int saved = errno;
        check(pli_region_flush_all(region()), 0);
        errno = saved;
    }
}

void pli_upc_memget(void *to, pli_upc_pts from, size_t n)
{
    if (n > 0) {
        pli_rt_copy_get(to, from, n);
    }
}

void pli_upc_memput(pli_upc_pts to, const void *from, size_t n)
{
    if (n > 0) {
        pli_rt_copy_put(to, from, n);
    }
}

void pli_upc_memcpy(pli_upc_pts to, pli_upc_pts from, size_t n)
{
    char *dst = n > 0 ? rt_near(to) : NULL, *src = n > 0 ? rt_near(from) : NULL;
    if (n == 0) {
        return;
    }
    if (dst != NULL) {
        pli_rt_copy_get(dst, from, n);
    } else if (src != NULL) {
        pli_rt_copy_put(to, src, n);
    } else {
        char buf[PIECE];
        for (size_t i = 0; i < n; i += PIECE) {
            size_t len = n - i < PIECE ? n - i : PIECE;
            pli_rt_copy_get(buf, from + i, len);
            pli_rt_copy_put(to + i, buf, len);
        }
    }
}

void pli_upc_memset(pli_upc_pts to, int c, size_t n)
{
    char *at = n > 0 ? rt_near(to) : NULL;
    if (at != NULL) {
        memset(at, c, n);
    } else if (n > 0) {
        check(pli_region_set(region(), owner_of(to), pli_upc_addrfield(to), c, n), to);
    }
}

// Without help from a network only gets of far memory are ever under way; a put is done for its
// caller when it is sent, and a strict access afterwards waits until it is done for all.
void *pli_upc_memget_nb(void *to, pli_upc_pts from, size_t n)
{
    struct pli_request *req = NULL;
    if (n > 0 && rt_near(from) != NULL) {
        memcpy(to, rt_near(from), n);
    } else if (n > 0) {
        check(pli_region_get_begin(region(), owner_of(from), pli_upc_addrfield(from), to, n, &req),
              from);
    }
    return req;
}

void *pli_upc_memcpy_nb(pli_upc_pts to, pli_upc_pts from, size_t n)
{
    char *at = n > 0 ? rt_near(to) : NULL;
    if (at != NULL) {
        return pli_upc_memget_nb(at, from, n);
    }
    pli_upc_memcpy(to, from, n);
    return NULL;
}

void *pli_upc_memput_nb(pli_upc_pts to, const void *from, size_t n)
{
    pli_upc_memput(to, from, n);
    return NULL;
}

void *pli_upc_memset_nb(pli_upc_pts to, int c, size_t n)
{
    pli_upc_memset(to, c, n);
    return NULL;
}

// The handle of a batch is its address + 1; requests and batches have even addresses.
static struct rt_batch *batch_of(void *handle)
{
    return ((uintptr_t)handle & 1) != 0 ? (struct rt_batch *)((char *)handle - 1) : NULL;
}

void pli_rt_copy_batch_add(struct rt_batch *b, void *handle)
{
    if (handle != NULL && b->n == b->cap) {
        size_t cap = b->cap * 2 + 16;
        void **more = realloc(b->handles, cap * sizeof(void *));
        if (more == NULL) {
            pli_upc_sync(handle); // slower, but as right
            return;
        }
        b->handles = more;
        b->cap = cap;
    }
    if (handle != NULL) {
        b->handles[b->n++] = handle;
    }
}

void *pli_rt_copy_batch_end(struct rt_batch *b)
{
    struct rt_batch *out = b->n > 1 ? malloc(sizeof *out) : NULL;
    if (out != NULL) {
        *out = *b;
        return (char *)out + 1;
    }
    while (b->n > 1) {
        pli_upc_sync(b->handles[--b->n]);
    }
    void *only = b->n > 0 ? b->handles[0] : NULL;
    free(b->handles);
    return only;
}

static void batch_free(struct rt_batch *b)
{
    free(b->handles);
    free(b);
}

static int batch_attempt(struct rt_batch *b)
{
    while (b->n > 0 && pli_upc_sync_attempt(b->handles[b->n - 1])) {
        b->n--;
    }
    if (b->n > 0) {
        return 0;
    }
    batch_free(b);
    return 1;
}

static void remember(void *handle)
{
    struct rt_thread *me = rt_me();
    if (handle == NULL) {
        return;
    }
    if (me->n_async == me->cap_async) {
        size_t cap = me->cap_async * 2 + 16;
        struct pli_request **more = realloc(me->async, cap * sizeof(struct pli_request *));
        if (more == NULL) {
            pli_upc_sync(handle); // slower, but as right
            return;
        }
        me->async = more;
        me->cap_async = cap;
    }
    me->async[me->n_async++] = handle;
}

void pli_upc_memcpy_nbi(pli_upc_pts to, pli_upc_pts from, size_t n)
{
    remember(pli_upc_memcpy_nb(to, from, n));
}

void pli_upc_memget_nbi(void *to, pli_upc_pts from, size_t n)
{
    remember(pli_upc_memget_nb(to, from, n));
}

void pli_upc_memput_nbi(pli_upc_pts to, const void *from, size_t n)
{
    pli_upc_memput(to, from, n);
}

void pli_upc_memset_nbi(pli_upc_pts to, int c, size_t n)
{
    pli_upc_memset(to, c, n);
}

int pli_upc_sync_attempt(void *handle)
{
    struct rt_batch *batch = batch_of(handle);
    if (batch != NULL) {
        return batch_attempt(batch);
    }
    enum pli_err err = handle != NULL ? pli_region_get_test(region(), handle) : PLI_OK;
    if (err == PLI_AGAIN) {
        return 0;
    }
    check(err, 0);
    return 1;
}

void pli_upc_sync(void *handle)
{
    struct rt_batch *batch = batch_of(handle);
    if (batch != NULL) {
        while (batch->n > 0) {
            pli_upc_sync(batch->handles[--batch->n]);
        }
        batch_free(batch);
    } else if (handle != NULL) {
        check(pli_region_get_wait(handle), 0);
    }
}

int pli_upc_synci_attempt(void)
{
    struct rt_thread *me = rt_me();
    while (me->n_async > 0 && pli_upc_sync_attempt(me->async[me->n_async - 1])) {
        me->n_async--;
    }
    return me->n_async == 0;
}

void pli_upc_synci(void)
{
    struct rt_thread *me = rt_me();
    while (me->n_async > 0) {
        pli_upc_sync(me->async[--me->n_async]);
    }
}

// How many handles of the list are over; those become NULL. *n_out: how many were not NULL.
static size_t attempt_each(void **handles, size_t n, size_t *n_out)
{
    size_t n_over = 0;
    *n_out = 0;
    for (size_t i = 0; i < n; i++) {
        *n_out += handles[i] != NULL;
        if (handles[i] != NULL && pli_upc_sync_attempt(handles[i])) {
            handles[i] = NULL;
            n_over++;
        }
    }
    return n_over;
}

void pli_upc_sync_all(void **handles, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        pli_upc_sync(handles[i]);
        handles[i] = NULL;
    }
}

int pli_upc_sync_all_attempt(void **handles, size_t n)
{
    size_t n_begun;
    return attempt_each(handles, n, &n_begun) == n_begun;
}

int pli_upc_sync_some_attempt(void **handles, size_t n)
{
    size_t n_begun, n_over = attempt_each(handles, n, &n_begun);
    return n_over > 0 || n_begun == 0;
}

void pli_upc_sync_some(void **handles, size_t n)
{
    while (!pli_upc_sync_some_attempt(handles, n)) {
        pli_upc_poll_slow();
    }
}

void pli_upc_begin_accessregion(void)
{
    struct rt_thread *me = rt_me();
    if (me->is_accessregion) {
        pli_rt_die("bupc_begin_accessregion: the access region before it has not ended");
    }
    me->is_accessregion = true;
    me->n_async_before = me->n_async;
}

void *pli_upc_end_accessregion(void)
{
    struct rt_thread *me = rt_me();
    struct rt_batch batch = { 0 };
    if (!me->is_accessregion) {
        pli_rt_die("bupc_end_accessregion: no access region has begun");
    }
    me->is_accessregion = false;
    while (me->n_async > me->n_async_before) {
        pli_rt_copy_batch_add(&batch, me->async[--me->n_async]);
    }
    return pli_rt_copy_batch_end(&batch);
}
