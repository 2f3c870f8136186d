//--- scalar_types
shared char c; shared signed char sc; shared unsigned char uc; shared short s; shared unsigned short us;
shared int i; shared unsigned u; shared long l; shared unsigned long ul; shared long long ll;
shared float f; shared double d; shared long double ld; shared _Bool b;
shared enum E { RED, GREEN = 7 } e;
int main(void)
{
    if (MYTHREAD == THREADS - 1) {
        c = 'x'; sc = -5; uc = 250; s = -30000; us = 60000; i = -7; u = 4000000000u; l = -1L << 40;
        ul = ~0ul; ll = 1LL << 60; f = 1.5f; d = -2.25; ld = 3.125L; b = 5; e = GREEN;
    }
    upc_barrier;
    CHECK(c == 'x' && sc == -5 && uc == 250 && s == -30000 && us == 60000 && i == -7);
    CHECK(u == 4000000000u && l == -1L << 40 && ul == ~0ul && ll == 1LL << 60);
    CHECK(f == 1.5f && d == -2.25 && ld == 3.125L && b == 1 && e == GREEN);
    return t_done();
}
//--- compound_assignment
shared int x[THREADS]; shared double d[THREADS];
#define X x[MYTHREAD]
int main(void)
{
    X = 100; X += 5; X -= 3; X *= 2; X /= 3; X %= 50; X <<= 3; X >>= 1; X |= 1; X &= 0xfd; X ^= 0x10;
    int v = 100; v += 5; v -= 3; v *= 2; v /= 3; v %= 50; v <<= 3; v >>= 1; v |= 1; v &= 0xfd; v ^= 0x10;
    CHECK(X == v);
    d[MYTHREAD] = 1; d[MYTHREAD] /= 4; d[MYTHREAD] -= 1;
    CHECK(d[MYTHREAD] == -0.75);
    CHECK((X += 1) == v + 1 && X == v + 1);
    return t_done();
}
//--- increments
shared int x[THREADS]; shared char c[THREADS]; shared double d[THREADS];
int main(void)
{
    shared int *p = &x[MYTHREAD];
    *p = 5;
    CHECK((*p)++ == 5 && *p == 6 && ++*p == 7 && (*p)-- == 7 && --*p == 5);
    c[MYTHREAD] = 127;
    c[MYTHREAD]++;
    CHECK((signed char)c[MYTHREAD] == -128);
    CHECK(d[MYTHREAD]++ == 0 && --d[MYTHREAD] == 0);
    return t_done();
}
//--- truncation flags=-Wno-overflow
shared char c[THREADS]; shared unsigned char u[THREADS]; shared short s[THREADS]; shared int i[THREADS];
int main(void)
{
    CHECK((u[MYTHREAD] = 300) == 44);
    u[MYTHREAD] += 1000;
    CHECK(u[MYTHREAD] == (unsigned char)1044);
    CHECK((s[MYTHREAD] = 70000) == (short)70000);
    CHECK((i[MYTHREAD] = 3.9) == 3);
    i[MYTHREAD] = 10; i[MYTHREAD] *= 1.26;
    CHECK(i[MYTHREAD] == 12);
    c[MYTHREAD] = 'a';
    CHECK(c[MYTHREAD] == 'a');
    return t_done();
}
//--- once_only
shared int a[8*THREADS];
int n;
int idx(void) { return n++; }
int main(void)
{
    if (MYTHREAD == 0) {
        int i = 0;
        a[i++] += 2; a[i++]++; ++a[i++]; a[idx()] *= 5; a[i++] = i;
        CHECK(i == 4 && n == 1);
        CHECK(a[0] == 10 && a[1] == 1 && a[2] == 1);
    }
    return t_done();
}
//--- chained
shared int a[3*THREADS]; shared double d;
int main(void)
{
    if (MYTHREAD == 0) {
        int x;
        a[0] = a[1] = x = a[2] = 9;
        CHECK(a[0] == 9 && a[1] == 9 && x == 9);
        int y = d = 2.75;
        CHECK(y == 2 && d == 2.75);
        a[1] = a[0]++ + a[2];
        CHECK(a[1] == 18 && a[0] == 10);
    }
    return t_done();
}
//--- index_by_shared
shared int a[4*THREADS], ix[4*THREADS]; int priv[100]; shared [] int c[4];
int main(void)
{
    if (MYTHREAD == 0) {
        for (int i = 0; i < 4*THREADS; i++) ix[i] = 4*THREADS - 1 - i;
        for (int i = 0; i < 4*THREADS; i++) a[ix[i]] = i;
        for (int i = 0; i < 4*THREADS; i++) CHECK(a[i] == 4*THREADS - 1 - i);
        priv[a[0]] = a[1] + 1;
        CHECK(priv[4*THREADS - 1] == 4*THREADS - 1);
        priv[ix[0]]++;
        CHECK(2[c] == 0);
        3[c] = 5;
        CHECK(c[3] == 5 && (a[ix[ix[0]]] == a[0]));
    }
    return t_done();
}
//--- control_flow
shared int n, a[3*THREADS];
int main(void)
{
    if (MYTHREAD == 0) {
        int k = 0;
        n = 3;
        while (n) { n--; k++; }
        do { n++; } while (n < 5);
        for (n = 0; n < 4; n++) k += n;
        if (n) k += 100; else k = -1;
        switch (n) { case 4: k += 1000; break; default: k = -2; }
        CHECK(k == 1109 && !n == 0 && (n && a[0]) == 0 && (n || a[0]) == 1 && -n == -4 && ~n == ~4);
    }
    return t_done();
}
//--- args_and_returns
shared int x = 6; shared double d = 0.5; shared [] char msg[8];
int add(int a, double b) { return a + b * 10; }
int get(void) { return x; }
double getd(void) { return d; }
shared int *where(void) { return &x; }
int main(void)
{
    CHECK(add(x, d) == 11 && get() == 6 && getd() == 0.5 && *where() == 6);
    char buf[40];
    snprintf(buf, sizeof buf, "%d %.1f %d", x, d, x + 1);
    CHECK(strcmp(buf, "6 0.5 7") == 0);
    int oldstyle();
    CHECK(oldstyle(x, 2) == 8);
    return t_done();
}
int oldstyle(a, b) int a; int b; { return a + b; }
//--- oldstyle_pts
shared int a[4*THREADS];
shared int *step(p, n) shared int *p; int n; { return p + n; }
int main(void) { CHECK(step(a, 3) == &a[3]); return t_done(); }
//--- casts_of_values
shared int i = -3; shared double d = 2.9; shared unsigned char c = 200;
int main(void)
{
    CHECK((unsigned)i == 0xfffffffdu && (int)d == 2 && (char)c == (char)200 && (float)i == -3.0f);
    CHECK(i / 2 == -1 && i % 2 == -1 && c + 100 == 300 && (i < 0u) == 0 && i < c);
    (void)i;
    i;
    return t_done();
}
//--- complex
#include "t.h"
#include <complex.h>
shared double _Complex z[THREADS];
int main(void)
{
    z[MYTHREAD] = 1.0 + 2.0 * I;
    z[MYTHREAD] *= I;
    CHECK(creal(z[MYTHREAD]) == -2.0 && __imag__ z[MYTHREAD] == 1.0);
    return t_done();
}
//--- strings_in_shared
shared [16] char s[16*THREADS];
int main(void)
{
    char *l = (char *)&s[16 * MYTHREAD];
    sprintf(l, "thread %d", MYTHREAD);
    upc_barrier;
    char buf[16], want[20];
    for (int t = 0; t < THREADS; t++) {
        upc_memget(buf, &s[16 * t], 16);
        sprintf(want, "thread %d", t);
        CHECK(strcmp(buf, want) == 0 && s[16 * t] == 't');
    }
    return t_done();
}
//--- statement_expressions
shared int a[THREADS];
#define MAX(x, y) ({ __typeof__((x) + 0) _a = (x), _b = (y); _a > _b ? _a : _b; })
int main(void)
{
    a[MYTHREAD] = 4 + MYTHREAD;
    CHECK(MAX(a[MYTHREAD], 2) == 4 + MYTHREAD);
    int v = ({ int t = a[MYTHREAD]; t * 2; }) + 1;
    CHECK(v == 9 + 2 * MYTHREAD);
    a[MYTHREAD] = ({ a[MYTHREAD]++; a[MYTHREAD]; });
    CHECK(a[MYTHREAD] == 5 + MYTHREAD);
    return t_done();
}
//--- generic_selection
shared int i = 3; shared double d = 2.5; shared int *p;
#define KIND(x) _Generic((x), int: 1, double: 2, shared int *: 3, default: 9)
int main(void)
{
    CHECK(KIND(i) == 1 && KIND(d) == 2 && KIND(p) == 3 && KIND(&i) == 3);
    return t_done();
}
//--- volatile_const
shared volatile int v; shared const int c = 42; const shared double k[THREADS];
int main(void)
{
    if (MYTHREAD == THREADS - 1) v = 3;
    upc_barrier;
    CHECK(v == 3 && c == 42 && k[0] == 0);
    const shared int *p = &c;
    CHECK(*p == 42);
    return t_done();
}
//--- large_index flags=-T=1 threads=1
shared [] char big[3];
int main(void)
{
    size_t i = 2;
    unsigned char c = 1;
    big[i] = 5; big[c] = 4;
    CHECK(big[2] == 5 && (shared [] char *)big + 2u == &big[2]);
    CHECK(&big[3000000000ul] - big == 3000000000l);
    return t_done();
}
//--- errno_kept
#include "t.h"
#include <errno.h>
shared int a[THREADS];
int main(void)
{
    errno = 7;
    int sum = a[MYTHREAD] + a[THREADS - 1];
    upc_barrier;
    errno = 7;
    if (MYTHREAD == THREADS - 1) a[0] = sum + 1;
    CHECK(errno == 7);
    upc_fence;
    CHECK(errno == 7);
    return t_done();
}
//--- complex_parts threads=3
#include "t.h"
#include <complex.h>
shared [2] float complex z[2 * THREADS]; shared double _Complex one;
struct q { int a; double complex c; }; shared struct q s[THREADS]; strict shared double complex hard[THREADS];
int main(void)
{
    z[2 * MYTHREAD] = 1.0f + 2.0f * I;
    __imag__ z[2 * MYTHREAD] += 3; ++__real__ z[2 * MYTHREAD]; __real__ z[2 * MYTHREAD] = 1 + __real__ z[2 * MYTHREAD];
    CHECK(crealf(z[2 * MYTHREAD]) == 3 && cimagf(z[2 * MYTHREAD]) == 5);
    shared [] float *p = &__imag__ z[2 * MYTHREAD];
    CHECK(*p == 5 && upc_threadof(p) == MYTHREAD);
    __real__ s[MYTHREAD].c = 7; __imag__ (s[MYTHREAD].c) = 8;
    CHECK(s[MYTHREAD].c == 7 + 8 * I && s[MYTHREAD].a == 0);
    upc_forall (int i = 0; i < 2 * THREADS; i++; &z[i]) { __real__ z[i] = i; }
    CHECK(__real__ z[2 * MYTHREAD + 1] == 2 * MYTHREAD + 1 && sizeof(__real__ one) == sizeof(double));
    __imag__ hard[MYTHREAD] = 2; CHECK(hard[MYTHREAD] == 2 * I);
    double complex own = 1 + 2 * I; __real__ own = 9; int k = 3;
    CHECK(__real__ own == 9 && __real__ k == 3);
    upc_barrier; if (MYTHREAD == 0) one = 4; upc_barrier;
    CHECK(__real__ one == 4 && __imag__ one == 0 && __real__ (one + 1) == 5);
    int far = (MYTHREAD + 1) % THREADS; upc_barrier;
    __imag__ z[2 * far + 1] = far; upc_barrier;
    CHECK(__imag__ z[2 * MYTHREAD + 1] == MYTHREAD);
    upc_barrier;
    return t_done();
}
