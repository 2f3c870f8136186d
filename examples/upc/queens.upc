// SPDX-License-Identifier: BSD-3-Clause
// In how many ways can n queens stand on a board without attacking each other? The first two rows
// make n * n tasks of very different size; threads draw them from a counter under a lock.
//   upcc -O2 queens.upc -o queens && upcrun -n 4 ./queens 10
#include <stdio.h>
#include <stdlib.h>
#include <upc.h>

static const long known[] = {1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14200, 73712, 365596};
enum { MOST = sizeof known / sizeof known[0] - 1 };

shared int next_task;
shared long found[THREADS];
shared int tasks_done[THREADS];

// Bits say which columns and diagonals are attacked in the row at hand.
static long place(unsigned all, unsigned columns, unsigned left, unsigned right)
{
    if (columns == all) {
        return 1;
    }
    long n = 0;
    unsigned open = all & ~(columns | left | right);
    while (open) {
        unsigned queen = open & -open;
        open ^= queen;
        n += place(all, columns | queen, (left | queen) << 1, (right | queen) >> 1);
    }
    return n;
}

static long run_task(int n, int task)
{
    unsigned all = (1u << n) - 1, q1 = 1u << task / n, q2 = 1u << task % n;
    if (q2 & (q1 | q1 << 1 | q1 >> 1)) {
        return 0;
    }
    return place(all, q1 | q2, (q1 << 1 | q2) << 1, (q1 >> 1 | q2) >> 1);
}

static int draw_task(upc_lock_t *lock)
{
    upc_lock(lock);
    int task = next_task++;
    upc_unlock(lock);
    return task;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 10;
    if (n < 2 || n > MOST) {
        if (MYTHREAD == 0) {
            fprintf(stderr, "queens: the board may have 2 to %d rows\n", MOST);
        }
        return 2;
    }
    upc_lock_t *lock = upc_all_lock_alloc();
    long sum = 0;
    for (int task = draw_task(lock); task < n * n; task = draw_task(lock)) {
        sum += run_task(n, task);
        tasks_done[MYTHREAD]++;
    }
    found[MYTHREAD] = sum;
    upc_barrier;
    long total = 0;
    int tasks = 0;
    for (int t = 0; t < THREADS; t++) {
        total += found[t];
        tasks += tasks_done[t];
    }
    int right = total == known[n] && tasks == n * n;
    if (MYTHREAD == 0) {
        printf("%d threads, %d queens: %ld ways, %s\n", THREADS, n, total,
               right ? "as it should be" : "WRONG");
    }
    upc_all_lock_free(lock);
    return !right;
}
