//--- by_int
shared int a[10*THREADS];
int main(void)
{
    int i;
    upc_forall (i = 0; i < 10*THREADS; i++; i) a[i] = MYTHREAD + 1;
    CHECK(i == 10*THREADS);
    upc_barrier;
    for (i = 0; i < 10*THREADS; i++) CHECK(a[i] == i % THREADS + 1);
    return t_done();
}
//--- by_address_blocked
shared [3] int a[10*THREADS];
int main(void)
{
    int i, n = 0;
    upc_forall (i = 0; i < 10*THREADS; i++; &a[i]) { a[i] += i; n++; }
    upc_barrier;
    for (i = 0; i < 10*THREADS; i++) CHECK(a[i] == i);
    for (i = 0; i < 10*THREADS; i++) n -= i / 3 % THREADS == MYTHREAD;
    CHECK(n == 0);
    return t_done();
}
//--- sub_ranges
shared [4] int a[20*THREADS]; shared int b[20*THREADS];
int main(void)
{
    for (int lo = 0; lo < 14; lo++)
        for (int hi = lo - 2 < 0 ? 0 : lo - 2; hi <= 20*THREADS; hi += 3) {
            int i, n = 0, m = 0, ref = 0, refm = 0;
            upc_forall (i = lo; i < hi; i++; &a[i]) n += i;
            CHECK(i == (lo < hi ? hi : lo));
            upc_forall (i = lo; i <= hi; ++i; &b[i]) m += i;
            CHECK(i == (lo <= hi ? hi + 1 : lo));
            for (i = lo; i < hi; i++) ref += i / 4 % THREADS == MYTHREAD ? i : 0;
            for (i = lo; i <= hi; i++) refm += i % THREADS == MYTHREAD ? i : 0;
            CHECK(n == ref && m == refm);
        }
    return t_done();
}
//--- several_arrays
shared [5] double x[15*THREADS], y[15*THREADS], z[15*THREADS]; shared [4] double other[15*THREADS];
int main(void)
{
    int i;
    upc_forall (i = 0; i < 15*THREADS; i++; &x[i]) { x[i] = i; y[i] = 2 * i; other[i] = 3 * i; }
    upc_barrier;
    upc_forall (i = 0; i < 15*THREADS; i++; &z[i]) z[i] = x[i] + 3.0 * y[i] + other[i];
    upc_barrier;
    for (i = 0; i < 15*THREADS; i++) CHECK(z[i] == 10 * i);
    return t_done();
}
//--- neighbours
shared [4] int a[8*THREADS], b[8*THREADS];
int main(void)
{
    int i;
    upc_forall (i = 0; i < 8*THREADS; i++; &a[i]) a[i] = i * i;
    upc_barrier;
    upc_forall (i = 1; i < 8*THREADS - 1; i++; &b[i]) b[i] = a[i - 1] + a[i + 1] - 2 * a[i];
    upc_barrier;
    for (i = 1; i < 8*THREADS - 1; i++) CHECK(b[i] == 2);
    return t_done();
}
//--- rows_2d
#define N 6
shared [N] int m[THREADS][N]; shared [2*N] int k[2*THREADS][N];
int main(void)
{
    int i, j;
    upc_forall (i = 0; i < THREADS; i++; &m[i][0])
        for (j = 0; j < N; j++) m[i][j] = i * N + j;
    upc_forall (i = 0; i < 2*THREADS; i++; k[i])
        for (j = 0; j < N; j++) k[i][j] = i * N + j;
    upc_barrier;
    for (i = 0; i < THREADS; i++) for (j = 0; j < N; j++) CHECK(m[i][j] == i * N + j);
    for (i = 0; i < 2*THREADS; i++) for (j = 0; j < N; j++) CHECK(k[i][j] == i * N + j);
    return t_done();
}
//--- rows_not_whole
shared [4] int m[3*THREADS][6];
int main(void)
{
    int i, j;
    upc_forall (i = 0; i < 3*THREADS; i++; &m[i][0])
        for (j = 0; j < 6; j++) m[i][j] = i * 6 + j;
    upc_barrier;
    for (i = 0; i < 3*THREADS; i++) for (j = 0; j < 6; j++) CHECK(m[i][j] == i * 6 + j);
    return t_done();
}
//--- structs_local
struct P { double x; int n[3]; struct { int deep; } in; };
shared [2] struct P p[6*THREADS];
int main(void)
{
    int i;
    upc_forall (i = 0; i < 6*THREADS; i++; &p[i]) {
        p[i].x = i * 0.5; p[i].n[i % 3] = i; p[i].in.deep++; p[i].in.deep += 4; p[i].n[(i + 1) % 3]--;
        struct P c = p[i];
        p[i] = c;
    }
    upc_barrier;
    for (i = 0; i < 6*THREADS; i++)
        CHECK(p[i].x == i * 0.5 && p[i].n[i % 3] == i && p[i].in.deep == 5 && p[i].n[(i + 1) % 3] == -1);
    return t_done();
}
//--- pts_elements
shared int * shared pp[4*THREADS]; shared int d[4*THREADS];
int main(void)
{
    int i;
    upc_forall (i = 0; i < 4*THREADS; i++; &pp[i]) { pp[i] = &d[0]; pp[i] += i; pp[i]++; pp[i]--; *pp[i] = i; }
    upc_barrier;
    for (i = 0; i < 4*THREADS; i++) CHECK(pp[i] == &d[i] && d[i] == i);
    return t_done();
}
//--- continue_and_none
int main(void)
{
    int n = 0, i;
    upc_forall (i = 0; i < 5; i++; continue) n++;
    upc_forall (i = 0; i < 5; i++; ) n++;
    CHECK(n == 10 && i == 5);
    i = 0;
    upc_forall (; i < 3; ; continue) i++;
    CHECK(i == 3);
    return t_done();
}
//--- body_continue
shared int a[9*THREADS];
int main(void)
{
    int i, n = 0;
    upc_forall (i = 0; i < 9*THREADS; i++; &a[i]) { if (i % 2) continue; n++; a[i] = 1; }
    upc_barrier;
    for (i = 0; i < 9*THREADS; i++) CHECK(a[i] == (i % 2 == 0));
    return t_done();
}
//--- affinity_types
shared int a[THREADS];
enum E { Z };
int main(void)
{
    int n[8] = { 0 };
    upc_forall (char c = 0; c < 100; c++; c) n[0]++;
    upc_forall (unsigned long u = 0; u < 100; u++; u) n[1]++;
    upc_forall (int i = 0; i < 100; i++; (enum E)i) n[2]++;
    upc_forall (int i = 0; i < 100; i++; -i) n[3]++;
    upc_forall (int i = 0; i < 100; i++; (shared void *)&a[i % THREADS]) n[4]++;
    upc_forall (int i = 0; i < 100; i++; i % 2 ? &a[0] : &a[THREADS - 1]) n[5]++;
    upc_forall (int i = 0; i < 100; i++; NULL ? &a[1] : (shared int *)NULL) n[6]++;
    upc_forall (size_t z = 1ul << 33; z < (1ul << 33) + 100; z++; z) n[7]++;
    int all = 0;
    for (int i = 0; i < 100; i++) all += i % THREADS == MYTHREAD;
    CHECK(n[0] == all && n[1] == all && n[2] == all && n[4] == all);
    int neg = 0;
    for (int i = 0; i < 100; i++) neg += (THREADS - i % THREADS) % THREADS == MYTHREAD;
    CHECK(n[3] == neg && n[6] == (MYTHREAD == 0 ? 100 : 0));
    int big = 0;
    for (size_t z = 1ul << 33; z < (1ul << 33) + 100; z++) big += z % THREADS == MYTHREAD;
    CHECK(n[7] == big);
    return t_done();
}
//--- side_effect_once
int calls;
int f(int i) { calls++; return i; }
int main(void)
{
    int n = 0;
    upc_forall (int i = 0; i < 10; i++; f(i)) n++;
    CHECK(calls == 10);
    upc_forall (int i = 0; i < 3; i++; i)
        upc_forall (int j = 0; j < 5; j++; f(j)) n++;
    int mine = 0;
    for (int i = 0; i < 3; i++) mine += i % THREADS == MYTHREAD;
    CHECK(calls == 10 + 5 * mine);
    return t_done();
}
//--- nested
int main(void)
{
    int n = 0, mine = 0;
    upc_forall (int i = 0; i < 7; i++; i)
        upc_forall (int j = 0; j < 5; j++; j) n++;
    for (int i = 0; i < 7; i++) mine += i % THREADS == MYTHREAD;
    CHECK(n == 5 * mine);
    n = 0;
    upc_forall (int i = 0; i < 7; i++; continue)
        upc_forall (int j = 0; j < 5; j++; j) n++;
    mine = 0;
    for (int j = 0; j < 5; j++) mine += j % THREADS == MYTHREAD;
    CHECK(n == 7 * mine);
    return t_done();
}
//--- nested_local_arrays
shared int a[4*THREADS], b[4*THREADS];
int main(void)
{
    int i, j;
    upc_forall (i = 0; i < 4*THREADS; i++; &a[i]) {
        a[i] = 0;
        upc_forall (j = 0; j < 4*THREADS; j++; &b[j]) a[i] += j;
    }
    upc_barrier;
    for (i = 0; i < 4*THREADS; i++) CHECK(a[i] == 4*THREADS * (4*THREADS - 1) / 2);
    return t_done();
}
//--- nested_through_call
int n;
void inner(void) { upc_forall (int j = 0; j < 5; j++; j) n++; }
int main(void)
{
    int mine = 0;
    upc_forall (int i = 0; i < 7; i++; i) inner();
    for (int i = 0; i < 7; i++) mine += i % THREADS == MYTHREAD;
    CHECK(n == 5 * mine);
    n = 0;
    inner();
    mine = 0;
    for (int j = 0; j < 5; j++) mine += j % THREADS == MYTHREAD;
    CHECK(n == mine);
    return t_done();
}
//--- var_changed_in_body
shared int a[10*THREADS];
int main(void)
{
    int i;
    upc_forall (i = 0; i < 10*THREADS; i++; i) { a[i] = 1; if (0) i++; }
    int lim = 6;
    upc_forall (i = 0; i < lim; i++; &a[i]) { if (i == 100) lim = 3; a[i]++; }
    upc_barrier;
    for (i = 0; i < 10*THREADS; i++) CHECK(a[i] == 1 + (i < 6));
    return t_done();
}
//--- other_steps
shared int a[12*THREADS];
int main(void)
{
    int i;
    upc_forall (i = 0; i < 12*THREADS; i += 2; &a[i]) a[i] = 5;
    upc_forall (i = 12*THREADS - 1; i >= 0; i--; &a[i]) a[i]++;
    upc_forall (i = 0; i != 3; i = i + 1; i) a[i] += 0;
    upc_barrier;
    for (i = 0; i < 12*THREADS; i++) CHECK(a[i] == (i % 2 ? 1 : 6));
    return t_done();
}
//--- labels_and_statics
shared int a[4*THREADS];
int main(void)
{
    int i;
    upc_forall (i = 0; i < 4*THREADS; i++; &a[i]) {
        static int calls;
        calls++;
        if (i == 0) goto skip;
        a[i] = 1;
    skip:;
    }
    upc_barrier;
    for (i = 0; i < 4*THREADS; i++) CHECK(a[i] == (i > 0));
    return t_done();
}
//--- macro_header
#define FORALL(i, n, a) upc_forall (int i = 0; i < (n); i++; &(a)[i])
shared [2] int v[6*THREADS];
int main(void)
{
    FORALL(i, 6*THREADS, v) v[i] = i;
    upc_barrier;
    for (int i = 0; i < 6*THREADS; i++) CHECK(v[i] == i);
    return t_done();
}
//--- single_statement_forms
shared int a[4*THREADS];
int main(void)
{
    int i;
    if (THREADS > 0)
        upc_forall (i = 0; i < 4*THREADS; i++; &a[i]) a[i] = 2;
    else
        CHECK(0);
    upc_forall (i = 0; i < 4*THREADS; i++; &a[i]) ;
    upc_forall (i = 0; i < 4*THREADS; i++; &a[i]) if (a[i] == 2) a[i] = 3; else a[i] = 9;
    upc_barrier;
    for (i = 0; i < 4*THREADS; i++) CHECK(a[i] == 3);
    return t_done();
}
//--- strict_in_body
strict shared int s[4*THREADS];
int main(void)
{
    int i;
    upc_forall (i = 0; i < 4*THREADS; i++; &s[i]) { s[i] = i; s[i]++; s[i] += 2; }
    upc_barrier;
    for (i = 0; i < 4*THREADS; i++) CHECK(s[i] == i + 3);
    return t_done();
}
//--- pointer_base
shared [3] int a[9*THREADS];
int main(void)
{
    shared [3] int *p = &a[3];
    int i;
    upc_forall (i = 0; i < 9*THREADS - 3; i++; &p[i]) p[i] = i;
    upc_forall (i = 0; i < 9*THREADS - 3; i++; p + i) p[i]++;
    upc_barrier;
    for (i = 3; i < 9*THREADS; i++) CHECK(a[i] == i - 2);
    return t_done();
}
//--- pointer_declared
shared int a[10 * THREADS];
int main(void)
{
    int bad = 0;
    upc_forall (shared int *q = a; q < a + 10 * THREADS; q++; q) *q = MYTHREAD;
    upc_barrier;
    for (shared int *q = a; q < a + 10 * THREADS; q++) bad += *q != (q - a) % THREADS;
    CHECK(bad == 0);
    return t_done();
}
//--- empty_clauses flags=-w
int main(void)
{
    int i = 0, n = 0;
    upc_forall (; i < 4; i++; i) n++;
    CHECK(i == 4);
    i = 0;
    upc_forall (;; ; continue) { if (++i > 3) goto out; }
out:
    CHECK(i == 4);
    return t_done();
}
//--- limit_changed_behind
shared int a[20*THREADS]; int *lim; void shrink(void) { *lim = 6; }
int main(void)
{
    int n = 20*THREADS, i, k = 0;
    lim = &n;
    upc_forall (i = 0; i < n; i++; continue) { if (i == 3) shrink(); k++; }
    CHECK(k == 6 && i == 6);
    n = 10; k = 0;
    upc_forall (i = 0; i < n; i++; &a[i]) { *lim = 4; k++; }
    CHECK(i <= 10 && k <= 10);
    n = 12; k = 0;
    upc_forall (i = 0; i < n; i++; &a[i]) k++;
    CHECK(i == 12);
    return t_done();
}
//--- libc_objects
extern char **environ; extern int optind; shared int x;
int main(void) { CHECK(environ != NULL && optind == 1); if (MYTHREAD == 0) x = 1; return t_done(); }
//--- counter_beyond_32_bits
#include "t.h"
#include <stddef.h>
shared int hits[THREADS];
int main(void)
{
    size_t i, from = ((size_t)1 << 33) + 5;
    upc_forall (i = from; i < from + 24; i++; i) { CHECK(i % THREADS == (size_t)MYTHREAD); hits[MYTHREAD]++; }
    CHECK(i == from + 24);
    upc_forall (long long k = -(1ll << 40); k < -(1ll << 40) + 24; k++; k + (1ll << 41)) hits[MYTHREAD]++;
    upc_barrier;
    int all = 0;
    for (int t = 0; t < THREADS; t++) all += hits[t];
    CHECK(all == 48);
    return t_done();
}
//--- neighbours
// Elements and rows that are a fixed number of iterations away; those of other hosts come as whole rows.
#include "t.h"
enum { N = 40, R = 5, B = 7 };
shared [N * R] double u[THREADS * R][N], v[THREADS * R][N];
shared [N] int c[THREADS * R][N], d[THREADS * R][N];
shared [B] long x[B * THREADS], y[B * THREADS];
shared [B] struct {
    int a;
    long b[2];
} s[B * THREADS];
int main(void)
{
    int rows = THREADS * R;
    upc_forall (int i = 0; i < rows; i++; &u[i][0])
        for (int j = 0; j < N; j++) u[i][j] = i * 100 + j;
    upc_forall (int i = 0; i < rows; i++; &c[i][0])
        for (int j = 0; j < N; j++) c[i][j] = i * 100 + j;
    upc_forall (int i = 0; i < B * THREADS; i++; &x[i]) {
        x[i] = i * i;
        s[i].a = i;
        s[i].b[1] = -i;
    }
    upc_barrier;
    upc_forall (int i = 0; i < rows; i++; &v[i][0])
        for (int j = 0; j < N; j++) {
            double t = 0;
            if (i > 0) t += u[i - 1][j];
            if (i < rows - 1) t += 3 * u[i + 1][j];
            v[i][j] = t + u[i][j];
        }
    upc_forall (int i = 1; i < rows - 1; i++; &d[i][0])
        for (int j = 1; j < N - 1; j++) d[i][j] = c[i - 1][j] + c[i + 1][j] + c[i][j - 1] + c[i][j + 1];
    upc_forall (int i = 0; i < B * THREADS - 1; i++; &y[i])
        y[i] = x[i + 1] - (i > 1 ? x[i - 2] : 0) + s[i + 1].a + s[i + 1].b[1] * 2;
    upc_barrier;
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < N; j++) {
            double t = i * 100 + j + (i > 0 ? (i - 1) * 100 + j : 0) + (i < rows - 1 ? 3 * ((i + 1) * 100 + j) : 0);
            CHECK(v[i][j] == t);
            if (i > 0 && i < rows - 1 && j > 0 && j < N - 1) CHECK(d[i][j] == 4 * (i * 100 + j));
        }
    for (long i = 0; i < B * THREADS - 1; i++)
        CHECK(y[i] == (i + 1) * (i + 1) - (i > 1 ? (i - 2) * (i - 2) : 0) + i + 1 - 2 * (i + 1));
    upc_barrier;
    // The array of the neighbour is written in the body, by name, through a pointer, or by a strict access.
    upc_forall (int i = 1; i < rows; i++; &c[i][0])
        for (int j = 0; j < N; j++) {
            c[i][j] = c[i][j];
            d[i][j] = c[i - 1][j];
        }
    upc_barrier;
    for (int i = 1; i < rows; i++)
        for (int j = 0; j < N; j++) CHECK(d[i][j] == (i - 1) * 100 + j);
    upc_barrier;
    upc_forall (int i = 1; i < 2; i++; &c[i][0]) {
        shared [N] int *p = &c[i - 1][0];
        for (int j = 0; j < N; j++) {
            p[j] = -j;
            d[i][j] = c[i - 1][j];
        }
    }
    upc_barrier;
    for (int j = 0; j < N; j++) CHECK(d[1][j] == -j);
    return t_done();
}
