// SPDX-License-Identifier: BSD-3-Clause
// Synchronisation by post, start, complete and wait; shared memory; memory that is attached later.
#include "t.h"

#include <mpi.h>
#include <stdint.h>

static int me, n;

static MPI_Group group_of(int first, int second)
{
    MPI_Group world, group;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, first == second ? 1 : 2, (int[]){ first, second }, &group);
    MPI_Group_free(&world);
    return group;
}

// Everybody writes to its neighbours, many times; the others see each round whole.
static void check_post(MPI_Win win, int *mem, int assert)
{
    int left = (me + n - 1) % n, right = (me + 1) % n;
    MPI_Group around = group_of(left, right);
    for (int round = 0; round < 50; round++) {
        int flag = 0, got = -1, mine = round * 100 + me;
        mem[2] = mine;
        MPI_Barrier(MPI_COMM_WORLD);
        T_EQ(MPI_Win_post(around, assert, win), 0);
        if (assert & MPI_MODE_NOCHECK) {
            MPI_Barrier(MPI_COMM_WORLD); // all have posted
        }
        T_EQ(MPI_Win_start(around, assert &MPI_MODE_NOCHECK, win), 0);
        MPI_Put(&mine, 1, MPI_INT, right, 0, 1, MPI_INT, win);
        MPI_Put(&mine, 1, MPI_INT, left, 1, 1, MPI_INT, win);
        MPI_Get(&got, 1, MPI_INT, right, 2, 1, MPI_INT, win);
        T_EQ(MPI_Win_complete(win), 0);
        T_EQ(got, round * 100 + right);
        if (round % 2) {
            T_EQ(MPI_Win_wait(win), 0);
        } else {
            while (!flag) {
                T_EQ(MPI_Win_test(win, &flag), 0);
            }
        }
        T_EQ(mem[0], round * 100 + left);
        T_EQ(mem[1], round * 100 + right);
    }
    MPI_Group_free(&around);
}

// Of memory that the users made, the first segment is that of rank 0 for all who ask: others that
// cannot load from it are told so, and not of their own. [MPI-5.0 12.2.3]
static void check_created(void)
{
    char mem[64], *base = mem;
    MPI_Win win;
    MPI_Aint size = -1;
    int rank, unit;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    T_EQ(MPI_Win_create(mem, 10 + rank, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win), 0);
    T_EQ(MPI_Win_shared_query(win, MPI_PROC_NULL, &size, &unit, &base), 0);
    T_OK(size == 10 || (size == 0 && rank != 0));
    T_OK((base == NULL) == (size == 0) && (base == mem) == (rank == 0));
    MPI_Win_free(&win);
}

static void check_shared(void)
{
    MPI_Comm node;
    MPI_Win win;
    MPI_Aint size;
    MPI_Info info;
    int rank, all, unit, *mem, *first, *other;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &rank);
    MPI_Comm_size(node, &all);
    // Parts of 1, 2, ... numbers, side by side.
    MPI_Aint mine = (rank + 1) * (MPI_Aint)sizeof(int);
    T_EQ(MPI_Win_allocate_shared(mine, sizeof(int), MPI_INFO_NULL, node, &mem, &win), 0);
    T_EQ(MPI_Win_shared_query(win, MPI_PROC_NULL, &size, &unit, &first), 0);
    T_EQ(size, sizeof(int));
    T_EQ(unit, sizeof(int));
    T_OK(mem == first + rank * (rank + 1) / 2);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    for (int i = 0; i <= rank; i++) {
        mem[i] = rank;
    }
    MPI_Win_sync(win);
    MPI_Barrier(node);
    MPI_Win_sync(win);
    for (int i = 0, at = 0; i < all; i++) {
        T_EQ(MPI_Win_shared_query(win, i, &size, &unit, &other), 0);
        T_EQ(size, (i + 1) * (MPI_Aint)sizeof(int));
        T_OK(other == first + at);
        for (int k = 0; k <= i; k++, at++) {
            T_EQ(first[at], i);
        }
    }
    MPI_Win_unlock_all(win);
    MPI_Win_fence(0, win);
    MPI_Accumulate(&(int){ 1 }, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_fence(0, win);
    T_EQ(first[0], all);
    MPI_Win_free(&win);
    MPI_Info_create(&info);
    MPI_Info_set(info, "alloc_shared_noncontig", "true");
    T_EQ(MPI_Win_allocate_shared(rank == 0 ? 0 : 5, 1, info, node, &mem, &win), 0);
    T_EQ((uintptr_t)mem % 64, 0);
    MPI_Win_free(&win);
    MPI_Info_free(&info);
    MPI_Comm_free(&node);
}

static void check_dynamic(void)
{
    MPI_Win win;
    long a[4] = { me, me, me, me }, *b = malloc(1000 * sizeof *b), got[2];
    MPI_Aint at[2], theirs[2];
    int right = (me + 1) % n, *flavor, flag;
    void *base;
    T_EQ(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win), 0);
    MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &flag);
    T_EQ(*flavor, MPI_WIN_FLAVOR_DYNAMIC);
    MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flag);
    T_OK(flag && base == MPI_BOTTOM);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    T_EQ(MPI_Win_attach(win, a, sizeof a), 0);
    T_EQ(MPI_Win_attach(win, b, 1000 * sizeof *b), 0);
    T_OK(MPI_Win_attach(win, a + 1, 8) != MPI_SUCCESS);
    MPI_Get_address(a, &at[0]);
    MPI_Get_address(b, &at[1]);
    MPI_Sendrecv(at, 2, MPI_AINT, (me + n - 1) % n, 0, theirs, 2, MPI_AINT, right, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    b[999] = -1;
    MPI_Win_lock_all(0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Put(&(long){ me }, 1, MPI_LONG, right, MPI_Aint_add(theirs[1], 999 * 8), 1, MPI_LONG, win);
    MPI_Get(got, 2, MPI_LONG, right, MPI_Aint_add(theirs[0], 8), 2, MPI_LONG, win);
    T_EQ(MPI_Win_flush_all(win), 0);
    T_OK(got[0] == right && got[1] == right);
    // Beyond what is attached: an error here, or at the next flush.
    int code = MPI_Put(got, 2, MPI_LONG, right, MPI_Aint_add(theirs[1], 999 * 8), 2, MPI_LONG, win);
    code = code == MPI_SUCCESS ? MPI_Win_flush(right, win) : code;
    MPI_Error_class(code, &code);
    T_EQ(code, MPI_ERR_RMA_RANGE);
    code = MPI_Get(got, 2, MPI_LONG, right, MPI_Aint_add(theirs[1], 999 * 8), 2, MPI_LONG, win);
    code = code == MPI_SUCCESS ? MPI_Win_flush(right, win) : code;
    MPI_Error_class(code, &code);
    T_EQ(code, MPI_ERR_RMA_RANGE);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    T_EQ(b[999], (me + n - 1) % n);
    T_EQ(MPI_Win_detach(win, b), 0);
    T_OK(MPI_Win_detach(win, b) != MPI_SUCCESS);
    MPI_Win_free(&win);
    free(b);
}

int main(int argc, char **argv)
{
    int *mem;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    for (int i = 0; i < 2; i++) {
        if (i == 0) {
            MPI_Win_allocate(12, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win);
        } else {
            mem = malloc(12);
            MPI_Win_create(mem, 12, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        }
        check_post(win, mem, 0);
        check_post(win, mem, MPI_MODE_NOCHECK);
        MPI_Win_free(&win);
        if (i == 1) {
            free(mem);
        }
    }
    check_created();
    check_shared();
    check_dynamic();
    MPI_Finalize();
    return t_status();
}
