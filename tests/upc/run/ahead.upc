//--- fresh_after_sync threads=2,3 races=a\sthread\slooks\sbefore\sthe\sother\shas\spublished
enum { N = 700 };
shared [N] int a[N * THREADS];
shared [4] struct { int x; double y; short z; } s[4 * THREADS];
shared strict int turn;
static void set(int v)
{
    for (int i = 0; i < N; i++) a[N * MYTHREAD + i] = v + i;
    for (int i = 0; i < 4; i++) { s[4 * MYTHREAD + i].x = v; s[4 * MYTHREAD + i].y = v + 0.5; s[4 * MYTHREAD + i].z = -v; }
}
static void meet(void) { upc_barrier; }
int main(void)
{
    int at = (MYTHREAD + 1) % THREADS * N, k = at / N * 4;
    upc_lock_t *l = upc_all_lock_alloc();
    for (int v = 0; v < 40; v++) {
        upc_barrier;
        set(v);
        upc_barrier;
        long sum = 0, i = 0;
        while (i < N) sum += a[at + i++];
        CHECK(sum == (long)v * N + N * (N - 1) / 2);
        relaxed shared [N] int *p = &a[at];
        i = N;
        do sum -= *p++; while (--i > 0);
        CHECK(sum == 0);
        int x = s[k].x; double y = s[k].y; short z = s[k].z;
        CHECK(x == v && y == v + 0.5 && z == -v);
        upc_barrier;
        set(v + 1);
        upc_barrier;
        x = s[k].x; y = s[k].y; z = s[k].z;
        CHECK(x == v + 1 && y == v + 1.5 && z == -v - 1);
        meet();
        set(v + 2);
        meet();
        x = s[k].x + a[at]; y = s[k].y + a[at + 1];
        CHECK(x == 2 * v + 4 && y == 2 * v + 5.5);
        upc_barrier;
        if (MYTHREAD == THREADS - 1) { set(v + 3); turn = v + 1; } // a strict write publishes it
        if (MYTHREAD == THREADS - 2) {
            int first = a[at] + a[at + 1];
            while (turn != v + 1) { // and a strict read shows it
            }
            int second = a[at] + a[at + 1];
            CHECK((first == 2 * v + 5 || first == 2 * v + 7 || first == 2 * v + 6) && second == 2 * v + 7);
        }
        upc_lock(l);
        x = a[N * (THREADS - 1)]; y = a[N * (THREADS - 1) + 1];
        upc_unlock(l);
        CHECK(x >= v + 2 && y >= v + 3);
    }
    return t_done();
}
//--- own_writes threads=2,3
enum { N = 200 };
shared [N] int a[N * THREADS];
shared [N] struct { unsigned lo : 4, hi : 12; int next; } f[N * THREADS];
int main(void)
{
    int at = (MYTHREAD + 1) % THREADS * N;
    upc_barrier;
    for (int i = 0; i + 1 < N; i++) {
        a[at + i + 1] = a[at + i] + 2; // the next read is of what was just written
    }
    long sum = 0;
    for (int i = 0; i < N; i++) sum += a[at + i] == 2 * i;
    CHECK(sum == N);
    for (int i = 0; i + 1 < N; i++) {
        f[at + i].hi = i;
        f[at + i + 1].lo = f[at + i].hi + f[at + i].lo;
        f[at + i + 1].next = f[at + i].next + 1;
        a[at + i] += a[at + i + 1];
        a[at + i + 1]--;
    }
    sum = 0;
    for (int i = 0; i + 1 < N; i++) sum += f[at + i].hi == (unsigned)i && f[at + i].next == i && a[at + i] == 4 * i + 2 - 2 * (i > 0) + (i > 0);
    CHECK(sum == N - 1);
    int x = a[at] = 5, y = a[at] + a[at + 1];
    a[at + 1] = 7;
    x += a[at] + a[at + 1];
    CHECK(x == 17 && y == 5 + a[at + 1] - 7 + 5);
    return t_done();
}
//--- seen_in_the_end threads=2,3 races=threads\slook\sat\srelaxed\swords\sthat\sothers\schange
enum { N = 64 };
shared [N] int flags[N * THREADS];
int main(void)
{
    int at = (MYTHREAD + 1) % THREADS * N;
    volatile double w = 0;
    upc_barrier;
    for (int round = 1; round <= 5; round++) {
        for (int i = 0; i < 20000; i++) w += i;
        for (int i = 0; i < N; i++) flags[N * MYTHREAD + i] = round;
        upc_fence;
        // Relaxed words, side by side: a fence at their owner must be enough.
        while (flags[at] != round || flags[at + 1] != round) {
        }
        int n;
        do {
            n = 0;
            for (int i = 0; i < N; i++) n += flags[at + i] == round;
        } while (n < N);
        while (flags[at + N - 1] != round);
        upc_barrier;
    }
    return t_done();
}
//--- jumps threads=2,3
enum { N = 90 };
shared [N] int a[N * THREADS];
static int duff(int at, int n)
{
    int s = 0, i = 0;
    switch (n % 3) {
        do {
            case 0: s += a[at + i++];
            case 2: s += a[at + i++];
            case 1: s += a[at + i++];
        } while (i < n);
    }
    return s;
}
static int into(int at, int v)
{
    int s = 0, i = 0;
    if (v) goto inside;
    while (i < N) {
        s += a[at + i];
inside:
        s += a[at + i] + a[at + (i + 1) % N];
        i++;
    }
    return s;
}
static int first_over(int at, int v)
{
    for (int i = 0; i < N; i++)
        if (a[at + i] > v) return i;
    return -1;
}
int main(void)
{
    int at = (MYTHREAD + 1) % THREADS * N;
    for (int v = 0; v < 4; v++) {
        upc_barrier;
        for (int i = 0; i < N; i++) a[N * MYTHREAD + i] = v;
        upc_barrier;
        CHECK(duff(at, N) == v * N && duff(at, N - 1) == v * (N - 1) && duff(at, 1) == v);
        CHECK(into(at, 1) == 3 * v * N - v && into(at, 0) == 3 * v * N);
        CHECK(first_over(at, v) == -1 && first_over(at, v - 1) == 0);
        int s = 0;
        if (v % 2) for (int i = 0; i < N; i++) s += a[at + i]; else s = -1;
        CHECK(s == (v % 2 ? v * N : -1));
        if (v % 2 == 0) while (s < N) { if (a[at + s + 1 - (s + 1 == N)] == v) { s++; continue; } break; }
        else do s--; while (a[at + s % N] == v && s > 0);
        CHECK(s == (v % 2 ? 0 : N));
        for (int i = 0; i < N; i++) {
            if (a[at + i] != v) goto out;
            for (int j = i; j < N; j++) { if (j > i + 3) break; s += a[at + j]; }
        }
out:
        CHECK(s == (v % 2 ? 0 : N) + v * (4 * N - 6));
    }
    return t_done();
}
//--- far_shapes threads=2,3
// Pages, ends of blocks, backwards, two at once, rows, large elements.
enum { N = 3000 };
typedef struct { char c[100]; int v; } big;
shared [N] double a[N * THREADS], b[N * THREADS];
shared [3] short c[300 * THREADS];
shared [N / 10] big g[N / 10 * THREADS];
shared [] char *text;
shared [] char *shared texts[THREADS];
int main(void)
{
    int you = (MYTHREAD + 1) % THREADS, at = you * N;
    double s = 0, t = 0;
    upc_forall (int i = 0; i < N * THREADS; i++; &a[i]) { a[i] = i; b[i] = 2 * i; }
    upc_forall (int i = 0; i < 300 * THREADS; i++; &c[i]) c[i] = i;
    upc_forall (int i = 0; i < N / 10 * THREADS; i++; &g[i]) { g[i].v = i; g[i].c[99] = i % 100; }
    text = upc_alloc(5000);
    for (int i = 0; i < 4999; i++) text[i] = 'a' + i % 26;
    text[4999] = 0;
    texts[MYTHREAD] = text;
    upc_barrier;
    for (int i = 0; i < N; i++) s += b[at + i] - a[at + i];
    for (int i = N - 1; i >= 0; i--) t += a[at + i];
    CHECK(s == t && t == (double)at * N + (double)N * (N - 1) / 2);
    s = 0;
    for (int i = 1; i < N - 1; i++) s += a[at + i - 1] - 2 * a[at + i] + a[at + i + 1];
    CHECK(s == 0);
    long n = 0;
    for (int i = 0; i < 300 * THREADS; i++) n += c[i] == i;
    CHECK(n == 300 * THREADS);
    n = 0;
    for (int i = 0; i < N / 10 * THREADS; i++) { big k = g[i]; n += k.v == i && g[i].v == i && k.c[99] == i % 100 && g[i].c[99] == i % 100; }
    CHECK(n == N / 10 * THREADS);
    shared [] char *p = texts[you];
    n = 0;
    while (*p) n += *p++ == 'a' + (int)(n % 26);
    CHECK(n == 4999);
    return t_done();
}
//--- through_math threads=2,3
#include "t.h"
#include <math.h>
enum { N = 600 };
shared [N] double a[N * THREADS];
static double own(double x) { upc_fence; return x; }
int main(void)
{
    int at = (MYTHREAD + 1) % THREADS * N;
    for (int v = 0; v < 5; v++) {
        for (int i = 0; i < N; i++) a[N * MYTHREAD + i] = v + i;
        upc_barrier;
        double sum = 0, none = 0;
        for (int i = 0; i < N; i++) sum += sqrt(a[at + i] * a[at + i]) + fabs(a[at + i]) - fmax(a[at + i], -1.0);
        for (int i = 0; i < N; i++) none += own(a[at + i]);
        CHECK(fabs(sum - none) < 1e-6 && none == (double)v * N + N * (N - 1) / 2);
        upc_barrier;
    }
    return t_done();
}
