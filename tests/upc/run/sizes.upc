//--- sizeof_shared
shared int x; shared [4] int a[8*THREADS]; shared [] short b[6];
int main(void)
{
    CHECK(sizeof x == 4 && sizeof(x) == sizeof(int));
    CHECK(sizeof a == 32 * THREADS && sizeof a[0] == 4 && sizeof *a == 4);
    CHECK(sizeof b == 12);
    return t_done();
}
//--- sizeof_constant
shared [] short b[6];
_Static_assert(sizeof b == 12, "indefinite arrays have constant size");
_Static_assert(sizeof(shared int *) == 8, "pointers take 64 bits");
_Static_assert(upc_blocksizeof(b) == 0, "indefinite");
_Static_assert(upc_localsizeof(b) == 12, "all of it");
_Static_assert(upc_elemsizeof(b) == 2, "short");
shared [4] int a[8*THREADS];
int k[upc_blocksizeof(a) + upc_localsizeof(a)];
int main(void) { CHECK(sizeof k == 36 * sizeof(int)); return t_done(); }
//--- unevaluated
shared int a[4*THREADS];
int calls;
int f(void) { calls++; return 0; }
int main(void)
{
    int i = 0;
    size_t s = sizeof a[i++] + upc_elemsizeof(a[f()]) + upc_blocksizeof(a[i++]) + upc_localsizeof(a[f()]);
    CHECK(i == 0 && calls == 0 && s == 13);
    return t_done();
}
//--- type_names
int main(void)
{
    CHECK(upc_blocksizeof(shared [7] int) == 7);
    CHECK(upc_blocksizeof(shared int) == 1);
    CHECK(upc_blocksizeof(shared [] int) == 0);
    CHECK(upc_elemsizeof(shared [2] long[4*THREADS]) == sizeof(long));
    CHECK(upc_localsizeof(shared [2] long[4*THREADS]) == 4 * sizeof(long));
    CHECK(upc_localsizeof(shared [3] long[4*THREADS]) == 6 * sizeof(long));
    CHECK(sizeof(shared [2] long[4*THREADS]) == 4 * THREADS * sizeof(long));
    return t_done();
}
//--- through_pointer
shared [6] double *p;
int main(void)
{
    CHECK(upc_blocksizeof(*p) == 6 && upc_elemsizeof(*p) == 8 && upc_localsizeof(*p) == 8);
    CHECK(sizeof *p == 8 && sizeof p == 8);
    return t_done();
}
//--- static_local flags=-T=4
shared int a[10]; shared [3] char c[100];
int main(void)
{
    CHECK(upc_localsizeof(a) == 12 && sizeof a == 40);
    CHECK(upc_localsizeof(c) == 27);
    return t_done();
}
//--- struct_with_pts
struct N { int v; shared struct N *next; char c; };
union U { shared int *p; char c[3]; };
int main(void)
{
    CHECK(sizeof(struct N) == 24 && sizeof(union U) == 8);
    CHECK(sizeof((struct N *)0)->next == 8);
    return t_done();
}
//--- affinitysize threads=4
int main(void)
{
    CHECK(upc_affinitysize(52, 12, 0) == 16 && upc_affinitysize(52, 12, 1) == 12);
    CHECK(upc_affinitysize(52, 12, 3) == 12 && upc_affinitysize(52, 0, 0) == 52);
    CHECK(upc_affinitysize(52, 0, 1) == 0 && upc_affinitysize(5, 12, 0) == 5);
    return t_done();
}
//--- macros
#if !defined __UPC__ || __UPC__ != 1
#error no __UPC__
#endif
#if __UPC_VERSION__ < 201311L
#error old
#endif
#if UPC_MAX_BLOCK_SIZE < 1000
#error small
#endif
#if defined THREADS || !defined __UPC_DYNAMIC_THREADS__ || defined __UPC_STATIC_THREADS__
#error not dynamic
#endif
#if !defined __UPC_COLLECTIVE__ || !defined __UPC_TICK__
#error libraries
#endif
#include "t.h"
int main(void) { return t_done(); }
//--- macros_static flags=-T=3
#if THREADS != 3 || defined __UPC_DYNAMIC_THREADS__ || !defined __UPC_STATIC_THREADS__
#error not static
#endif
#include "t.h"
int per[THREADS];
struct S { int m[THREADS]; };
int pick(int i) { switch (i) { case THREADS: return 1; default: return 0; } }
int main(void) { CHECK(sizeof per == 12 && sizeof(struct S) == 12 && pick(3)); return t_done(); }
//--- star_in_type_names threads=3
int main(void)
{
    CHECK(upc_blocksizeof(shared [*] int[7 * THREADS]) == 7 && upc_blocksizeof(shared [*] int) == 1);
    CHECK(upc_localsizeof(shared [*] double[3 * THREADS]) == 24 && upc_elemsizeof(shared [*] char[4 * THREADS]) == 1);
    CHECK(sizeof(shared [*] int[5 * THREADS]) == 20 * THREADS);
    return t_done();
}
//--- star_in_type_names_static flags=-T=3 threads=3
_Static_assert(upc_blocksizeof(shared [*] int[10]) == 4 && upc_localsizeof(shared [*] int[10]) == 16, "4, 4, 2");
int main(void) { return t_done(); }
//--- typedef_of_threads threads=3
typedef int t[THREADS]; typedef double m[3][2 * THREADS], *pd; typedef t tt;
shared t x; shared [2] m y; shared tt w;
static int pick(t a, int n) { return a[n]; }
int main(void)
{
    t own, *whole = &own; m q; tt r; pd d = &q[2][2 * THREADS - 1];
    own[MYTHREAD] = 5; q[2][2 * THREADS - 1] = 1.5; r[0] = 1;
    x[MYTHREAD] = 1; y[2][MYTHREAD] = 2; w[MYTHREAD] = 3;
    CHECK(sizeof x == THREADS * sizeof(int) && sizeof(t) == sizeof x && sizeof own == sizeof x && sizeof r == sizeof own);
    CHECK(sizeof(m) == 6 * THREADS * sizeof(double) && pick(own, MYTHREAD) == 5 && *d == 1.5 && (*whole)[MYTHREAD] == 5);
    CHECK(x[MYTHREAD] == 1 && y[2][MYTHREAD] == 2 && w[MYTHREAD] == 3 && r[0] == 1);
    return t_done();
}
