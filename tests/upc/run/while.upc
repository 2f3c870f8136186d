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
