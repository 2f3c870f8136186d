// SPDX-License-Identifier: BSD-3-Clause
// Windows: what they are, attributes, names, and fences with put, get and accumulate.
#include "t.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

static int me, n;

static void check_object(void)
{
    double *base;
    MPI_Win win;
    int flag, len, key, *unit, *flavor, *model;
    MPI_Aint *size;
    void *at;
    char name[MPI_MAX_OBJECT_NAME];
    T_EQ(MPI_Win_allocate(8 * (me + 1), 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win), 0);
    T_EQ(MPI_Win_get_attr(win, MPI_WIN_BASE, &at, &flag), 0);
    T_OK(flag && at == base);
    T_EQ(MPI_Win_get_attr(win, MPI_WIN_SIZE, &size, &flag), 0);
    T_OK(flag && *size == 8 * (me + 1));
    T_EQ(MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &unit, &flag), 0);
    T_OK(flag && *unit == 8);
    T_EQ(MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &flag), 0);
    T_OK(flag && *flavor == MPI_WIN_FLAVOR_ALLOCATE);
    T_EQ(MPI_Win_get_attr(win, MPI_WIN_MODEL, &model, &flag), 0);
    T_OK(flag && *model == MPI_WIN_UNIFIED);
    T_EQ(MPI_Win_get_name(win, name, &len), 0);
    T_EQ(len, 0);
    T_EQ(MPI_Win_set_name(win, "grid"), 0);
    T_EQ(MPI_Win_get_name(win, name, &len), 0);
    T_STR(name, "grid");
    T_EQ(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &key, NULL), 0);
    T_EQ(MPI_Win_set_attr(win, key, name), 0);
    T_EQ(MPI_Win_get_attr(win, key, &at, &flag), 0);
    T_OK(flag && at == name);
    T_EQ(MPI_Win_delete_attr(win, key), 0);
    T_EQ(MPI_Win_get_attr(win, key, &at, &flag), 0);
    T_EQ(flag, 0);
    T_EQ(MPI_Win_free_keyval(&key), 0);
    MPI_Group group, world;
    int same;
    MPI_Win_get_group(win, &group);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_compare(group, world, &same);
    T_EQ(same, MPI_IDENT);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    MPI_Info info;
    T_EQ(MPI_Win_get_info(win, &info), 0);
    char value[32];
    MPI_Info_get(info, "accumulate_ordering", 31, value, &flag);
    T_OK(flag);
    T_STR(value, "rar,raw,war,waw");
    MPI_Info_free(&info);
    T_EQ(MPI_Win_free(&win), 0);
    T_OK(win == MPI_WIN_NULL);
    T_EQ(MPI_Win_get_name(win, name, &len), 0);
    T_STR(name, "MPI_WIN_NULL");
}

// Everybody writes its number everywhere, adds, and reads.
static void check_fence(MPI_Win win, int *mem)
{
    int right = (me + 1) % n, got[3] = { -1, -1, -1 }, all = 0;
    for (int i = 0; i < n + 2; i++) {
        mem[i] = -1;
    }
    mem[n] = 0;
    T_EQ(MPI_Win_fence(MPI_MODE_NOPRECEDE, win), 0);
    for (int i = 0; i < n; i++) {
        T_EQ(MPI_Put(&me, 1, MPI_INT, i, me, 1, MPI_INT, win), 0);
        T_EQ(MPI_Accumulate(&(int){ me + 1 }, 1, MPI_INT, i, n, 1, MPI_INT, MPI_SUM, win), 0);
    }
    T_EQ(MPI_Put(&me, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win), 0);
    T_EQ(MPI_Win_fence(0, win), 0);
    for (int i = 0; i < n; i++) {
        T_EQ(mem[i], i);
        all += i + 1;
    }
    T_EQ(mem[n], all);
    T_EQ(MPI_Get(got, 1, MPI_INT, right, right, 1, MPI_INT, win), 0);
    T_EQ(MPI_Get(got + 1, 1, MPI_INT, right, n, 1, MPI_INT, win), 0);
    T_EQ(MPI_Win_fence(MPI_MODE_NOSUCCEED, win), 0);
    T_EQ(got[0], right);
    T_EQ(got[1], all);
    T_EQ(got[2], -1);
}

// A matrix's column goes to another's row, small and large.
static void check_types(int rows)
{
    int cols = 3, right = (me + 1) % n;
    size_t len = (size_t)rows * (size_t)cols;
    int *mem, *mine = malloc(len * sizeof *mine), *back = malloc(len * sizeof *back);
    MPI_Win win;
    MPI_Datatype column, far;
    MPI_Win_allocate((MPI_Aint)(len * sizeof *mem), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win);
    MPI_Type_vector(rows, 1, cols, MPI_INT, &column);
    MPI_Type_commit(&column);
    MPI_Type_create_hvector(rows, 1, 2 * sizeof(int), MPI_INT, &far);
    MPI_Type_commit(&far);
    for (size_t i = 0; i < len; i++) {
        mine[i] = me * 1000000 + (int)i;
        mem[i] = back[i] = -1;
    }
    MPI_Win_fence(0, win);
    MPI_Put(mine + 1, 1, column, right, 4, 1, far, win);
    MPI_Type_free(&column); // still used
    MPI_Win_fence(0, win);
    int left = (me + n - 1) % n, bad = 0;
    for (int i = 0; i < rows; i++) {
        bad += mem[1 + 2 * i] != left * 1000000 + 1 + i * cols;
        bad += mem[2 * i] != -1;
    }
    T_EQ(bad, 0);
    MPI_Type_vector(rows, 1, cols, MPI_INT, &column);
    MPI_Type_commit(&column);
    MPI_Get(back + 2, 1, column, right, 4, 1, far, win);
    MPI_Get(back, 1, MPI_INT, right, 4, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < rows; i++) {
        bad += back[2 + i * cols] != me * 1000000 + 1 + i * cols;
    }
    T_EQ(bad, 0);
    T_EQ(back[0], me * 1000000 + 1);
    MPI_Accumulate(mine + 1, 1, column, right, 4, 1, far, MPI_SUM, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < rows; i++) {
        bad += mem[1 + 2 * i] != 2 * (left * 1000000 + 1 + i * cols);
    }
    T_EQ(bad, 0);
    MPI_Type_free(&column);
    MPI_Type_free(&far);
    MPI_Win_free(&win);
    free(mine);
    free(back);
}

static void check_large(size_t len)
{
    char *mem = malloc(len), *mine = malloc(len);
    MPI_Win win;
    int right = (me + 1) % n, left = (me + n - 1) % n;
    MPI_Win_create(mem, (MPI_Aint)len, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    memset(mem, 1, len);
    memset(mine, 'a' + me, len);
    MPI_Win_fence(0, win);
    MPI_Put(mine, (int)len, MPI_CHAR, right, 0, (int)len, MPI_CHAR, win);
    MPI_Win_fence(0, win);
    T_OK(mem[0] == 'a' + left && memcmp(mem, mem + 1, len - 1) == 0);
    MPI_Get(mine, (int)len, MPI_CHAR, right, 0, (int)len, MPI_CHAR, win);
    MPI_Win_fence(0, win);
    T_OK(mine[0] == 'a' + me && memcmp(mine, mine + 1, len - 1) == 0);
    MPI_Accumulate(mine, (int)len, MPI_BYTE, right, 0, (int)len, MPI_BYTE, MPI_BXOR, win);
    MPI_Win_fence(0, win);
    T_OK(mem[0] == 0 && memcmp(mem, mem + 1, len - 1) == 0);
    MPI_Win_free(&win);
    free(mem);
    free(mine);
}

// Byte i of what a rank sends.
static char pattern(int rank, size_t i)
{
    return (char)(i * 7 + (i >> 8) * 13 + (size_t)rank * 5 + 1);
}

// A run of many bytes at an odd place of memory that ranks share, to the right and back.
static void check_run(size_t len, MPI_Aint at, bool with_request)
{
    enum { EDGE = 2048 };
    char *mem, *mine = malloc(len + 1), *back = malloc(len + 1);
    MPI_Win win;
    MPI_Request r[1] = { MPI_REQUEST_NULL };
    int right = (me + 1) % n, left = (me + n - 1) % n;
    size_t size = len + 2 * EDGE, n_bad = 0;
    MPI_Win_allocate((MPI_Aint)size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win);
    memset(mem, 'x', size);
    memset(back, 'x', len + 1);
    for (size_t i = 0; i < len; i++) {
        mine[i + 1] = pattern(me, i);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    if (with_request) {
        MPI_Rput(mine + 1, (int)len, MPI_CHAR, right, at, (int)len, MPI_CHAR, win, r);
        MPI_Wait(r, MPI_STATUS_IGNORE);
    } else {
        MPI_Put(mine + 1, (int)len, MPI_CHAR, right, at, (int)len, MPI_CHAR, win);
    }
    MPI_Win_flush(right, win);
    if (with_request) {
        MPI_Rget(back, (int)len, MPI_CHAR, right, at, (int)len, MPI_CHAR, win, r);
        MPI_Wait(r, MPI_STATUS_IGNORE);
    } else {
        MPI_Get(back, (int)len, MPI_CHAR, right, at, (int)len, MPI_CHAR, win);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    T_OK(memcmp(back, mine + 1, len) == 0 && back[len] == 'x');
    for (size_t i = 0; i < size; i++) {
        bool is_in = i >= (size_t)at && i - (size_t)at < len;
        n_bad += mem[i] != (is_in ? pattern(left, i - (size_t)at) : 'x');
    }
    T_EQ(n_bad, 0);
    MPI_Win_free(&win);
    free(mine);
    free(back);
}

// Pairs with a hole in them, and large counts.
static void check_pairs(void)
{
    struct {
        short v;
        int i;
    } * mem, mine[2] = { { (short)me, me }, { (short)-me, me } };
    struct {
        double v;
        int i;
    } * wide, my_wide = { me, me };
    MPI_Win win;
    MPI_Win_allocate_c(2 * sizeof *mem, sizeof *mem, MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win);
    mem[0].v = mem[1].v = 0;
    mem[0].i = mem[1].i = 77;
    MPI_Win_fence(0, win);
    MPI_Accumulate_c(mine, 2, MPI_SHORT_INT, 0, 0, 2, MPI_SHORT_INT, MPI_MAXLOC, win);
    MPI_Win_fence(0, win);
    if (me == 0) {
        T_EQ(mem[0].v, n - 1);
        T_EQ(mem[0].i, n - 1);
        T_EQ(mem[1].v, 0);
        T_EQ(mem[1].i, 0); // equal values: the smaller index
    }
    MPI_Win_free(&win);
    MPI_Win_allocate(sizeof *wide, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &wide, &win);
    wide->v = 1e9;
    wide->i = -1;
    MPI_Win_fence(0, win);
    MPI_Accumulate(&my_wide, 1, MPI_DOUBLE_INT, n - 1, 0, 1, MPI_DOUBLE_INT, MPI_MINLOC, win);
    MPI_Win_fence(0, win);
    if (me == n - 1) {
        T_OK(wide->v == 0 && wide->i == 0);
    }
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    int *mem;
    MPI_Win win;
    check_object();
    size_t bytes = (size_t)(n + 2) * sizeof *mem;
    MPI_Win_allocate((MPI_Aint)bytes, sizeof *mem, MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win);
    check_fence(win, mem);
    MPI_Win_free(&win);
    mem = malloc(bytes);
    MPI_Win_create(mem, (MPI_Aint)bytes, sizeof *mem, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    for (int i = 0; i < 3; i++) {
        check_fence(win, mem);
    }
    MPI_Win_free(&win);
    free(mem);
    check_types(5);
    check_types(20000);
    check_large(1000);
    check_large(1 << 20);
    for (int i = 0; i < 4; i++) { // around the length from which runs are copied in another way
        check_run((size_t)(384 << 10) - 2 + (size_t)i, 17 * i, i % 2 != 0);
    }
    check_run((1 << 20) + 77, 1001, false);
    check_pairs();
    MPI_Finalize();
    return t_status();
}
