// SPDX-License-Identifier: BSD-3-Clause
// The lock keeps threads apart, whichever owns it: alone, taken away while its owner is inside, in
// the middle of entering, or gone, and after it had all the owners it can have.
#include "base/lock.h"

#include <pthread.h>
#include <sched.h>

#include "t.h"

enum { THREADS = 4, ROUNDS = 300, ALONE = 400, TOGETHER = 300 };

// What the lock guards: a counter in two halves that agree whenever nobody is inside.
struct guarded {
    struct pli_lock lock;
    long a, b;
    long n_wrong;
};

static struct guarded *shared[ROUNDS];
static pthread_barrier_t gate;

static void inside(struct guarded *g)
{
    g->n_wrong += g->a != g->b;
    g->a++;
    if (g->a % 64 == 0) {
        sched_yield(); // be found inside
    }
    g->b++;
}

static void once(struct guarded *g, int i)
{
    if (i % 7 == 0) {
        while (!pli_lock_try(&g->lock)) {
            sched_yield();
        }
    } else if (i % 11 == 0) {
        while (!pli_lock_try_gently(&g->lock)) {
            if (pli_lock_try(&g->lock)) {
                break;
            }
            sched_yield();
        }
    } else {
        pli_lock_take(&g->lock);
    }
    inside(g);
    pli_lock_drop(&g->lock);
}

// In each round every thread in turn has the lock for itself for long enough to own it; others come
// while it is at it.
static void *run(void *arg)
{
    int me = (int)(intptr_t)arg;
    for (int r = 0; r < ROUNDS; r++) {
        struct guarded *g = shared[r];
        pthread_barrier_wait(&gate);
        if (r % THREADS == me) {
            for (int i = 0; i < ALONE; i++) {
                once(g, i);
            }
        } else if (r % 3 != 0) {
            sched_yield();
        }
        if (r % 5 == 4) {
            pthread_barrier_wait(&gate); // its owner is somewhere else
        }
        for (int i = 0; i < TOGETHER; i++) {
            once(g, i);
        }
    }
    return NULL;
}

// A thread that owned a lock is gone.
static void *own(void *arg)
{
    struct guarded *g = arg;
    for (int i = 0; i < ALONE; i++) {
        pli_lock_take(&g->lock);
        inside(g);
        pli_lock_drop(&g->lock);
    }
    return NULL;
}

static void gone(void)
{
    struct guarded g = { .a = 0 };
    pthread_t id;
    for (int i = 0; i < 2 * PLI_LOCK_OWNERS; i++) {
        T_MUST(pthread_create(&id, NULL, own, &g) == 0);
        pthread_join(id, NULL);
        own(&g);
    }
    T_EQ(g.a, 4 * PLI_LOCK_OWNERS * ALONE);
    T_EQ(g.n_wrong, 0);
}

int main(void)
{
    pthread_t id[THREADS];
    pli_lock_threads = true;
    pthread_barrier_init(&gate, NULL, THREADS);
    for (int r = 0; r < ROUNDS; r++) {
        shared[r] = calloc(1, sizeof *shared[r]);
    }
    for (int i = 0; i < THREADS; i++) {
        T_MUST(pthread_create(&id[i], NULL, run, (void *)(intptr_t)i) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(id[i], NULL);
    }
    for (int r = 0; r < ROUNDS; r++) {
        T_EQ(shared[r]->a, ALONE + THREADS * TOGETHER);
        T_EQ(shared[r]->b, shared[r]->a);
        T_EQ(shared[r]->n_wrong, 0);
        free(shared[r]);
    }
    gone();
    return t_status();
}
