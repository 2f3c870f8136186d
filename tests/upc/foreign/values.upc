//--- values threads=1,2,5
#include "t.h"
#include <bupc_collectivev.h>
typedef struct { char name[20]; double x; } record;
int main(void)
{
    int n = THREADS, last = n - 1;
    for (int round = 0; round < 20; round++) {
        CHECK(bupc_allv_reduce_all(int, MYTHREAD + round, UPC_ADD) == n * (n - 1) / 2 + n * round);
        CHECK(bupc_allv_broadcast(int, MYTHREAD * 10 + round, last) == 10 * last + round);
        int sum = bupc_allv_reduce(int, MYTHREAD + 1, round % n, UPC_MULT), want = 1;
        for (int i = 1; i <= n; i++) want *= i;
        CHECK(sum == (MYTHREAD == round % n ? want : MYTHREAD + 1));
    }
    CHECK(bupc_allv_reduce_all(double, MYTHREAD + 0.5, UPC_ADD) == n * n / 2.0);
    CHECK(bupc_allv_reduce_all(float, -0.25f * MYTHREAD, UPC_MIN) == -0.25f * last);
    CHECK(bupc_allv_reduce_all(long double, MYTHREAD, UPC_MAX) == last);
    CHECK(bupc_allv_reduce_all(signed char, MYTHREAD - 1, UPC_MIN) == -1);
    CHECK(bupc_allv_reduce_all(unsigned char, (unsigned char)(MYTHREAD - 1), UPC_MAX) == 255);
    CHECK(bupc_allv_reduce_all(unsigned short, 1u << MYTHREAD, UPC_OR) == (1 << n) - 1);
    CHECK(bupc_allv_reduce_all(long long, 3ll << 40, UPC_AND) == 3ll << 40);
    CHECK(bupc_allv_reduce_all(unsigned long, 1ul << 63, UPC_XOR) == (n % 2 ? 1ul << 63 : 0));
    CHECK(bupc_allv_reduce_all(int, MYTHREAD == 0 ? 4 : 0, UPC_LOGOR) == (n == 1 ? 4 : 1));
    CHECK(bupc_allv_reduce_all(int, MYTHREAD == 0 ? 4 : 0, UPC_LOGAND) == (n == 1 ? 4 : 0));
    CHECK(bupc_allv_prefix_reduce(long, MYTHREAD + 1, UPC_ADD) == (MYTHREAD + 1) * (MYTHREAD + 2) / 2);
    int table[THREADS], all[THREADS];
    for (int i = 0; i < n; i++) table[i] = 100 + i;
    CHECK(bupc_allv_scatter(int, last, MYTHREAD == last ? table : NULL) == 100 + MYTHREAD);
    CHECK(bupc_allv_gather_all(int, 7 * MYTHREAD, all) == all);
    for (int i = 0; i < n; i++) CHECK(all[i] == 7 * i);
    memset(all, 0, sizeof all);
    bupc_allv_gather(int, 9 * MYTHREAD, 0, all);
    for (int i = 0; i < n; i++) CHECK(all[i] == (MYTHREAD == 0 ? 9 * i : 0));
    CHECK(bupc_allv_permute(int, MYTHREAD, (MYTHREAD + 1) % n) == (MYTHREAD + n - 1) % n);
    record r = { "", MYTHREAD };
    sprintf(r.name, "thread %d", MYTHREAD);
    r = bupc_allv_broadcast(record, r, 0); // any type, and after smaller ones
    CHECK(r.x == 0 && strcmp(r.name, "thread 0") == 0);
    return t_done();
}
//--- values_bits_of_double threads=2 modes=proc rc=fail out= err=is\snot\sone\sfor\sthe\stype
#include "t.h"
#include <bupc_collectivev.h>
int main(void)
{
    return bupc_allv_reduce_all(double, 1.0, UPC_AND) != 0;
}
//--- pointers threads=1,4
#include "t.h"
#include <errno.h>
shared [3] int a[3 * 5 * THREADS];
shared int c[2 * THREADS];
shared [] double d[40];
int main(void)
{
    for (int i = 0; i < 15 * THREADS; i++) {
        shared [3] int *want = &a[i], *got = bupc_ptradd(a, 3, sizeof(int), i);
        CHECK(got == want && upc_phaseof(got) == upc_phaseof(want));
        got = bupc_ptradd(want, 3, sizeof(int), -i);
        CHECK(got == a);
    }
    for (int i = 0; i < 2 * THREADS; i++) CHECK(bupc_ptradd(c, 1, sizeof(int), i) == (shared void *)&c[i]);
    for (int i = 0; i < 40; i++) CHECK(bupc_ptradd(d, 0, sizeof(double), i) == (shared void *)&d[i]);

    int *mine = (int *)&c[MYTHREAD], private;
    CHECK(bupc_inverse_cast(mine) == (shared void *)&c[MYTHREAD]);
    CHECK(bupc_inverse_cast(mine + 1) == (shared void *)&c[MYTHREAD + THREADS]);
    CHECK(bupc_inverse_cast(&private) == NULL && bupc_inverse_cast(NULL) == NULL);
    shared int *heap = upc_alloc(sizeof(int));
    CHECK(bupc_inverse_cast((int *)heap) == (shared void *)heap);
    CHECK(bupc_cast(&c[MYTHREAD]) == (void *)mine && bupc_castable(&c[MYTHREAD]) && bupc_thread_castable(MYTHREAD));
    for (int t = 0; t < THREADS; t++) {
        CHECK(bupc_castable(&c[t]) == bupc_thread_castable(t) && bupc_castable(&c[t]) == (bupc_cast(&c[t]) != NULL));
    }
    upc_free(heap);

    char text[BUPC_DUMP_MIN_LENGTH], part[40];
    CHECK(bupc_dump_shared(&a[4], text, sizeof text) == 0);
    sprintf(part, "thread=%d, phase=1>", 1 % THREADS);
    CHECK(text[0] == '<' && strstr(text, "address=") && strstr(text, part));
    CHECK(bupc_dump_shared(NULL, text, sizeof text) == 0 && strcmp(text, "<NULL>") == 0);
    errno = 0;
    CHECK(bupc_dump_shared(a, text, BUPC_DUMP_MIN_LENGTH - 1) == -1 && errno == EINVAL);

    for (int x = 0; x < THREADS; x++)
        for (int y = 0; y < THREADS; y++) {
            unsigned far = bupc_thread_distance(x, y);
            CHECK((far == BUPC_THREADS_SAME) == (x == y) && far == bupc_thread_distance(y, x));
            CHECK(far <= BUPC_THREADS_VERYFAR);
        }
    bupc_assert_type(a[0], shared [3] int);
    bupc_assert_type(&a[1], shared [3] int *);
    bupc_assert_type(c[0], shared int);
    bupc_assert_type(d, shared [] double[40]);
    bupc_assert_type(mine, int *);

    bupc_tick_t begin = bupc_ticks_now();
    while (bupc_ticks_to_us(bupc_ticks_now() - begin) < 2) ;
    CHECK(bupc_ticks_to_ns(bupc_ticks_now() - begin) >= 2000);
    CHECK(bupc_tick_granularity() > 0 && bupc_tick_overhead() > 0);
    return t_done();
}
//--- distance_hosts threads=4 modes=proc,far out=1\sfar,\s1\snear\n launch=-env,PLIANT_FAKE_HOSTS=2
// Between two hosts all threads answer alike, also about others.
#include "t.h"
#include <bupc_collectivev.h>
int main(void)
{
    int code = 0;
    for (int x = 0; x < THREADS; x++)
        for (int y = 0; y < THREADS; y++) code = code * 5 + bupc_thread_distance(x, y);
    CHECK(bupc_allv_reduce_all(int, code, UPC_MIN) == bupc_allv_reduce_all(int, code, UPC_MAX));
    if (MYTHREAD == 0 && !t_bad) {
        printf("%d far, %d near\n", bupc_thread_distance(1, 2) == BUPC_THREADS_VERYFAR,
               bupc_thread_distance(2, 3) <= BUPC_THREADS_NEAR);
    }
    return t_bad;
}
