// SPDX-License-Identifier: BSD-3-Clause
// Mistakes with windows: the class of the error, and the sentence that names it.
#include "t.h"

#include <mpi.h>

static int me, n;

static void wrong(int line, int code, int class, const char *piece)
{
    char text[MPI_MAX_ERROR_STRING];
    int got, len;
    MPI_Error_class(code, &got);
    MPI_Error_string(code, text, &len);
    if (got != class || strstr(text, piece) == NULL) {
        fprintf(stderr, "line %d: class %d instead of %d, or \"%s\" lacks \"%s\"\n", line, got,
                class, text, piece);
        t_failed++;
    }
}
#define WRONG(call, class, piece) wrong(__LINE__, call, class, piece)

static void check_sync(MPI_Win win)
{
    int x = 0, flag;
    MPI_Group group;
    MPI_Win_get_group(win, &group);
    WRONG(MPI_Put(&x, 1, MPI_INT, 0, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC, "no access epoch");
    WRONG(MPI_Get(&x, 1, MPI_INT, 0, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC, "window marks");
    WRONG(MPI_Win_unlock(0, win), MPI_ERR_RMA_SYNC, "not locked at rank 0");
    WRONG(MPI_Win_unlock_all(win), MPI_ERR_RMA_SYNC, "not locked at all");
    WRONG(MPI_Win_flush(0, win), MPI_ERR_RMA_SYNC, "not locked at rank 0");
    WRONG(MPI_Win_flush_all(win), MPI_ERR_RMA_SYNC, "not locked");
    WRONG(MPI_Win_complete(win), MPI_ERR_RMA_SYNC, "MPI_Win_start must come before");
    WRONG(MPI_Win_wait(win), MPI_ERR_RMA_SYNC, "MPI_Win_post must come before");
    WRONG(MPI_Win_test(win, &flag), MPI_ERR_RMA_SYNC, "MPI_Win_post must come before");
    T_EQ(MPI_Win_lock(MPI_LOCK_SHARED, me, 0, win), 0);
    WRONG(MPI_Win_lock(MPI_LOCK_SHARED, me, 0, win), MPI_ERR_RMA_SYNC, "already");
    WRONG(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC, "already");
    WRONG(MPI_Win_fence(0, win), MPI_ERR_RMA_SYNC, "is locked at 1 rank;");
    WRONG(MPI_Win_start(group, 0, win), MPI_ERR_RMA_SYNC, "MPI_Win_unlock must come before");
    if (n > 1) {
        WRONG(MPI_Put(&x, 1, MPI_INT, (me + 1) % n, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC,
              "not locked at rank");
    }
    MPI_Win same = win;
    WRONG(MPI_Win_free(&same), MPI_ERR_RMA_SYNC, "MPI_Win_free");
    T_OK(same == win);
    T_EQ(MPI_Win_unlock(me, win), 0);
    T_EQ(MPI_Win_lock_all(0, win), 0);
    WRONG(MPI_Win_lock(MPI_LOCK_SHARED, me, 0, win), MPI_ERR_RMA_SYNC, "MPI_Win_lock_all");
    T_EQ(MPI_Win_unlock_all(win), 0);
    T_EQ(MPI_Win_fence(0, win), 0);
    T_EQ(MPI_Put(&x, 1, MPI_INT, me, 0, 1, MPI_INT, win), 0);
    WRONG(MPI_Win_lock(MPI_LOCK_SHARED, me, 0, win), MPI_ERR_RMA_SYNC, "MPI_Win_fence");
    WRONG(MPI_Win_fence(MPI_MODE_NOPRECEDE, win), MPI_ERR_RMA_SYNC, "NOPRECEDE");
    T_EQ(MPI_Win_fence(0, win), 0);
    T_EQ(MPI_Win_lock(MPI_LOCK_SHARED, me, 0, win), 0); // nothing was done since the fence
    T_EQ(MPI_Win_unlock(me, win), 0);
    T_EQ(MPI_Win_fence(MPI_MODE_NOSUCCEED, win), 0);
    WRONG(MPI_Put(&x, 1, MPI_INT, 0, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC, "no access epoch");
    MPI_Group_free(&group);
}

static int add(void *a, void *b, int *len, MPI_Datatype *type)
{
    (void)a, (void)b, (void)len, (void)type;
    return 0;
}

static void check_arguments(MPI_Win win)
{
    int x[4] = { 0 };
    MPI_Op op;
    MPI_Datatype mixed;
    MPI_Op_create((MPI_User_function *)(void *)add, 1, &op);
    MPI_Type_create_struct(2, (int[]){ 1, 1 }, (MPI_Aint[]){ 0, 8 },
                           (MPI_Datatype[]){ MPI_INT, MPI_DOUBLE }, &mixed);
    MPI_Type_commit(&mixed);
    T_EQ(MPI_Win_lock_all(0, win), 0);
    WRONG(MPI_Put(x, 1, MPI_INT, n, 0, 1, MPI_INT, win), MPI_ERR_RANK, "ranks 0 to");
    WRONG(MPI_Put(x, 1, MPI_INT, 0, 4, 1, MPI_INT, win), MPI_ERR_RMA_RANGE, "bytes 16 to 19");
    WRONG(MPI_Get(x, 2, MPI_INT, 0, 3, 2, MPI_INT, win), MPI_ERR_RMA_RANGE, "has 16 bytes");
    WRONG(MPI_Put(x, 1, MPI_INT, 0, -1, 1, MPI_INT, win), MPI_ERR_DISP, "target_disp");
    WRONG(MPI_Put(x, -1, MPI_INT, 0, 0, 1, MPI_INT, win), MPI_ERR_COUNT, "origin_count");
    WRONG(MPI_Put(x, 2, MPI_INT, 0, 0, 1, MPI_INT, win), MPI_ERR_TRUNCATE, "8 bytes");
    WRONG(MPI_Get(x, 1, MPI_INT, 0, 0, 2, MPI_INT, win), MPI_ERR_TRUNCATE, "8 bytes");
    WRONG(MPI_Accumulate(x, 1, MPI_INT, 0, 0, 1, MPI_INT, op, win), MPI_ERR_OP, "predefined");
    WRONG(MPI_Accumulate(x, 1, mixed, 0, 0, 1, mixed, MPI_SUM, win), MPI_ERR_TYPE, "several");
    WRONG(MPI_Accumulate(x, 1, MPI_FLOAT, 0, 0, 1, MPI_INT, MPI_SUM, win), MPI_ERR_TYPE, "same");
    WRONG(MPI_Compare_and_swap(x, x, x, MPI_DOUBLE, 0, 0, win), MPI_ERR_TYPE, "compared");
    // No element can be accumulated by any operator: programs probe so.
    float none[1];
    MPI_Request r;
    T_EQ(MPI_Accumulate(none, 0, MPI_FLOAT, 0, 0, 0, MPI_FLOAT, MPI_BAND, win), 0);
    T_EQ(MPI_Get_accumulate(none, 0, MPI_FLOAT, none, 0, MPI_FLOAT, 0, 0, 0, MPI_FLOAT, MPI_BAND,
                            win),
         0);
    T_EQ(MPI_Raccumulate(none, 0, MPI_FLOAT, 0, 0, 0, MPI_FLOAT, MPI_BAND, win, &r), 0);
    T_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), 0);
    WRONG(MPI_Accumulate(x, 1, MPI_FLOAT, 0, 0, 1, MPI_FLOAT, MPI_BAND, win), MPI_ERR_OP, "BAND");
    T_EQ(MPI_Put(x, 4, MPI_INT, 0, 4, 0, MPI_INT, win) != 0, 1);
    T_EQ(MPI_Put(x, 0, MPI_INT, 0, 4, 0, MPI_INT, win), 0);
    T_EQ(MPI_Win_unlock_all(win), 0);
    WRONG(MPI_Win_lock(7, 0, 0, win), MPI_ERR_LOCKTYPE, "lock_type");
    WRONG(MPI_Win_lock(MPI_LOCK_SHARED, n, 0, win), MPI_ERR_RANK, "ranks 0 to");
    WRONG(MPI_Win_fence(1, win), MPI_ERR_ASSERT, "assert");
    WRONG(MPI_Win_attach(win, x, 4), MPI_ERR_RMA_FLAVOR, "MPI_Win_create_dynamic");
    WRONG(MPI_Win_set_attr(win, MPI_WIN_SIZE, x), MPI_ERR_KEYVAL, "MPI_WIN_SIZE");
    MPI_Type_free(&mixed);
    MPI_Op_free(&op);
}

static void check_making(void)
{
    MPI_Win win = MPI_WIN_NULL;
    MPI_Comm copy, inter, half;
    int x[4];
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
    // One rank's mistake is everybody's, and nobody waits.
    int code = MPI_Win_create(x, me == 0 ? -1 : 16, 4, MPI_INFO_NULL, copy, &win);
    WRONG(code, MPI_ERR_SIZE, me == 0 ? "must not be negative" : "rank 0");
    code = MPI_Win_allocate(16, me == n - 1 ? 0 : 4, MPI_INFO_NULL, copy, x, &win);
    WRONG(code, MPI_ERR_DISP, me == n - 1 ? "disp_unit" : "could not take part");
    code = MPI_Win_allocate_shared(me == 0 ? -1 : 16, 4, MPI_INFO_NULL, copy, x, &win);
    T_OK(code != MPI_SUCCESS);
    if (n > 1) {
        MPI_Comm_split(copy, me % 2, 0, &half);
        MPI_Intercomm_create(half, 0, copy, 1 - me % 2, 0, &inter);
        MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
        WRONG(MPI_Win_create(x, 16, 4, MPI_INFO_NULL, inter, &win), MPI_ERR_COMM,
              "intracommunicator");
        MPI_Comm_free(&inter);
        MPI_Comm_free(&half);
    }
    MPI_Comm_free(&copy);
}

static int n_called;

static void called(MPI_Win *win, int *code, ...)
{
    (void)win, (void)code;
    n_called++;
}

int main(int argc, char **argv)
{
    int *mem;
    MPI_Win win;
    MPI_Errhandler h, got;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MPI_Win_allocate(16, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win);
    MPI_Win_set_name(win, "marks");
    MPI_Win_get_errhandler(win, &h);
    T_OK(h == MPI_ERRORS_ARE_FATAL);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    check_sync(win);
    check_arguments(win);
    check_making();
    MPI_Win_create_errhandler(called, &h);
    MPI_Win_set_errhandler(win, h);
    MPI_Win_get_errhandler(win, &got);
    T_OK(got == h);
    MPI_Errhandler_free(&got);
    MPI_Errhandler_free(&h);
    MPI_Win_unlock(0, win);
    T_EQ(n_called, 1);
    T_EQ(MPI_Win_call_errhandler(win, MPI_ERR_OTHER), 0);
    T_EQ(n_called, 2);
    MPI_Win_free(&win);
    MPI_Finalize();
    return t_status();
}
