// SPDX-License-Identifier: BSD-3-Clause
// What a rebalance decides: the best contiguous sharing out (found here by trying all), no moves
// for little, processes with other weights, processes to be emptied.
#include "balance_t.h"

#include <math.h>

enum { N = 11, MAX = 5 };

static int me, size;
static unsigned seed = 1;

static double number(void) // 0 to 15, the same everywhere
{
    seed = seed * 1103515245 + 12345;
    return (seed >> 16) % 16;
}

static double worst_of(const double *load, const double *weight, const int *count)
{
    double worst = 0;
    for (int p = 0, r = 0; p < size; p++) {
        double sum = 0;
        for (int i = 0; i < count[p]; i++) {
            sum += load[r++];
        }
        if (count[p] > 0) {
            worst = fmax(worst, weight[p] > 0 ? sum / weight[p] : INFINITY);
        }
    }
    return worst;
}

static double best_from(const double *load, const double *weight, int *count, int p, int left)
{
    if (p == size - 1 || p == MAX - 1) {
        count[p] = left;
        return worst_of(load, weight, count);
    }
    double best = INFINITY;
    for (count[p] = 0; count[p] <= left; count[p]++) {
        int n = count[p];
        best = fmin(best, best_from(load, weight, count, p + 1, left - n));
        count[p] = n;
    }
    return best;
}

static void counts(MPIX_Balance b, int *count)
{
    int n = balance_count(b);
    MPI_Allgather(&n, 1, MPI_INT, count, 1, MPI_INT, MPI_COMM_WORLD);
}

static void report(MPIX_Balance b, const double *load)
{
    for (int i = 0; i < balance_count(b); i++) {
        double half = load[rank_at(b, i)] / 2; // in two pieces: reports add up
        T_EQ(MPIX_Balance_report(b, i, half), MPI_SUCCESS);
        T_EQ(MPIX_Balance_report(b, i, half), MPI_SUCCESS);
    }
}

static void one(MPIX_Balance b, const double *load, const double *weight)
{
    int count[MAX];
    double sum = 0, of_weight = 0;
    MPIX_Balance_result res;
    report(b, load);
    counts(b, count);
    double before = worst_of(load, weight, count);
    MPIX_Balance_weight(b, weight[me]);
    T_MUST(MPIX_Balance_rebalance(b, &res) == MPI_SUCCESS);
    counts(b, count);
    for (int i = 0; i < N; i++) {
        sum += load[i];
    }
    for (int p = 0; p < size; p++) {
        of_weight += weight[p];
    }
    double mean = sum / of_weight, now = worst_of(load, weight, count);
    double best = best_from(load, weight, count, 0, N);
    T_OK(now <= best * 1.00001 || (res.moved == 0 && before < best * 1.05001));
    T_OK(fabs(res.after - now / mean) < 1e-9);
    T_OK(before == INFINITY ? isinf(res.before) : fabs(res.before - before / mean) < 1e-9);
    for (int p = 0; p < size; p++) {
        counts(b, count);
        T_OK(weight[p] > 0 || count[p] == 0);
    }
    state_check(b, 0);
}

static void many(MPIX_Balance b)
{
    for (int round = 0; round < 60; round++) {
        double load[N], weight[MAX], sum = 0;
        for (int i = 0; i < N; i++) {
            load[i] = round % 5 == 0 ? (i == round % N ? 50 : 1) : number() + 0.5;
        }
        for (int p = 0; p < size; p++) {
            weight[p] = round % 3 == 0 ? 1 : (int)number() % 4;
            sum += weight[p];
        }
        weight[0] = sum > 0 ? weight[0] : 1;
        one(b, load, weight);
    }
}

// A second call with the same loads moves nothing; no report means equal loads.
static void steady(MPIX_Balance b)
{
    double load[N];
    int count[MAX];
    MPIX_Balance_result res;
    for (int i = 0; i < N; i++) {
        load[i] = 1 + i % 3;
    }
    MPIX_Balance_weight(b, 1);
    report(b, load);
    MPIX_Balance_rebalance(b, &res);
    report(b, load);
    T_EQ(MPIX_Balance_rebalance(b, &res), MPI_SUCCESS);
    T_EQ(res.moved, 0);
    T_EQ(res.bytes, 0);
    T_OK(res.before == res.after);
    T_EQ(MPIX_Balance_move(b, me == 0 ? N : 0, NULL), MPI_SUCCESS);
    T_EQ(MPIX_Balance_rebalance(b, NULL), MPI_SUCCESS);
    counts(b, count);
    for (int p = 0; p < size; p++) {
        T_OK(count[p] <= (N + size - 1) / size);
    }
    state_check(b, 0);
}

int main(int argc, char **argv)
{
    MPIX_Balance b;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    T_MUST(size <= MAX);
    MPIX_Balance_create(MPI_COMM_WORLD, me == size - 1 ? N : 0, MPI_INFO_NULL, &b);
    state_create(b);
    many(b);
    steady(b);
    MPIX_Balance_free(&b);
    T_EQ(n_alive, 0);
    MPI_Finalize();
    return t_status();
}
