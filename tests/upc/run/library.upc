//--- all_alloc
int main(void)
{
    shared int *A = upc_all_alloc(THREADS, 4 * sizeof(int));
    CHECK(A != NULL && upc_threadof(A) == 0 && upc_phaseof(A) == 0);
    for (int j = 0; j < 4; j++) A[MYTHREAD + THREADS * j] = MYTHREAD * 10 + j;
    upc_barrier;
    for (int t = 0; t < THREADS; t++) {
        shared [] int *l = (shared [] int *)&A[t];
        for (int j = 0; j < 4; j++) CHECK(l[j] == t * 10 + j);
    }
    shared [4] int *B = (shared [4] int *)A;
    CHECK(B[5 % (4*THREADS)] == (THREADS > 1 ? 11 : B[1]));
    upc_barrier;
    upc_all_free(A);
    CHECK(upc_all_alloc(0, 5) == NULL && upc_alloc(0) == NULL);
    return t_done();
}
//--- global_alloc
shared [8] int * shared p;
int main(void)
{
    if (MYTHREAD == THREADS - 1) p = upc_global_alloc(2 * THREADS, 8 * sizeof(int));
    upc_barrier;
    for (int i = 0; i < 8; i++) p[8 * MYTHREAD + i] = MYTHREAD;
    upc_barrier;
    for (int i = 0; i < 8 * THREADS; i++) CHECK(p[i] == i / 8 && upc_threadof(&p[i]) == i / 8);
    shared int *one = upc_global_alloc(1, 100);
    CHECK(upc_threadof(one) == 0);
    upc_free(one);
    upc_barrier;
    if (MYTHREAD == 0) upc_free(p);
    upc_free(NULL);
    return t_done();
}
//--- alloc_local
shared [] double * shared part[THREADS];
int main(void)
{
    part[MYTHREAD] = upc_alloc(5 * sizeof(double));
    CHECK(upc_threadof(part[MYTHREAD]) == MYTHREAD);
    double *l = (double *)part[MYTHREAD];
    for (int i = 0; i < 5; i++) l[i] = MYTHREAD + i / 10.0;
    upc_barrier;
    for (int t = 0; t < THREADS; t++) for (int i = 0; i < 5; i++) CHECK(part[t][i] == t + i / 10.0);
    upc_barrier;
    upc_free(part[(MYTHREAD + 1) % THREADS]);
    return t_done();
}
//--- memory_copies
shared [16] char s[16*THREADS], d[16*THREADS]; struct S { int a; char name[10]; }; shared struct S st;
int main(void)
{
    char buf[16];
    for (int i = 0; i < 16; i++) buf[i] = MYTHREAD * 16 + i;
    upc_memput(&s[16 * MYTHREAD], buf, 16);
    upc_barrier;
    int o = (MYTHREAD + 1) % THREADS;
    upc_memget(buf, &s[16 * o + 3], 7);
    for (int i = 0; i < 7; i++) CHECK(buf[i] == (char)(16 * o + 3 + i));
    upc_memcpy(&d[16 * o], &s[16 * MYTHREAD], 16);
    upc_memcpy(&d[16 * o], &s[16 * MYTHREAD], 0);
    upc_barrier;
    for (int i = 0; i < 16; i++) CHECK(d[16 * o + i] == (char)(16 * MYTHREAD + i));
    upc_barrier;
    upc_memset(&d[16 * o + 1], 0x1ff, 3);
    upc_barrier;
    CHECK((unsigned char)d[16 * MYTHREAD + 2] == 255 && d[16 * MYTHREAD + 4] != -1);
    if (MYTHREAD == 0) upc_memput(st.name, "hello", 6);
    upc_barrier;
    char n[10];
    upc_memget(n, st.name, 6);
    CHECK(strcmp(n, "hello") == 0 && st.name[1] == 'e');
    return t_done();
}
//--- reduce
shared double v[4*THREADS]; shared [3] int b[6*THREADS]; shared double sum; shared int mx; shared long lr; shared [2] long l[2*THREADS], pl[2*THREADS];
static long longest(long x, long y) { return x > y ? x : y; }
int main(void)
{
    for (int i = 0; i < 4; i++) v[MYTHREAD + i * THREADS] = MYTHREAD + i * THREADS;
    int i;
    upc_forall (i = 0; i < 6*THREADS; i++; &b[i]) b[i] = i;
    l[2 * MYTHREAD] = 2 * MYTHREAD + 1; l[2 * MYTHREAD + 1] = 1;
    upc_all_reduceD(&sum, v, UPC_ADD, 4*THREADS, 1, NULL, UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC);
    CHECK(sum == 4*THREADS * (4*THREADS - 1) / 2);
    upc_all_reduceI(&mx, &b[1], UPC_MAX, 6*THREADS - 1, 3, NULL, 0);
    CHECK(mx == 6*THREADS - 1);
    upc_all_reduceL(&lr, l, UPC_FUNC, 2*THREADS, 2, longest, 0);
    CHECK(lr == 2*THREADS - 1);
    upc_all_prefix_reduceL(pl, l, UPC_ADD, 2*THREADS, 2, NULL, 0);
    long s = 0;
    for (i = 0; i < 2*THREADS; i++) { s += l[i]; CHECK(pl[i] == s); }
    return t_done();
}
//--- data_movement
shared [2] int src[2*THREADS], dst[2*THREADS]; shared [] int one[2]; shared int perm[THREADS];
int main(void)
{
    if (MYTHREAD == 0) { one[0] = 5; one[1] = 6; }
    upc_all_broadcast(dst, one, 2 * sizeof(int), 0);
    CHECK(dst[2 * MYTHREAD] == 5 && dst[2 * MYTHREAD + 1] == 6);
    src[2 * MYTHREAD] = MYTHREAD; perm[MYTHREAD] = (MYTHREAD + 1) % THREADS;
    upc_all_permute(dst, src, perm, 2 * sizeof(int), 0);
    CHECK(dst[2 * ((MYTHREAD + 1) % THREADS)] == MYTHREAD);
    return t_done();
}
//--- tick
#include "t.h"
#include <upc_tick.h>
int main(void)
{
    upc_tick_t a = upc_ticks_now(), b = upc_ticks_now();
    CHECK(b >= a && upc_ticks_to_ns(b - a) < 1000000000u && UPC_TICK_MAX > UPC_TICK_MIN);
    return t_done();
}
//--- castable modes=proc,pt
#include "t.h"
#include <upc_castable.h>
shared int a[THREADS];
int main(void)
{
    a[MYTHREAD] = MYTHREAD + 1;
    upc_barrier;
    upc_thread_info_t info = upc_thread_info(0);
    CHECK(info.guaranteedCastable <= UPC_CASTABLE_ALL);
    int *p = upc_cast(&a[(MYTHREAD + 1) % THREADS]);
    CHECK(p == NULL || *p == (MYTHREAD + 1) % THREADS + 1);
    CHECK(upc_cast(NULL) == NULL);
    return t_done();
}
//--- headers_all
#include <upc.h>
#include <upc_relaxed.h>
#include <upc_strict.h>
#include <upc_relaxed.h>
#include <upc_types.h>
#include <upc_collective.h>
#include <upc_tick.h>
#include <upc_atomic.h>
#include <upc_nb.h>
#include <upc_castable.h>
#include "t.h"
#if UPC_ADD != 1 || UPC_PTS != 22 || (UPC_OUT_NOSYNC) != 32 || UPC_CSWAP != 2048 || UPC_CASTABLE_ALL != 15
#error values
#endif
upc_atomicdomain_t *dom; upc_handle_t h = UPC_COMPLETE_HANDLE;
int main(void) { CHECK(dom == NULL && h == NULL); return t_done(); }
//--- no_header_needed
shared int a[THREADS]; extern int printf(const char *, ...);
#define NOTHING
#include <stddef.h>
int main(void) { a[MYTHREAD] = 1; upc_barrier; int s = 0; for (int i = 0; i < THREADS; i++) s += a[i]; if (MYTHREAD == 0 && s == THREADS) printf("ok\n"); return 0; }
