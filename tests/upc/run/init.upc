//--- scalars
shared int x = 5; shared double d = 1.5; shared char c = 'q'; shared unsigned long big = ~0ul; shared _Bool b = 1;
shared float neg = -0.5f, two = 2; shared enum { A, B } e = B; shared const long k = 1L << 40;
int main(void)
{
    CHECK(x == 5 && d == 1.5 && c == 'q' && big == ~0ul && b && neg == -0.5f && two == 2 && e == B && k == 1L << 40);
    return t_done();
}
//--- structs
shared struct P { int a; double b[2]; char s[4]; } p = { 1, { 2.5, 3.5 }, "abc" }, q = { .b = { [1] = 9 }, .a = 4 };
int main(void)
{
    CHECK(p.a == 1 && p.b[1] == 3.5 && p.s[2] == 'c' && q.a == 4 && q.b[0] == 0 && q.b[1] == 9);
    return t_done();
}
//--- pointers
shared int arr[10*THREADS]; shared [3] int blk[6*THREADS]; shared [] int ind[5]; shared int x;
shared struct S { int a; int m[4]; } s;
shared int *p = &arr[3]; shared int *q = arr; shared int *r = arr + 2; shared [3] int *b = &blk[4];
shared [] int *i = &ind[2], *m = &s.m[1], *n = s.m; shared int * shared sp = &x; shared int * shared sq = &arr[1];
shared int *z = 0, *zz = NULL; shared void *v = &blk[5];
int main(void)
{
    CHECK(p == &arr[3] && q == &arr[0] && r == &arr[2] && b == &blk[4] && upc_phaseof(b) == 1);
    CHECK(i - ind == 2 && m - n == 1 && sp == &x && sq == &arr[1] && z == NULL && zz == NULL && v == &blk[5]);
    return t_done();
}
//--- arrays_of_pts
shared int a[4*THREADS];
shared int *v[] = { a, &a[1], NULL, a + 3 };
struct T { const char *name; shared int *p; int k; } t[] = { { "one", &a[1], 1 }, { "none", NULL, 2 }, { .k = 3, .p = a } };
static shared int *const cp = &a[2];
int main(void)
{
    CHECK(sizeof v / sizeof v[0] == 4 && v[0] == a && v[1] == &a[1] && v[2] == NULL && v[3] == &a[3]);
    CHECK(sizeof t / sizeof t[0] == 3 && t[0].p == &a[1] && t[0].k == 1 && strcmp(t[1].name, "none") == 0 && t[1].p == NULL);
    CHECK(t[2].p == a && t[2].k == 3 && t[2].name == NULL && cp == &a[2]);
    return t_done();
}
//--- shared_array_dynamic
shared int a[3*THREADS] = { 10, 20, 30 };
shared [2] double b[2*THREADS] = { 1.5, 2.5 };
shared [] char text[] = "shared text";
shared [] int c[2][3] = { { 1, 2, 3 }, { 4 } };
shared [2] int rows[THREADS][2] = { { 7, 8 } };
int main(void)
{
    CHECK(a[0] == 10 && a[1] == 20 && a[2] == 30 && b[0] == 1.5 && b[1] == 2.5);
    for (int i = 3; i < 3*THREADS; i++) CHECK(a[i] == 0);
    CHECK(sizeof text == 12 && text[0] == 's' && text[10] == 't' && text[11] == 0);
    CHECK(c[0][2] == 3 && c[1][0] == 4 && c[1][2] == 0 && rows[0][1] == 8);
    return t_done();
}
//--- shared_array_static flags=-T=3
shared int a[] = { 1, 2, 3, 4, 5, 6, 7 };
shared [2] int b[2][5] = { { 1, 2, 3, 4, 5 }, { 6, 7, 8, 9, 10 } };
shared [*] int c[] = { 1, 2, 3, 4, 5, 6, 7 };
int main(void)
{
    for (int i = 0; i < 7; i++) CHECK(a[i] == i + 1 && c[i] == i + 1);
    for (int i = 0; i < 10; i++) CHECK(b[i / 5][i % 5] == i + 1);
    CHECK(sizeof a == 28 && upc_blocksizeof(c) == 3);
    return t_done();
}
//--- array_of_shared_pts
shared int a[5*THREADS];
shared int * shared [] p[3] = { &a[1], NULL, &a[2] };
shared int * shared q[THREADS] = { &a[4] };
int main(void) { CHECK(p[0] == &a[1] && p[1] == NULL && p[2] == &a[2] && q[0] == &a[4]); return t_done(); }
//--- function_static
shared int a[4*THREADS];
int count(void) { static shared int n = 5; static int priv = 2; upc_barrier; if (MYTHREAD == 0) n++; upc_barrier; priv++; return n + priv * 100; }
shared int *where(void) { static shared int *p = &a[2]; static shared int * shared sp = &a[1]; CHECK(sp == &a[1]); return p++; }
int main(void)
{
    CHECK(count() == 306 && count() == 407 && count() == 508);
    CHECK(where() == &a[2] && where() == &a[3]);
    return t_done();
}
//--- same_named_statics
int f(void) { static shared int n = 1; return n; }
int g(void) { static shared int n = 2; { static shared int n = 3; return n * 10 + f(); } }
static shared int n = 7;
int main(void) { CHECK(f() == 1 && g() == 31 && n == 7); return t_done(); }
//--- block_extern
int f(void) { extern shared int late; return late; }
shared int late = 12;
int main(void) { extern shared int late; CHECK(f() == 12 && late == 12); return t_done(); }
//--- private_addresses
int g = 3; int *r = &g; int arr[3] = { 1, 2, 3 }; int *e = &arr[2]; int *d = arr; struct { int *p; } s = { &g };
int f(void) { static int *p = &g; static int n; static int *q = &n; ++*q; return *p + n; }
int main(void)
{
    CHECK(r == &g && e == arr + 2 && d == arr && s.p == &g && f() == 4 && f() == 5);
    g = MYTHREAD + 10;
    upc_barrier;
    CHECK(*r == MYTHREAD + 10);
    return t_done();
}
//--- tentative
shared int x; shared int x; static shared int y; static shared int y; extern shared int x; shared int a[THREADS]; extern shared int a[];
shared int later[]; shared int later[2*THREADS];
int main(void) { if (MYTHREAD == 0) { x = 1; y = 2; later[1] = 3; } upc_barrier; CHECK(x == 1 && y == 2 && later[1] == 3 && a[0] == 0); return t_done(); }
//--- private_threads_initialiser
int main(void) { int n[3] = { THREADS, MYTHREAD, 1 }; static int k = 4; CHECK(n[0] == THREADS && n[1] == MYTHREAD && k == 4); return t_done(); }
