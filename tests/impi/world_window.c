// SPDX-License-Identifier: BSD-3-Clause
// One-sided access to every rank of the world, with all kinds of windows and synchronisation.
#include "world.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { EACH = 16 };

static int me, n;

// Every rank writes its number into its place at every other one, and reads the diagonal.
static void fences(MPI_Win win, int *mem)
{
    int *got = calloc((size_t)n, sizeof *got), mine = 100 + me;
    for (int i = 0; i < n; i++) {
        mem[i] = -1;
    }
    MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
    for (int r = 0; r < n; r++) {
        MPI_Put(&mine, 1, MPI_INT, r, me, 1, MPI_INT, win);
    }
    MPI_Win_fence(0, win);
    for (int i = 0; i < n; i++) {
        CHECK(mem[i] == 100 + i);
    }
    for (int r = 0; r < n; r++) {
        MPI_Get(&got[r], 1, MPI_INT, r, r, 1, MPI_INT, win);
    }
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    for (int r = 0; r < n; r++) {
        CHECK(got[r] == 100 + r);
    }
    free(got);
}

static void created(void)
{
    int *mem = calloc((size_t)n + 1, sizeof *mem), flag = 0, *unit = NULL, *flavor = NULL, *model;
    MPI_Aint *size = NULL;
    void *base = NULL;
    MPI_Win win;
    MPI_Group group, world;
    MPI_Win_create(mem, (MPI_Aint)n * (MPI_Aint)sizeof *mem, sizeof *mem, MPI_INFO_NULL,
                   MPI_COMM_WORLD, &win);
    MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flag);
    CHECK(flag && base == mem);
    MPI_Win_get_attr(win, MPI_WIN_SIZE, &size, &flag);
    CHECK(flag && *size == (MPI_Aint)n * (MPI_Aint)sizeof *mem);
    MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &unit, &flag);
    CHECK(flag && *unit == (int)sizeof *mem);
    MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &flag);
    CHECK(flag && *flavor == MPI_WIN_FLAVOR_CREATE);
    MPI_Win_get_attr(win, MPI_WIN_MODEL, &model, &flag);
    CHECK(flag && *model == MPI_WIN_UNIFIED);
    int result, key, value = 7, *seen = NULL;
    MPI_Win_get_group(win, &group);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_compare(group, world, &result);
    CHECK(result == MPI_IDENT);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &key, NULL);
    MPI_Win_set_attr(win, key, &value);
    MPI_Win_get_attr(win, key, &seen, &flag);
    CHECK(flag && seen == &value);
    MPI_Win_free_keyval(&key);
    fences(win, mem);
    MPI_Win_free(&win);
    CHECK(win == MPI_WIN_NULL);
    free(mem);
}

// Rows and columns of a matrix at the target, pairs with holes, and an array of large blocks.
static void types(void)
{
    enum { N = 60, BIG = 200000 };
    int *mem, big_at = N * N;
    MPI_Win win;
    MPI_Datatype column, part, row;
    int sizes[2] = { N, N }, sub[2] = { 3, 4 }, at[2] = { 5, 6 };
    MPI_Win_allocate((MPI_Aint)(big_at + BIG) * (MPI_Aint)sizeof *mem, sizeof *mem, MPI_INFO_NULL,
                     MPI_COMM_WORLD, &mem, &win);
    for (int i = 0; i < big_at + BIG; i++) {
        mem[i] = -i;
    }
    MPI_Type_vector(N, 1, N, MPI_INT, &column);
    MPI_Type_commit(&column);
    MPI_Type_create_subarray(2, sizes, sub, at, MPI_ORDER_C, MPI_INT, &part);
    MPI_Type_commit(&part);
    MPI_Type_contiguous(12, MPI_INT, &row);
    MPI_Type_commit(&row);
    int next = (me + 1) % n, before = (me + n - 1) % n, line[N], box[12],
        *big = malloc(BIG * sizeof *big);
    for (int i = 0; i < N; i++) {
        line[i] = 1000 * me + i;
    }
    for (int i = 0; i < BIG; i++) {
        big[i] = me + i;
    }
    MPI_Win_fence(0, win);
    MPI_Put(line, N, MPI_INT, next, 2, 1, column, win);          // a line becomes a column
    MPI_Put(big, BIG, MPI_INT, next, big_at, BIG, MPI_INT, win); // many messages, or a large one
    MPI_Win_fence(0, win);
    for (int i = 0; i < N; i++) {
        CHECK(mem[i * N + 2] == 1000 * before + i);
        CHECK(mem[i * N + 3] == -(i * N + 3));
    }
    for (int i = 0; i < BIG; i++) {
        CHECK(mem[big_at + i] == before + i);
        big[i] = 0;
    }
    MPI_Win_fence(0, win);
    MPI_Get(box, 1, row, next, 0, 1, part, win);
    MPI_Get(big, BIG, MPI_INT, next, big_at, BIG, MPI_INT, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < 12; i++) {
        CHECK(box[i] == -((5 + i / 4) * N + 6 + i % 4));
    }
    for (int i = 0; i < BIG; i++) {
        CHECK(big[i] == me + i);
    }
    MPI_Win_fence(0, win);
    MPI_Get(mem, 1, column, next, 3, N, MPI_INT,
            win); // a row of the other becomes a column of ours
    MPI_Win_fence(0, win);
    MPI_Type_free(&column);
    MPI_Type_free(&part);
    MPI_Type_free(&row);
    MPI_Win_free(&win);
    free(big);
}

static void accumulations(void)
{
    struct {
        double sum[EACH];
        struct {
            short v;
            int i;
        } pair[2];
        struct {
            double v;
            int i;
        } most;
        int64_t next, word;
    } * mem;
    MPI_Win win;
    MPI_Win_allocate(sizeof *mem, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win);
    memset(mem, 0, sizeof *mem);
    mem->pair[0].v = mem->pair[1].v = 30000;
    MPI_Barrier(MPI_COMM_WORLD);
    double add[EACH], old[EACH];
    struct {
        short v;
        int i;
    } low[2] = { { (short)(me + 1), me }, { (short)(n - me), me } };
    struct {
        double v;
        int i;
    } high = { me * 1.5, me };
    for (int i = 0; i < EACH; i++) {
        add[i] = me + 0.5 * i;
    }
    MPI_Win_lock_all(0, win);
    for (int r = 0; r < n; r++) {
        MPI_Accumulate(add, EACH, MPI_DOUBLE, r, 0, EACH, MPI_DOUBLE, MPI_SUM, win);
        MPI_Accumulate(low, 2, MPI_SHORT_INT, r, (char *)mem->pair - (char *)mem, 2, MPI_SHORT_INT,
                       MPI_MINLOC, win);
        MPI_Accumulate(&high, 1, MPI_DOUBLE_INT, r, (char *)&mem->most - (char *)mem, 1,
                       MPI_DOUBLE_INT, MPI_MAXLOC, win);
    }
    MPI_Win_flush_all(win);
    int64_t one = 1, was = -1, all = 0;
    MPI_Aint next_at = (char *)&mem->next - (char *)mem, word_at = (char *)&mem->word - (char *)mem;
    for (int i = 0; i < 5; i++) { // a ticket each time
        MPI_Fetch_and_op(&one, &was, MPI_INT64_T, n - 1, next_at, MPI_SUM, win);
        MPI_Win_flush(n - 1, win);
        CHECK(was >= 0 && was < 5 * n);
    }
    for (int i = 0; i < 3;) { // adds by comparing and swapping
        int64_t seen, want;
        MPI_Fetch_and_op(NULL, &seen, MPI_INT64_T, 0, word_at, MPI_NO_OP, win);
        MPI_Win_flush(0, win);
        want = seen + 1;
        MPI_Compare_and_swap(&want, &seen, &was, MPI_INT64_T, 0, word_at, win);
        MPI_Win_flush(0, win);
        i += was == seen;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int r = 0; r < n; r++) {
        memset(old, 0, sizeof old);
        MPI_Get_accumulate(NULL, 0, MPI_DOUBLE, old, EACH, MPI_DOUBLE, r, 0, EACH, MPI_DOUBLE,
                           MPI_NO_OP, win);
        MPI_Win_flush_local(r, win);
        for (int i = 0; i < EACH; i++) {
            CHECK(old[i] == n * (n - 1) / 2 + 0.5 * i * n);
        }
    }
    MPI_Fetch_and_op(NULL, &all, MPI_INT64_T, n - 1, next_at, MPI_NO_OP, win);
    MPI_Fetch_and_op(NULL, &was, MPI_INT64_T, 0, word_at, MPI_NO_OP, win);
    MPI_Win_unlock_all(win);
    CHECK(all == 5 * n && was == 3 * n);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(mem->pair[0].v == 1 && mem->pair[0].i == 0);
    CHECK(mem->pair[1].v == 1 && mem->pair[1].i == n - 1);
    CHECK(mem->most.v == (n - 1) * 1.5 && mem->most.i == n - 1);
    MPI_Win_free(&win);
}

// Each rank lets the one before it in, and enters the next.
static void exposures(void)
{
    int mem[2] = { -1, -1 }, mine[2] = { me, 2 * me }, next = (me + 1) % n,
        before = (me + n - 1) % n;
    MPI_Win win;
    MPI_Group world, to, from;
    MPI_Win_create(mem, sizeof mem, sizeof *mem, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &next, &to);
    MPI_Group_incl(world, 1, &before, &from);
    for (int k = 0; k < 3; k++) {
        MPI_Win_post(from, 0, win);
        MPI_Win_start(to, 0, win);
        MPI_Put(mine, 2, MPI_INT, next, 0, 2, MPI_INT, win);
        MPI_Win_complete(win);
        if (k == 1) {
            int flag = 0;
            while (!flag) {
                MPI_Win_test(win, &flag);
            }
        } else {
            MPI_Win_wait(win);
        }
        CHECK(mem[0] == before && mem[1] == 2 * before);
        mem[0] = mem[1] = -1;
    }
    MPI_Group_free(&world);
    MPI_Group_free(&to);
    MPI_Group_free(&from);
    MPI_Win_free(&win);
}

// Exclusive locks: what is read and written under one is not torn.
static void locks(void)
{
    enum { TIMES = 6 };
    int step = n > 1 ? n - 1 : 1;
    int *mem;
    MPI_Win win;
    MPI_Win_allocate(2 * sizeof *mem, sizeof *mem, MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win);
    mem[0] = mem[1] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int k = 0; k < TIMES; k++) {
        for (int r = 0; r < n; r += step) {
            int v[2];
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, r, 0, win);
            MPI_Get(v, 2, MPI_INT, r, 0, 2, MPI_INT, win);
            MPI_Win_flush(r, win);
            CHECK(v[0] == v[1]);
            v[0]++;
            v[1]++;
            MPI_Put(v, 2, MPI_INT, r, 0, 2, MPI_INT, win);
            MPI_Win_unlock(r, win);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int r = 0; r < n; r += step) {
        int v[2];
        MPI_Win_lock(MPI_LOCK_SHARED, r, 0, win);
        MPI_Get(v, 2, MPI_INT, r, 0, 2, MPI_INT, win);
        MPI_Win_unlock(r, win);
        CHECK(v[0] == TIMES * n && v[1] == v[0]);
    }
    MPI_Win_free(&win);
}

static void dynamic(void)
{
    int mem[4] = { me, -1, -1, -1 }, got = -1, next = (me + 1) % n;
    MPI_Aint where, *all = malloc((size_t)n * sizeof *all);
    MPI_Win win;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_attach(win, mem, sizeof mem);
    MPI_Get_address(mem, &where);
    MPI_Allgather(&where, 1, MPI_AINT, all, 1, MPI_AINT, MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
    MPI_Get(&got, 1, MPI_INT, next, all[next], 1, MPI_INT, win);
    MPI_Win_flush(next, win);
    CHECK(got == next);
    MPI_Put(&me, 1, MPI_INT, next, MPI_Aint_add(all[next], 8), 1, MPI_INT, win);
    MPI_Win_unlock(next, win);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(mem[2] == (me + n - 1) % n);
    MPI_Win_detach(win, mem);
    MPI_Win_free(&win);
    free(all);
}

static void requests(void)
{
    int *mem, mine[EACH], got[EACH], old[EACH], next = (me + 1) % n;
    MPI_Request req[4];
    MPI_Win win;
    MPI_Win_allocate(2 * EACH * sizeof *mem, sizeof *mem, MPI_INFO_NULL, MPI_COMM_WORLD, &mem,
                     &win);
    for (int i = 0; i < EACH; i++) {
        mem[i] = me * 100 + i;
        mem[EACH + i] = 1;
        mine[i] = i;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    MPI_Rget(got, EACH, MPI_INT, next, 0, EACH, MPI_INT, win, &req[0]);
    MPI_Rget_accumulate(mine, EACH, MPI_INT, old, EACH, MPI_INT, next, EACH, EACH, MPI_INT, MPI_SUM,
                        win, &req[1]);
    MPI_Raccumulate(mine, EACH, MPI_INT, next, EACH, EACH, MPI_INT, MPI_SUM, win, &req[2]);
    MPI_Rput(mine, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win, &req[3]);
    MPI_Waitall(4, req, MPI_STATUSES_IGNORE);
    for (int i = 0; i < EACH; i++) {
        CHECK(got[i] == next * 100 + i);
        CHECK(old[i] == 1);
    }
    MPI_Win_flush_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Rput(mine, EACH, MPI_INT, next, 0, EACH, MPI_INT, win, &req[0]);
    MPI_Wait(&req[0], MPI_STATUS_IGNORE);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < EACH; i++) {
        CHECK(mem[i] == i && mem[EACH + i] == 1 + 2 * i);
    }
    MPI_Win_free(&win);
}

static int class_of(int rc)
{
    int class = MPI_SUCCESS;
    MPI_Error_class(rc, &class);
    return class;
}

static void mistakes(void)
{
    int *mem, v = 0;
    MPI_Win win, shared;
    MPI_Win_allocate(4 * sizeof *mem, sizeof *mem, MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    CHECK(class_of(MPI_Put(&v, 1, MPI_INT, 0, 0, 1, MPI_INT, win)) == MPI_ERR_RMA_SYNC);
    MPI_Win_lock(MPI_LOCK_SHARED, n - 1, 0, win);
    CHECK(class_of(MPI_Put(&v, 1, MPI_INT, n - 1, 4, 1, MPI_INT, win)) == MPI_ERR_RMA_RANGE);
    CHECK(class_of(MPI_Put(&v, 1, MPI_INT, n, 0, 1, MPI_INT, win)) == MPI_ERR_RANK);
    MPI_Win_unlock(n - 1, win);
    MPI_Win_free(&win);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_lock(MPI_LOCK_SHARED, (me + 1) % n, 0, win);
    int rc =
        MPI_Put(&v, 1, MPI_INT, (me + 1) % n, 4096, 1, MPI_INT, win); // nothing is attached there
    int later = MPI_Win_unlock((me + 1) % n, win);
    CHECK(class_of(rc != MPI_SUCCESS ? rc : later) == MPI_ERR_RMA_RANGE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&win);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    rc = MPI_Win_allocate_shared(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &shared);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    if (rc == MPI_SUCCESS) { // one client
        MPI_Win_free(&shared);
    } else {
        CHECK(class_of(rc) == MPI_ERR_RMA_SHARED);
    }
}

void world_windows(int rank, int size)
{
    me = rank;
    n = size;
    if (!world_is_joined()) { // MPICH 4.0.2 by itself loses updates under exclusive locks
        return;
    }
    created();
    types();
    accumulations();
    exposures();
    locks();
    dynamic();
    requests();
    mistakes();
}
