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
//--- comparing threads=1,3
enum { B = 16, N = 3, M = 40 };
shared [B] int a[B * N * THREADS], b[B * N * THREADS];
shared int c[M * THREADS], d[M * THREADS];
shared [8] struct pt { double x, y; int v[2]; unsigned low : 4; } s[16 * THREADS];
shared [] long *one;
static shared [B] int *global_end;
static int calls;
static int count(void) { return ++calls; }
static void shorten(void) { global_end = a + 20; }
static void blocked(int n)
{
    int i = 0;
    long sum = 0, want = (long)n * (n - 1) / 2, k = n;
    shared [B] int *p, *q = b, *end = a + n;
    for (p = a; p < end; p++) *p = i++;
    CHECK(p == end);
    for (p = a; p != end; p++, q++) *q = *p; // two, and != for the end
    CHECK(q == b + n && p == a + n);
    for (p = b; p < &b[n];) sum += *p++;
    CHECK(sum == want);
    p = b;
    while (end - n + n != a && k-- > 0) sum -= *p++;
    CHECK(sum == 0 && k == -1 && p == b + n);
    for (p = a; end > p; p++) // left in the midst of a block, by break and by a call
        if (*p == 37) break;
    CHECK(p == a + 37 && *p == 37);
    for (p = a; p <= a + 20; ++p) { if (*p % 2 || *p < 5) continue; sum += *p; }
    CHECK(sum == 6 + 8 + 10 + 12 + 14 + 16 + 18 + 20 && p == a + 21);
    p = a, q = b;
    for (i = 0; i < n; i++) *p++ = *q++ + 1;
    CHECK(p == end && q == b + n && a[n - 1] == n);
    for (p = a, sum = 0, i = 0; i < 20; i++) { sum += *p; p++; sum -= *p; } // used behind the step, too
    CHECK(sum == -20 && p == a + 20);
    for (p = a, q = b, i = 0; p < end; i++) { // one of them now and then
        sum += *p++;
        if (i % 3 == 0) *q++ = -1;
    }
    CHECK(sum == want + n - 20 && q == b + (n + 2) / 3);
    for (q = b, i = 0; q < b + (n + 2) / 3; q++) i += *q == -1;
    CHECK(i == (n + 2) / 3);
    for (p = a + 5, q = a + 5; p != q; p++) i++;
    for (p = a + 7; p < a; p++) i++;
    CHECK(i == (n + 2) / 3);
    for (p = a, i = 0, calls = 0; p < end; p++) i += count() != *p;
    CHECK(i == 0 && calls == n);
    global_end = end;
    for (p = a, i = 0; p < global_end; p++, i++) if (*p == 4) shorten();
    CHECK(i == 20);
    for (p = a, i = 0; p < end; p++) { shared [B] int *back = p; i += *p != back - a + 1; } // used in another way
    CHECK(i == 0);
    for (p = a, i = 0; p < end; p++) for (int j = 0; j < 3; j++) i += *p; // in a loop inside
    CHECK(i == 3 * (want + n));
    for (p = a, i = 0; p < end && *p < 19; p++) i++;
    CHECK(i == 18);
}
static void down(int n)
{
    long sum = 0, want = 0;
    shared [B] int *p = a;
    size_t m = (size_t)n;
    while (m--) { *p++ = (int)m; want += (long)m; }
    CHECK(m == (size_t)-1 && p == a + n && a[0] == n - 1 && a[n - 1] == 0);
    int k = n;
    p = a;
    while (--k >= 0) sum += *p++;
    CHECK(sum == want && k == -1);
    for (k = n, p = a; --k > 0;) sum -= *p++;
    CHECK(sum == 0 && k == 0 && p == a + n - 1); // the last is 0
    for (k = n, p = a; k > 0; k--) sum += *p++ == k - 1;
    CHECK(sum == n && k == 0);
    for (k = n, p = a; k; --k) { if (*p++ == n - 20) break; }
    CHECK(k == n - 19 && p == a + 20);
    k = n, p = a;
    while (k-- > 0) { if (*p == n - 5) k -= 10; p++; } // not once each
    CHECK(p == a + n - 10);
    k = n, p = a;
    while (k-- > 0) if (*p++ == n - 18) break;
    CHECK(k == n - 18 && p == a + 18);
    k = -3, p = a;
    while (k-- > 0) *p++ = 1;
    CHECK(k == -4 && p == a);
}
static void cyclic(void)
{
    int m = M * THREADS, bad = 0;
    shared int *x, *y, *end = c + m;
    for (x = c + MYTHREAD; x < end; x += THREADS) *x = MYTHREAD;
    for (x = c + MYTHREAD, y = d + MYTHREAD; x < end; x += THREADS, y += THREADS) *y = *x + 1;
    CHECK(x == end + MYTHREAD && y == d + m + MYTHREAD);
    for (x = c + MYTHREAD; x != c + m + MYTHREAD; x += THREADS) *x += 1;
    upc_barrier;
    for (int i = 0; i < m; i++) bad += d[i] != i % THREADS + 1 || c[i] != d[i];
    for (x = c; x < end; x++) bad += *x != (x - c) % THREADS + 1;
    for (x = c + 1; x <= end - THREADS + 1 - 1; x += THREADS) bad += *x != 1 % THREADS + 1;
    CHECK(bad == 0);
    upc_barrier;
}
static void records(void)
{
    double all = 0;
    shared [8] struct pt *t, *end = s + 16 * THREADS;
    if (MYTHREAD == THREADS - 1)
        for (t = s; t < end; t++) {
            shared int *v = (shared int *)&t->v[1];
            t->x = 1;
            t->y = t->x + 1;
            t->v[1] = 2;
            t->v[1]++;
            t->low = 3;
            t->low += 2;
            CHECK(*v == 3 && (&(*t).v[0])[1] == 3 && t->low == 5);
        }
    upc_barrier;
    for (t = s; t != end; ++t) all += t->x + t->y + t->v[1] + t->low;
    CHECK(all == 11.0 * 16 * THREADS);
    upc_barrier;
}
int main(void)
{
    if (MYTHREAD == THREADS - 1) { blocked(B * N * THREADS); down(B * N * THREADS); }
    upc_barrier;
    cyclic();
    records();
    one = (shared [] long *)upc_alloc(100 * sizeof(long));
    long sum = 0;
    for (shared [] long *p = one; p < one + 100; p++) *p = p - one; // also used in another way
    for (shared [] long *p = one, *q = one + 99; p < one + 50; p++) sum += *p - *q--;
    CHECK(sum == -2500);
    upc_free((shared void *)one);
    return t_done();
}
