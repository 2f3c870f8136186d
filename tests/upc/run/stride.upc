//--- stride_arrays
// Loops over own elements that are written without upc_forall.
enum { N = 37 };
shared int a[N * THREADS], b[N * THREADS];
shared [2] int rows[N * THREADS][2], blocked[N * THREADS];
int main(void)
{
    for (int i = MYTHREAD; i < N * THREADS; i += THREADS) {
        a[i] = i;
        b[i] = -a[i];
        rows[i][0] = i;
        rows[i][1] = 2 * i;
    }
    upc_barrier;
    for (int i = 0; i < N * THREADS; i++) {
        CHECK(a[i] == i && b[i] == -i && rows[i][0] == i && rows[i][1] == 2 * i);
    }
    upc_barrier;
    long i;
    for (i = MYTHREAD + 2 * THREADS; i < N * THREADS; i += THREADS) {
        if (i % 3 == 0) continue;
        a[i]++;
        b[i] += a[i] + blocked[i];
        if (i > 20 * THREADS) break;
    }
    CHECK(i == MYTHREAD + 20 * THREADS || i % THREADS == MYTHREAD);
    upc_barrier;
    long last = -1;
    for (int k = 0; k < N * THREADS; k++) {
        int is_in = k >= 2 * THREADS && k % 3 != 0 && a[k] == k + 1;
        CHECK(b[k] == (is_in ? 1 : -k));
        last = is_in ? k : last;
    }
    CHECK(last > 2 * THREADS);
    return t_done();
}
//--- stride_others
// The same steps over elements of other threads, from the middle, and backwards from nothing.
shared int a[9 * THREADS];
int main(void)
{
    for (int i = MYTHREAD; i < 9 * THREADS; i += THREADS) a[i] = i;
    upc_barrier;
    int sum = 0, want = 0, other = (MYTHREAD + 1) % THREADS;
    for (int i = other; i < 9 * THREADS; i += THREADS) sum += a[i];
    for (int k = 0; k < 9; k++) want += other + k * THREADS;
    CHECK(sum == want);
    for (unsigned i = MYTHREAD; i < 9u * THREADS; i += THREADS) sum -= a[i] - (int)i;
    for (int i = MYTHREAD; i < 0; i += THREADS) a[i] = 7;
    CHECK(sum == want);
    return t_done();
}
//--- stride_pointers
shared int *p, *q;
static void move(void) { p = q + 1; }
static long total(shared int *x, int n)
{
    long s = 0;
    for (int i = MYTHREAD; i < n * THREADS; i += THREADS) s += x[i];
    return s;
}
int main(void)
{
    int n = 11;
    q = (shared int *)upc_all_alloc(2 * n * THREADS, sizeof(int));
    shared int *r = q + THREADS + 1;
    for (int i = MYTHREAD; i < 2 * n * THREADS; i += THREADS) q[i] = i;
    upc_barrier;
    long s = 0, want = 0;
    for (int k = 0; k < n; k++) want += MYTHREAD + k * THREADS;
    CHECK(total(q, n) == want);
    CHECK(total(r, n - 2) == want - (2 * MYTHREAD + (2 * n - 3) * THREADS) + (n - 2) * (THREADS + 1)); // not its own elements
    p = q;
    for (int i = MYTHREAD; i < n * THREADS; i += THREADS) { // the pointer moves within
        s += p[i];
        if (i >= THREADS) move();
    }
    CHECK(s == want + n - 2);
    upc_barrier;
    for (int i = MYTHREAD; i < n * THREADS; i += THREADS) { r = q; r[i] = q[i] + 1; }
    for (int i = MYTHREAD; i < n * THREADS; i += THREADS) for (int j = MYTHREAD; j < n * THREADS; j += THREADS) q[j] += q[i] > 0 && i == j;
    for (int i = MYTHREAD; i < n * THREADS; i += THREADS) CHECK(q[i] == i + 2);
    upc_barrier;
    return t_done();
}
//--- stride_static flags=-T=3
shared double x[30], y[30];
int main(void)
{
    for (int i = MYTHREAD; i < 30; i += THREADS) x[i] = i;
    for (int i = MYTHREAD; i < 30; i += 3) y[i] = 2 * x[i];
    for (int i = MYTHREAD; i < 30; i += 6) y[i] = 0;
    upc_barrier;
    for (int i = 0; i < 30; i++) CHECK(y[i] == (i % 6 < 3 ? 0 : 2 * i));
    return t_done();
}
//--- stride_strict
#include "t.h"
#include <upc_strict.h>
shared int a[5 * THREADS];
int main(void)
{
    for (int i = MYTHREAD; i < 5 * THREADS; i += THREADS) { a[i] = i; a[i] += a[i]; }
    upc_barrier;
    for (int i = 0; i < 5 * THREADS; i++) CHECK(a[i] == 2 * i);
    return t_done();
}
//--- stride_neighbours
enum { N = 24 };
shared double a[N * THREADS], b[N * THREADS];
shared [3] int rows[N * THREADS][3];
static long where = 2;
static int move(void) { return ++where < 0; }
int main(void)
{
    long n = N * THREADS, w = 5;
    int bad = 0;
    shared double *p = a, *q = &a[1 % n];
    upc_forall (int i = 0; i < n; i++; i) a[i] = i;
    for (long i = MYTHREAD; i < n; i += THREADS) for (int k = 0; k < 3; k++) rows[i][k] = 3 * i + k;
    upc_barrier;
    for (long i = MYTHREAD; i < n; i += THREADS) {
        double s = 4 * p[i];
        s -= i >= w ? p[i - w] : 0;
        s -= i + w < n ? a[w + i] : 0;
        s += i > 0 ? q[i - 1] - a[i - 1] + rows[i - 1][2] : 0;
        b[i] = s;
    }
    upc_barrier;
    for (long i = 0; i < n; i++)
        bad += b[i] != 4 * i - (i >= w ? i - w : 0) - (i + w < n ? i + w : 0) + (i > 0 ? 1 + 3 * (i - 1) + 2 : 0);
    CHECK(bad == 0);
    for (long i = MYTHREAD; i < n / 3; i += THREADS) bad += a[i + where] != i + where || move(); // which a call changes
    for (long i = MYTHREAD; i < n / 2; i += THREADS) bad += a[i + i] != 2 * i;
    for (long i = MYTHREAD + 1; i < n - 1; i += THREADS) bad += a[i - 1] + a[i + 1] != 2 * i; // begins with another's
    CHECK(bad == 0);
    upc_barrier;
    upc_forall (int i = 1; i < n - 1; i++; &b[i]) b[i] = a[i - 1] + a[i] + a[i + 1];
    upc_barrier;
    for (int i = 1; i < n - 1; i++) bad += b[i] != 3 * i;
    CHECK(bad == 0);
    return t_done();
}
