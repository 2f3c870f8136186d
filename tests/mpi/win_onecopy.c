// SPDX-License-Identifier: BSD-3-Clause
// Memory of MPI_Win_create at a rank of the same host that is in no call of MPI: others lock it,
// put, get and accumulate, flush and unlock. With the argument "served" the rank waits in a call
// instead. Memory attached to a dynamic window is put to and got from in the same way.
#include <mpi.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "t.h"

enum { BLOCK = 50000, ROUNDS = 20, MOST = 8 }; // longs of each rank

static int me, n;
static _Atomic long mem[MOST * BLOCK];

// Whether all ranks may read each other's memory at all.
static bool is_allowed(void)
{
    struct {
        long pid, at;
    } mine = { getpid(), (long)(intptr_t)&me }, all[MOST];
    int ok = 1, all_ok, seen;
    MPI_Allgather(&mine, 2, MPI_LONG, all, 2, MPI_LONG, MPI_COMM_WORLD);
    for (int i = 0; i < n; i++) {
        struct iovec to = { &seen, sizeof seen }, from = { (void *)all[i].at, sizeof seen };
        ok = ok && process_vm_readv((pid_t)all[i].pid, &to, 1, &from, 1, 0) == sizeof seen;
    }
    MPI_Allreduce(&ok, &all_ok, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all_ok != 0;
}

// Until each of the others has put its last word.
static void be_away(void)
{
    for (int r = 1; r < n; r++) {
        while (atomic_load(&mem[(r + 1) * BLOCK - 1]) != -1) {
            nanosleep(&(struct timespec){ 0, 200000 }, NULL);
        }
    }
}

// Many elements are fetched and changed by the kernel too, also in several pieces.
static void accumulate_block(MPI_Win win, int at, int len, long *out, long *in)
{
    memset(in, 0, (size_t)len * sizeof *in);
    MPI_Get_accumulate(out, len, MPI_LONG, in, len, MPI_LONG, 0, at, len, MPI_LONG, MPI_SUM, win);
    T_EQ(MPI_Win_flush(0, win), 0);
    T_OK(memcmp(in, out, (size_t)len * sizeof *in) == 0);
    MPI_Get_accumulate(out, len, MPI_LONG, in, len, MPI_LONG, 0, at, len, MPI_LONG, MPI_REPLACE,
                       win);
    T_EQ(MPI_Win_flush(0, win), 0);
    T_EQ(in[0], 2 * out[0]);
    T_EQ(in[len - 1], 2 * out[len - 1]);
    MPI_Accumulate(out, len, MPI_LONG, 0, at, len, MPI_LONG, MPI_REPLACE, win);
    MPI_Get_accumulate(NULL, 0, MPI_LONG, in, len, MPI_LONG, 0, at, len, MPI_LONG, MPI_NO_OP, win);
    T_EQ(MPI_Win_flush(0, win), 0);
    T_OK(memcmp(in, out, (size_t)len * sizeof *in) == 0);
}

static void access_block(MPI_Win win, int round, long *out, long *in)
{
    int at = me * BLOCK, len = round % 3 == 0 ? 1 : round % 3 == 1 ? 1000 : BLOCK - 1;
    for (int i = 0; i < len; i++) {
        out[i] = round * 1000000L + me * 100000L + i;
        in[i] = 0;
    }
    MPI_Put(out, len, MPI_LONG, 0, at, len, MPI_LONG, win);
    T_EQ(MPI_Win_flush(0, win), 0);
    MPI_Request r;
    if (round % 2 == 0) {
        MPI_Get(in, len, MPI_LONG, 0, at, len, MPI_LONG, win);
        T_EQ(MPI_Win_flush(0, win), 0);
    } else {
        MPI_Rget(in, len, MPI_LONG, 0, at, len, MPI_LONG, win, &r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    T_OK(memcmp(in, out, (size_t)len * sizeof *in) == 0);
    if (len > 1) { // one element goes by a message
        accumulate_block(win, at, len, out, in);
    }
}

static void access_all(MPI_Win win)
{
    long *out = malloc(BLOCK * sizeof *out), *in = malloc(BLOCK * sizeof *in);
    for (int round = 0; round < ROUNDS; round++) {
        // An exclusive lock that another rank holds is asked for at its owner, which is away.
        bool is_alone = n == 2 && round % 4 == 3;
        if (round % 4 == 2) {
            MPI_Win_lock_all(0, win);
            access_block(win, round, out, in);
            MPI_Win_unlock_all(win);
        } else {
            MPI_Win_lock(is_alone ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, 0, 0, win);
            access_block(win, round, out, in);
            T_EQ(MPI_Win_unlock(0, win), 0);
        }
    }
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    int code = MPI_Put(out, 2, MPI_LONG, 0, n * BLOCK - 1, 2, MPI_LONG, win), class;
    MPI_Error_class(code, &class);
    T_EQ(class, MPI_ERR_RMA_RANGE); // beyond the end is an error here, and touches nothing
    MPI_Put(&(long){ -1 }, 1, MPI_LONG, 0, (me + 1) * BLOCK - 1, 1, MPI_LONG, win);
    T_EQ(MPI_Win_unlock(0, win), 0);
    free(out);
    free(in);
}

// Small accumulations go by messages; with a lock that no message was needed for they are in order
// too.
static void accumulate(MPI_Win win)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) {
        atomic_store(&mem[0], 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < ROUNDS; i++) {
        long one = 1, got;
        MPI_Win_lock(i % 2 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, 0, 0, win);
        MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, win);
        MPI_Win_unlock(0, win);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Get(&got, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win);
        MPI_Win_flush(0, win);
        T_OK(got > i);
        got++;
        MPI_Put(&got, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win);
        MPI_Win_unlock(0, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        T_EQ(atomic_load(&mem[0]), 2L * n * ROUNDS); // nothing was lost
        MPI_Win_unlock(0, win);
    }
}

// All ranks at a time, by messages and by the kernel: nothing is lost, and of one rank the last one
// stays.
static void accumulate_mixed(MPI_Win win)
{
    static long ones[BLOCK], old[BLOCK];
    int len = 20000, own = BLOCK + me * 1000;
    for (int i = 0; i < len; i++) {
        ones[i] = 1;
    }
    if (me == 0) {
        for (int i = 0; i < len; i++) {
            atomic_store(&mem[i], 0);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Accumulate(ones, len, MPI_LONG, 0, 0, len, MPI_LONG, MPI_SUM, win);
        MPI_Accumulate(ones, 10, MPI_LONG, 0, 5, 10, MPI_LONG, MPI_SUM, win);
        MPI_Get_accumulate(ones, len, MPI_LONG, old, len, MPI_LONG, 0, 0, len, MPI_LONG, MPI_SUM,
                           win);
        MPI_Accumulate(&(long){ -1 }, 1, MPI_LONG, 0, own, 1, MPI_LONG, MPI_REPLACE, win);
        MPI_Accumulate(ones, 500, MPI_LONG, 0, own, 500, MPI_LONG, MPI_REPLACE, win);
        MPI_Win_flush(0, win);
        MPI_Get(old, 1, MPI_LONG, 0, own, 1, MPI_LONG, win);
        MPI_Win_flush(0, win);
        T_EQ(old[0], 1);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; me == 0 && i < len; i++) {
        long want = (2L + (i >= 5 && i < 15)) * n * ROUNDS;
        if (atomic_load(&mem[i]) != want) {
            T_EQ(atomic_load(&mem[i]), want);
            break;
        }
    }
}

// An access to what is not attached fails, or the flush after it.
static void refused(MPI_Win win, int code)
{
    int class;
    code = code == MPI_SUCCESS ? MPI_Win_flush(0, win) : code;
    MPI_Error_class(code, &class);
    T_EQ(class, MPI_ERR_RMA_RANGE);
}

// Pieces that come and go, more than others can see at once, and none of them where it was.
static void attach(void)
{
    enum { PIECES = 40, LONGS = 3000 };
    static long pieces[PIECES][LONGS], out[LONGS], in[LONGS];
    MPI_Win win;
    MPI_Aint at[PIECES];
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    for (int i = 0; i < PIECES; i++) {
        MPI_Get_address(pieces[i], &at[i]);
    }
    MPI_Bcast(at, PIECES, MPI_AINT, 0, MPI_COMM_WORLD);
    for (int more = 5; more <= PIECES; more += 35) { // 5, then all
        if (me == 0) {
            for (int i = more == 5 ? 0 : 5; i < more; i++) {
                MPI_Win_attach(win, pieces[i], sizeof pieces[i]);
            }
        }
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock_all(0, win);
        for (int i = 0; i < 2 * more && me == 1; i++) {
            int len = i % 2 == 0 ? 1 : LONGS;
            out[0] = out[len - 1] = i / 2 * 1000 + len;
            MPI_Put(out, len, MPI_LONG, 0, at[i / 2], len, MPI_LONG, win);
            T_EQ(MPI_Win_flush(0, win), 0);
            in[0] = in[len - 1] = 0;
            MPI_Get(in, len, MPI_LONG, 0, at[i / 2], len, MPI_LONG, win);
            T_EQ(MPI_Win_flush(0, win), 0);
            T_EQ(in[0], out[0]);
            T_EQ(in[len - 1], out[len - 1]);
        }
        if (more == 5 && me == 1) { // a piece that is not there
            refused(win, MPI_Put(out, 1, MPI_LONG, 0, at[7], 1, MPI_LONG, win));
        }
        MPI_Win_unlock_all(win);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (me == 0) {
        for (int i = 0; i < PIECES; i++) {
            T_EQ(pieces[i][0] != 0, n > 1);
            if (i >= 3) {
                MPI_Win_detach(win, pieces[i]);
            }
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 1) { // gone, and one that stayed
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        refused(win, MPI_Get(in, LONGS, MPI_LONG, 0, at[4], LONGS, MPI_LONG, win));
        MPI_Get(in, LONGS, MPI_LONG, 0, at[2], LONGS, MPI_LONG, win);
        T_EQ(MPI_Win_unlock(0, win), 0);
        T_EQ(in[0], 2 * 1000 + LONGS);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&win);
}

// Memory of a dynamic window whose rank is in no call of MPI.
static void attach_away(bool is_served)
{
    static _Atomic long there[MOST + 1000];
    MPI_Win win;
    MPI_Aint at;
    MPI_Get_address((void *)there, &at);
    MPI_Bcast(&at, 1, MPI_AINT, 0, MPI_COMM_WORLD);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    if (me == 0) {
        MPI_Win_attach(win, (void *)there, sizeof there);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int r = 1; me == 0 && !is_served && r < n; r++) {
        while (atomic_load(&there[r]) != ROUNDS) {
            nanosleep(&(struct timespec){ 0, 200000 }, NULL);
        }
    }
    static long out[1000], in[1000];
    for (long i = 1; me != 0 && i <= ROUNDS; i++) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        out[0] = out[999] = i;
        MPI_Aint where = at + (MPI_Aint)(MOST * sizeof(long));
        if (me == 1) {
            MPI_Put(out, 1000, MPI_LONG, 0, where, 1000, MPI_LONG, win);
            MPI_Win_flush(0, win);
            MPI_Get(in, 1000, MPI_LONG, 0, where, 1000, MPI_LONG, win);
        }
        MPI_Put(&i, 1, MPI_LONG, 0, at + (MPI_Aint)(me * (int)sizeof(long)), 1, MPI_LONG, win);
        T_EQ(MPI_Win_unlock(0, win), 0);
        T_EQ(in[999], me == 1 ? i : 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    T_MUST(n <= MOST);
    bool is_served = argc > 1 && strcmp(argv[1], "served") == 0;
    if (!is_served && !is_allowed()) {
        fprintf(stderr, "skipped: this system lets no process read another's memory\n");
        MPI_Finalize();
        return 77;
    }
    MPI_Win_create((void *)mem, n * BLOCK * (MPI_Aint)sizeof mem[0], sizeof mem[0], MPI_INFO_NULL,
                   MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
    if (me != 0) {
        access_all(win);
    } else if (!is_served) {
        be_away();
    }
    accumulate(win);
    accumulate_mixed(win);
    MPI_Win_free(&win);
    attach();
    attach_away(is_served);
    MPI_Finalize();
    return t_status();
}
