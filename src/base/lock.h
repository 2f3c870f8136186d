// SPDX-License-Identifier: BSD-3-Clause
// A small lock for short critical sections. While a process has one thread nothing is taken.
//
// A lock that one thread takes again and again comes to belong to that thread, which from then on
// takes it with two plain stores: an atomic operation would make it wait for all its stores before,
// which costs more than a message (bench ep_rates). A thread that wants such a lock first takes it
// away from its owner and pays for both (a barrier on all cores, 1 to 2 us).
#ifndef PLI_BASE_LOCK_H
#define PLI_BASE_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { PLI_LOCK_OWNERS = 3 };

// A lock has few owners in its life, each with a place of its own: one that was interrupted while
// it entered, and lost the lock meanwhile, still writes there, and must not disturb the next.
struct pli_lock_owner {
    _Atomic uintptr_t who;  // the thread; 0: none, 1: it is being taken away
    _Atomic long is_inside; // it holds the lock
};

// No thread sleeps for it: it is held for moments only, and a lock that wakes sleepers makes its
// holder wait.
struct pli_lock {
    _Atomic int word;     // 0 free, 1 held or kept for the owner
    _Atomic uint8_t turn; // the place of the owner, if there is one
    bool is_by_word;      // the holder is not the owner; guarded by the lock, as the rest
    uint16_t n_last;      // how often in a row
    uintptr_t last;       // the same thread held it
    struct pli_lock_owner owner[PLI_LOCK_OWNERS];
};

// True once any part of the program asked for MPI_THREAD_MULTIPLE, or the library has a thread of
// its own. Set at start-up and while one thread only is inside a call.
extern bool pli_lock_threads;

void pli_lock_wait(struct pli_lock *l);      // the slow half: look, then give way
void pli_lock_own(struct pli_lock *l);       // the holder becomes the owner, if it can
bool pli_lock_take_away(struct pli_lock *l); // false: it belongs to no thread

// A word that differs between threads that run. No look-up: a register.
static inline uintptr_t pli_lock_me(void)
{
#if defined(__x86_64__) && !defined(__clang__) && __GNUC__ < 11
    uintptr_t at; // these have the builtin's name only
    __asm__("mov %%fs:0, %0" : "=r"(at));
    return at;
#elif defined(__has_builtin) && __has_builtin(__builtin_thread_pointer)
    return (uintptr_t)__builtin_thread_pointer();
#else
    static _Thread_local char here;
    return (uintptr_t)&here;
#endif
}

// A thread that takes the lock away announces that first and then makes all cores pass a barrier:
// either it sees that we are inside, or we see the announcement.
static inline bool pli_lock_enter_own(struct pli_lock *l)
{
    uintptr_t me = pli_lock_me();
    struct pli_lock_owner *o = &l->owner[atomic_load_explicit(&l->turn, memory_order_relaxed)];
    if (atomic_load_explicit(&o->who, memory_order_relaxed) != me) {
        return false;
    }
    atomic_store_explicit(&o->is_inside, 1, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    if (__builtin_expect(atomic_load_explicit(&o->who, memory_order_relaxed) == me, 1)) {
        atomic_signal_fence(
            memory_order_seq_cst); // the last holder was ourselves: nothing to await
        return true;
    }
    atomic_store_explicit(&o->is_inside, 0, memory_order_relaxed);
    return false;
}

// How often a thread must hold it in a row to own it: ever more often, the more owners it had.
static inline uint16_t pli_lock_limit(const struct pli_lock *l)
{
    return (uint16_t)(200 << 4 * atomic_load_explicit(&l->turn, memory_order_relaxed));
}

static inline bool pli_lock_enter(struct pli_lock *l)
{
    int free = 0;
    if (!atomic_compare_exchange_strong_explicit(&l->word, &free, 1, memory_order_acquire,
                                                 memory_order_relaxed)) {
        return false;
    }
    uintptr_t me = pli_lock_me();
    l->is_by_word = true;
    l->n_last = l->last == me ? (uint16_t)(l->n_last + 1) : 0;
    l->last = me;
    if (__builtin_expect(l->n_last == pli_lock_limit(l), 0)) {
        pli_lock_own(l);
    }
    return true;
}

// Context: any thread. A lock is held for the length of one poll or match, never across a wait.
static inline void pli_lock_take(struct pli_lock *l)
{
    if (pli_lock_threads && !pli_lock_enter_own(l) && !pli_lock_enter(l)) {
        pli_lock_wait(l);
    }
}

// False: another thread holds it.
static inline bool pli_lock_try(struct pli_lock *l)
{
    return !pli_lock_threads || pli_lock_enter_own(l) || pli_lock_enter(l) || pli_lock_take_away(l);
}

// False: another thread holds it or owns it.
static inline bool pli_lock_try_gently(struct pli_lock *l)
{
    return !pli_lock_threads || pli_lock_enter_own(l) || pli_lock_enter(l);
}

static inline void pli_lock_drop(struct pli_lock *l)
{
    if (!pli_lock_threads) {
        return;
    }
    if (l->is_by_word) {
        l->is_by_word = false;
        atomic_store_explicit(&l->word, 0, memory_order_release);
    } else {
        // A thread that takes the lock away makes this core pass a barrier when it sees the lock
        // left.
        uint8_t turn = atomic_load_explicit(&l->turn, memory_order_relaxed);
        atomic_signal_fence(memory_order_seq_cst);
        atomic_store_explicit(&l->owner[turn].is_inside, 0, memory_order_relaxed);
    }
}

#endif
