//--- barrier_values
int main(void)
{
    upc_barrier;
    upc_barrier 1;
    upc_barrier 2.7;
    upc_barrier 'c';
    upc_barrier (1), 7;
    upc_notify 5; upc_wait 5;
    upc_notify; upc_wait 9;
    upc_notify 3; upc_wait;
    if (MYTHREAD == 0) { upc_barrier 4; } else { upc_barrier; }
    upc_barrier -2147483647 - 1;
    upc_barrier 1ul << 33;
    return t_done();
}
//--- barrier_mismatch threads=2,3,4,8 rc=fail out= err=barrier\smismatch\sdetected:\sthread\s0\sis\sat\sa\sbarrier\swith\sthe\svalue\s0,\sthread\s1\sat\sa\sbarrier\swith\sthe\svalue\s1
#include <upc.h>
int main(void) { upc_barrier MYTHREAD; return 0; }
//--- wait_mismatch threads=2 rc=fail out= err=upc_wait\shas\sthe\svalue\s2,\supc_notify\shad\s1
#include <upc.h>
int main(void) { upc_notify 1; upc_wait 2; return 0; }
//--- notify_notify threads=2 rc=fail out= err=upc_notify\sa\ssecond\stime\sbefore\supc_wait
#include <upc.h>
int main(void) { upc_notify; upc_notify; return 0; }
//--- wait_first threads=2 rc=fail out= err=upc_wait\swithout\supc_notify\sbefore\sit
#include <upc.h>
int main(void) { upc_wait; return 0; }
//--- split_phase
shared int a[THREADS]; shared int v = 4;
int main(void)
{
    a[MYTHREAD] = MYTHREAD;
    upc_notify v;
    int local = 0;
    for (int i = 0; i < 10; i++) local += i;
    upc_wait v;
    for (int i = 0; i < THREADS; i++) CHECK(a[i] == i);
    CHECK(local == 45);
    return t_done();
}
//--- many_barriers
shared int n;
int main(void)
{
    for (int i = 0; i < 2000; i++) { upc_barrier i; if (i % THREADS == MYTHREAD) n++; upc_barrier; }
    CHECK(n == 2000);
    return t_done();
}
//--- barrier_once
int calls;
int f(void) { return ++calls; }
int main(void) { upc_barrier f(); CHECK(calls == 1); upc_notify f(); upc_wait 2; CHECK(calls == 2); return t_done(); }
//--- message_passing threads=2
strict shared int flag; shared int data;
int main(void)
{
    for (int r = 1; r <= 50; r++) {
        if (MYTHREAD == 0) { data = r; flag = r; while (flag != -r) ; }
        else { while (flag != r) ; CHECK(data == r); flag = -r; }
    }
    return t_done();
}
//--- fence_spin threads=2 races=relaxed_flag
relaxed shared int flag;
int main(void)
{
    if (MYTHREAD == 0) { flag = 1; upc_fence; } else { while (flag == 0) upc_fence; }
    CHECK(flag == 1);
    return t_done();
}
//--- strict_forms
strict shared int s[THREADS]; strict shared double d[THREADS]; strict shared struct { int a; unsigned b : 4; } t[THREADS];
strict shared int * strict shared p[THREADS];
int main(void)
{
    int m = MYTHREAD;
    s[m] = 3; s[m] += 4; s[m]++; ++s[m]; s[m]--;
    CHECK(s[m] == 8 && s[m]++ == 8 && s[m] == 9);
    d[m] = 1.5; d[m] *= 2;
    CHECK(d[m] == 3.0);
    t[m].a = 5; t[m].b = 7; t[m].b++;
    CHECK(t[m].a == 5 && t[m].b == 8 && t[m].b++ == 8 && t[m].b == 9);
    p[m] = &s[m]; p[m] += THREADS; p[m]--;
    CHECK(p[m] - s == m + THREADS - 1);
    return t_done();
}
//--- pragma_strict
#include <upc_relaxed.h>
#include "t.h"
_Pragma("upc strict")
shared int a, b[THREADS];
_Pragma("upc relaxed")
int main(void)
{
#pragma upc strict
    a = 1;
    {
#pragma upc relaxed
        b[MYTHREAD] = 1;
    }
    upc_barrier;
    CHECK(a == 1 && b[THREADS - 1] == 1);
    return t_done();
}
//--- lock
shared int n; upc_lock_t *lk; upc_lock_t * shared all[THREADS];
int main(void)
{
    lk = upc_all_lock_alloc();
    for (int i = 0; i < 200; i++) { upc_lock(lk); n++; upc_unlock(lk); }
    upc_barrier;
    CHECK(n == 200 * THREADS);
    all[MYTHREAD] = upc_global_lock_alloc();
    upc_barrier;
    upc_lock_t *o = all[(MYTHREAD + 1) % THREADS];
    while (!upc_lock_attempt(o)) ;
    upc_unlock(o);
    CHECK(all[MYTHREAD] != NULL && (THREADS == 1 || all[0] != all[1]));
    upc_barrier;
    upc_lock_free(all[MYTHREAD]);
    upc_all_lock_free(lk);
    return t_done();
}
//--- global_exit threads=1,2,3,4,8 rc=7 out=
#include <upc.h>
#include <stdlib.h>
int main(void) { if (MYTHREAD == THREADS - 1) upc_global_exit(7); upc_barrier; return 0; }
//--- exit_code threads=2,3,4,8 rc=5 out=
#include <upc.h>
int main(void) { return MYTHREAD == 1 ? 5 : 0; }
//--- main_falls_off out=
#include <upc.h>
int main(void) { upc_barrier; }
//--- main_args
int main(int argc, char **argv) { CHECK(argc == 1 && argv[0] != NULL && argv[1] == NULL); return t_done(); }
//--- static_mismatch flags=-T=4 threads=1,3,8 rc=2 out= err=compiled\sfor\s4\sthreads
#include <upc.h>
int main(void) { return 0; }
//--- barriers_100000 threads=1,2 modes=proc,pt
int main(void)
{
    for (int i = 0; i < 100000; i++) upc_barrier i;
    return t_done();
}
//--- strict_dekker threads=2
// With strict accesses at least one of two threads sees what the other wrote before it looked.
strict shared int want[2 * THREADS]; shared int seen[THREADS];
int main(void)
{
    for (int r = 0; r < 500; r++) {
        strict shared int *mine = &want[MYTHREAD], *other = &want[1 - MYTHREAD];
        upc_barrier;
        *mine = 1;
        seen[MYTHREAD] = *other;
        upc_barrier;
        CHECK(seen[0] + seen[1] > 0);
        *mine = 0;
    }
    return t_done();
}
//--- own_order
// A thread sees its own relaxed writes in order, by every way to read.
#include "t.h"
#include <upc_nb.h>
shared [4] int a[4*THREADS];
int main(void)
{
    shared [4] int *p = &a[4 * ((MYTHREAD + 1) % THREADS)];
    int copy[4];
    for (int r = 1; r <= 50; r++) {
        p[0] = r; p[1] = -r;
        CHECK(p[0] == r && p[1] == -r);
        upc_memget(copy, p, sizeof copy);
        CHECK(copy[0] == r && copy[1] == -r);
        copy[2] = 7 * r;
        upc_memput(p + 2, &copy[2], sizeof(int));
        CHECK(p[2] == 7 * r);
        p[2]++;
        upc_sync(upc_memget_nb(copy, p, sizeof copy));
        CHECK(copy[2] == 7 * r + 1 && copy[0] == r);
    }
    return t_done();
}
//--- strict_after_relaxed_header
#include <upc_relaxed.h>
#include <upc_strict.h>
#include "t.h"
shared int flag, data[THREADS];
int main(void)
{
    // Both are strict now, so the flag cannot pass the data.
    for (int r = 1; r <= 30; r++) {
        if (MYTHREAD == 0) { data[0] = r; flag = r; }
        else while (flag < r) ;
        CHECK(data[0] >= r);
        upc_barrier;
    }
    return t_done();
}
//--- relaxed_spin flags=-O3 threads=2,3 races=threads\slook\sat\srelaxed\swords\sthat\sothers\schange
// Wrong by the letter, and common: loops that only look must see the change in the end.
#include "t.h"
#include <unistd.h>
shared int flag[THREADS], ack[THREADS];
shared [] int *shared where;
int main(void)
{
    if (MYTHREAD == 0) { where = (shared [] int *)upc_alloc(sizeof(int)); *where = 0; }
    upc_barrier;
    shared [] int *p = where;
    for (int r = 1; r <= 3; r++) {
        if (MYTHREAD == r % THREADS) usleep(20000); // the others look before it is so
        flag[MYTHREAD] = r;
        upc_fence;
        for (int t = 0; t < THREADS; t++) while (flag[t] < r);
        ack[MYTHREAD] = r;
        upc_fence;
        for (int t = 0; t < THREADS; t++) { do ; while (ack[t] < r); }
        if (MYTHREAD == 0) { *p = r; upc_fence; }
        for (; *p != r;) { }
        CHECK(*p == r && flag[THREADS - 1] >= r);
        upc_barrier;
    }
    return t_done();
}
