// SPDX-License-Identifier: BSD-3-Clause
// Plain loops that count by one over blocked arrays: through plain pointers, block by block.
//--- run_whole_and_pieces
enum { B = 12, N = 5 };
shared [B] int a[N * B * THREADS], b[N * B * THREADS];
int main(void)
{
    int n = N * B * THREADS;
    if (MYTHREAD == 0) // across the blocks of all threads
        for (int i = 0; i < n; i++) a[i] = 3 * i;
    upc_barrier;
    for (int k = MYTHREAD; k < N * THREADS; k += THREADS) // own blocks, with neighbours in others
        for (int i = k * B; i < (k + 1) * B; i++)
            if (i > 0 && i < n - 1) b[i] = a[i - 1] + a[i + 1] - a[i];
    upc_barrier;
    for (int i = 1; i < n - 1; i++) CHECK(b[i] == 3 * i);
    long sum = 0;
    int last;
    for (last = 5; last <= n - 1; ++last) sum += a[last];
    CHECK(last == n && sum == 3L * n * (n - 1) / 2 - 30);
    sum = 0;
    for (int i = 0; i < n / 2; i++) sum += a[i + i] + a[n / 2 + i - i]; // not one behind the other
    CHECK(sum == 3L * (n / 2) * (n / 2 - 1) + 3L * (n / 2) * (n / 2));
    sum = 0;
    for (int i = 0, j = 0; i < n / 3; i++, j += 2) sum += a[i + j];
    CHECK(sum == 9L * (n / 3) * (n / 3 - 1) / 2);
    for (last = 0, sum = 0; last < n; last++) { if (a[last] == 51) break; sum += a[last]; }
    CHECK(last == 17 && sum == 3 * 17 * 16 / 2);
    for (int i = n; i < 0; i++) a[i] = 1; // not once
    for (unsigned i = 3; i < 20u && i < (unsigned)n; i += 1) CHECK(a[i] == 3 * (int)i);
    upc_barrier;
    return t_done();
}
//--- run_rows
enum { R = 6, C = 10 };
shared [R * C] double x[R * THREADS][C], y[R * THREADS][C];
shared [C] double z[R * THREADS][C];
shared [3 * C] struct { double p[3]; int tag; } s[THREADS][3 * C];
static void step(int first, int last)
{
    for (int i = first; i < last; i++)
        for (int j = 1; j < C - 1; j++) {
            if (j == 4) continue;
            y[i][j] = x[i - 1][j] + x[i + 1][j] + x[i][j - 1] + x[i][j + 1] + z[i][j];
        }
}
int main(void)
{
    upc_forall (int i = 0; i < R * THREADS; i++; &x[i][0])
        for (int j = 0; j < C; j++) { x[i][j] = i * C + j; y[i][j] = -1; }
    for (int i = MYTHREAD; i < R * THREADS; i += THREADS)
        for (int j = 0; j < C; j++) z[i][j] = j;
    upc_barrier;
    step(MYTHREAD * R + (MYTHREAD == 0), (MYTHREAD + 1) * R - (MYTHREAD == THREADS - 1));
    upc_barrier;
    for (int i = 1; i < R * THREADS - 1; i++)
        for (int j = 0; j < C; j++) CHECK(y[i][j] == (j == 0 || j == 4 || j == C - 1 ? -1 : 4 * (i * C + j) + j));
    for (int k = 0; k < 3 * C; k++) {
        s[MYTHREAD][k].tag = k;
        for (int d = 0; d < 3; d++) s[MYTHREAD][k].p[d] = k + d;
    }
    upc_barrier;
    int other = (MYTHREAD + 1) % THREADS;
    for (int k = 0; k < 3 * C; k++) CHECK(s[other][k].p[2] == k + 2 && s[other][k].tag++ >= k);
    upc_barrier;
    return t_done();
}
//--- run_pointers
shared [8] int *p, *q;
static void move(void) { p = q + 1; }
int main(void)
{
    int n = 8 * 3 * THREADS, base = 2;
    p = q = (shared [8] int *)upc_all_alloc(3 * THREADS, 8 * sizeof(int));
    if (MYTHREAD == THREADS - 1)
        for (int i = 0; i < n; i++) q[i] = i;
    upc_barrier;
    long sum = 0, want = 0;
    shared [8] int *r = q + 5; // begins within a block
    for (int i = 0; i < n - 5; i++) sum += r[i], want += i + 5;
    for (int i = 0; i < n - 7; i++) sum -= r[base + i], want -= i + 7;
    CHECK(sum == want);
    sum = 0;
    for (int i = 0; i < 10; i++) { // the pointer moves within
        sum += p[i];
        if (i == 4) move();
    }
    CHECK(sum == 45 + 5);
    sum = 0;
    for (int i = 0; i < 10; i++, r = q) sum += i;
    for (int i = 0; i < 10; i++) { r = q + i; sum += r[i]; } // and so does this one
    CHECK(sum == 45 + 90);
    sum = 0;
    for (int i = 0; i < 12; i++) { int k = 2 * i; sum += q[k] + q[base + i]; base -= i == 11; } // what the loop changes
    CHECK(sum == 132 + 66 + 24);
    shared [] int *own = (shared [] int *)upc_alloc(40 * sizeof(int));
    for (int i = 0; i < 40; i++) own[i] = i;
    for (int i = 1; i < 40; i++) own[i] += own[i - 1];
    CHECK(own[39] == 780);
    upc_free(own);
    upc_barrier;
    return t_done();
}
//--- run_aliases flags=-O3
// Names of the same memory: what is written through one is read through the others.
shared [16] int a[16 * THREADS], b[16 * THREADS];
shared [] int *own;
static int through(int k)
{
    shared [16] int *p = &a[MYTHREAD * 16];
    int *plain = (int *)p, got = 0;
    for (int i = 0; i < 16; i++) {
        a[MYTHREAD * 16 + i] = k + i;
        got += p[i] + plain[i];
        plain[i]++;
        got += a[MYTHREAD * 16 + i];
        p[i]++;
        got += a[MYTHREAD * 16 + i] - b[MYTHREAD * 16 + i];
    }
    return got;
}
int main(void)
{
    int want = 0;
    upc_forall (int i = 0; i < 16 * THREADS; i++; &b[i]) b[i] = 1;
    upc_forall (int i = 0; i < 16 * THREADS; i++; &b[i]) b[i] += i % 16;
    for (int i = 0; i < 16; i++) want += 4 * (7 + i) + 3 - (1 + i);
    CHECK(through(7) == want);
    own = (shared [] int *)&a[MYTHREAD * 16];
    upc_forall (int i = 0; i < 16 * THREADS; i++; &a[i]) {
        a[i] = i;
        own[i % 16] += 5;
        b[i] = a[i];
    }
    for (int i = MYTHREAD * 16; i < MYTHREAD * 16 + 16; i++) CHECK(b[i] == i + 5 && own[i % 16] == i + 5);
    for (int i = MYTHREAD * 16 + 1; i < MYTHREAD * 16 + 16; i++) a[i] = a[i - 1] + 1; // each on the one before
    CHECK(a[MYTHREAD * 16 + 15] == MYTHREAD * 16 + 20);
    upc_barrier;
    return t_done();
}
//--- run_in_forall
enum { R = 4, C = 9 };
shared [C] int m[R * THREADS][C];
shared int total[THREADS];
int main(void)
{
    upc_forall (int i = 0; i < R * THREADS; i++; i)
        for (int j = 0; j < C; j++) m[i][j] = i + j;
    upc_barrier;
    upc_forall (int i = 0; i < R * THREADS; i += 2; i) // tested: another step
        for (int j = 0; j < C; j++) m[i][j] += m[i + 1][j];
    upc_barrier;
    upc_forall (int t = 0; t < THREADS; t++; &total[t])
        for (int i = 0; i < R * THREADS; i++)
            for (int j = 0; j < C; j++) total[t] += m[i][j];
    upc_barrier;
    int want = 0;
    for (int i = 0; i < R * THREADS; i++)
        for (int j = 0; j < C; j++) want += (i + j) + (i % 2 ? 0 : i + 1 + j);
    for (int t = 0; t < THREADS; t++) CHECK(total[t] == want);
    return t_done();
}
//--- pragmas flags=-fopenmp threads=1,2 races=OpenMP's\sown\sthreads\sare\snot\sknown\sto\sthe\ssanitizer
// A pragma of C is for the loop or the statement behind it, which stays where it is.
enum { N = 64 };
shared [N] double a[N * THREADS];
shared int c[N * THREADS];
int main(void)
{
    int i, z = 0, me = MYTHREAD;
    double s = 0, t = 0, w[N], m[8][8];
#pragma omp parallel for
    for (i = 0; i < N; i++) a[me * N + i] = i;
#pragma omp parallel for
    for (i = me; i < N * THREADS; i += THREADS) c[i] = i;
#pragma omp simd
    for (i = 0; i < N; i++) w[i] = a[me * N + i];
#pragma GCC ivdep
    for (i = 0; i < N; i++) w[i] += a[me * N + i];
#pragma omp parallel for reduction(+ : s)
    for (i = 0; i < N; i++) s += a[me * N + i];
#pragma omp parallel for collapse(2)
    for (int x = 0; x < 8; x++)
        for (int y = 0; y < 8; y++) m[x][y] = a[me * N + x * 8 + y];
    for (int x = 0; x < 8; x++)
        for (int y = 0; y < 8; y++) t += m[x][y];
#pragma omp atomic
    z += c[me];
#pragma omp critical
    { z += c[me] + c[me + THREADS]; }
#pragma omp parallel
    {
#pragma omp for
        for (i = 0; i < N; i++) {
            double u = 0;
            for (int k = 0; k < N; k++) u += a[me * N + k];
            if (i == 3) w[3] = u;
        }
    }
    CHECK(w[5] == 10 && w[3] == N * (N - 1) / 2 && s == N * (N - 1) / 2 && t == s);
    CHECK(z == 3 * me + THREADS);
    return t_done();
}
//--- run_pragmas flags=-O2,-fopenmp threads=1,2 modes=proc races=OpenMP\sis\sunknown\sto\sthe\ssanitizer
// A loop with a pragma inside is written once: it counts in whatever block it is.
enum { B = 16, N = 4000 };
shared [B] int a[N * THREADS];
shared int c[N * THREADS];
int main(void)
{
    long blocked = 0, cyclic = 0;
    int n = N * THREADS;
#pragma omp parallel num_threads(4)
    {
        for (int i = 0; i < n; i++) {
            a[i] = 1;
#pragma omp master
            blocked++;
        }
        for (int i = MYTHREAD + 1; i < N * THREADS; i += THREADS) {
            c[i] = 1;
#pragma omp master
            cyclic++;
        }
    }
    CHECK(blocked == n && cyclic == (MYTHREAD + 1 < THREADS ? N : N - 1));
    return t_done();
}
