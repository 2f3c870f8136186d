// SPDX-License-Identifier: BSD-3-Clause
// The slow half of the lock: a few looks, then leave the core to the holder; giving locks to
// threads and taking them away.
#include "base/lock.h"

#include "base/cpu.h"
#include "base/log.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    LOOKS = 100,
    TAKING = 1 // an owner that is no thread
};

bool pli_lock_threads;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool can_own; // the kernel can make all our cores pass a barrier

static void look_for_barrier(void)
{
#if PLI_IS_TSAN
    can_own = false; // it sees no order where the kernel makes it
#else
    can_own = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
#endif
}

static bool pass(void)
{
    return syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

// Every core that runs a thread of this process passes a barrier. There is no other way to have
// them do so; going on without would let two threads hold the lock. The kernel knows nothing of a
// process that was restored from an image, also where the image was made while look_for_barrier had
// its answer and not yet written it down: it is told once more.
static void barrier(void)
{
    if (!pass() && (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) != 0 ||
                    !pass())) {
        pli_log(PLI_ERROR,
                "the system call membarrier, which MPI was allowed when it began, is refused now "
                "(%s); install a filter of system calls before MPI_Init, or allow membarrier in it",
                strerror(errno));
        abort();
    }
}

static void look(unsigned i)
{
    if (i % LOOKS == 0) {
        pli_cpu_rest();
    } else {
        pli_cpu_relax();
    }
}

void pli_lock_own(struct pli_lock *l)
{
    uint8_t turn = atomic_load_explicit(&l->turn, memory_order_relaxed);
    struct pli_lock_owner *o = &l->owner[turn];
    pthread_once(&once, look_for_barrier);
    if (!can_own || atomic_load_explicit(&o->who, memory_order_relaxed) != 0) {
        return; // the last place was used
    }
    // The word stays taken, for us; this time we leave as the owner does.
    l->is_by_word = false;
    atomic_store_explicit(&o->is_inside, 1, memory_order_relaxed);
    atomic_store_explicit(&o->who, pli_lock_me(), memory_order_release);
}

// Afterwards it is this thread's for once and then belongs to none.
bool pli_lock_take_away(struct pli_lock *l)
{
    uint8_t turn = atomic_load_explicit(&l->turn, memory_order_acquire);
    struct pli_lock_owner *o = &l->owner[turn];
    uintptr_t who = atomic_load_explicit(&o->who, memory_order_relaxed);
    if (who <= TAKING || !atomic_compare_exchange_strong_explicit(
                             &o->who, &who, TAKING, memory_order_acquire, memory_order_relaxed)) {
        return false;
    }
    barrier(); // it sees that it lost the lock, or we see that it is inside
    for (unsigned i = 1; atomic_load_explicit(&o->is_inside, memory_order_acquire) != 0; i++) {
        look(i);
    }
    barrier(); // what it did inside is visible
    l->is_by_word = true;
    l->last = pli_lock_me();
    l->n_last = 0;
    if (turn + 1 < PLI_LOCK_OWNERS) {
        atomic_store_explicit(&l->turn, (uint8_t)(turn + 1), memory_order_release);
    }
    return true;
}

void pli_lock_wait(struct pli_lock *l)
{
    for (unsigned i = 1; !pli_lock_take_away(l); i++) {
        if (atomic_load_explicit(&l->word, memory_order_relaxed) == 0 && pli_lock_enter(l)) {
            return;
        }
        look(i);
    }
}
