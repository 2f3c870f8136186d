//--- integers
#include "t.h"
#include <stdint.h>
#include <upc_atomic.h>
#define ALL (UPC_GET | UPC_SET | UPC_CSWAP | UPC_AND | UPC_OR | UPC_XOR | UPC_ADD | UPC_SUB | UPC_MULT | UPC_INC | UPC_DEC | UPC_MAX | UPC_MIN)
#define FOR(N, T, K) shared T N##x[THREADS]; \
static void N(void) \
{ \
    upc_atomicdomain_t *d = upc_all_atomicdomain_alloc(K, ALL, UPC_ATOMIC_HINT_DEFAULT); \
    shared T *x = &N##x[(MYTHREAD + 1) % THREADS]; \
    T old = 0, v = 12, w = 10, y = 3; \
    upc_atomic_relaxed(d, NULL, UPC_SET, x, &v, NULL); \
    upc_atomic_relaxed(d, &old, UPC_GET, x, NULL, NULL); CHECK(old == 12); \
    upc_atomic_strict(d, &old, UPC_ADD, x, &y, NULL); CHECK(old == 12 && *x == 15); \
    upc_atomic_relaxed(d, &old, UPC_SUB, x, &w, NULL); CHECK(old == 15 && *x == 5); \
    upc_atomic_strict(d, &old, UPC_MULT, x, &y, NULL); CHECK(old == 5 && *x == 15); \
    upc_atomic_relaxed(d, &old, UPC_AND, x, &w, NULL); CHECK(old == 15 && *x == 10); \
    upc_atomic_relaxed(d, &old, UPC_OR, x, &y, NULL); CHECK(old == 10 && *x == 11); \
    upc_atomic_strict(d, &old, UPC_XOR, x, &y, NULL); CHECK(old == 11 && *x == 8); \
    upc_atomic_relaxed(d, &old, UPC_INC, x, NULL, NULL); CHECK(old == 8 && *x == 9); \
    upc_atomic_relaxed(d, &old, UPC_DEC, x, NULL, NULL); CHECK(old == 9 && *x == 8); \
    upc_atomic_strict(d, &old, UPC_MAX, x, &v, NULL); CHECK(old == 8 && *x == 12); \
    upc_atomic_strict(d, &old, UPC_MIN, x, &y, NULL); CHECK(old == 12 && *x == 3); \
    upc_atomic_relaxed(d, &old, UPC_CSWAP, x, &v, &w); CHECK(old == 3 && *x == 3); \
    upc_atomic_strict(d, &old, UPC_CSWAP, x, &y, &w); CHECK(old == 3 && *x == 10); \
    upc_atomic_relaxed(d, &old, UPC_SET, x, &v, NULL); CHECK(old == 10 && *x == 12); \
    upc_atomic_relaxed(d, NULL, UPC_ADD, x, &y, NULL); CHECK(*x == 15); \
    CHECK(upc_atomic_isfast(K, ALL, x) == 0 || upc_atomic_isfast(K, ALL, x) == 1); \
    upc_all_atomicdomain_free(d); \
}
FOR(i, int, UPC_INT) FOR(ui, unsigned, UPC_UINT) FOR(l, long, UPC_LONG) FOR(ul, unsigned long, UPC_ULONG)
FOR(i3, int32_t, UPC_INT32) FOR(u3, uint32_t, UPC_UINT32) FOR(i6, int64_t, UPC_INT64) FOR(u6, uint64_t, UPC_UINT64)
int main(void) { i(); ui(); l(); ul(); i3(); u3(); i6(); u6(); return t_done(); }
//--- floats
#include "t.h"
#include <upc_atomic.h>
#define ALL (UPC_GET | UPC_SET | UPC_CSWAP | UPC_ADD | UPC_SUB | UPC_MULT | UPC_INC | UPC_DEC | UPC_MAX | UPC_MIN)
#define FOR(N, T, K) shared T N##x[THREADS]; \
static void N(void) \
{ \
    upc_atomicdomain_t *d = upc_all_atomicdomain_alloc(K, ALL, UPC_ATOMIC_HINT_LATENCY); \
    shared T *x = &N##x[(MYTHREAD + 1) % THREADS]; \
    T old = 0, v = 2.5, w = -1, y = 0.5; \
    upc_atomic_strict(d, NULL, UPC_SET, x, &v, NULL); \
    upc_atomic_relaxed(d, &old, UPC_GET, x, NULL, NULL); CHECK(old == 2.5); \
    upc_atomic_relaxed(d, &old, UPC_ADD, x, &y, NULL); CHECK(old == 2.5 && *x == 3); \
    upc_atomic_strict(d, &old, UPC_SUB, x, &w, NULL); CHECK(old == 3 && *x == 4); \
    upc_atomic_relaxed(d, &old, UPC_MULT, x, &y, NULL); CHECK(old == 4 && *x == 2); \
    upc_atomic_relaxed(d, &old, UPC_INC, x, NULL, NULL); CHECK(old == 2 && *x == 3); \
    upc_atomic_strict(d, &old, UPC_DEC, x, NULL, NULL); CHECK(old == 3 && *x == 2); \
    upc_atomic_relaxed(d, &old, UPC_MAX, x, &v, NULL); CHECK(old == 2 && *x == 2.5); \
    upc_atomic_relaxed(d, &old, UPC_MIN, x, &w, NULL); CHECK(old == 2.5 && *x == -1); \
    upc_atomic_relaxed(d, &old, UPC_CSWAP, x, &w, &y); CHECK(old == -1 && *x == 0.5); \
    upc_atomic_strict(d, &old, UPC_CSWAP, x, &w, &v); CHECK(old == 0.5 && *x == 0.5); \
    upc_all_atomicdomain_free(d); \
}
FOR(f, float, UPC_FLOAT) FOR(g, double, UPC_DOUBLE)
int main(void) { f(); g(); return t_done(); }
//--- pointers
#include "t.h"
#include <upc_atomic.h>
shared [4] int a[8*THREADS]; shared void * shared slot[THREADS];
int main(void)
{
    upc_atomicdomain_t *d = upc_all_atomicdomain_alloc(UPC_PTS, UPC_GET | UPC_SET | UPC_CSWAP, 0);
    shared void *old = NULL, *p = &a[1], *q = &a[5], *bare = upc_resetphase(&a[1]);
    shared void * shared *x = &slot[(MYTHREAD + 1) % THREADS];
    upc_atomic_relaxed(d, NULL, UPC_SET, x, &p, NULL);
    upc_atomic_strict(d, &old, UPC_GET, x, NULL, NULL);
    CHECK(old == p && upc_phaseof(old) == 1);
    upc_atomic_relaxed(d, &old, UPC_CSWAP, x, &q, &q);
    CHECK(old == p && *x == p);
    upc_atomic_strict(d, &old, UPC_CSWAP, x, &bare, &q); // the phase does not count
    CHECK(old == p && *x == q && upc_phaseof(*x) == 1);
    upc_all_atomicdomain_free(d);
    return t_done();
}
//--- contended
#include "t.h"
#include <upc_atomic.h>
enum { N = 200 };
shared long sum, product_of_signs = 1; shared double d_sum; shared int most, bits; shared unsigned long turns;
int main(void)
{
    upc_atomicdomain_t *l = upc_all_atomicdomain_alloc(UPC_LONG, UPC_ADD | UPC_MULT, UPC_ATOMIC_HINT_THROUGHPUT);
    upc_atomicdomain_t *f = upc_all_atomicdomain_alloc(UPC_DOUBLE, UPC_ADD, 0);
    upc_atomicdomain_t *i = upc_all_atomicdomain_alloc(UPC_INT, UPC_MAX | UPC_OR, 0);
    upc_atomicdomain_t *u = upc_all_atomicdomain_alloc(UPC_ULONG, UPC_CSWAP | UPC_GET, 0);
    long one = 1, minus = -1; double half = 0.5;
    for (int k = 0; k < N; k++) {
        upc_atomic_relaxed(l, NULL, UPC_ADD, &sum, &one, NULL);
        upc_atomic_relaxed(l, NULL, UPC_MULT, &product_of_signs, &minus, NULL);
        upc_atomic_strict(f, NULL, UPC_ADD, &d_sum, &half, NULL);
        int v = k * THREADS + MYTHREAD, bit = 1 << MYTHREAD;
        upc_atomic_relaxed(i, NULL, UPC_MAX, &most, &v, NULL);
        upc_atomic_relaxed(i, NULL, UPC_OR, &bits, &bit, NULL);
        unsigned long seen, want, next;
        upc_atomic_relaxed(u, &seen, UPC_GET, &turns, NULL, NULL);
        do { want = seen; next = want + 1; upc_atomic_strict(u, &seen, UPC_CSWAP, &turns, &want, &next); } while (seen != want);
    }
    upc_barrier;
    CHECK(sum == N * THREADS && product_of_signs == 1 && d_sum == 0.5 * N * THREADS);
    CHECK(most == N * THREADS - 1 && bits == (1 << THREADS) - 1 && turns == (unsigned long)N * THREADS);
    upc_all_atomicdomain_free(l); upc_all_atomicdomain_free(f); upc_all_atomicdomain_free(i); upc_all_atomicdomain_free(u);
    upc_all_atomicdomain_free(NULL);
    return t_done();
}
//--- op_not_in_domain threads=2 out= rc=fail err=UPC\sthread
#include "t.h"
#include <upc_atomic.h>
shared int x;
int main(void)
{
    upc_atomicdomain_t *d = upc_all_atomicdomain_alloc(UPC_INT, UPC_ADD, 0);
    int one = 1;
    upc_atomic_relaxed(d, NULL, UPC_XOR, &x, &one, NULL);
    return t_done();
}
//--- op_not_for_type threads=2 out= rc=fail err=UPC\sthread
#include "t.h"
#include <upc_atomic.h>
int main(void) { upc_all_atomicdomain_alloc(UPC_DOUBLE, UPC_XOR, 0); return t_done(); }
