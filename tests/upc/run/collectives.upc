//--- scatter
#include "t.h"
#include <upc_collective.h>
shared [] short src[3 * 64]; shared [3] short dst[3*THREADS];
int main(void)
{
    if (MYTHREAD == 0) for (int i = 0; i < 3*THREADS; i++) src[i] = 7 * i;
    upc_all_scatter(dst, src, 3 * sizeof(short), UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC);
    for (int i = 0; i < 3*THREADS; i++) CHECK(dst[i] == 7 * i);
    return t_done();
}
//--- scatter_from_elsewhere
#include "t.h"
#include <upc_collective.h>
shared [] int * shared src; shared int dst[THREADS];
int main(void)
{
    if (MYTHREAD == THREADS - 1) {
        src = upc_alloc(THREADS * sizeof(int));
        for (int i = 0; i < THREADS; i++) src[i] = 100 - i;
    }
    upc_barrier;
    upc_all_scatter(dst, src, sizeof(int), UPC_IN_NOSYNC | UPC_OUT_MYSYNC);
    CHECK(dst[MYTHREAD] == 100 - MYTHREAD);
    return t_done();
}
//--- gather
#include "t.h"
#include <upc_collective.h>
shared [2] long src[2*THREADS]; shared [] long dst[2 * 64];
int main(void)
{
    src[2 * MYTHREAD] = MYTHREAD; src[2 * MYTHREAD + 1] = -MYTHREAD;
    upc_all_gather(dst, src, 2 * sizeof(long), UPC_IN_MYSYNC | UPC_OUT_ALLSYNC);
    for (int i = 0; i < THREADS; i++) CHECK(dst[2 * i] == i && dst[2 * i + 1] == -i);
    return t_done();
}
//--- gather_to_elsewhere
#include "t.h"
#include <upc_collective.h>
shared char src[THREADS]; shared [] char * shared dst;
int main(void)
{
    src[MYTHREAD] = 'a' + MYTHREAD;
    if (MYTHREAD == THREADS - 1) dst = upc_alloc(THREADS);
    upc_barrier;
    upc_all_gather(dst, src, 1, 0);
    for (int i = 0; i < THREADS; i++) CHECK(dst[i] == 'a' + i);
    return t_done();
}
//--- gather_all
#include "t.h"
#include <upc_collective.h>
shared [2] int src[2*THREADS];
int main(void)
{
    shared int *dst = upc_all_alloc(THREADS, 2 * THREADS * sizeof(int));
    src[2 * MYTHREAD] = MYTHREAD; src[2 * MYTHREAD + 1] = 50 + MYTHREAD;
    upc_all_gather_all(dst, src, 2 * sizeof(int), UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC);
    for (int t = 0; t < THREADS; t++) {
        shared [] int *part = (shared [] int *)&dst[t];
        for (int i = 0; i < THREADS; i++) CHECK(part[2 * i] == i && part[2 * i + 1] == 50 + i);
    }
    return t_done();
}
//--- exchange
#include "t.h"
#include <upc_collective.h>
int main(void)
{
    shared int *src = upc_all_alloc(THREADS, 2 * THREADS * sizeof(int));
    shared int *dst = upc_all_alloc(THREADS, 2 * THREADS * sizeof(int));
    int *mine = (int *)&src[MYTHREAD], *got = (int *)&dst[MYTHREAD];
    for (int i = 0; i < THREADS; i++) { mine[2 * i] = 100 * MYTHREAD + i; mine[2 * i + 1] = -mine[2 * i]; }
    upc_all_exchange(dst, src, 2 * sizeof(int), UPC_IN_ALLSYNC | UPC_OUT_MYSYNC);
    for (int i = 0; i < THREADS; i++) CHECK(got[2 * i] == 100 * i + MYTHREAD && got[2 * i + 1] == -got[2 * i]);
    return t_done();
}
//--- permute
#include "t.h"
#include <upc_collective.h>
shared [3] char src[3*THREADS], dst[3*THREADS]; shared int perm[THREADS];
int main(void)
{
    for (int i = 0; i < 3; i++) src[3 * MYTHREAD + i] = 10 * MYTHREAD + i;
    perm[MYTHREAD] = THREADS - 1 - MYTHREAD;
    upc_all_permute(dst, src, perm, 3, UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC);
    for (int i = 0; i < 3; i++) CHECK(dst[3 * MYTHREAD + i] == 10 * (THREADS - 1 - MYTHREAD) + i);
    return t_done();
}
//--- broadcast_from_each
#include "t.h"
#include <upc_collective.h>
shared double src[THREADS], dst[THREADS];
int main(void)
{
    src[MYTHREAD] = MYTHREAD + 0.5;
    for (int root = 0; root < THREADS; root++) {
        upc_all_broadcast(dst, &src[root], sizeof(double), UPC_IN_ALLSYNC | UPC_OUT_ALLSYNC);
        for (int i = 0; i < THREADS; i++) CHECK(dst[i] == root + 0.5);
    }
    return t_done();
}
//--- broadcast_large
#include "t.h"
#include <upc_collective.h>
enum { LEN = 100000 };
int main(void)
{
    shared char *dst = upc_all_alloc(THREADS, LEN);
    shared [] char *src = (shared [] char *)upc_all_alloc(1, LEN);
    if (MYTHREAD == 0) for (int i = 0; i < LEN; i++) src[i] = i % 101;
    upc_all_broadcast(dst, src, LEN, 0);
    const char *got = (const char *)&dst[MYTHREAD];
    int bad = 0;
    for (int i = 0; i < LEN; i++) bad += got[i] != i % 101;
    CHECK(bad == 0);
    return t_done();
}
//--- every_flag
#include "t.h"
#include <upc_collective.h>
shared int src[THREADS], dst[THREADS], sum;
int main(void)
{
    static const upc_flag_t in[] = { 0, UPC_IN_ALLSYNC, UPC_IN_MYSYNC, UPC_IN_NOSYNC }, out[] = { 0, UPC_OUT_ALLSYNC, UPC_OUT_MYSYNC, UPC_OUT_NOSYNC };
    for (int i = 0; i < 16; i++) {
        src[MYTHREAD] = 10 * i + MYTHREAD;
        upc_barrier; // what is not synchronised by the call is by these
        upc_all_broadcast(dst, &src[THREADS - 1], sizeof(int), in[i / 4] | out[i % 4]);
        upc_all_reduceI(&sum, src, UPC_ADD, THREADS, 1, NULL, in[i / 4] | out[i % 4]);
        upc_barrier;
        CHECK(dst[MYTHREAD] == 10 * i + THREADS - 1 && sum == 10 * i * THREADS + THREADS * (THREADS - 1) / 2);
        upc_barrier;
    }
    return t_done();
}
//--- reduce_integers
#include "t.h"
#include <upc_collective.h>
#define FOR(L, T, N) shared T N##s[2*THREADS], N##d; \
static void N(void) \
{ \
    T sum = 0, product = 1, all = (T)~(T)0, some = 0, odd = 0, least = 100, most = 0; \
    for (int i = 0; i < 2*THREADS; i++) { \
        T v = i % 3 + 1; \
        sum += v; product *= v; all &= v; some |= v; odd ^= v; least = v < least ? v : least; most = v > most ? v : most; \
    } \
    for (int i = 0; i < 2; i++) N##s[MYTHREAD + i * THREADS] = (MYTHREAD + i * THREADS) % 3 + 1; \
    upc_op_t ops[] = { UPC_ADD, UPC_MULT, UPC_AND, UPC_OR, UPC_XOR, UPC_LOGAND, UPC_LOGOR, UPC_MIN, UPC_MAX }; \
    T want[] = { sum, product, all, some, odd, 1, 1, least, most }; \
    for (int k = 0; k < 9; k++) { upc_all_reduce##L(&N##d, N##s, ops[k], 2*THREADS, 1, NULL, 0); CHECK(N##d == want[k]); upc_barrier; } \
}
FOR(C, signed char, sc) FOR(UC, unsigned char, uc) FOR(S, short, ss) FOR(US, unsigned short, us)
FOR(I, int, si) FOR(UI, unsigned, ui) FOR(L, long, sl) FOR(UL, unsigned long, ul)
int main(void) { sc(); uc(); ss(); us(); si(); ui(); sl(); ul(); return t_done(); }
//--- reduce_floats
#include "t.h"
#include <upc_collective.h>
#define FOR(L, T, N) shared [2] T N##s[2*THREADS], N##p[2*THREADS]; shared T N##d; \
static void N(void) \
{ \
    T sum = 0, product = 1; \
    for (int i = 0; i < 2*THREADS; i++) { sum += i % 2 + 0.5; product *= i % 2 + 0.5; } \
    N##s[2 * MYTHREAD] = 0.5; N##s[2 * MYTHREAD + 1] = 1.5; \
    upc_op_t ops[] = { UPC_ADD, UPC_MULT, UPC_LOGAND, UPC_LOGOR, UPC_MIN, UPC_MAX }; \
    T want[] = { sum, product, 1, 1, 0.5, 1.5 }; \
    for (int k = 0; k < 6; k++) { upc_all_reduce##L(&N##d, N##s, ops[k], 2*THREADS, 2, NULL, 0); T e = N##d - want[k]; CHECK(e < 1e-6 && e > -1e-6); upc_barrier; } \
    upc_all_prefix_reduce##L(N##p, N##s, UPC_ADD, 2*THREADS, 2, NULL, 0); \
    for (int i = 0; i < 2*THREADS; i++) CHECK(N##p[i] == i / 2 * 2 + (i % 2 ? 2 : 0.5)); \
}
FOR(F, float, f) FOR(D, double, d) FOR(LD, long double, ld)
int main(void) { f(); d(); ld(); return t_done(); }
//--- prefix_integers
#include "t.h"
#include <upc_collective.h>
#define FOR(L, T, N) shared [3] T N##s[6*THREADS], N##d[6*THREADS]; \
static void N(void) \
{ \
    int i; \
    upc_forall (i = 0; i < 6*THREADS; i++; &N##s[i]) N##s[i] = i % 2; \
    upc_all_prefix_reduce##L(N##d, N##s, UPC_ADD, 6*THREADS, 3, NULL, 0); \
    for (i = 0; i < 6*THREADS; i++) CHECK(N##d[i] == (i + 1) / 2); \
    upc_barrier; \
    upc_all_prefix_reduce##L(N##d, N##s, UPC_LOGOR, 6*THREADS, 3, NULL, 0); \
    for (i = 0; i < 6*THREADS; i++) CHECK(N##d[i] == (i > 0)); \
    upc_barrier; \
}
FOR(C, signed char, sc) FOR(UC, unsigned char, uc) FOR(S, short, ss) FOR(US, unsigned short, us)
FOR(I, int, si) FOR(UI, unsigned, ui) FOR(L, long, sl) FOR(UL, unsigned long, ul)
int main(void) { sc(); uc(); ss(); us(); si(); ui(); sl(); ul(); return t_done(); }
//--- not_commutative
#include "t.h"
#include <upc_collective.h>
shared [2] int s[6*THREADS], p[6*THREADS]; shared int d;
static int left(int x, int y) { (void)y; return x; }
static int right(int x, int y) { (void)x; return y; }
static int most(int x, int y) { return x > y ? x : y; }
int main(void)
{
    int i;
    upc_forall (i = 0; i < 6*THREADS; i++; &s[i]) s[i] = 3 * i + 1;
    upc_all_reduceI(&d, s, UPC_NONCOMM_FUNC, 6*THREADS, 2, left, 0);
    CHECK(d == 1);
    upc_barrier;
    upc_all_reduceI(&d, s, UPC_NONCOMM_FUNC, 6*THREADS, 2, right, 0);
    CHECK(d == 3 * (6*THREADS - 1) + 1);
    upc_barrier;
    upc_all_reduceI(&d, s, UPC_FUNC, 6*THREADS, 2, most, 0);
    CHECK(d == 3 * (6*THREADS - 1) + 1);
    upc_all_prefix_reduceI(p, s, UPC_NONCOMM_FUNC, 6*THREADS, 2, right, 0);
    for (i = 0; i < 6*THREADS; i++) CHECK(p[i] == 3 * i + 1);
    upc_barrier;
    upc_all_prefix_reduceI(p, s, UPC_NONCOMM_FUNC, 6*THREADS, 2, left, 0);
    for (i = 0; i < 6*THREADS; i++) CHECK(p[i] == 1);
    return t_done();
}
//--- parts_and_phases
#include "t.h"
#include <upc_collective.h>
shared [4] int s[12*THREADS], p[12*THREADS]; shared [] int all[30]; shared int d[THREADS];
int main(void)
{
    int i;
    upc_forall (i = 0; i < 12*THREADS; i++; &s[i]) s[i] = i;
    if (MYTHREAD == 0) for (i = 0; i < 30; i++) all[i] = i;
    upc_barrier;
    for (int from = 0; from < 8; from++) // other phases, and with more than one thread other threads
        for (int n = 1; n < 12*THREADS - 8; n += 5) {
            int want = 0;
            for (i = from; i < from + n; i++) want += i;
            upc_all_reduceI(&d[THREADS - 1], &s[from], UPC_ADD, n, 4, NULL, 0);
            CHECK(d[THREADS - 1] == want);
            upc_all_prefix_reduceI(&p[from], &s[from], UPC_ADD, n, 4, NULL, 0);
            CHECK(p[from] == from && p[from + n - 1] == want);
            upc_barrier;
        }
    upc_all_reduceI(&d[0], &all[3], UPC_ADD, 20, 0, NULL, 0);
    CHECK(d[0] == 20 * 3 + 190);
    return t_done();
}
//--- one_element
#include "t.h"
#include <upc_collective.h>
shared long s[THREADS], d, p[THREADS];
int main(void)
{
    s[MYTHREAD] = 5 + MYTHREAD;
    upc_all_reduceL(&d, &s[THREADS - 1], UPC_MULT, 1, 1, NULL, 0);
    CHECK(d == 4 + THREADS);
    upc_all_prefix_reduceL(&p[THREADS - 1], &s[THREADS - 1], UPC_ADD, 1, 1, NULL, 0);
    CHECK(p[THREADS - 1] == 4 + THREADS);
    return t_done();
}
//--- collectives_differ threads=2,3 out= rc=fail err=thread\s0\sis\sat\supc_all_broadcast
#include "t.h"
#include <upc_collective.h>
shared int s[THREADS], d[THREADS];
int main(void)
{
    if (MYTHREAD == 0) upc_all_broadcast(d, s, sizeof(int), 0);
    else upc_all_gather(d, s, sizeof(int), 0);
    return t_done();
}
//--- collective_inside_split_phase threads=1,2 out= rc=fail err=between\supc_notify\sand\supc_wait
#include "t.h"
#include <upc_collective.h>
shared int s[THREADS], d[THREADS];
int main(void)
{
    upc_notify;
    upc_all_broadcast(d, s, sizeof(int), 0);
    upc_wait;
    return t_done();
}
