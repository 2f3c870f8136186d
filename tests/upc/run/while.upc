//--- counting threads=1,3
enum { N = 50 };
shared [N] int a[N * THREADS];
shared int c[N * THREADS];
shared [] int *one;
shared [3] short odd[30 * THREADS];
static long blocked(long from, long n)
{
    long s = 0, i = from;
    while (i < from + n) { s += a[i]; i++; }
    CHECK(i == (n > 0 ? from + n : from));
    return s;
}
static long cyclic(void)
{
    long s = 0; int i = MYTHREAD;
    while (i < N * THREADS) { int v = c[i]; s += v; i += THREADS; }
    CHECK(i == N * THREADS + MYTHREAD);
    return s;
}
static int changes(int n)
{
    int i = 0, k = 0;
    while (i < n) { k += a[i] * 0 + 1; if (i == 3) i += 2; i++; } // counts in two places
    int j = 0;
    while (j < n) { k += a[j] * 0; n--; j++; } // and the bound moves
    return k * 100 + j;
}
static int leaves(int v)
{
    int i = 0;
    while (i < N * THREADS) { if (c[i] == v) break; i++; }
    int n = 0, j = 0;
    while (j < N) { if (c[j] % 2) { j++; continue; } n++; j++; }
    int k = 0, i2 = 5;
    while (k < 4) { int i2 = c[k]; n += i2 * 0; i2 += THREADS; k++; }
    int m = 0;
    while (m < N) { int m2 = c[m], i = 0; n += m2 * 0; while (i < 3) { n += a[i] * 0; i++; } m++; }
    while (i2 < 6) i2++;
    return i * 1000 + n + (i2 - 6);
}
int main(void)
{
    for (int i = 0; i < N; i++) { a[N * MYTHREAD + i] = N * MYTHREAD + i; c[i * THREADS + MYTHREAD] = i * THREADS + MYTHREAD; }
    if (MYTHREAD == 0) for (int i = 0; i < 30 * THREADS; i++) odd[i] = i;
    one = upc_alloc(N * sizeof(int));
    int w = 0;
    while (w < N) { one[w] = 2 * w; w += 1; }
    upc_barrier;
    long n = N * THREADS;
    CHECK(blocked(0, n) == n * (n - 1) / 2 && blocked(1, n - 2) == n * (n - 1) / 2 - (n - 1) && blocked(3, 0) == 0);
    CHECK(cyclic() == (long)N * MYTHREAD + (long)THREADS * N * (N - 1) / 2);
    CHECK(changes(10) == 808 - 3);
    CHECK(leaves(17) == 17000 + N / 2);
    return t_done();
}
//--- stepping threads=1,3
enum { N = 40 };
shared [N] int a[N * THREADS];
shared [3] short odd[30 * THREADS];
shared char cyc[20 * THREADS];
shared [4] struct { int x, y[2]; } s[8 * THREADS];
int main(void)
{
    upc_forall (int i = 0; i < N * THREADS; i++; &a[i]) a[i] = i;
    upc_forall (int i = 0; i < 30 * THREADS; i++; &odd[i]) odd[i] = i;
    upc_forall (int i = 0; i < 20 * THREADS; i++; &cyc[i]) cyc[i] = i % 100;
    upc_forall (int i = 0; i < 8 * THREADS; i++; &s[i]) { s[i].x = i; s[i].y[1] = -i; }
    upc_barrier;
    shared [N] int *p = a; shared [3] short *q = odd; shared char *r = cyc; shared void *v;
    int bad = 0, i;
    for (i = 0; i < N * THREADS; i++) { bad += upc_phaseof(p) != (size_t)(i % N) || upc_threadof(p) != (size_t)(i / N % THREADS); bad += *p++ != i; }
    bad += p - a != N * THREADS || upc_threadof(p) != 0;
    i = 0;
    while (i < 30 * THREADS) { bad += *q != i || q - odd != i; ++q; i++; }
    for (i = 0; i < 20 * THREADS; i++) bad += *r++ != i % 100;
    bad += r != cyc + 20 * THREADS || upc_threadof(r) != 0 || upc_addrfield(r) != upc_addrfield(&cyc[0]) + 20;
    while (r > cyc) bad += *--r != --i % 100;
    CHECK(bad == 0);
    shared [4] struct { int x, y[2]; } *none = NULL; (void)none; (void)v;
    for (i = 0; i < 8 * THREADS; i++) bad += s[i].x != i || (&s[0] + i)->y[1] != -i;
    CHECK(bad == 0);
    upc_barrier;
    if (MYTHREAD == 0) { p = a; i = N * THREADS; while (i-- > 0) *p++ = -1; }
    upc_barrier;
    for (i = 0; i < N * THREADS; i++) bad += a[i] != -1;
    CHECK(bad == 0);
    return t_done();
}
//--- walking threads=1,3
enum { N = 40, K = 10 };
shared [N] int a[N * THREADS];
shared [K] short odd[3 * K * THREADS];
shared [N] double d[N * THREADS];
shared [] long *one;
static shared [N] int *fill(shared [N] int *p, int n, int v) { while (n-- > 0) *p++ = v++; return p; }
static shared [N] int *pairs(shared [N] int *p, int n, int v)
{
    for (int i = 0; i < n; i++) { *p = v; *p *= 2; *p = *p + i; p++; }
    return p;
}
static shared [N] int *until(shared [N] int *p, int v, int *n)
{
    for (*n = 0;; ++*n) { if (*p++ == v) break; if (*n == -1) continue; }
    return p;
}
static long steps(shared [] long *p, int n)
{
    long s = 0;
    do { s += *p; *p++ -= 1; s += (*p)++ * 0; } while (--n > 0);
    return s;
}
static int nested(shared [N] int *p, shared [K] short *q, int rows)
{
    int changed = 0;
    for (int r = 0; r < rows; r++) {
        for (int i = 0; i < K; i++) { int v = *q; *p++ = 10 * r + v; *q++ = 7; changed += v != 7; }
        for (int i = 0; i < 3; i++) ++p, ++q;
    }
    *p = *q = -5; // both are where they should be
    return changed;
}
static int jumps(shared [N] int *p, int n)
{
    int k = 0;
    for (;;) { if (*p++ == n) return k; k++; }
}
static shared [N] int *leaps(shared [N] int *p, int n)
{
    while (n-- > -100) { *p++ = 5; if (n == 0) goto out; }
    p = a;
out:
    return p;
}
static shared [N] int *duff(shared [N] int *p, int n)
{
    switch (n % 2) { do { *p++ = 50; case 1: *p++ = 51; } while ((n -= 2) > 0); }
    return p;
}
static int others(shared [N] int *p, int n)
{
    shared [N] int *end = p + n, *q, *r = p, **rr = &r;
    int s = 0;
    while (p < end) s += *p++;
    for (q = end - n; n > 0; n--) s -= *q++;
    for (n = 0; n < 20; n++) { s += *r++; (*rr)--; } // moved through its address
    for (n = 0; n < 20; n++) s -= *r;
    for (n = 0; n < 20; n++) { shared [N] int *r = q - 1; s += *r++ * 0; }
    for (shared [N] int *t = end - 20; n > 0; n--) s += *t++ * 0; // not there behind the loop
    return s + (r != end - (end - r)) + (q != end);
}
static int volatiles(shared [N] volatile int *p, strict shared [N] int *q, int n)
{
    int s = 0;
    while (n-- > 0) { *p++ = n; s += *q++; }
    return s;
}
int main(void)
{
    int all = N * THREADS, bad = 0, n;
    one = upc_alloc(N * sizeof(long));
    upc_barrier;
    if (MYTHREAD == THREADS - 1) {
        shared [N] int *p = fill(a, all, 3);
        bad += p - a != all || upc_phaseof(p) != 0 || upc_threadof(p) != 0;
        for (int i = 0; i < all; i++) bad += a[i] != i + 3;
        CHECK(bad == 0);
        p = fill(a + 5, N - 7, 100); // ends in the block it begins in
        bad += p - a != N - 2 || upc_phaseof(p) != N - 2 || upc_threadof(p) != 0 || a[4] != 7 || *p != N + 1;
        p = fill(p, 0, 1);
        p = fill(p, 1, 1);
        bad += p - a != N - 1 || upc_phaseof(p) != N - 1 || a[N - 2] != 1 || a[N - 1] != N + 2;
        p = pairs(a + 1, all - 1, 30);
        for (int i = 1; i < all; i++) bad += a[i] != 60 + i - 1;
        bad += p - a != all || a[0] != 3;
        CHECK(bad == 0);
        p = until(a, 60 + all - 4, &n);
        bad += n != all - 3 || p - a != n + 1;
        bad += jumps(a, 65) != 6;
        for (int i = 0; i < N; i++) one[i] = i;
        bad += steps(one, N - 1) != (N - 1) * (N - 2) / 2 + N - 2;
        for (int i = 0; i < N; i++) bad += one[i] != i - (i < N - 1) + (i > 0);
        CHECK(bad == 0);
        for (int i = 0; i < 3 * K * THREADS; i++) odd[i] = i % 9;
        bad += nested(a, odd, 2) != 2 * K - 2;
        bad += a[0] != 0 || a[9] != 0 || a[10] != 61 + 8 || a[13] != 10 + 13 % 9 || a[22] != 10 + 22 % 9 || a[23] != 60 + 22;
        bad += a[26] != -5 || odd[26] != -5 || odd[25] != 25 % 9 || odd[22] != 7 || odd[10] != 1 || odd[9] != 7;
        CHECK(bad == 0);
        p = duff(a, 7);
        bad += p - a != 7 || a[0] != 51 || a[1] != 50 || a[6] != 51;
        p = leaps(a + 2, N / 2);
        bad += p - a != N / 2 + 2 || a[N / 2 + 1] != 5 || a[N / 2 + 2] == 5;
        bad += others(a + 3, N - 10) != 0;
        bad += volatiles(a, a, N) != N * (N - 1) / 2 || a[0] != N - 1 || a[N - 1] != 0;
        CHECK(bad == 0);
        shared [N] double *x = d, *y = d;
        for (int i = 0; i < all; i++) *x++ = i;
        struct { unsigned b : 3; } none = { 0 };
        for (int i = 1; i < all; i++) { double v = *y++; *y += v; *y += none.b; } // a step, and what is behind it
        for (int i = 0; i < all; i++) bad += d[i] != 0.5 * i * (i + 1);
        CHECK(bad == 0);
    }
    upc_barrier;
    return t_done();
}
