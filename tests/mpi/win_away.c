// SPDX-License-Identifier: BSD-3-Clause
// Memory of a process that is not in a call of MPI: others lock it, read, write and change it while
// it looks at the memory itself, computes, or sleeps in the system.
#include "t.h"

#include <mpi.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { N_LONG = 1 << 16, ROUNDS = 20, PAUSE_NS = 200000 };
enum { DONE, SUM, SWAPPED, HELD, BLOCK = 64 }; // places in the memory

static int me, n;
static _Atomic long mem[N_LONG];
static volatile sig_atomic_t signal_tid;

static void note_thread(int sig)
{
    (void)sig;
    signal_tid = (sig_atomic_t)syscall(SYS_gettid);
}

static void pause_a_moment(void)
{
    nanosleep(&(struct timespec){ 0, PAUSE_NS }, NULL);
}

// The owner's time, without a call of MPI, until all others are done.
static void be_away(bool is_asleep)
{
    while (atomic_load(&mem[DONE]) < n - 1) {
        if (is_asleep) {
            pause_a_moment();
        }
    }
}

static void access_all(MPI_Win win, int target)
{
    long one = 1, old = -1, got[BLOCK], mine[BLOCK], *large = malloc(N_LONG / 2 * sizeof *large);
    for (int i = 0; i < BLOCK; i++) {
        mine[i] = me * 1000 + i;
    }
    for (int i = 0; i < N_LONG / 2; i++) {
        large[i] = me + i;
    }
    for (int round = 0; round < ROUNDS; round++) {
        T_EQ(MPI_Win_lock(round % 2 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, target, 0, win), 0);
        MPI_Put(mine, BLOCK, MPI_LONG, target, BLOCK * (me + 1), BLOCK, MPI_LONG, win);
        T_EQ(MPI_Win_flush(target, win), 0);
        MPI_Get(got, BLOCK, MPI_LONG, target, BLOCK * (me + 1), BLOCK, MPI_LONG, win);
        MPI_Accumulate(&one, 1, MPI_LONG, target, SUM, 1, MPI_LONG, MPI_SUM, win);
        T_EQ(MPI_Win_flush(target, win), 0);
        T_OK(got[0] == mine[0] && got[BLOCK - 1] == mine[BLOCK - 1]);
        MPI_Fetch_and_op(&one, &old, MPI_LONG, target, SWAPPED, MPI_SUM, win);
        T_EQ(MPI_Win_flush(target, win), 0);
        if (round % 2) { // alone: nobody comes between
            long held = 0, now = me;
            MPI_Compare_and_swap(&now, &(long){ 0 }, &held, MPI_LONG, target, HELD, win);
            MPI_Win_flush(target, win);
            T_EQ(held, 0);
            MPI_Put(&(long){ 0 }, 1, MPI_LONG, target, HELD, 1, MPI_LONG, win);
        }
        T_EQ(MPI_Win_unlock(target, win), 0);
    }
    T_EQ(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win), 0);
    MPI_Put(large, N_LONG / 2, MPI_LONG, target, N_LONG / 2, N_LONG / 2, MPI_LONG, win);
    MPI_Win_flush(target, win);
    MPI_Get(large, N_LONG / 2, MPI_LONG, target, N_LONG / 2, N_LONG / 2, MPI_LONG, win);
    T_EQ(MPI_Win_unlock(target, win), 0);
    T_EQ(large[N_LONG / 2 - 1], me + N_LONG / 2 - 1);
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
    MPI_Accumulate(&one, 1, MPI_LONG, target, DONE, 1, MPI_LONG, MPI_SUM, win);
    T_EQ(MPI_Win_unlock(target, win), 0);
    free(large);
}

static void check_target(MPI_Win win, int target, bool is_asleep)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (me != target) {
        access_all(win, target);
    } else {
        be_away(is_asleep);
        T_EQ(atomic_load(&mem[SUM]), (n - 1) * ROUNDS);
        T_EQ(atomic_load(&mem[SWAPPED]), (n - 1) * ROUNDS);
        for (int r = 0; r < n; r++) {
            T_EQ(atomic_load(&mem[BLOCK * (r + 1) + 5]), r == target ? 0 : r * 1000 + 5);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

// Each owner hands on what it finds in its memory; nobody is in a call while it waits.
static void check_ring(MPI_Win win, long *token)
{
    int right = (me + 1) % n;
    MPI_Win_lock_all(0, win);
    for (long turn = 1; turn <= 10; turn++) {
        while (me != 0 && atomic_load((_Atomic long *)token) < turn) {
            pause_a_moment();
        }
        MPI_Accumulate(&(long){ 1 }, 1, MPI_LONG, right, 0, 1, MPI_LONG, MPI_SUM, win);
        MPI_Win_flush(right, win);
        while (me == 0 && atomic_load((_Atomic long *)token) < turn) {
            pause_a_moment();
        }
    }
    MPI_Win_unlock_all(win);
}

int main(void)
{
    MPI_Win win, ring;
    int level;
    long *token;
    struct sigaction action = { .sa_handler = note_thread };
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MPI_Win_create((void *)mem, sizeof mem, sizeof mem[0], MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Query_thread(&level);
    T_EQ(level, MPI_THREAD_SINGLE); // a thread of the library changes nothing
    sigaction(SIGUSR1, &action, NULL);
    for (int i = 0; i < 20; i++) {
        signal_tid = 0;
        kill(getpid(), SIGUSR1);
        while (signal_tid == 0) {
            pause_a_moment();
        }
        T_EQ(signal_tid, getpid()); // signals are the program's
    }
    check_target(win, 0, false);
    if (n > 1) {
        check_target(win, n - 1, true);
    }
    MPI_Win_free(&win);
    MPI_Win_allocate(sizeof *token, sizeof *token, MPI_INFO_NULL, MPI_COMM_WORLD, &token, &ring);
    *token = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    check_ring(ring, token);
    MPI_Win_free(&ring);
    MPI_Finalize();
    return t_status();
}
