//--- typeof_and_for
shared int a[4*THREADS], b[4*THREADS];
int main(void)
{
    __typeof__(&a[0]) p = a; __typeof__(*(int *)0) n = 0; typeof(a[0] + 1) m = 2;
    if (MYTHREAD == 0) {
        for (shared int *x = a, *y = b; x < a + 4*THREADS; x++, y++) { *x = n++; *y = -*x; }
        CHECK(p[3] == 3 && b[2] == -2 && m == 2 && n == 4*THREADS);
    }
    return t_done();
}
//--- callbacks
shared int a[4*THREADS];
struct ops { void (*set)(shared int *, int); shared int *(*find)(int); int (*null)(shared void *); };
static void set(shared int *p, int v) { *p = v; }
static shared int *find(int i) { return &a[i]; }
static int is_null(shared void *p) { return p == NULL; }
static const struct ops ops = { set, find, is_null }; void (*cb)(shared int *, int) = set;
typedef shared int *(*finder)(int);
int apply(int (*f)(shared void *), shared void *p) { return f(p); }
int main(void)
{
    if (MYTHREAD == 0) { ops.set(ops.find(2), 9); cb(a + 1, 4); ((finder)ops.find)(0)[0] = 3; (*cb)(&a[3], 5); }
    upc_barrier;
    CHECK(a[2] == 9 && a[1] == 4 && a[0] == 3 && a[3] == 5 && ops.null(NULL) && ops.null(0) && !ops.null(a) && apply(is_null, NULL));
    return t_done();
}
//--- qualified_pointers
shared int a[4*THREADS]; typedef shared int *sp; typedef shared [2] double *dp; shared [2] double d[2*THREADS];
int f(sp restrict p, const sp q, shared int *const r, volatile sp s, dp x) { return p[0] + q[1] + r[2] + s[3] + (x == d); }
sp const fixed = &a[1]; static volatile sp vol;
int main(void)
{
    if (MYTHREAD == 0) for (int i = 0; i < 4; i++) a[i] = i + 1;
    upc_barrier;
    sp p = a, *pp = &p, list[3] = { a, fixed, NULL };
    vol = p; (*pp)++; pp[0] += 1;
    CHECK(f(a, a, a, a, d) == 11 && *fixed == 2 && *p == 3 && vol == a && list[1] == fixed && !list[2]);
    return t_done();
}
//--- pointer_to_pts
shared int a[6*THREADS];
void next(shared int **p, int n) { *p += n; (*p)--; ++*p; }
shared int **pick(shared int **v, int i) { return &v[i]; }
int main(void)
{
    shared int *p = a, *v[3] = { a, a + 1, a + 2 }, *(*w)[3] = &v;
    next(&p, 3);
    CHECK(p == &a[3] && **pick(v, 0) == a[0] && *pick(v, 2) == &a[2] && (*w)[1] == &a[1]);
    *pick(v, 1) = NULL;
    CHECK(v[1] == NULL && (*pick(v, 2))++ == &a[2] && v[2] == &a[3]);
    shared int ***deep = (shared int **[]){ v };
    CHECK(deep[0][0] == a);
    return t_done();
}
//--- copy_loops
shared int a[8*THREADS], b[8*THREADS]; int priv[8];
int main(void)
{
    if (MYTHREAD == 0) {
        shared int *s = a, *d = b; int *l = priv;
        for (int i = 0; i < 8; i++) *s++ = i * i;
        s = a; for (int i = 0; i < 8; i++) *d++ = *s++;
        s = b; for (int i = 0; i < 8; i++) *l++ = *s++ + 1;
        l = priv; d = a; for (int i = 0; i < 8; i++) *d++ = *l++;
        for (int i = 0; i < 8; i++) CHECK(a[i] == i * i + 1 && b[i] == i * i && priv[i] == a[i]);
    }
    return t_done();
}
//--- tests_and_assignments
struct N { int v; shared struct N *next; }; shared struct N n[3*THREADS];
int main(void)
{
    if (MYTHREAD == 0) {
        n[0].next = &n[1]; n[1].next = &n[2];
        for (int i = 0; i < 3; i++) n[i].v = i;
        int c = 0; shared struct N *p, *q = NULL;
        for (p = n; p; p = p->next) c++;
        p = n; while ((p = p->next) != NULL) { c += 10; q = p; }
        CHECK(c == 23 && q == &n[2] && !q->next && n[0].next->next->v == 2);
        _Bool has = n[0].next; _Bool none = q->next; CHECK(has && !none);
        if ((p = n[1].next)) c++; else c = 0;
        p = q->next ? q->next : n;
        CHECK(c == 24 && p == n && (q->next == NULL || q->next->v) && (p && p->v == 0));
        CHECK((p->next ? p->next->v : -1) == 1 && (1 ? n[2] : n[1]).v == 2);
    }
    return t_done();
}
//--- macro_commas
struct S { int a, b; shared int *p; }; shared struct S s[THREADS]; shared int x[4*THREADS];
#define MAX(a, b) ((a) > (b) ? (a) : (b))
int two(int a, int b) { return a * 10 + b; }
int main(void)
{
    s[MYTHREAD] = (struct S){ 1, 2, &x[1] };
    s[MYTHREAD].a = two(3, (4, 5)); s[MYTHREAD].b += MAX(s[MYTHREAD].a, 7);
    CHECK(s[MYTHREAD].a == 35 && s[MYTHREAD].b == 37 && s[MYTHREAD].p == &x[1]);
    s[MYTHREAD].p += (struct S){ 2, 1 }.a;
    CHECK(s[MYTHREAD].p == &x[3] && two(s[MYTHREAD].a, s[MYTHREAD].b) == 387);
    return t_done();
}
//--- multi_line
shared int a[4*THREADS];
int sum(int a, int b, int c) { return a + b + c; }
int main(void)
{
    int m = MYTHREAD;
    a[m]
        = sum(1,
              a[m] + 2,

              3
        );
    CHECK(
        a[m]
        == 6);
    int line = __LINE__; CHECK(line == 15);
    return t_done();
}
//--- shared_rows_parameter
#define COLS 5
struct cell { int v; double w; };
shared [COLS] struct cell grid[2*THREADS][COLS];
int total(shared [COLS] struct cell (*g)[COLS], int rows) { int s = 0; for (int i = 0; i < rows; i++) for (int j = 0; j < COLS; j++) s += g[i][j].v; return s; }
int row(shared [COLS] struct cell r[COLS]) { return r[2].v; }
int main(void)
{
    int i;
    upc_forall (i = 0; i < 2*THREADS; i++; &grid[i][0]) for (int j = 0; j < COLS; j++) { grid[i][j].v = i; grid[i][j].w = j; }
    upc_barrier;
    CHECK(total(grid, 2*THREADS) == COLS * THREADS * (2*THREADS - 1) && row(grid[1]) == 1 && grid[1][4].w == 4);
    CHECK(total(&grid[1], 1) == 5);
    return t_done();
}
//--- lock_tables
upc_lock_t *mine[2]; upc_lock_t * shared board[2*THREADS]; struct { upc_lock_t *l; int n; } pair;
int main(void)
{
    mine[1] = upc_all_lock_alloc(); pair.l = mine[1];
    if (MYTHREAD == 0) for (int i = 0; i < 2*THREADS; i++) board[i] = upc_global_lock_alloc();
    upc_barrier;
    for (int i = 0; i < 2*THREADS; i++) { upc_lock(board[i]); upc_unlock(board[i]); }
    upc_lock(pair.l); pair.n++; upc_unlock(mine[1]);
    CHECK(mine[0] == NULL && mine[1] != NULL && pair.n == 1 && board[0] != board[1]);
    return t_done();
}
//--- member_updates
struct S { int arr[4]; short h; char c; float f; struct { long l; } in; }; shared struct S s[2*THREADS]; int calls; int ix(void) { calls++; return MYTHREAD; }
int main(void)
{
    int i = 0; shared struct S *p = &s[MYTHREAD];
    p->arr[i++]++; p->arr[i++] += 5; --p->arr[i++]; s[ix()].arr[3] -= 2; (*p).h |= 0x10; p->h <<= 1; p->c = 'a'; p->c++; p->f = 1; p->f /= 4; p->in.l = 1L << 33; p->in.l++;
    CHECK(i == 3 && calls == 1 && p->arr[0] == 1 && p->arr[1] == 5 && p->arr[2] == -1 && p->arr[3] == -2);
    CHECK(p->h == 0x20 && p->c == 'b' && p->f == 0.25f && p->in.l == (1L << 33) + 1 && sizeof p->arr == 16);
    return t_done();
}
//--- static_inline_in_header files
#include "t.h"
#include "lib.h"
int main(void) { bump(3); upc_barrier; CHECK(get() == 3 * THREADS); return t_done(); }
//-- lib.h
#ifndef LIB_H
#define LIB_H
#include <upc.h>
extern shared int cells[];
static inline void bump(int n) { cells[MYTHREAD] += n; }
static inline int get(void) { int s = 0; for (int i = 0; i < THREADS; i++) s += cells[i]; return s; }
#endif
//-- cells.upc
#include "lib.h"
shared int cells[THREADS];
int unused(void) { return get(); }
//--- block_prototypes
int main(void)
{
    extern shared int *late(int), other; shared int *f(shared int *, int);
    CHECK(late(2) - late(0) == 2 && f(late(0), 1) == late(1) && other == 6);
    return t_done();
}
shared int pool[4*THREADS], other = 6;
shared int *late(int i) { return pool + i; }
shared int *f(shared int *p, int i) { return &p[i]; }
//--- unions_with_pts
union U { shared int *p; unsigned long bits; struct { int lo, hi; } w; }; shared int a[3*THREADS]; shared union U su;
int main(void)
{
    union U u = { .p = &a[1] }, v = { NULL };
    CHECK(u.bits != 0 && v.bits == 0 && u.p == a + 1);
    if (MYTHREAD == 0) su.p = &a[2];
    upc_barrier;
    CHECK(su.p == &a[2] && su.bits == (unsigned long)&a[2]);
    u = su; CHECK(u.p - a == 2);
    return t_done();
}
//--- attributes_kept
static shared int *find(int) __attribute__((noinline, unused)); shared int a[4*THREADS];
static __attribute__((noinline)) shared int *find(int i) { return a + i; }
extern shared int *renamed(void) __asm__("other_symbol"); shared int *other_symbol(void) { return a + 2; }
struct __attribute__((aligned(32))) Al { shared int *p; char c; } al __attribute__((unused));
void f(shared int *p __attribute__((unused))) { }
int main(void) { __attribute__((aligned(64))) shared int *p = a; CHECK((unsigned long)&p % 64 == 0 && find(1) == a + 1 && renamed() == a + 2 && sizeof al == 32); f(p); return t_done(); }
//--- index_types
shared [4] int b[16*THREADS]; enum E { ONE = 1, THREE = 3 }; struct { unsigned k : 5; } bf = { 7 }; shared int si = 2;
int main(void)
{
    if (MYTHREAD == 0) for (int i = 0; i < 16; i++) b[i] = i;
    upc_barrier;
    enum E e = THREE; unsigned char uc = 9; _Bool t = 1; unsigned long long ull = 11; long neg = -2; shared [4] int *p = &b[5];
    CHECK(b[e] == 3 && b[uc] == 9 && b[t] == 1 && b[ull] == 11 && b[bf.k] == 7 && b[si] == 2 && b['\n'] == 10 && p[neg] == 3 && *(neg + p) == 3 && p[-ONE] == 4);
    return t_done();
}
//--- nested_macros_and_parens
shared int a[4*THREADS];
#define A(i) (a[(i)])
#define INC(x) ((x)++)
int main(void)
{
    int m = MYTHREAD;
    (a[m]) = 1; ((a)[m]) += 2; (*(&a[m])) *= 3; INC(A(m)); (INC((A(m))));
    CHECK(((a[m])) == 11 && (*&a[m]) == 11 && &(a[m]) == &A(m) && (&*a) == a && *(a + m) == A(m));
    return t_done();
}
//--- float_int_mix
shared float f[THREADS]; shared int i[THREADS]; shared long double ld[THREADS]; shared unsigned char uc[THREADS];
int main(void)
{
    int m = MYTHREAD;
    f[m] = 7; f[m] += 0.5; i[m] = f[m] * 2; i[m] -= 0.5; ld[m] = i[m] / 4.0L; uc[m] = -1; uc[m] >>= 1; i[m] <<= uc[m] & 1;
    CHECK(f[m] == 7.5f && i[m] == 28 && ld[m] == 3.5L && uc[m] == 127 && sizeof(f[m] + 1) == 4 && sizeof(f[m] + 1.0) == 8);
    return t_done();
}
//--- many_shared
#define V(n) shared int v##n = n; static shared [2] long w##n[2*THREADS];
V(1) V(2) V(3) V(4) V(5) V(6) V(7) V(8) V(9) V(10) V(11) V(12)
int main(void) { if (MYTHREAD == THREADS - 1) w3[0] = 4; upc_barrier; CHECK(v1 + v12 == 13 && v7 == 7 && w3[0] == 4 && w4[0] == 0 && w12[1] == 0); return t_done(); }
//--- switch_on_shared
shared int x = 2; shared enum { P, Q, R } e = R; shared char c = 'b';
int main(void)
{
    int n = 0;
    switch (x) { case 1: n = 1; break; case 2: n = 2; }
    switch (e) { case R: n += 10; break; default: n = 0; }
    switch (c) { case 'a' ... 'c': n += 100; __attribute__((fallthrough)); case 'z': n += 1000; }
    CHECK(n == 1112);
    return t_done();
}
//--- pts_ternary_chain
shared int a[THREADS], b[THREADS]; shared [] int c[2];
int main(void)
{
    int k = MYTHREAD % 3;
    shared int *p = k == 0 ? a : k == 1 ? &b[0] : NULL;
    shared void *v = k == 0 ? (shared void *)c : p;
    CHECK((k == 2) == (p == NULL) && (k != 0 || p == a) && (v == c) == (k == 0));
    *(k ? &a[MYTHREAD] : &b[MYTHREAD]) = 5;
    CHECK((k ? a : b)[MYTHREAD] == 5);
    return t_done();
}
//--- offsetof_shared
#include "t.h"
#include <stddef.h>
typedef shared struct S { char c; int v[3]; } SS; SS s; size_t off = offsetof(struct S, v[2]);
int main(void) { CHECK(off == 12 && upc_addrfield(&s.v[2]) - upc_addrfield(&s) == offsetof(struct S, v[2]) && sizeof(SS) == 16); return t_done(); }
//--- const_expressions flags=-T=2
enum { K = 3, L = K * 2 + (1 << 2) - (10 > 3), M = sizeof(long) / sizeof(char), N = -7 / 2, O = (unsigned char)300, P = 5 % 3 ? 'a' : 0 };
shared [L] int a[L * 4]; shared [M] char b[64]; shared [(K > 2) ? 4 : 1] short c[32]; shared [sizeof(struct { int x; char y; })] char d[32]; shared [UPC_MAX_BLOCK_SIZE % 10 + 1] int e[40];
int main(void) { CHECK(upc_blocksizeof(a) == L && L == 9 && upc_blocksizeof(b) == 8 && upc_blocksizeof(c) == 4 && upc_blocksizeof(d) == 8 && upc_blocksizeof(e) == 6 && N == -3 && O == 44 && P == 'a'); return t_done(); }
//--- volatile_spin threads=2 races=volatile_flag
volatile shared int flag, count; volatile shared struct { int a; } s;
int main(void)
{
    if (MYTHREAD == 0) { flag = 1; } else { while (flag == 0) ; count += 2; count++; s.a = count--; }
    upc_barrier;
    CHECK(flag == 1 && count == 2 && s.a == 3);
    return t_done();
}
//--- const_members
struct C { const int k; char name[4]; }; shared struct C c = { 7, "abc" }; shared const struct C arr[THREADS] = { { 3, "x" } };
int main(void) { struct C v = c, w = arr[0]; CHECK(v.k == 7 && v.name[1] == 'b' && w.k == 3 && c.k == 7); return t_done(); }
//--- generic_selection
shared int *p; shared [2] int *q; shared void *v; unsigned long u;
#define KIND(x) _Generic((x), shared int *: 1, shared [2] int *: 2, shared void *: 3, unsigned long: 4, default: 5)
_Static_assert(KIND(p) == 1 && KIND(q) == 2, "");
int main(void) { CHECK(KIND(p) == 1 && KIND(q) == 2 && KIND(v) == 3 && KIND(u) == 4 && KIND((int *)0) == 5 && KIND(p + 1) == 1); return t_done(); }
//--- types_compatible
typedef shared int *P; typedef shared double *Q; shared int *p; shared [2] int *q; double d;
#define SAME(a, b) __builtin_types_compatible_p(a, b)
_Static_assert(!SAME(P, Q) && !SAME(P *, Q *) && !SAME(int (*)(P), int (*)(Q)) && !SAME(P, unsigned long), "");
_Static_assert(SAME(P, shared [1] int *) && SAME(P const, P) && SAME(int (*)(P), int (*)(shared int *)), "");
int few[SAME(__typeof__(p), __typeof__(q)) ? 3 : 5];
int main(void) { CHECK(sizeof few == 5 * sizeof(int) && sizeof(__builtin_choose_expr(SAME(P, Q), (char)1, d)) == sizeof d); return t_done(); }
