//--- final_and_user_barrier threads=2,3,4,8 rc=fail out= err=barrier\smismatch\sdetected:\sthread\s0\sis\sat\sthe\send\sof\smain,\sthread\s1\sat\sa\sbarrier\swith\sthe\svalue\s3
#include <upc.h>
int main(void) { if (MYTHREAD == 0) return 0; upc_barrier 3; return 0; }
//--- barrier_and_alloc threads=2,3 rc=fail out= err=thread\s0\sis\sat\supc_all_alloc,\sthread\s1\sat\sa\sbarrier\swithout\sa\svalue
#include <upc.h>
int main(void) { if (MYTHREAD == 0) upc_all_alloc(1, 8); else upc_barrier; return 0; }
//--- barrier_inside_split_phase threads=1,2 rc=fail out= err=upc_barrier\sbetween\supc_notify\sand\supc_wait
#include <upc.h>
int main(void) { upc_notify; upc_barrier; upc_wait; return 0; }
//--- mismatch_late threads=2,3,4,8 rc=fail out= err=with\sthe\svalue\s99
#include <upc.h>
int main(void) { for (int i = 0; i < 200; i++) upc_barrier i == 99 && MYTHREAD == THREADS - 1 ? 98 : i; return 0; }
//--- heap_all_alloc launch=-shared-heap=4MB err=upc_all_alloc\sfound\sno\sroom\sfor
int main(void)
{
    shared void *p = upc_all_alloc(THREADS, 1 << 20), *q = upc_all_alloc(THREADS, 1 << 26);
    CHECK(p != NULL && q == NULL);
    upc_all_free(p);
    p = upc_all_alloc(THREADS, 1 << 20); // there is room again, and the failure left nothing behind
    CHECK(p != NULL);
    return t_done();
}
//--- heap_global_alloc launch=-shared-heap=4MB err=upc_global_alloc\sfound\sno\sroom\sfor
int main(void)
{
    shared void *q = upc_global_alloc(THREADS, 1 << 26);
    CHECK(q == NULL);
    upc_barrier;
    if (MYTHREAD == 0) { q = upc_global_alloc(THREADS, 1000); CHECK(q != NULL); upc_free(q); }
    return t_done();
}
//--- heap_alloc launch=-shared-heap=4MB err=upc_alloc\sfound\sno\sroom\sfor
int main(void)
{
    shared void *p[100];
    int n = 0;
    while (n < 100 && (p[n] = upc_alloc(100000)) != NULL) n++;
    CHECK(n >= 30 && n < 45);
    for (int i = 0; i < n; i++) upc_free(p[i]);
    p[0] = upc_alloc(3000000); // pieces were joined again
    CHECK(p[0] != NULL);
    upc_free(p[0]);
    return t_done();
}
//--- heap_impossible err=found\sno\sroom\sfor
int main(void)
{
    CHECK(upc_alloc((size_t)1 << 60) == NULL && upc_all_alloc(THREADS, (size_t)1 << 50) == NULL);
    return t_done();
}
//--- free_twice threads=1,2 rc=fail out= err=upc_free
#include <upc.h>
int main(void) { shared void *p = upc_alloc(100); upc_free(p); upc_free(p); return 0; }
//--- free_static threads=1,2 rc=fail out= err=upc_free
#include <upc.h>
shared int x;
int main(void) { upc_free(&x); return 0; }
//--- free_middle threads=1,2 rc=fail out= err=upc_free
#include <upc.h>
int main(void) { shared [] int *p = upc_alloc(400); upc_free(p + 7); return 0; }
//--- lock_twice threads=1,2 modes=proc,pt rc=fail out= err=upc_lock:\sthis\sthread\sholds\sthe\slock\salready
#include <upc.h>
int main(void) { upc_lock_t *l = upc_global_lock_alloc(); upc_lock(l); upc_lock(l); return 0; }
//--- unlock_not_held threads=1,2 rc=fail out= err=upc_unlock:\sthis\sthread\sdoes\snot\shold\sthe\slock
#include <upc.h>
int main(void) { upc_lock_t *l = upc_all_lock_alloc(); upc_unlock(l); return 0; }
//--- unlock_anothers threads=2,3 rc=fail out= err=upc_unlock:\sthis\sthread\sdoes\snot\shold\sthe\slock
#include <upc.h>
int main(void) { upc_lock_t *l = upc_all_lock_alloc(); if (MYTHREAD == 0) upc_lock(l); upc_barrier; if (MYTHREAD == 1) upc_unlock(l); upc_barrier; return 0; }
//--- lock_null threads=1,2 rc=fail out= err=upc_lock:\sthe\spointer\sis\snot\sthat\sof\sa\slock
#include <upc.h>
int main(void) { upc_lock(NULL); return 0; }
//--- wild_write flags=-fupc-debug rc=fail out= err=case.upc:4:\san\saccess\sthrough\sa\swild\spointer-to-shared
#include <upc.h>
shared [] int *p;
int main(void) { p = upc_alloc(64);
    p[1000000000] = 1;
    return 0; }
//--- wild_thread flags=-fupc-debug rc=fail out= err=case.upc:3:\san\saccess\sthrough\sa\swild\spointer-to-shared:\sit\snames\sthread\s900
#include <upc.h>
union { shared int *p; unsigned long bits; } u = { .bits = 900ul << 34 | 65536 };
int main(void) { return *u.p; }
//--- null_write flags=-fupc-debug rc=fail out= err=case.upc:3:\san\saccess\sthrough\sa\snull\spointer-to-shared
#include <upc.h>
shared int *p;
int main(void) { *p = 4; return 0; }
//--- null_member flags=-fupc-debug rc=fail out= err=case.upc:3:\san\saccess\sthrough\sa
#include <upc.h>
shared struct S { int a, b; } *p;
int main(void) { return p->b; }
//--- wild_forall flags=-fupc-debug rc=fail out= err=case.upc:5:\san\saccess\sthrough\sa\swild\spointer-to-shared
#include <upc.h>
shared int a[4*THREADS];
int main(void) { shared int *p = a + 1000000000l * THREADS;
    upc_forall (int i = 0; i < 4*THREADS; i++; &a[i])
        p[i] = 1;
    return 0; }
//--- wild_walk flags=-fupc-debug rc=fail out= err=case.upc:5:\san\saccess\sthrough\sa\swild\spointer-to-shared
#include <upc.h>
shared [] double *a;
int main(void) { a = upc_alloc(64);
    shared [] double *p = a;
    for (long i = 0; i < 1000; i++) *p++ = 1;
    return 0; }
//--- debug_good flags=-fupc-debug
shared int a[4*THREADS]; shared [] double * shared part[THREADS]; strict shared int s; shared struct { int x; unsigned b : 3; } st[THREADS];
int main(void)
{
    part[MYTHREAD] = upc_alloc(10 * sizeof(double));
    upc_forall (int i = 0; i < 4*THREADS; i++; &a[i]) a[i] = i;
    for (int i = 0; i < 10; i++) part[MYTHREAD][i] = i;
    st[MYTHREAD].x = 4; st[MYTHREAD].b = 5;
    upc_barrier;
    if (MYTHREAD == 0) s = 3;
    upc_barrier;
    for (int i = 0; i < 4*THREADS; i++) CHECK(a[i] == i);
    CHECK(s == 3 && part[THREADS - 1][9] == 9 && st[0].x == 4 && st[THREADS - 1].b == 5);
    return t_done();
}
