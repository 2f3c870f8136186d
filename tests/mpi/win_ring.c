// SPDX-License-Identifier: BSD-3-Clause
// Puts and gets, mostly small, to memory that is not shared, of MPI_Win_create and dynamic windows:
// many in one epoch and of all sizes, with all ways to synchronise, while the target is in a call
// of MPI and while it is not. Every byte is compared.
#include <mpi.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "t.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif

enum { MOST = 8, PART = 1 << 18, LONG = 110000, ROUNDS = 60, STEPS = 40, FILL = 300 };

static int me, n;
static unsigned char *mem;              // a part for each origin
static unsigned char model[MOST][PART]; // what my part is at each target
static unsigned char got[STEPS][LONG];  // of gets
static unsigned int seed;
static MPI_Aint at[MOST]; // of each target's memory, in a dynamic window

static unsigned int draw(unsigned int end)
{
    seed = seed * 1103515245u + 12345u;
    return (seed >> 8) % end;
}

// Often one word, mostly small, now and then beyond what goes by a ring, and so long that both
// processes copy it.
static int draw_len(void)
{
    unsigned int kind = draw(20);
    return kind < 8    ? 8
           : kind < 14 ? 1 + (int)draw(100)
           : kind < 18 ? 1 + (int)draw(5000)
                       : 1 + (int)draw(kind == 18 ? 33000 : LONG);
}

static void compute(void)
{
    double until = MPI_Wtime() + 20e-6;
    while (MPI_Wtime() < until) {
    }
}

struct access {
    int target, len;
    size_t where;
};

// Puts, and gets of what no put of this epoch has touched. Returns how many gets.
static int access_some(MPI_Win win, struct access *gets)
{
    static bool is_used[MOST][PART / 1024];
    int n_get = 0;
    memset(is_used, 0, sizeof is_used);
    for (int i = (int)draw(STEPS); i > 0; i--) {
        int target = (int)draw((unsigned)n), len = draw_len();
        size_t where = draw((unsigned)(PART - len) / 8) * 8, first = where / 1024;
        size_t last = (where + (size_t)len - 1) / 1024;
        bool is_free = true;
        for (size_t k = first; k <= last; k++) {
            is_free = is_free && !is_used[target][k];
            is_used[target][k] = true;
        }
        if (!is_free) {
            continue;
        }
        MPI_Aint disp = at[target] + (MPI_Aint)me * PART + (MPI_Aint)where;
        if (draw(2) != 0) {
            unsigned char from[LONG];
            for (int k = 0; k < len; k++) {
                from[k] = (unsigned char)(draw(256));
            }
            memcpy(model[target] + where, from, (size_t)len);
            MPI_Put(from, len, MPI_BYTE, target, disp, len, MPI_BYTE, win);
            if (draw(4) == 0 || len > 4096) { // else it was copied, or not, and this is too early
                MPI_Win_flush_local(target, win);
            } else {
                MPI_Win_flush_local_all(win);
            }
            memset(from, 0xee, (size_t)len);
        } else {
            memset(got[n_get], 0xdd, (size_t)len);
            MPI_Get(got[n_get], len, MPI_BYTE, target, disp, len, MPI_BYTE, win);
            gets[n_get++] = (struct access){ target, len, where };
        }
    }
    return n_get;
}

static void check(const struct access *gets, int n_get)
{
    for (int i = 0; i < n_get; i++) {
        T_OK(memcmp(got[i], model[gets[i].target] + gets[i].where, (size_t)gets[i].len) == 0);
    }
}

// By locks, each round; the ranks are at different places of it.
static void passive(MPI_Win win)
{
    struct access gets[STEPS];
    MPI_Win_lock_all(0, win);
    for (int round = 0; round < ROUNDS; round++) {
        int n_get = access_some(win, gets);
        if (draw(3) == 0) {
            compute(); // meanwhile others reach a rank that is in no call
        }
        if (round % 3 == 0) {
            MPI_Win_flush_local_all(win); // gets are over
        } else if (round % 3 == 1) {
            MPI_Win_flush_all(win);
        } else {
            for (int i = 0; i < n; i++) {
                MPI_Win_flush(i, win);
            }
        }
        check(gets, n_get);
        if (round % 3 == 0) { // puts that are on their way must not be passed by the next round's
            MPI_Win_flush_all(win);
        }
        if (round % 8 == 7) {
            MPI_Win_unlock_all(win);
            MPI_Win_lock_all(draw(2) ? MPI_MODE_NOCHECK : 0, win);
        }
    }
    MPI_Win_unlock_all(win);
}

// Rows of as many accesses of one size as fill a part, for which rings become larger, and single
// ones between them.
static void rows(MPI_Win win)
{
    static unsigned char back[PART];
    MPI_Barrier(MPI_COMM_WORLD); // others may still compare
    for (int round = 0; round < 12; round++) {
        int target = (me + round) % n, len = 1024 << round % 5, n_row = PART / len;
        MPI_Aint disp = at[target] + (MPI_Aint)me * PART;
        for (int i = 0; i < PART; i++) {
            model[target][i] = (unsigned char)draw(256);
        }
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
        for (int i = 0; i < n_row; i++) {
            MPI_Put(model[target] + i * len, len, MPI_BYTE, target, disp + i * len, len, MPI_BYTE,
                    win);
        }
        MPI_Win_flush(target, win);
        for (int i = 0; i < n_row; i++) {
            MPI_Get(back + i * len, len, MPI_BYTE, target, disp + i * len, len, MPI_BYTE, win);
        }
        MPI_Win_flush(target, win);
        T_OK(memcmp(back, model[target], PART) == 0);
        for (int i = 0; i < 4; i++) {
            model[target][i * len] ^= 0x55;
            MPI_Put(model[target] + i * len, len, MPI_BYTE, target, disp + i * len, len, MPI_BYTE,
                    win);
            MPI_Win_flush(target, win);
        }
        MPI_Win_unlock(target, win);
    }
}

// All words of a rank, one by one, with fences and with post and start.
static void words(MPI_Win win, bool is_fence)
{
    MPI_Group all;
    MPI_Win_get_group(win, &all);
    for (int round = 0; round < 10; round++) {
        unsigned long out[64], in[64];
        if (is_fence) {
            MPI_Win_fence(0, win);
        } else {
            MPI_Win_post(all, 0, win);
            MPI_Win_start(all, 0, win);
        }
        int target = (me + round) % n;
        for (int i = 0; i < 64; i++) {
            out[i] = (unsigned long)(round * 1000 + i);
            MPI_Put(&out[i], 8, MPI_BYTE, target, at[target] + (MPI_Aint)me * PART + i * 8, 8,
                    MPI_BYTE, win);
            MPI_Get(&in[i], 8, MPI_BYTE, target, at[target] + (MPI_Aint)me * PART + 1024 + i * 8, 8,
                    MPI_BYTE, win);
        }
        if (is_fence) {
            MPI_Win_fence(0, win);
        } else {
            MPI_Win_complete(win);
            MPI_Win_wait(win);
        }
        memcpy(model[target], out, sizeof out);
        T_OK(memcmp(in, model[target] + 1024, sizeof in) == 0);
        int from = (me - round % n + n) % n; // who wrote here
        T_OK(memcmp(mem + (size_t)from * PART, out, sizeof out) == 0);
        if (is_fence) {
            MPI_Win_fence(0, win);
        }
    }
    MPI_Group_free(&all);
    MPI_Barrier(MPI_COMM_WORLD);
}

// What each rank has now is what all origins believe.
static void compare(void)
{
    static unsigned char theirs[PART];
    MPI_Barrier(MPI_COMM_WORLD);
    for (int target = 0; target < n; target++) {
        for (int origin = 0; origin < n; origin++) {
            if (origin == target) {
                if (me == target) {
                    T_OK(memcmp(mem + (size_t)me * PART, model[me], PART) == 0);
                }
            } else if (me == origin) {
                MPI_Send(model[target], PART, MPI_BYTE, target, 0, MPI_COMM_WORLD);
            } else if (me == target) {
                MPI_Recv(theirs, PART, MPI_BYTE, origin, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                T_OK(memcmp(mem + (size_t)origin * PART, theirs, PART) == 0);
            }
        }
    }
}

// Small puts to a rank that sleeps until it is told of them: they are done when the lock is given
// back, whether it was asked for or not.
static void unlock(MPI_Win win)
{
    long words[5];
    for (int round = 0; round < 6; round++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (me == 1) {
            if (round % 3 == 0) {
                MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
            } else {
                MPI_Win_lock_all(round % 3 == 1 ? 0 : MPI_MODE_NOCHECK, win);
            }
            usleep(20000); // most often the other one sleeps then
            for (int i = 0; i < 5; i++) {
                words[i] = round * 10 + i + 1;
                MPI_Put(&words[i], 1, MPI_LONG, 0, at[0] + PART + i * 8, 1, MPI_LONG, win);
            }
            if (round % 3 == 0) {
                MPI_Win_unlock(0, win);
            } else {
                MPI_Win_unlock_all(win);
            }
            MPI_Send(words, 5, MPI_LONG, 0, 0, MPI_COMM_WORLD);
            memcpy(model[0], words, sizeof words);
        } else if (me == 0) {
            MPI_Recv(words, 5, MPI_LONG, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            T_OK(memcmp(mem + PART, words, sizeof words) == 0);
        }
    }
}

// A put to memory that is not attached changes nothing and is told at once, or at the next flush.
static void refuse(MPI_Win win)
{
    int target = (me + 1) % n, class;
    if (target == me) {
        return;
    }
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
    MPI_Aint beyond = at[target] + (MPI_Aint)n * PART;
    int code = MPI_Put(&me, 4, MPI_BYTE, target, beyond, 4, MPI_BYTE, win);
    code = code == MPI_SUCCESS ? MPI_Win_flush(target, win) : code;
    MPI_Error_class(code, &class);
    T_EQ(class, MPI_ERR_RMA_RANGE);
    T_EQ(MPI_Win_flush(target, win), 0); // told once
    T_EQ(MPI_Win_unlock(target, win), 0);
}

// Windows whose first access comes while others are still making them, and the last just before
// they are freed.
static void young(void)
{
    static long from_left;
    for (long i = 0; i < 300; i++) {
        MPI_Win win;
        long word = i * MOST + me, *words = me == i % n ? NULL : &from_left;
        int right = (me + 1) % n, left = (me + n - 1) % n;
        MPI_Win_create(words, words != NULL ? sizeof *words : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                       &win);
        if (right != i % n) {
            MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win);
            MPI_Put(&word, 1, MPI_LONG, right, 0, 1, MPI_LONG, win);
            MPI_Win_unlock(right, win);
        }
        MPI_Win_free(&win);
        T_OK(words == NULL || from_left == i * MOST + left);
    }
}

// Windows of this rank alone, with all the memory that others could see. Returns how many. Where
// address space is scarce their memory is what locks and rings are made of.
static int fill_memory(MPI_Win *fill)
{
    int n_fill = 0;
    long pages = 0;
    struct rlimit was;
    void *base;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f == NULL || fscanf(f, "%ld", &pages) != 1) {
        return 0;
    }
    fclose(f);
    getrlimit(RLIMIT_AS, &was);
    rlim_t now = (rlim_t)(pages * sysconf(_SC_PAGESIZE)) + (64 << 20);
    setrlimit(RLIMIT_AS, &(struct rlimit){ now < was.rlim_cur ? now : was.rlim_cur, was.rlim_max });
    MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_SELF, &base, &fill[n_fill++]);
    setrlimit(RLIMIT_AS, &was);
    for (MPI_Aint size = 1 << 24; size >= 1 << 12; size /= 2) {
        for (int i = 0; i < 8; i++) {
            MPI_Win_allocate(size, 1, MPI_INFO_NULL, MPI_COMM_SELF, &base, &fill[n_fill++]);
        }
    }
    for (int i = 0; i < 60; i++) {
        MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_SELF, &fill[n_fill++]);
    }
    while (n_fill < FILL) {
        MPI_Win_create(mem, 8, 1, MPI_INFO_NULL, MPI_COMM_SELF, &fill[n_fill++]);
    }
    return n_fill;
}

// The same where rank 0 has no shared memory left for the lock of its window, which is asked for by
// messages then.
static void crowded(void)
{
    static MPI_Win fill[FILL];
    MPI_Win win;
    int n_fill = me == 0 && !IS_SANITIZED && !T_IS_ENDPOINT ? fill_memory(fill) : 0;
    MPI_Win_create(mem, 2 * (MPI_Aint)PART, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    at[0] = 0;
    unlock(win);
    MPI_Win_free(&win);
    while (n_fill > 0) {
        MPI_Win_free(&fill[--n_fill]);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    T_MUST(n <= MOST);
    mem = calloc((size_t)n, PART);
    for (int is_dynamic = 0; is_dynamic < 2; is_dynamic++) {
        MPI_Win win;
        MPI_Aint mine = 0;
        seed = (unsigned)me * 77 + 5;
        memset(mem, 0, (size_t)n * PART);
        memset(model, 0, sizeof model);
        if (is_dynamic) {
            MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
            MPI_Win_attach(win, mem, (MPI_Aint)n * PART);
            MPI_Get_address(mem, &mine);
        } else {
            MPI_Win_create(mem, (MPI_Aint)n * PART, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        }
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
        MPI_Allgather(&mine, 1, MPI_AINT, at, 1, MPI_AINT, MPI_COMM_WORLD);
        passive(win);
        compare();
        rows(win);
        compare();
        words(win, true);
        words(win, false);
        compare();
        unlock(win);
        compare();
        if (is_dynamic) {
            refuse(win);
            MPI_Barrier(MPI_COMM_WORLD);
            MPI_Win_detach(win, mem);
        }
        MPI_Win_free(&win);
    }
    young();
    crowded();
    free(mem);
    MPI_Finalize();
    return t_status();
}
