// SPDX-License-Identifier: BSD-3-Clause
// What dead members held is released, at whatever instruction they died.
#include "onesided/region_lock.h"

#include "t.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

enum { N = 5, ROUNDS = 20000 };

static struct pli_guard *guard;
static struct pli_region_queue queue;
static _Atomic bool dead[N];

static bool is_dead(int rank, void *arg)
{
    (void)arg;
    return atomic_load(&dead[rank]);
}

static void begin(void)
{
    guard = calloc(1, pli_region_lock_bytes(N));
    T_MUST(guard != NULL);
    for (int i = 0; i < N; i++) {
        atomic_store(&dead[i], false);
    }
}

static void end(void)
{
    T_EQ(atomic_load(&guard->lock), 0);
    T_OK(queue.first == NULL);
    free(guard);
}

static _Atomic uint8_t *byte_of(int rank)
{
    return (_Atomic uint8_t *)(guard + 1) + rank;
}

// The list of those whose wait is over has these members, with this outcome.
static void expect(struct pli_region_waiter *got, int n, const int *origins, enum pli_err err)
{
    for (int i = 0; i < n; i++) {
        T_MUST(got != NULL);
        struct pli_region_waiter *h = got;
        T_EQ(h->origin, origins[i]);
        T_EQ(h->err, err);
        got = h->next;
        free(h);
    }
    T_OK(got == NULL);
}

static struct pli_region_waiter *ask(int origin, int hold, uint32_t n_lost)
{
    struct pli_region_waiter *h = calloc(1, sizeof *h);
    T_MUST(h != NULL);
    h->origin = origin;
    h->hold = hold;
    return pli_region_lock_ask(&queue, guard, h, n_lost);
}

static struct pli_region_waiter *release_dead(void)
{
    return pli_region_lock_release_dead(&queue, guard, N, is_dead, NULL);
}

static void alone(void)
{
    begin();
    T_OK(pli_region_lock_try(guard, 1, PLI_HOLD_EXCLUSIVE));
    expect(ask(2, PLI_HOLD_EXCLUSIVE, 0), 0, NULL, PLI_OK);
    expect(ask(3, PLI_HOLD_SHARED, 0), 0, NULL, PLI_OK);
    expect(ask(4, PLI_HOLD_SHARED, 0), 0, NULL, PLI_OK);
    expect(release_dead(), 0, NULL, PLI_OK); // nobody has died
    atomic_store(&dead[3], true);            // one that waits is forgotten
    expect(release_dead(), 0, NULL, PLI_OK);
    T_EQ(atomic_load(&guard->n_lost), 0);
    atomic_store(&dead[1], true);
    expect(release_dead(), 2, (int[]){ 2, 4 }, PLI_ERR_PROC_FAILED);
    T_EQ(atomic_load(&guard->n_lost), 1);
    T_EQ(atomic_load(&guard->lost), 1);
    expect(ask(0, PLI_HOLD_SHARED, 0), 1, (int[]){ 0 }, PLI_ERR_PROC_FAILED);
    expect(ask(2, PLI_HOLD_EXCLUSIVE, 1), 1, (int[]){ 2 }, PLI_OK);
    expect(ask(4, PLI_HOLD_SHARED, 1), 0, NULL, PLI_OK);
    T_OK(pli_region_lock_release(guard, 2, PLI_HOLD_EXCLUSIVE));
    expect(pli_region_lock_grant(&queue, guard), 1, (int[]){ 4 }, PLI_OK);
    T_OK(!pli_region_lock_release(guard, 4, PLI_HOLD_SHARED));
    end();
}

static void shared(void)
{
    begin();
    for (int i = 0; i < 4; i++) {
        T_OK(pli_region_lock_try(guard, i, PLI_HOLD_SHARED));
    }
    atomic_store(byte_of(1), 1);       // died before the word said that it had left
    atomic_fetch_sub(&guard->lock, 1); // 2 left,
    atomic_store(byte_of(2), 1);       // and died before it could say so
    atomic_store(&dead[1], true);
    atomic_store(&dead[2], true);
    expect(release_dead(), 0, NULL, PLI_OK);
    T_EQ(atomic_load(&guard->lock), 2);
    T_EQ(atomic_load(&guard->n_lost), 1);
    T_EQ(atomic_load(&guard->lost), 1);
    T_EQ(atomic_load(byte_of(1)), 0);
    expect(release_dead(), 0, NULL, PLI_OK); // once
    T_EQ(atomic_load(&guard->n_lost), 1);
    T_OK(!pli_region_lock_release(guard, 0, PLI_HOLD_SHARED));
    T_OK(!pli_region_lock_release(guard, 3, PLI_HOLD_SHARED));
    end();
}

// One that lives goes in and out while the owner releases what another held.
static void *go_in_and_out(void *arg)
{
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        while (!pli_region_lock_try(guard, 0, PLI_HOLD_SHARED)) {
            sched_yield();
        }
        pli_region_lock_release(guard, 0, PLI_HOLD_SHARED);
    }
    return NULL;
}

static void together(void)
{
    pthread_t t;
    begin();
    pli_lock_threads = true;
    T_EQ(pthread_create(&t, NULL, go_in_and_out, NULL), 0);
    for (uint32_t i = 0; i < ROUNDS / 10; i++) {
        atomic_store(&dead[1], false);
        while (!pli_region_lock_try(guard, 1, PLI_HOLD_SHARED)) {
            sched_yield();
        }
        atomic_store(&dead[1], true);
        expect(release_dead(), 0, NULL, PLI_OK);
        T_EQ(atomic_load(&guard->n_lost), i + 1);
    }
    T_EQ(pthread_join(t, NULL), 0);
    end();
}

int main(void)
{
    alone();
    shared();
    together();
    return t_status();
}
