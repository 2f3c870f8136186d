// SPDX-License-Identifier: BSD-3-Clause
// Endpoints where a map wants them: any map, that of a partitioner, loads that are measured, and a
// world that grows and shrinks ("grow").
#include "balance_t.h"

#include <math.h>
#include <time.h>

enum { N = 23 };

static int me, size;
static unsigned seed = 7;
static MPI_Comm world;

static int draw(int n) // the same everywhere
{
    seed = seed * 1103515245 + 12345;
    return (int)((seed >> 16) % (unsigned)n);
}

// Everybody is where the map says, under its rank, and can be spoken to.
static void check_map(MPIX_Balance b, const int *map)
{
    int at = 0, sum[N], in[N];
    MPI_Request reqs[3 * N];
    for (int r = 0; r < N; r++) {
        int p = -1;
        T_EQ(MPIX_Balance_where(b, r, &p), MPI_SUCCESS);
        T_EQ(p, map[r]);
        if (map[r] == me) {
            T_MUST(at < balance_count(b));
            T_EQ(rank_at(b, at), r);
            at++;
        }
    }
    T_MUST(at == balance_count(b));
    for (int i = 0; i < at; i++) {
        MPI_Comm c = balance_comm_at(b, i);
        int r = rank_at(b, i), n = -1;
        MPI_Comm_size(c, &n);
        T_EQ(n, N);
        in[i] = sum[i] = -1;
        MPI_Irecv(&in[i], 1, MPI_INT, (r + N - 1) % N, 3, c, &reqs[3 * i]);
        MPI_Isend(&map[r], 1, MPI_INT, (r + 1) % N, 3, c, &reqs[3 * i + 1]);
        MPI_Iallreduce(&map[r], &sum[i], 1, MPI_INT, MPI_SUM, c, &reqs[3 * i + 2]);
    }
    MPI_Waitall(3 * at, reqs, MPI_STATUSES_IGNORE);
    int want = 0;
    for (int r = 0; r < N; r++) {
        want += map[r];
    }
    for (int i = 0; i < at; i++) {
        T_EQ(in[i], map[(rank_at(b, i) + N - 1) % N]);
        T_EQ(sum[i], want);
    }
    state_check(b, 0);
}

static void maps(MPIX_Balance b)
{
    int map[N], old[N];
    MPIX_Balance_result res;
    for (int r = 0; r < N; r++) {
        MPIX_Balance_where(b, r, &old[r]);
    }
    for (int round = 0; round < 20; round++) {
        int n_moved = 0;
        for (int r = 0; r < N; r++) {
            map[r] = round == 0 ? r % size : round == 1 ? size - 1 - r * size / N : draw(size);
            n_moved += map[r] != old[r];
        }
        T_MUST(MPIX_Balance_map(b, map, &res) == MPI_SUCCESS);
        T_EQ(res.moved, n_moved);
        check_map(b, map);
        memcpy(old, map, sizeof old);
    }
    T_EQ(MPIX_Balance_move(b, me == 0 ? N : 0, NULL), MPI_SUCCESS); // from any map to this one
    memset(map, 0, sizeof map);
    check_map(b, map);
}

static void bad_maps(MPIX_Balance b)
{
    int map[N] = { 0 };
    char text[MPI_MAX_ERROR_STRING];
    int n, class;
    map[5] = me == size - 1 ? size : 0;
    int code = MPIX_Balance_map(b, map, NULL);
    T_OK(code != MPI_SUCCESS);
    MPI_Error_string(code, text, &n);
    T_OK(strstr(text, me == size - 1 ? "gives endpoint 5 to process" : "could not use its map"));
    map[5] = 0;
    map[0] = me == 0 && size > 1;
    code = MPIX_Balance_map(b, map, NULL);
    T_OK(size == 1 || code != MPI_SUCCESS);
    if (size > 1) {
        MPI_Error_string(code, text, &n);
        T_OK(strstr(text, "different maps") != NULL);
    }
    code = MPIX_Balance_map(b, NULL, NULL);
    MPI_Error_class(code, &class);
    T_EQ(class, MPI_ERR_ARG);
    memset(map, 0, sizeof map);
    check_map(b, map);
}

// A partitioner that puts the heaviest, in turn, where the least load is.
static int greedy(int n_ep, const double load[], int n_process, const double weight[],
                  const int was[], int owner[], void *arg)
{
    double sum[16] = { 0 };
    int is_done[N] = { 0 };
    T_EQ(n_ep, N);
    T_EQ(n_process, size);
    T_OK(was[0] >= 0 && was[0] < size);
    ++*(int *)arg;
    for (int k = 0; k < n_ep; k++) {
        int best = -1, to = 0;
        for (int i = 0; i < n_ep; i++) {
            best = !is_done[i] && (best < 0 || load[i] > load[best]) ? i : best;
        }
        for (int p = 1; p < n_process; p++) {
            to = sum[p] / weight[p] < sum[to] / weight[to] ? p : to;
        }
        is_done[best] = 1;
        owner[best] = to;
        sum[to] += load[best];
    }
    return MPI_SUCCESS;
}

static int refuse(int n_ep, const double load[], int n_process, const double weight[],
                  const int was[], int owner[], void *arg)
{
    (void)n_ep, (void)load, (void)n_process, (void)weight, (void)was, (void)owner, (void)arg;
    return me == 0 ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static void partitioner(MPIX_Balance b)
{
    int n_call = 0;
    MPIX_Balance_result res;
    T_EQ(MPIX_Balance_set_partition(b, greedy, &n_call), MPI_SUCCESS);
    for (int i = 0; i < balance_count(b); i++) {
        MPIX_Balance_report(b, i, rank_at(b, i) % 4 == 0 ? 10 : 1);
    }
    T_EQ(MPIX_Balance_rebalance(b, &res), MPI_SUCCESS);
    T_EQ(n_call, 1);
    T_OK(res.after < 1.25);
    state_check(b, 0);
    MPIX_Balance_set_partition(b, refuse, NULL);
    T_OK(MPIX_Balance_rebalance(b, &res) != MPI_SUCCESS);
    state_check(b, 0);
    MPIX_Balance_set_partition(b, NULL, NULL);
}

static void burn(double seconds)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    double end = (double)t.tv_sec + (double)t.tv_nsec * 1e-9 + seconds;
    do {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    } while ((double)t.tv_sec + (double)t.tv_nsec * 1e-9 < end);
}

// Nobody reports: the endpoints that took more time count for more.
static void measured(MPIX_Balance b)
{
    MPIX_Balance_result res;
    T_EQ(MPIX_Balance_move(b, me == 0 ? N : 0, NULL), MPI_SUCCESS);
    for (int i = 0; i < balance_count(b); i++) {
        void *data;
        MPIX_Balance_get(b, i, field_part, &data);
        burn(rank_at(b, i) == 0 ? 0.022 : 0.001);
    }
    T_EQ(MPIX_Balance_rebalance(b, &res), MPI_SUCCESS);
    T_OK(size == 1 || res.moved > 0);
    int p0, p1;
    MPIX_Balance_where(b, 0, &p0);
    MPIX_Balance_where(b, 1, &p1);
    T_OK(size == 1 || p0 != p1 || size > 2); // one half of all is rank 0's alone
    T_OK(size != 2 || (p0 == 0 && p1 == 1));
    state_check(b, 0);
}

// What every version does: the world was resized, the endpoints spread over it and are as they
// were.
static void spread(MPIX_Balance b)
{
    MPIX_Balance_result res;
    int counts[16], n = balance_count(b);
    T_EQ(MPIX_Balance_rebalance(b, &res), MPI_SUCCESS);
    n = balance_count(b);
    MPI_Allgather(&n, 1, MPI_INT, counts, 1, MPI_INT, world);
    for (int p = 0; p < size; p++) {
        T_OK(counts[p] > 0 && counts[p] <= (N + size - 1) / size);
    }
    state_check(b, 0);
}

static void next_world(int n)
{
    char text[16];
    MPI_Info info;
    MPI_Info_create(&info);
    snprintf(text, sizeof text, "%d", n);
    MPI_Info_set(info, "size", text);
    T_MUST(MPIX_World_next(&world, info) == MPI_SUCCESS);
    MPI_Info_free(&info);
    if (world != MPI_COMM_NULL) {
        MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
        MPI_Comm_rank(world, &me);
        MPI_Comm_size(world, &size);
    }
}

// 2 processes become 5, then 3. New ones begin with nothing.
static void grow(MPI_Info info)
{
    MPIX_Balance b;
    int version;
    T_MUST(MPIX_World_next(&world, MPI_INFO_NULL) == MPI_SUCCESS);
    MPIX_Comm_world_version(world, &version);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    MPI_Comm_rank(world, &me);
    MPI_Comm_size(world, &size);
    if (version == 0) {
        MPIX_Balance_create(world, me == 0 ? N - 4 : 4, info, &b);
        state_create(b);
        next_world(5);
    } else {
        MPIX_Balance_create(MPI_COMM_SELF, 0, info, &b);
        state_create(b);
    }
    T_EQ(size, 5);
    T_MUST(MPIX_Balance_set_parent(b, world) == MPI_SUCCESS);
    state_check(b, 0);
    spread(b);
    int is_leaving = me >= 3, is_empty = is_leaving;
    T_OK(MPIX_Balance_set_parent(b, MPI_COMM_SELF) != MPI_SUCCESS || size == 1);
    MPIX_Balance_weight(b, is_leaving ? 0 : 1);
    T_EQ(MPIX_Balance_rebalance(b, NULL), MPI_SUCCESS);
    T_EQ(balance_count(b) == 0, is_empty);
    next_world(3);
    T_EQ(world == MPI_COMM_NULL, is_leaving);
    if (!is_leaving) {
        T_MUST(MPIX_Balance_set_parent(b, world) == MPI_SUCCESS);
        spread(b);
    }
    MPIX_Balance_free(&b);
}

int main(int argc, char **argv)
{
    MPIX_Balance b;
    MPI_Info info;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Info_create(&info);
    if (argc > 1) {
        MPI_Info_set(info, "mpix_balance_measure", "false"); // counts are compared
        grow(info);
    } else {
        world = MPI_COMM_WORLD;
        MPI_Comm_rank(world, &me);
        MPI_Comm_size(world, &size);
        MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
        MPI_Info_set(info, "mpix_balance_measure", "perhaps");
        T_OK(MPIX_Balance_create(world, 1, info, &b) != MPI_SUCCESS);
        MPIX_Balance_create(world, me == size - 1 ? N : 0, MPI_INFO_NULL, &b);
        state_create(b);
        maps(b);
        bad_maps(b);
        partitioner(b);
        measured(b);
        MPIX_Balance_free(&b);
    }
    MPI_Info_free(&info);
    T_EQ(n_alive, 0);
    MPI_Finalize();
    return t_status();
}
