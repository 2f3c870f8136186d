// SPDX-License-Identifier: BSD-3-Clause
// Semaphores (bupc_sem_*): each is a counter in the segment of the thread that made it.
#include "rt.h"
#include "rt_atomic.h"
#include "rt_copy.h"
#include "rt_wait.h"
#include "upc_calls.h"

#include "msg/progress.h"

enum { MAGIC = 0x53454d41, IS_BOOLEAN = 1, KNOWN = 7 };

struct sem {
    uint32_t magic, flags;
    uint64_t count;
};

static void fence(void)
{
    pli_upc_flush();
    atomic_thread_fence(memory_order_seq_cst);
}

pli_upc_pts pli_upc_sem_alloc(int flags)
{
    if ((flags & ~KNOWN) != 0) {
        pli_rt_die("bupc_sem_alloc: %#x is not one of the flags",
                   (unsigned)flags & ~(unsigned)KNOWN);
    }
    pli_upc_pts p = pli_upc_alloc(sizeof(struct sem));
    if (p != 0) {
        *(struct sem *)rt_near(p) = (struct sem){ MAGIC, (uint32_t)flags, 0 };
    }
    return p;
}

// The flags of a semaphore.
static uint32_t look(const char *call, pli_upc_pts p)
{
    struct {
        uint32_t magic, flags;
    } head = { 0, 0 };
    if (p != 0 && pli_upc_threadof(p) < (size_t)pli_rt.n) {
        pli_rt_copy_get(&head, p, sizeof head);
    }
    if (head.magic != MAGIC) {
        pli_rt_die("%s: the pointer is not that of a semaphore, or the semaphore was freed", call);
    }
    return head.flags;
}

void pli_upc_sem_free(pli_upc_pts p)
{
    uint32_t gone = 0;
    if (p != 0) {
        look("bupc_sem_free", p);
        pli_rt_copy_put(p, &gone, sizeof gone);
        pli_upc_free(p);
    }
}

static void post(const char *call, pli_upc_pts p, uint64_t n)
{
    if (p == 0 || rt_near(p) != NULL) {
        look(call, p); // of a far one this would take as long as the post
    }
    fence();
    pli_rt_atomic_run(p + offsetof(struct sem, count), PLI_REGION_U64, PLI_REGION_ADD, &n, NULL,
                      NULL);
    fence();
}

void pli_upc_sem_post(pli_upc_pts p)
{
    post("bupc_sem_post", p, 1);
}

void pli_upc_sem_post_n(pli_upc_pts p, size_t n)
{
    post("bupc_sem_postN", p, n);
}

// A boolean one goes back to 0, however often it was posted.
static bool take(pli_upc_pts p, uint32_t flags, uint64_t n)
{
    pli_upc_pts at = p + offsetof(struct sem, count);
    uint64_t now, seen;
    pli_rt_atomic_run(at, PLI_REGION_U64, PLI_REGION_LOAD, NULL, NULL, &now);
    while (now >= n) {
        uint64_t rest = (flags & IS_BOOLEAN) != 0 && n > 0 ? 0 : now - n;
        pli_rt_atomic_run(at, PLI_REGION_U64, PLI_REGION_CSWAP, &now, &rest, &seen);
        if (seen == now) {
            return true;
        }
        now = seen;
    }
    return false;
}

static uint32_t enter(const char *call, pli_upc_pts p, uint64_t n)
{
    uint32_t flags = look(call, p);
    if (n > 1 && (flags & IS_BOOLEAN) != 0) {
        pli_rt_die("%s: %llu of a boolean semaphore, which is never above 1", call,
                   (unsigned long long)n);
    }
    fence();
    return flags;
}

static void wait_for(const char *call, pli_upc_pts p, uint64_t n)
{
    uint32_t flags = enter(call, p, n);
    if (!take(p, flags, n)) {
        struct pli_waiter w;
        pli_rt_wait_init(&w, call, true); // who posts wakes nobody
        while (!take(p, flags, n)) {
            pli_progress_step(&w);
        }
        pli_progress_end(&w);
    }
    fence();
}

void pli_upc_sem_wait(pli_upc_pts p)
{
    wait_for("bupc_sem_wait", p, 1);
}

void pli_upc_sem_wait_n(pli_upc_pts p, size_t n)
{
    wait_for("bupc_sem_waitN", p, n);
}

static int attempt(const char *call, pli_upc_pts p, uint64_t n)
{
    bool got = take(p, enter(call, p, n), n);
    if (!got) {
        pli_upc_poll_slow(); // programs spin on it
    }
    fence();
    return got;
}

int pli_upc_sem_try(pli_upc_pts p)
{
    return attempt("bupc_sem_try", p, 1);
}

int pli_upc_sem_try_n(pli_upc_pts p, size_t n)
{
    return attempt("bupc_sem_tryN", p, n);
}

void pli_upc_memput_signal(pli_upc_pts to, const void *from, size_t len, pli_upc_pts sem, size_t n)
{
    pli_upc_memput(to, from, len);
    post("bupc_memput_signal", sem, n);
}
