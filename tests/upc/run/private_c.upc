//--- declarators
int (*fp(int a))(int), arr[2][3], *ap[4], (*pa)[3], (*table[2])(int, char *);
int inc(int x) { return x + 1; }
int (*fp(int a))(int) { (void)a; return inc; }
typedef int (*fn_t)(int); typedef fn_t pick_t(int); pick_t *pick = fp; unsigned long long ull = 1ull << 63;
int main(void)
{
    pa = arr; ap[1] = &arr[1][2]; *ap[1] = 5;
    CHECK(fp(1)(4) == 5 && pa[1][2] == 5 && pick(0)(1) == 2 && ull >> 63 == 1 && sizeof arr == 24);
    return t_done();
}
//--- oldstyle_functions flags=-Wno-implicit-int
int add(a, b, p) int a; short b; char *p; { return a + b + *p; }
double half(x) float x; { return x / 2; }
main() { char c = 1; CHECK(add(1, 2, &c) == 4 && half(3.0) == 1.5); return t_done(); }
//--- vla
int sum(int n, int m, int a[n][m]) { int s = 0; for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) s += a[i][j]; return s; }
int main(void)
{
    int n = 3 + MYTHREAD, v[n][2 * n];
    for (int i = 0; i < n; i++) for (int j = 0; j < 2 * n; j++) v[i][j] = 1;
    CHECK(sum(n, 2 * n, v) == 2 * n * n && sizeof v == 2 * n * n * sizeof(int));
    shared int *p[n];
    p[n - 1] = NULL;
    CHECK(sizeof p == n * 8 && !p[n - 1]);
    return t_done();
}
//--- gnu_extensions
struct __attribute__((packed)) Pk { char c; int i; };
static inline int __attribute__((always_inline)) sq(int x) { return x * x; }
extern int aliased(void) __asm__("real_name"); int real_name(void) { return 77; }
__extension__ typedef struct { union { int a; float b; }; } Anon;
int range(int c) { switch (c) { case 'a' ... 'f': return 1; case 'z': return 2; default: return 0; } }
int main(void)
{
    int a[] = { [0 ... 3] = 7, [6] = 1 }; __typeof__(a[0]) t = 4; __auto_type q = 2.5; Anon an = { .a = 3 };
    struct Pk pk = { c: 1, i: 2 };
    void *lab = &&there; __int128 big = (__int128)1 << 100; _Float128 f128 = 1; _Bool b = !!t;
    CHECK(sizeof(struct Pk) == 5 && sq(5) == 25 && aliased() == 77 && range('c') == 1 && range('z') == 2);
    CHECK(a[3] == 7 && sizeof a == 28 && q == 2.5 && an.a == 3 && pk.i == 2 && (t ?: 9) == 4 && b && f128 == 1);
    CHECK((long)(big >> 90) == 1024 && ({ int z = 3; z + 1; }) == 4 && __builtin_popcount(255) == 8);
    goto *lab;
    CHECK(0);
there:
    __asm__ volatile("" : "+r"(t) : : "memory");
    _Static_assert(sizeof(int) == 4, "int");
    _Alignas(64) char al[3]; CHECK((unsigned long)al % 64 == 0 && _Alignof(double) == 8);
    return t_done();
}
//--- main_is_main
int main(void);
int again(void) { return main(); }
int main()
{
    static int calls;
    CHECK(strcmp(__func__, "main") == 0 && strcmp(__FUNCTION__, "main") == 0);
    if (calls++ == 0) {
        CHECK(again() == 0 && calls == 2);
        if (t_done() != 0) return 1;
    }
}
//--- main_elsewhere files out=again\n
#include <stdio.h>
struct { int main; } s = { 1 };
int again(void);
int main(void)
{
    static int calls;
    if (calls++ == 1) return 7;
    if (again() == 6 + s.main && MYTHREAD == 0) printf("again\n");
    return 0;
}
//-- b.c
#include <stdio.h>
int main(void);
int again(void) { return main(); }
//--- main_without_result threads=1,3 rc=fail out= err=status flags=-Wno-main
#include <stdlib.h>
void main(void) { exit(3); }
//--- nested_functions
shared int a[4*THREADS], total;
static int apply(int (*f)(int), int x) { return f(x); }
int main(void)
{
    int seen = 0, limit = 4*THREADS, i;
    auto int twice(int);
    int plus(int x) { return x + 1; }
    int add(int x) { seen += x; return seen; }
    shared int *at(int k) { static int calls; calls++; return k < 0 ? NULL : &a[k + calls - calls]; }
    int old(x, p) int x; shared int *p; { return p == NULL ? x : *p; }
    int twice(int x) { int more(int y) { return x + y; } return more(x); }
    void stop(void) { limit = i + 1; }
    CHECK(add(2) == 2 && apply(plus, 3) == 4 && add(3) == 5 && seen == 5 && twice(4) == 8 && old(7, at(-1)) == 7);
    upc_forall (i = 0; i < 4*THREADS; i++; &a[i]) { int sq(int v) { return v * v; } a[i] = sq(i); }
    upc_barrier;
    CHECK(old(0, at(3)) == 9 && *at(2) == 4 && at(-1) == NULL);
    upc_barrier;
    // The bound is written where the loop's body does not show it.
    upc_forall (i = 0; i < limit; i++; &a[i]) { a[i] = -1; stop(); }
    upc_barrier;
    CHECK(limit == MYTHREAD + 1 && i == limit);
    if (MYTHREAD == 0) for (i = 0; i < 4*THREADS; i++) total += a[i] == -1;
    upc_barrier;
    CHECK(total == THREADS);
    return t_done();
}
//--- generic_and_complex
#include "t.h"
#include <complex.h>
#include <tgmath.h>
#define NAME(x) _Generic((x), int: "int", double: "double", char *: "string", default: "other")
int main(void)
{
    double _Complex z = 3.0 + 4.0 * I; float f = 2.0f;
    CHECK(cabs(z) == 5.0 && sqrt(f) > 1.4f && strcmp(NAME(1.5), "double") == 0 && strcmp(NAME("s"), "string") == 0);
    CHECK(sizeof(sqrt(f)) == 4 && __real__ z == 3.0);
    return t_done();
}
//--- atomics_and_threads
#include "t.h"
#include <stdatomic.h>
#include <pthread.h>
#include <signal.h>
static _Atomic int n; static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; volatile sig_atomic_t v;
int main(void)
{
    atomic_fetch_add(&n, 3); pthread_mutex_lock(&m); v = 1; pthread_mutex_unlock(&m);
    CHECK(n == 3 && v == 1);
    return t_done();
}
//--- scopes_and_shadowing
typedef int T; int x = 1; struct T { int T; };
int f(int T) { return T + 1; }
int main(void)
{
    T T = 4; struct T s = { T }; { int x = 7; { extern int x; CHECK(x == 1); } CHECK(x == 7); }
    enum { x = 5 }; CHECK(x == 5 && s.T == 4 && f(1) == 2 && sizeof(T) == 4);
    for (int T = 0; T < 1; T++) { typedef char x; x c = 'a'; CHECK(sizeof(x) == 1 && c == 'a'); }
    return t_done();
}
//--- upc_words_in_c_code
#pragma upc c_code
static int strict(int shared) { int relaxed = shared; return relaxed + 1; }
#pragma upc upc_code
#include "t.h"
shared int a;
int main(void) { if (MYTHREAD == 0) a = 2; upc_barrier; return t_done(); }
//--- old_names_not_reserved
int barrier, notify, wait_, forall, fence; int local(int strict_) { return strict_; }
int main(void) { barrier = notify = forall = fence = 1; CHECK(barrier + local(2) == 3); return t_done(); }
//--- runtime_like_names
int pli_p_ = 1, pli_v_ = 2, pli_at_ = 3; shared int s[THREADS];
int main(void) { s[MYTHREAD] = pli_v_; int pli_a1 = pli_p_, pli_o1 = 4; s[MYTHREAD] += pli_a1; CHECK(s[MYTHREAD] == 3 && pli_at_ == 3 && pli_o1 == 4); return t_done(); }
//--- private_per_thread
int g = 5, arr[3] = { 1, 2, 3 }; static double d; struct S { int k; } st = { 4 }; int *p = &g; extern int g;
int bump(void) { static int n = 10; return ++n; }
int main(void)
{
    g += MYTHREAD; arr[1] += MYTHREAD; d = MYTHREAD; st.k -= MYTHREAD;
    for (int i = 0; i < MYTHREAD; i++) bump();
    upc_barrier;
    CHECK(g == 5 + MYTHREAD && arr[1] == 2 + MYTHREAD && d == MYTHREAD && st.k == 4 - MYTHREAD && *p == g);
    CHECK(bump() == 11 + MYTHREAD);
    return t_done();
}
//--- headers
#include "t.h"
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fenv.h>
#include <float.h>
#include <inttypes.h>
#include <iso646.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>
#include <sys/types.h>
#include <sys/stat.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <netinet/in.h>
#include <fcntl.h>
#include <dirent.h>
#include <dlfcn.h>
#include <poll.h>
#include <semaphore.h>
#include <threads.h>
int main(void) { jmp_buf b; assert(isdigit('4')); if (setjmp(b) == 0) longjmp(b, 1); CHECK(fabs(-2.0) == 2.0 && INT_MAX > 0 && isnan(NAN)); return t_done(); }
//--- math_macros
#include "t.h"
#include <math.h>
shared double d[THREADS];
int main(void) { d[MYTHREAD] = -0.0; CHECK(signbit(d[MYTHREAD]) && isfinite(d[MYTHREAD]) && !isnan(d[MYTHREAD]) && fmax(d[MYTHREAD], 2) == 2 && isless(d[MYTHREAD], 1.0)); return t_done(); }
//--- initialisers_plain
struct A { int a[2]; struct { char c; double d; } b[2]; const char *s; } x = { { 1, 2 }, { { 'a', 1.5 }, { 'b' } }, "str" }, y = { 1, 2, 'c', 2.5, .s = "q" };
char msg[] = "hel" "lo", two[2][4] = { "abc", "de" }; int *ptrs[] = { &(int){ 7 }, 0 }; wchar_t w[] = L"ab";
int main(void)
{
    CHECK(x.b[0].d == 1.5 && x.b[1].c == 'b' && y.b[0].d == 2.5 && y.s[0] == 'q' && sizeof msg == 6 && two[1][1] == 'e');
    CHECK(*ptrs[0] == 7 && w[1] == 'b');
    union { int i; float f; } u = { .f = 1.0f }; CHECK(u.i == 0x3f800000);
    return t_done();
}
//--- switch_and_goto
int f(int n) { int r = 0; again: switch (n) { case 0: r++; case 1: r += 2; break; case 2: { n = 0; goto again; } default: while (n-- > 3) { if (n == 5) continue; r++; } do r--; while (r > 100); } return r; }
int main(void) { CHECK(f(0) == 3 && f(1) == 2 && f(2) == 3 && f(8) == 3); return t_done(); }
//--- preprocessor_lines
#define MULTI(a, b) do { \
    a = b; \
    b = a + 1; \
} while (0)
#include "t.h"
shared int s[THREADS];
#line 100 "other.upc"
int main(void) { int x = 1, y = 2; MULTI(x, y); MULTI(s[MYTHREAD], y); CHECK(x == 2 && y == 4 && s[MYTHREAD] == 3 && __LINE__ == 100); return t_done(); }
//--- pack_pragma
#pragma pack(push, 1)
struct Q { char c; long l; };
#pragma pack(pop)
struct N { char c; long l; };
#include "t.h"
shared struct Q q[THREADS];
int main(void) { q[MYTHREAD].l = 1L << 40; CHECK(sizeof(struct Q) == 9 && sizeof(struct N) == 16 && q[MYTHREAD].l == 1L << 40 && upc_elemsizeof(q) == 9); return t_done(); }
//--- no_blank_before_brace
typedef union{ int i; char c[4]; }U; typedef struct{ U u; enum{ RED, BLUE }e; }S;
static S s = { { 7 }, BLUE };
int main(void) { CHECK(s.u.i == 7 && s.e == BLUE); return t_done(); }
//--- long_line_of_a_macro threads=1
#include "t.h"
#define D4(x) x x x x
#define D64(x) D4(D4(D4(x)))
#define D4096(x) D64(D64(x))
int main(void)
{
    long n = 0;
    D4096(if (n >= 0) n++;) D4096(if (n < 0) n = 3;)
    CHECK(n == 4096);
    return t_done();
}
//--- names_of_upc_in_c_code threads=2
#include "t.h"
#pragma upc c_code
struct s { int THREADS, MYTHREAD; };
int THREADS = 9; static int MYTHREAD = 4;
typedef struct { int MYTHREAD; } own;
static int sum(int shared, int THREADS_) { struct s x = { .THREADS = shared, .MYTHREAD = 1 }; own y = { 5 }; return x.THREADS + THREADS + MYTHREAD + y.MYTHREAD + THREADS_; }
static int args(int MYTHREAD, int THREADS) { return MYTHREAD * THREADS; }
#pragma upc upc_code
shared int z[THREADS];
int main(void) { z[MYTHREAD] = sum(2, 0) + args(2, 3); CHECK(z[MYTHREAD] == 26 && THREADS == 2 && MYTHREAD < 2); return t_done(); }
//--- random_numbers_of_each threads=3
shared int got[4][THREADS]; shared double real[THREADS];
int main(void)
{
    got[0][MYTHREAD] = rand(); upc_barrier;
    srand(7); upc_barrier; got[1][MYTHREAD] = rand(); upc_barrier; got[2][MYTHREAD] = rand();
    srand48(5); upc_barrier; real[MYTHREAD] = drand48();
    srandom(11 + MYTHREAD); upc_barrier; got[3][MYTHREAD] = (int)random(); upc_barrier;
    for (int i = 0; i < 3; i++) CHECK(got[i][MYTHREAD] == got[i][0]);
    CHECK(got[1][0] != got[2][0] && real[MYTHREAD] == real[0] && (MYTHREAD == 0 || got[3][MYTHREAD] != got[3][0]));
    upc_barrier; return t_done();
}
