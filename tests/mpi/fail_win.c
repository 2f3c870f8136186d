// SPDX-License-Identifier: BSD-3-Clause
// A rank dies while the others synchronise with it at a window, as the first argument says: they
// hear of it, free the window, and go on with one of their own. The second argument is how the
// memory is made. Needs mpiexec --on-failure=shrink.
#include <mpi.h>

#include "t.h"

#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

enum { VICTIM = 2, LEN = 100000 };

static int rank, size, *mem, big[LEN];
static MPI_Win win;

static int class_of(int code)
{
    int class = -1;
    MPI_Error_class(code, &class);
    return class;
}

#define FAILS(call) T_EQ(class_of(call), MPIX_ERR_PROC_FAILED)
#define WORKS(call) T_EQ(call, MPI_SUCCESS)

// The victim dies when all the others have got so far.
static void die(void)
{
    for (int i = 1; rank == VICTIM && i < size; i++) {
        MPI_Recv(NULL, 0, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank == VICTIM) {
        raise(SIGKILL);
    }
    MPI_Send(NULL, 0, MPI_INT, VICTIM, 0, MPI_COMM_WORLD);
}

// And all the others know.
static void die_known(void)
{
    int n = 0;
    for (die(); n == 0;) {
        MPI_Group dead;
        MPIX_Comm_get_failed(MPI_COMM_WORLD, &dead);
        MPI_Group_size(dead, &n);
        MPI_Group_free(&dead);
    }
}

// The survivors meet; only messages between two still work on the world.
static void meet(void)
{
    for (int i = 1; i < size; i++) {
        if (i != VICTIM && rank == 0) {
            MPI_Recv(NULL, 0, MPI_INT, i, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (i == rank) {
            MPI_Send(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD);
        }
    }
    for (int i = 1; i < size; i++) {
        if (i != VICTIM && rank == 0) {
            MPI_Send(NULL, 0, MPI_INT, i, 1, MPI_COMM_WORLD);
        } else if (i == rank) {
            MPI_Recv(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
}

static void fence(void)
{
    MPI_Win_fence(0, win);
    die();
    MPI_Put(big, LEN, MPI_INT, VICTIM, 0, LEN, MPI_INT, win);
    FAILS(MPI_Win_fence(0, win));
}

static MPI_Group group_of(int n, const int *ranks)
{
    MPI_Group all, some;
    MPI_Win_get_group(win, &all);
    MPI_Group_incl(all, n, ranks, &some);
    MPI_Group_free(&all);
    return some;
}

static void start(void)
{
    MPI_Group one = group_of(1, (int[]){ VICTIM });
    die();
    FAILS(MPI_Win_start(one, 0, win));
    FAILS(MPI_Win_start(one, MPI_MODE_NOCHECK, win));
    MPI_Group_free(&one);
}

// Rank 0 exposes its memory to the victim and to rank 1, which accesses it and the victim's.
static void post(void)
{
    MPI_Group origins = group_of(2, (int[]){ 1, VICTIM });
    MPI_Group targets = group_of(2, (int[]){ 0, VICTIM }), target = group_of(1, (int[]){ 0 });
    die_known();
    if (rank == 0) {
        WORKS(MPI_Win_post(origins, 0, win));
        FAILS(MPI_Win_wait(win));
        WORKS(MPI_Win_post(origins, 0, win)); // again, and rank 1 does nothing wrong
        FAILS(MPI_Win_wait(win));
        T_EQ(mem[1], 77);
    } else if (rank == 1) {
        int x = 77;
        FAILS(MPI_Win_start(targets, 0, win)); // rank 0 does not wait for us for ever
        WORKS(MPI_Win_start(target, 0, win));
        WORKS(MPI_Put(&x, 1, MPI_INT, 0, 1, 1, MPI_INT, win));
        WORKS(MPI_Win_complete(win));
    }
    MPI_Group_free(&origins);
    MPI_Group_free(&targets);
    MPI_Group_free(&target);
    FAILS(MPI_Win_fence(0, win));
}

static void lock(void)
{
    if (rank == VICTIM) {
        WORKS(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, VICTIM, 0, win));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    die();
    FAILS(MPI_Win_lock(MPI_LOCK_SHARED, VICTIM, 0, win));
}

// Each survivor is told once that the holder died, and then the lock is as any other.
static void take_and_count(void)
{
    int one = 1, sum = -1;
    for (int again = 0; again < 3; again++) {
        WORKS(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
        WORKS(MPI_Get(&sum, 1, MPI_INT, 0, 1, 1, MPI_INT, win));
        WORKS(MPI_Win_flush(0, win));
        sum += one;
        WORKS(MPI_Put(&sum, 1, MPI_INT, 0, 1, 1, MPI_INT, win));
        WORKS(MPI_Win_unlock(0, win));
    }
    meet();
    WORKS(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    WORKS(MPI_Get(&sum, 1, MPI_INT, 0, 1, 1, MPI_INT, win));
    WORKS(MPI_Win_unlock(0, win));
    T_EQ(sum, 3 * (size - 1));
    meet();
}

static void check_told(int code)
{
    char text[MPI_MAX_ERROR_STRING];
    int len;
    FAILS(code);
    MPI_Error_string(code, text, &len);
    T_HAS(text, "held the lock");
    T_HAS(text, "rank 2 (process");
}

static void held(void)
{
    if (rank == VICTIM) {
        WORKS(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    die(); // ranks that are quick wait for the lock, and others find it released
    check_told(MPI_Win_lock(rank % 2 != 0 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, 0, 0, win));
    take_and_count();
}

// The victim shares the lock with rank 1, which goes on, and somebody else waits for both.
static void shared(void)
{
    if (rank == VICTIM || rank == 1) {
        WORKS(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    die();
    if (rank == 1) {
        int got = -1;
        WORKS(MPI_Get(&got, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
        WORKS(MPI_Win_flush(0, win));
        T_EQ(got, 0);
        WORKS(MPI_Win_unlock(0, win));
    }
    check_told(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
    take_and_count();
}

// All kinds of access to a target that dies inside the epoch.
static void access_dead(void)
{
    int x = 0, y = 0, z = 0;
    MPI_Request r;
    WORKS(MPI_Win_lock_all(0, win));
    MPI_Barrier(MPI_COMM_WORLD);
    die_known();
    FAILS(MPI_Put(&x, 1, MPI_INT, VICTIM, 0, 1, MPI_INT, win));
    FAILS(MPI_Get(&x, 1, MPI_INT, VICTIM, 0, 1, MPI_INT, win));
    FAILS(MPI_Accumulate(&x, 1, MPI_INT, VICTIM, 0, 1, MPI_INT, MPI_SUM, win));
    FAILS(MPI_Get_accumulate(&x, 1, MPI_INT, &y, 1, MPI_INT, VICTIM, 0, 1, MPI_INT, MPI_SUM, win));
    FAILS(MPI_Fetch_and_op(&x, &y, MPI_INT, VICTIM, 0, MPI_SUM, win));
    FAILS(MPI_Compare_and_swap(&x, &y, &z, MPI_INT, VICTIM, 0, win));
    FAILS(MPI_Rput(&x, 1, MPI_INT, VICTIM, 0, 1, MPI_INT, win, &r));
    FAILS(MPI_Win_flush(VICTIM, win));
    FAILS(MPI_Win_flush_local(VICTIM, win));
    WORKS(MPI_Put(&rank, 1, MPI_INT, 0, 10 + rank, 1, MPI_INT, win));
    WORKS(MPI_Win_flush(0, win));
    FAILS(MPI_Win_flush_all(win));
    FAILS(MPI_Win_flush_local_all(win));
    FAILS(MPI_Win_unlock_all(win));
    FAILS(MPI_Win_lock_all(0, win));
    meet();
    for (int i = 0; rank == 0 && i < size; i++) {
        T_EQ(mem[10 + i], i == VICTIM ? 0 : i);
    }
    int code = MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win); // the victim shared this one too
    check_told(code);
    take_and_count();
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    { "fence", fence }, { "start", start },   { "post", post },          { "lock", lock },
    { "held", held },   { "shared", shared }, { "access", access_dead },
};

static void make(MPI_Comm comm, size_t len, bool is_allocated)
{
    if (is_allocated) {
        MPI_Win_allocate((MPI_Aint)(len * sizeof *mem), sizeof *mem, MPI_INFO_NULL, comm, &mem,
                         &win);
    } else {
        mem = malloc(len * sizeof *mem);
        MPI_Win_create(mem, (MPI_Aint)(len * sizeof *mem), sizeof *mem, MPI_INFO_NULL, comm, &win);
    }
    memset(mem, 0, len * sizeof *mem);
}

int main(int argc, char **argv)
{
    MPI_Comm rest;
    int got = -1;
    MPI_Init(&argc, &argv);
    T_MUST(argc == 3);
    bool is_allocated = strcmp(argv[2], "allocate") == 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    make(MPI_COMM_WORLD, LEN, is_allocated);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
    int *first = mem;
    size_t which = 0;
    while (which < sizeof cases / sizeof *cases && strcmp(cases[which].name, argv[1]) != 0) {
        which++;
    }
    T_MUST(which < sizeof cases / sizeof *cases);
    cases[which].run();
    T_EQ(MPI_Win_free(&win), MPI_SUCCESS);
    free(is_allocated ? NULL : first);
    T_EQ(MPIX_Comm_shrink(MPI_COMM_WORLD, &rest), MPI_SUCCESS);
    MPI_Comm_rank(rest, &rank);
    MPI_Comm_size(rest, &size);
    make(rest, 1, is_allocated);
    mem[0] = rank;
    MPI_Win_fence(0, win);
    MPI_Get(&got, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    T_EQ(got, (rank + 1) % size);
    first = mem;
    MPI_Win_free(&win);
    free(is_allocated ? NULL : first);
    MPI_Comm_free(&rest);
    MPI_Finalize();
    return t_status();
}
