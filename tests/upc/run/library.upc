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
//--- constants
#include <upc.h>
#include <upc_castable.h>
#include <upc_collective.h>
#include <upc_io.h>
#include <upc_tick.h>
#include <upc_atomic.h>
#include <upc_nb.h>
#include "t.h"
#define N(a) (sizeof(a) / sizeof *(a))
#if UPC_ADD >= 65536 || UPC_PTS >= 65536 || UPC_OUT_NOSYNC >= 64 || !UPC_CASTABLE_ALL || UPC_IN_NOSYNC < 1
#error
#endif
int main(void)
{
    const upc_op_t ops[] = { UPC_ADD, UPC_MULT, UPC_AND, UPC_OR, UPC_XOR, UPC_LOGAND, UPC_LOGOR, UPC_MIN, UPC_MAX,
                             UPC_GET, UPC_SET, UPC_CSWAP, UPC_SUB, UPC_INC, UPC_DEC, UPC_FUNC, UPC_NONCOMM_FUNC };
    upc_op_t all = 0;
    for (size_t i = 0; i < N(ops); i++) {
        CHECK(ops[i] > 0 && (all & ops[i]) == 0 && (ops[i] & (ops[i] - 1)) == 0);
        all |= ops[i];
    }
    const upc_type_t types[] = { UPC_CHAR, UPC_UCHAR, UPC_SHORT, UPC_USHORT, UPC_INT, UPC_UINT, UPC_LONG, UPC_ULONG,
                                 UPC_LLONG, UPC_ULLONG, UPC_INT8, UPC_UINT8, UPC_INT16, UPC_UINT16, UPC_INT32, UPC_UINT32,
                                 UPC_INT64, UPC_UINT64, UPC_FLOAT, UPC_DOUBLE, UPC_LDOUBLE, UPC_PTS };
    for (size_t i = 0; i < N(types); i++) {
        CHECK(types[i] > 0);
        for (size_t k = 0; k < i; k++) CHECK(types[i] != types[k]);
    }
    const upc_flag_t flags[] = { UPC_IN_ALLSYNC, UPC_IN_MYSYNC, UPC_IN_NOSYNC, UPC_OUT_ALLSYNC, UPC_OUT_MYSYNC, UPC_OUT_NOSYNC };
    upc_flag_t sum = 0;
    for (size_t i = 0; i < N(flags); i++) { CHECK(flags[i] > 0 && (sum & flags[i]) == 0); sum |= flags[i]; }
    CHECK(sum < 64);
    const int castable[] = { UPC_CASTABLE_ALL_ALLOC, UPC_CASTABLE_GLOBAL_ALLOC, UPC_CASTABLE_ALLOC, UPC_CASTABLE_STATIC };
    int cast = 0;
    for (size_t i = 0; i < N(castable); i++) { CHECK(castable[i] > 0 && (cast & castable[i]) == 0); cast |= castable[i]; }
    CHECK(cast == UPC_CASTABLE_ALL);
    const int open_flags[] = { UPC_RDONLY, UPC_WRONLY, UPC_RDWR, UPC_INDIVIDUAL_FP, UPC_COMMON_FP, UPC_APPEND, UPC_CREATE,
                               UPC_EXCL, UPC_STRONG_CA, UPC_TRUNC, UPC_DELETE_ON_CLOSE };
    int file = 0;
    for (size_t i = 0; i < N(open_flags); i++) { CHECK(open_flags[i] > 0 && (file & open_flags[i]) == 0); file |= open_flags[i]; }
    const upc_atomichint_t hints[] = { UPC_ATOMIC_HINT_DEFAULT, UPC_ATOMIC_HINT_LATENCY, UPC_ATOMIC_HINT_THROUGHPUT };
    CHECK(hints[0] == 0 && hints[1] != 0 && hints[2] != 0 && hints[1] != hints[2]);
    CHECK(UPC_TICK_MIN == 0 && UPC_TICK_MAX + 1 == 0 && sizeof(UPC_TICK_MAX) == sizeof(upc_tick_t));
    upc_handle_t none = UPC_COMPLETE_HANDLE;
    for (size_t i = 0; i < sizeof none; i++) CHECK(((unsigned char *)&none)[i] == 0);
    upc_hint_t h = { "key", "value" };
    upc_local_memvec_t l = { &h, sizeof h };
    upc_shared_memvec_t m = { 0, 0, 3 };
    upc_filevec_t f = { -1, 4 };
    CHECK(h.key[0] == 'k' && l.len == sizeof h && m.len == 3 && f.offset < 0);
    return t_done();
}
//--- old_names
shared [] int *shared made[THREADS];
int main(void)
{
    made[MYTHREAD] = upc_local_alloc(3, 4 * sizeof(int)); // = upc_alloc(12 * sizeof(int))
    CHECK(upc_threadof(made[MYTHREAD]) == MYTHREAD);
    for (int i = 0; i < 12; i++) made[MYTHREAD][i] = i + MYTHREAD;
    upc_barrier;
    shared [] int *next = made[(MYTHREAD + 1) % THREADS];
    for (int i = 0; i < 12; i++) CHECK(next[i] == i + (MYTHREAD + 1) % THREADS);
    upc_poll();
    upc_barrier;
    upc_free(made[MYTHREAD]);
    return t_done();
}
