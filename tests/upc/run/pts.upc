//--- checklist_2 threads=3
shared [4] int b[8*THREADS];
#define IS(p, t, ph, off) (upc_threadof(p) == (t) && upc_phaseof(p) == (ph) && \
    (long)((upc_addrfield(p) - upc_addrfield(b)) << 30) >> 30 == (off) * 4L)
int main(void)
{
    shared [4] int *p = &b[5];
    CHECK(IS(p, 1, 1, 1));
    CHECK(IS(p - 1, 1, 0, 0));
    CHECK(IS(p - 6, 2, 3, -1));
    CHECK((p - 6) + 6 == p);
    CHECK(IS(p + 100, 2, 1, 33));
    CHECK(&p[-5] == b);
    unsigned u = 2; size_t z = 3; long long ll = -4; char c = 5; unsigned char uc = 200; short s = -3;
    CHECK(&p[u] == &b[7] && p + z == &b[8] && p + ll == &b[1] && &c[p] == &b[10]);
    CHECK((p + uc) - p == 200 && p + s == &b[2] && p - u == &b[3]);
    return t_done();
}
//--- checklist_3 threads=3
shared [4] int b[8*THREADS];
struct I;
#define IS(p, t, ph, off) (upc_threadof(p) == (t) && upc_phaseof(p) == (ph) && \
    upc_addrfield(p) - upc_addrfield(b) == (off) * 4)
int main(void)
{
    shared [4] int *p = &b[5];
    CHECK(IS((shared [] int *)p + 4, 1, 0, 5));
    CHECK(IS((shared int *)p + 1, 2, 0, 1));
    CHECK(IS((shared int *)p + 3, 1, 0, 2));
    CHECK(upc_phaseof((shared void *)p) == 1);
    shared void *v = p;
    shared [4] int *back = v;
    CHECK(upc_phaseof(back) == 1);
    CHECK(upc_phaseof((shared [4] long *)p) == 0);
    CHECK(upc_phaseof((shared [4] unsigned *)p) == 1);
    CHECK(upc_phaseof((shared struct I *)p) == 0);
    CHECK(upc_phaseof((shared [4] struct I *)p) == 0);
    shared [4] int *r = upc_resetphase(p);
    CHECK(IS(r + 4, 2, 0, 1));
    CHECK(IS(p + 4, 2, 1, 1));
    CHECK(p == r);
    CHECK(p == upc_resetphase(p));
    return t_done();
}
//--- implicit_phase_reset
shared [4] int b[8*THREADS];
shared int *as_cyclic(shared void *v) { return v; }
shared [4] int *as_blocked(shared void *v) { return v; }
int main(void)
{
    shared [4] int *p = &b[3];
    CHECK(upc_phaseof(as_cyclic(p)) == 0);
    CHECK(upc_phaseof(as_blocked(p)) == 3);
    struct { shared [] int *q; } s = { (shared void *)p };
    CHECK(upc_phaseof(s.q) == 0);
    shared [] int *arr[2];
    arr[1] = (shared void *)p;
    CHECK(upc_phaseof(arr[1]) == 0 && arr[1] == (shared void *)p);
    return t_done();
}
//--- equality_ignores_phase
shared [4] int b[8*THREADS];
int main(void)
{
    shared [4] int *p = &b[3], *q = upc_resetphase(p);
    CHECK(p == q && !(p != q));
    CHECK((shared void *)p == q);
    CHECK(p != b && b + 3 == p);
    return t_done();
}
//--- difference_and_order
shared int a[6*THREADS]; shared [3] int b[6*THREADS]; shared [] int c[20];
int main(void)
{
    for (int i = 0; i < 6*THREADS; i++)
        for (int j = 0; j < 6*THREADS; j++) {
            CHECK(&a[i] - &a[j] == i - j);
            CHECK(&b[i] - &b[j] == i - j);
            CHECK((&a[i] < &a[j]) == (i < j) && (&b[i] >= &b[j]) == (i >= j));
            CHECK((&b[i] > &b[j]) == (i > j) && (&a[i] <= &a[j]) == (i <= j));
            CHECK((&a[i] == &a[j]) == (i == j));
        }
    CHECK(&c[17] - &c[4] == 13 && &c[4] < &c[17]);
    return t_done();
}
//--- null
shared int *g;
shared [4] int *h;
int main(void)
{
    shared int *p = NULL;
    CHECK(p == NULL && !p && p == 0 && NULL == p && g == NULL && !h);
    CHECK(upc_threadof(p) == 0 && upc_phaseof(p) == 0);
    CHECK((int *)p == NULL);
    CHECK((p ? 1 : 2) == 2 && !(p && 1) && (p || 1));
    while (p) return 1;
    shared void *v = 0;
    CHECK(v == NULL && p == v);
    shared int *q = 1 ? NULL : p;
    CHECK(q == NULL);
    return t_done();
}
//--- walk_all_flavours
shared int a[12*THREADS]; shared [5] int b[12*THREADS]; shared [] int c[12];
int main(void)
{
    if (MYTHREAD == 0) {
        shared int *p = a; shared [5] int *q = b; shared [] int *r = c;
        for (int i = 0; i < 12*THREADS; i++) *p++ = i;
        for (int i = 0; i < 12*THREADS; i++, q += 1) *q = 2 * i;
        for (int i = 0; i < 12; i++) r[i] = 3 * i;
    }
    upc_barrier;
    for (int i = 0; i < 12*THREADS; i++) CHECK(a[i] == i && b[i] == 2 * i);
    for (int i = 0; i < 12; i++) CHECK(c[i] == 3 * i);
    shared [5] int *e = &b[12*THREADS];
    for (int i = 12*THREADS; i-- > 0;) CHECK(*--e == 2 * i);
    e = &b[12*THREADS - 1];
    for (int i = 12*THREADS; i-- > 0; e--) CHECK(*e == 2 * i);
    return t_done();
}
//--- pointer_ops_once
shared int a[10*THREADS];
int n;
shared int **next(shared int **p) { n++; return p; }
int main(void)
{
    shared int *p = a, *v[3] = { a, a + 1, a + 2 };
    *next(&p) += 3;
    CHECK(n == 1 && p == &a[3]);
    CHECK((*next(&p))++ == &a[3] && p == &a[4] && n == 2);
    CHECK(--*next(&p) == &a[3] && n == 3);
    int i = 0;
    v[i++] += 5;
    CHECK(i == 1 && v[0] == &a[5]);
    v[i++]--;
    CHECK(i == 2 && v[1] == a);
    p -= 2;
    CHECK(p == a + 1);
    return t_done();
}
//--- pts_in_struct
struct S { int k; shared [2] int *p; } s, *ps = &s;
shared [2] int a[8*THREADS];
int main(void)
{
    s.p = a;
    s.p++;
    ps->p += 2;
    CHECK(ps->p++ == &a[3] && s.p == &a[4]);
    CHECK(s.p - a == 4);
    struct S t = s;
    CHECK(t.p == s.p && &t.p[1] == &a[5]);
    return t_done();
}
//--- array_of_rows_pointer
shared [4] int A[THREADS][8];
int main(void)
{
    shared [4] int (*row)[8] = A;
    if (MYTHREAD == 0) for (int i = 0; i < THREADS; i++) for (int j = 0; j < 8; j++) row[i][j] = i * 8 + j;
    upc_barrier;
    for (int i = 0; i < THREADS; i++, row++)
        for (int j = 0; j < 8; j++) {
            CHECK((*row)[j] == i * 8 + j && A[i][j] == i * 8 + j);
            CHECK(*(*(A + i) + j) == i * 8 + j);
        }
    CHECK(row - A == THREADS);
    CHECK(**A == 0);
    return t_done();
}
//--- address_of_array
shared [3] int A[6*THREADS];
int main(void)
{
    shared [3] int (*p)[6*THREADS] = &A;
    CHECK(upc_phaseof(&A) == 0 && upc_threadof(&A) == 0);
    CHECK((shared void *)&A == (shared void *)A && &(*p)[4] == &A[4]);
    return t_done();
}
//--- checklist_7_pointers_to_pointers
shared [2] int * shared [3] pp[6*THREADS];
shared [2] int data[20*THREADS];
shared int * shared sp;
int * shared lp[THREADS];
shared int a[THREADS];
int main(void)
{
    int mine = MYTHREAD;
    lp[MYTHREAD] = &mine;
    if (MYTHREAD == 0) {
        for (int i = 0; i < 6*THREADS; i++) pp[i] = &data[i + 1];
        sp = &a[THREADS - 1];
    }
    for (int i = 0; i < 2; i++) data[2 * MYTHREAD + i] = 2 * MYTHREAD + i;
    upc_barrier;
    CHECK(*lp[MYTHREAD] == MYTHREAD);
    for (int i = 0; i < 6*THREADS; i++) {
        CHECK(upc_threadof(&pp[i]) == i / 3 % THREADS);
        CHECK(upc_phaseof(pp[i]) == (i + 1) % 2);
        CHECK(pp[i] - data == i + 1);
        CHECK(&pp[i][3] == &data[i + 4]);
    }
    CHECK(*pp[0] == 1 && sp == &a[THREADS - 1]);
    upc_barrier;
    if (MYTHREAD == THREADS - 1) {
        CHECK(pp[1]++ == &data[2]);
        pp[1] += 3;
        CHECK(--pp[2] == &data[2]);
    }
    upc_barrier;
    CHECK(pp[1] == &data[6] && pp[2] == &data[2]);
    if (MYTHREAD == THREADS - 1) { sp = &a[0]; *sp = 5; }
    upc_barrier;
    CHECK(a[0] == 5);
    return t_done();
}
//--- pts_to_integer
shared int x;
int main(void)
{
    unsigned long v = (unsigned long)&x;
    CHECK(v != 0 && (unsigned long)(shared int *)0 == 0);
    return t_done();
}
//--- casts_to_local
shared int A[4*THREADS]; shared [3] int B[6*THREADS];
int main(void)
{
    int *l = (int *)&A[MYTHREAD];
    for (int k = 0; k < 4; k++) l[k] = k * THREADS + MYTHREAD;
    int *m = (int *)&B[3 * MYTHREAD];
    for (int k = 0; k < 6; k++) m[k] = -k;
    upc_barrier;
    for (int i = 0; i < 4*THREADS; i++) CHECK(A[i] == i);
    CHECK((int *)&A[MYTHREAD + THREADS] - l == 1);
    CHECK((char *)&A[MYTHREAD + THREADS] - (char *)l ==
          (long)(upc_addrfield(&A[MYTHREAD + THREADS]) - upc_addrfield(&A[MYTHREAD])));
    shared int *null = NULL;
    CHECK((int *)null == NULL && (void *)null == NULL);
    return t_done();
}
//--- function_pointers
int twice(int x) { return 2 * x; }
int thrice(int x) { return 3 * x; }
int (* shared op[THREADS])(int);
shared int a[THREADS];
shared int *pick(shared int *p, int i) { return p + i; }
shared int *(*chooser)(shared int *, int) = pick;
int main(void)
{
    op[MYTHREAD] = MYTHREAD % 2 ? thrice : twice;
    CHECK(op[MYTHREAD](5) == (MYTHREAD % 2 ? 15 : 10));
    CHECK((*op[MYTHREAD])(2) == (MYTHREAD % 2 ? 6 : 4));
    CHECK(chooser(a, THREADS - 1) == &a[THREADS - 1]);
    return t_done();
}
//--- varargs
#include "t.h"
#include <stdarg.h>
shared [2] int a[4*THREADS];
static int last(int n, ...)
{
    va_list ap;
    va_start(ap, n);
    shared [2] int *p = NULL;
    for (int i = 0; i < n; i++) p = va_arg(ap, shared [2] int *);
    va_end(ap);
    return p - a;
}
int main(void)
{
    CHECK(last(3, a, &a[1], &a[3]) == 3);
    return t_done();
}
//--- generic_pointer_chain
shared [3] double a[9*THREADS];
shared void *id(shared void *p) { return p; }
int main(void)
{
    for (int i = 0; i < 9*THREADS; i++) {
        shared [3] double *p = id(id(&a[i]));
        CHECK(p == &a[i] && upc_phaseof(p) == i % 3 && p - a == i);
    }
    return t_done();
}
//--- conditional
shared int a[THREADS], b[THREADS]; shared int x = 3, y = 4;
int main(void)
{
    int c = MYTHREAD % 2;
    shared int *p = c ? &a[0] : b;
    CHECK(p == (c ? a : &b[0]));
    CHECK((c ? x : y) == (c ? 3 : 4));
    CHECK((x ? 10 : 20) == 10 && (c ? p : NULL) == (c ? a : 0));
    shared void *v = c ? p : (shared void *)b;
    CHECK(v == (shared void *)p);
    CHECK((x ?: 5) == 3);
    return t_done();
}
//--- comma
shared int x = 1, y = 2;
int main(void)
{
    int k = (x, y);
    CHECK(k == 2);
    for (int i = 0, j = (x, y); i < 1; i++, j++) CHECK(j == 2);
    return t_done();
}
