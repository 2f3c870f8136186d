// SPDX-License-Identifier: BSD-3-Clause
// MPI_Dims_create against all factorisations, with fixed dimensions, large counts, and mistakes.
#include "topo/dims.h"

#include "t.h"

#include <limits.h>
#include <time.h>

static int cur[8], best[8], best_gap;

// Every non-increasing factorisation; the smallest gap wins, then the largest last
// factor, the smallest sum, the largest first factors.
static void brute(int at, int n_dim, int n, int most)
{
    if (at == n_dim - 1) {
        if (n > most) {
            return;
        }
        cur[at] = n;
        int gap = cur[0] - n, sum = 0, best_sum = 0, is_first = 0;
        for (int i = n_dim - 1; i >= 0; i--) {
            sum += cur[i];
            best_sum += best[i];
            is_first = cur[i] != best[i] ? cur[i] > best[i] : is_first;
        }
        int is_better = gap != best_gap        ? gap < best_gap
                        : n != best[n_dim - 1] ? n > best[n_dim - 1]
                        : sum != best_sum      ? sum < best_sum
                                               : is_first;
        if (is_better) {
            best_gap = gap;
            memcpy(best, cur, sizeof best);
        }
        return;
    }
    for (int f = 1; f <= most && f <= n; f++) {
        if (n % f == 0) {
            cur[at] = f;
            brute(at + 1, n_dim, n / f, f);
        }
    }
}

static void against_brute_force(void)
{
    for (int n_dim = 1; n_dim <= 5; n_dim++) {
        for (int n = 1; n <= 700; n++) {
            int dims[8] = { 0 };
            best_gap = INT_MAX;
            brute(0, n_dim, n, n);
            T_EQ(pli_dims_create(n, n_dim, dims), PLI_OK);
            T_OK(memcmp(dims, best, (size_t)n_dim * sizeof(int)) == 0);
        }
    }
}

// The product is right and the order falls, for counts with many divisors, few, or one prime.
static void large(void)
{
    static const int counts[] = { 735134400, 2147483647, 1 << 30,   2147483646, 1396755360,
                                  720720,    1000000,    999999937, 223092870,  1 };
    struct timespec a, b;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
    for (unsigned k = 0; k < sizeof counts / sizeof counts[0]; k++) {
        for (int n_dim = 1; n_dim <= 40; n_dim++) {
            int dims[40] = { 0 };
            long long product = 1;
            T_EQ(pli_dims_create(counts[k], n_dim, dims), PLI_OK);
            for (int i = 0; i < n_dim; i++) {
                product *= dims[i];
                T_OK(i == 0 || dims[i] <= dims[i - 1]);
            }
            T_EQ(product, counts[k]);
        }
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
    double ms = (double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) * 1e-6;
    T_OK(ms < 2000); // 400 calls
}

static void fixed(void)
{
    int a[3] = { 0, 3, 0 }, b[3] = { 0, 7, 0 }, c[2] = { 2, 2 }, d[2] = { -1, 0 },
        e[3] = { 0, 6, 0 };
    T_EQ(pli_dims_create(6, 2, (int[2]){ 0, 0 }), PLI_OK);
    T_EQ(pli_dims_create(6, 3, a), PLI_OK);
    T_OK(a[0] == 2 && a[1] == 3 && a[2] == 1);
    T_EQ(pli_dims_create(6, 3, b), PLI_ERR_DIMS);
    T_EQ(pli_dims_create(5, 2, c), PLI_ERR_DIMS);
    T_EQ(pli_dims_create(8, 2, c), PLI_ERR_DIMS);
    T_EQ(pli_dims_create(4, 2, c), PLI_OK);
    T_EQ(pli_dims_create(4, 2, d), PLI_ERR_DIMS);
    T_EQ(pli_dims_create(0, 2, c), PLI_ERR_ARG);
    T_EQ(pli_dims_create(4, -1, c), PLI_ERR_DIMS);
    T_EQ(pli_dims_create(4, 2, NULL), PLI_ERR_ARG);
    T_EQ(pli_dims_create(4, 0, NULL), PLI_OK);
    T_EQ(pli_dims_create(216, 3, e), PLI_OK);
    T_OK(e[0] == 6 && e[1] == 6 && e[2] == 6);
}

int main(void)
{
    against_brute_force();
    large();
    fixed();
    return t_status();
}
