// SPDX-License-Identifier: BSD-3-Clause
// Members that write by turns: one at a time, and one that never gives its turn back stops nobody.
#include "io/file_turn.h"

#include "base/clock.h"
#include "io/file.h"
#include "obj/comm.h"
#include "t.h"

#include <pthread.h>

enum { N_TURN = 20000, N_TRY = 1000, LONG_NS = 1000 * 1000 };

static _Atomic uint32_t turn;
static long n_done;           // changed only by whose turn it is
static _Atomic bool is_taken; // a turn, from one that stood still
static _Atomic int n_there;   // both begin together

static void *body(void *arg)
{
    const struct pli_file *f = arg;
    atomic_fetch_add(&n_there, 1);
    while (atomic_load(&n_there) < 2) {
    }
    for (int i = 0; i < N_TURN; i++) {
        pli_file_turn_take(f);
        long now = *(volatile long *)&n_done;
        *(volatile long *)&n_done = now + 1;
        if (atomic_load(&turn) != (uint32_t)f->comm->rank + 1) {
            atomic_store(&is_taken, true);
        }
        pli_file_turn_give(f);
    }
    return NULL;
}

// Both count to N_TURN. A turn is taken from one that had it for 2 ms, so what they count together
// is right unless the machine let one stand that long; then once more.
static void count(struct pli_file *files)
{
    int i = 0;
    do {
        pthread_t other;
        n_done = 0;
        atomic_store(&n_there, 0);
        atomic_store(&is_taken, false);
        T_EQ(pthread_create(&other, NULL, body, &files[1]), 0);
        body(&files[0]);
        pthread_join(other, NULL);
        atomic_store(&turn, 0);
    } while (atomic_load(&is_taken) && ++i < N_TRY);
    T_EQ(n_done, 2L * N_TURN);
}

int main(void)
{
    struct pli_comm comms[2] = { { .rank = 0, .size = 2 }, { .rank = 1, .size = 2 } };
    struct pli_file files[2];
    for (int i = 0; i < 2; i++) {
        files[i] = (struct pli_file){ .comm = &comms[i], .is_local = true };
        files[i].pointer.turn = &turn;
    }
    count(files);

    // Rank 1 has died with it: rank 0 waits for no more than its time, and then has the turn.
    pli_file_turn_take(&files[1]);
    uint64_t begin = pli_clock_ns();
    pli_file_turn_take(&files[0]);
    T_OK(pli_clock_ns() - begin >= LONG_NS);
    T_EQ(atomic_load(&turn), 1);
    pli_file_turn_give(&files[1]); // it was only slow: the turn is no longer its own
    T_EQ(atomic_load(&turn), 1);
    pli_file_turn_give(&files[0]);
    T_EQ(atomic_load(&turn), 0);

    T_OK(!pli_file_turn_is_worth(&files[0], 100));
    files[0].is_local = false;
    T_OK(!pli_file_turn_is_worth(&files[0], 1 << 20));
    return t_status();
}
