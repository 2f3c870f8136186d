// SPDX-License-Identifier: BSD-3-Clause
// C = A * B with the rows of A and C spread over the threads. Each thread fetches a row of B once,
// in one piece, and uses it for all rows of C that it owns.
//   upcc -O2 matmul.upc -o matmul && upcrun -n 4 ./matmul
#include <stdio.h>
#include <upc.h>

enum { PER_THREAD = 40, M = 72, K = 56 }; // rows of A for each thread; columns of B; columns of A

// A block is a row, so element [i][j] is at thread i % THREADS.
shared[K] double a[PER_THREAD * THREADS][K];
shared[M] double b[K * THREADS][M]; // the first K rows are used
shared[M] double c[PER_THREAD * THREADS][M];
shared int wrong[THREADS];

static double a_at(int i, int k)
{
    return i % 7 - k % 5;
}

static double b_at(int k, int j)
{
    return k % 3 + 2 * (j % 4);
}

static void fill(void)
{
    upc_forall(int i = 0; i < PER_THREAD * THREADS; i++; &a[i][0]) {
        for (int k = 0; k < K; k++) {
            a[i][k] = a_at(i, k);
        }
    }
    upc_forall(int k = 0; k < K; k++; &b[k][0]) {
        for (int j = 0; j < M; j++) {
            b[k][j] = b_at(k, j);
        }
    }
}

static void multiply(void)
{
    double row[M];
    for (int k = 0; k < K; k++) {
        upc_memget(row, &b[k][0], sizeof row);
        upc_forall(int i = 0; i < PER_THREAD * THREADS; i++; &c[i][0]) {
            double *mine = (double *)&c[i][0]; // it has affinity to this thread
            double x = a[i][k];
            for (int j = 0; j < M; j++) {
                mine[j] += x * row[j];
            }
        }
    }
}

// All numbers are small integers, so the order of additions makes no difference. Each thread
// checks the rows of its neighbour.
static int count_wrong(void)
{
    int n = 0;
    upc_forall(int i = 0; i < PER_THREAD * THREADS; i++; i + 1) {
        for (int j = 0; j < M; j++) {
            double want = 0;
            for (int k = 0; k < K; k++) {
                want += a_at(i, k) * b_at(k, j);
            }
            n += c[i][j] != want;
        }
    }
    return n;
}

int main(void)
{
    fill();
    upc_barrier;
    multiply();
    upc_barrier;
    wrong[MYTHREAD] = count_wrong();
    upc_barrier;
    int n_wrong = 0;
    for (int t = 0; t < THREADS; t++) {
        n_wrong += wrong[t];
    }
    if (MYTHREAD == 0) {
        printf("%d threads, %d x %d times %d x %d: %d elements wrong\n", THREADS,
               PER_THREAD * THREADS, K, K, M, n_wrong);
    }
    return n_wrong != 0;
}
