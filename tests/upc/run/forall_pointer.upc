// Loops whose arrays are known only through pointers: private memory is used where that is right.
//--- moved_together
shared [3] int a[12*THREADS], b[12*THREADS];
static void add(shared [3] int *x, shared [3] int *y, int n)
{
    int i;
    upc_forall (i = 0; i < n; i++; &x[i]) x[i] += 10 * y[i] + 1;
    CHECK(i == (n > 0 ? n : 0));
}
int main(void)
{
    int i, k;
    for (k = 0; k < 7; k++) { // each phase and the threads after the first
        upc_barrier;
        upc_forall (i = 0; i < 12*THREADS; i++; &a[i]) { a[i] = 0; b[i] = i; }
        upc_barrier;
        add(&a[k], &b[k], 12*THREADS - k);
        upc_barrier;
        for (i = 0; i < 12*THREADS; i++) CHECK(a[i] == (i < k ? 0 : 10 * i + 1));
    }
    add(a, b, 0);
    add(a, b, -1);
    return t_done();
}
//--- moved_apart
shared int a[8*THREADS], b[8*THREADS]; shared [2] int c[8*THREADS];
int main(void)
{
    shared int *x = &a[1], *y = &b[2]; shared [2] int *z = &c[2]; int i;
    upc_forall (i = 0; i < 8*THREADS; i++; i) { a[i] = i; b[i] = 100 + i; c[i] = 1000; }
    upc_barrier;
    upc_forall (i = 0; i < 8*THREADS - 2; i++; &x[i]) { CHECK(upc_threadof(&x[i]) == MYTHREAD); x[i] = y[i] + z[i % 4]; }
    upc_barrier;
    CHECK(a[0] == 0 && a[8*THREADS - 1] == 8*THREADS - 1);
    for (i = 1; i < 8*THREADS - 1; i++) CHECK(a[i] == 1101 + i);
    return t_done();
}
//--- all_alloc
shared double *g, *h; int n;
static void fill(void)
{
    upc_forall (int i = 0; i < n; i++; &g[i]) { g[i] = i; h[i] = 2 * i; }
}
int main(void)
{
    n = 50*THREADS;
    g = upc_all_alloc(n, sizeof(double)); h = upc_all_alloc(n, sizeof(double));
    fill();
    upc_barrier;
    upc_forall (int i = 0; i < n; i++; g + i) g[i] = g[i] + 3 * h[i];
    upc_barrier;
    for (int i = 0; i < n; i++) CHECK(g[i] == 7 * i);
    upc_barrier;
    upc_forall (int i = 0; i < n; i++; i + g) CHECK(upc_threadof(&g[i]) == MYTHREAD && g[i] == 7 * i);
    upc_all_free(g); upc_all_free(h);
    return t_done();
}
//--- body_moves_pointer
shared int a[6*THREADS], b[6*THREADS]; shared int *g = b;
static void step(void) { g = g == b ? a : b; }
int main(void)
{
    shared int *p = a; int i, n = 0;
    upc_forall (i = 0; i < 6; i++; &p[0]) p = p + 1;
    upc_forall (i = 0; i < 6*THREADS; i++; &a[i]) { p = i % 2 ? a : b; p[i] = i; }
    upc_barrier;
    for (i = 0; i < 6*THREADS; i++) CHECK(a[i] == (i % 2 ? i : 0) && b[i] == (i % 2 ? 0 : i));
    upc_barrier;
    upc_forall (i = 0; i < 6*THREADS; i++; &a[i]) { g = b; step(); g[i] = -1; step(); g[i] = -2; n++; }
    CHECK(n == 6);
    upc_barrier;
    for (i = 0; i < 6*THREADS; i++) CHECK(a[i] == -1 && b[i] == -2);
    shared int **pp = &p; p = a;
    upc_barrier;
    upc_forall (i = 0; i < 6*THREADS; i++; &a[i]) { *pp = b; p[i] = 5; *pp = a; p[i] = 4; }
    upc_barrier;
    for (i = 0; i < 6*THREADS; i++) CHECK(a[i] == 4 && b[i] == 5);
    return t_done();
}
//--- undivided
shared [] int t0[40]; struct s { int v; short w[3]; }; shared [] struct s st[10];
int main(void)
{
    shared [] int *mine = upc_alloc(10 * sizeof(int)); int i, sum = 0;
    shared [] int * shared * all = upc_all_alloc(THREADS, sizeof(shared [] int *));
    all[MYTHREAD] = mine;
    if (MYTHREAD == 0) for (i = 0; i < 40; i++) t0[i] = i;
    if (MYTHREAD == 0) for (i = 0; i < 10; i++) { st[i].v = i; st[i].w[2] = -i; }
    upc_barrier;
    shared [] int *q = all[(MYTHREAD + 1) % THREADS];
    upc_forall (i = 0; i < 40*THREADS; i++; i) { int k = i / THREADS % 10; q[k] = t0[k] + t0[39 - k] + st[k].v + st[k].w[2]; q[k]++; }
    upc_barrier;
    for (i = 0; i < 10; i++) sum += mine[i];
    CHECK(sum == 400);
    upc_forall (i = 0; i < THREADS; i++; i) for (int k = 0; k < 10; ) CHECK(q[k++] == 40);
    return t_done();
}
//--- rows
shared [6] int a[6*THREADS][3];
int main(void)
{
    shared [6] int (*p)[3] = a, (*q)[3] = a + 1; int i, j;
    upc_forall (i = 0; i < 6*THREADS; i++; p[i]) for (j = 0; j < 3; j++) p[i][j] = 10 * i + j;
    upc_barrier;
    upc_forall (i = 0; i < 6*THREADS - 1; i++; &q[i][0]) { CHECK(upc_threadof(&q[i][0]) == MYTHREAD); q[i][1] = -q[i][1]; }
    upc_barrier;
    for (i = 0; i < 6*THREADS; i++) CHECK(a[i][0] == 10 * i && a[i][1] == (i > 0 ? -10 * i - 1 : 1));
    return t_done();
}
//--- by_quotient
shared [4] int a[8*THREADS];
int main(void)
{
    int i, n = 0;
    upc_forall (i = 0; i < 8*THREADS; i++; i / 4) { CHECK(upc_threadof(&a[i]) == MYTHREAD); a[i] = i; n++; }
    CHECK(n == 8);
    upc_forall (i = 3; i <= 8*THREADS - 2; i++; i / 4) a[i] += 100;
    upc_barrier;
    for (i = 0; i < 8*THREADS; i++) CHECK(a[i] == i + (i >= 3 && i < 8*THREADS - 1 ? 100 : 0));
    return t_done();
}
//--- structures flags=-Wall,-Wextra,-Werror
struct p { double x; int k; }; shared [5] struct p a[10*THREADS]; shared [5] struct p *const g = a;
int main(void)
{
    shared [5] struct p *p = a; shared [5] double *d = upc_all_alloc(2*THREADS, 5 * sizeof(double)); int i;
    upc_forall (i = 0; i < 10*THREADS; i++; &p[i]) { p[i].x = i; p[i].k = -i; g[i].k--; d[i] = p[i].x / 2; }
    upc_barrier;
    for (i = 0; i < 10*THREADS; i++) CHECK(a[i].x == i && a[i].k == -i - 1 && d[i] == i / 2.0);
    upc_forall (i = 0; i < 10*THREADS; i++; &a[i]) { CHECK(upc_phaseof(&a[i]) == (size_t)i % 5); } // its address alone
    return t_done();
}
//--- inner_names
shared int a[4*THREADS];
int main(void)
{
    shared int *p = a; int i;
    upc_forall (i = 0; i < 4*THREADS; i++; &p[i]) { shared [] int *q = (shared [] int *)&p[i]; q[0] = i; { shared int *p = a; p[i]++; } }
    upc_barrier;
    for (i = 0; i < 4*THREADS; i++) CHECK(a[i] == i + 1);
    return t_done();
}
//--- null_with_nothing_to_do
int main(void) { shared int *p = NULL; int i; upc_forall (i = 0; i < 0; i++; &p[i]) p[i] = 1; return t_done(); }
