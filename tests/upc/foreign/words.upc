//--- atomic_words threads=1,4
#include "t.h"
shared int si;
shared unsigned int su;
shared int64_t s64;
shared uint64_t t64;
shared long sl;
shared double sd;
shared float sf[THREADS];
shared int seen[THREADS * 50];
int main(void)
{
    for (int i = 0; i < 50; i++) {
        int turn = bupc_atomicI_fetchadd_relaxed(&si, 1);
        seen[turn]++; // each number comes to one thread only
        bupc_atomicI64_fetchadd_strict(&s64, -3);
        bupc_atomicU64_fetchadd_relaxed(&t64, (uint64_t)1 << 40);
        long old = bupc_atomicL_read_relaxed(&sl), now;
        while ((now = bupc_atomicL_cswap_strict(&sl, old, old + 2)) != old) old = now;
    }
    bupc_atomicU32_fetchor_relaxed(&su, 1u << MYTHREAD);
    upc_barrier;
    CHECK(bupc_atomicI_read_strict(&si) == 50 * THREADS);
    for (int i = MYTHREAD; i < 50 * THREADS; i += THREADS) CHECK(seen[i] == 1);
    CHECK(s64 == -150 * THREADS && t64 == (uint64_t)50 * THREADS << 40 && sl == 100 * THREADS);
    CHECK(su == (1u << THREADS) - 1);
    upc_barrier;
    if (MYTHREAD == THREADS - 1) {
        CHECK(bupc_atomicUI_fetchnot_strict(&su) == (1u << THREADS) - 1 && su == ~((1u << THREADS) - 1));
        bupc_atomicUI_set_strict(&su, 0xf0f0);
        CHECK(bupc_atomicUI_fetchand_relaxed(&su, 0xff00) == 0xf0f0 && bupc_atomicUI_fetchxor_strict(&su, 0xff) == 0xf000);
        CHECK(bupc_atomicUI_mswap_strict(&su, 0xff0, 0x120) == 0xf0ff && bupc_atomicUI_read_relaxed(&su) == 0xf12f);
        CHECK(bupc_atomicUL_swap_relaxed(&t64, 5) == (uint64_t)50 * THREADS << 40 && t64 == 5);
        CHECK(bupc_atomicUL_cswap_relaxed(&t64, 4, 9) == 5 && bupc_atomicUL_read_strict(&t64) == 5);
        CHECK(bupc_atomicI32_swap_strict(&si, -1) == 50 * THREADS && si == -1);
        bupc_atomicD_set_relaxed(&sd, 0.5);
        CHECK(bupc_atomicD_swap_strict(&sd, 1.25) == 0.5 && bupc_atomicD_cswap_strict(&sd, 1.25, -2) == 1.25);
        CHECK(bupc_atomicD_read_strict(&sd) == -2);
        bupc_atomicF_set_strict(&sf[0], 3.5f);
        CHECK(bupc_atomicF_read_relaxed(&sf[0]) == 3.5f && bupc_atomicF_cswap_relaxed(&sf[0], 1, 2) == 3.5f);
    }
    return t_done();
}
//--- private_words threads=1,3
#include "t.h"
shared [16] int64_t places[16 * THREADS];
shared double reals[THREADS];
int main(void)
{
    int64_t own = 5, *mine = (int64_t *)&places[16 * MYTHREAD];
    unsigned bits = 0xf0;
    CHECK(bupc_atomicI64_fetchadd_private(&own, 3) == 5 && bupc_atomicI64_read_private(&own) == 8);
    CHECK(bupc_atomicUI_fetchor_private(&bits, 1) == 0xf0 && bupc_atomicUI_mswap_private(&bits, 0xf, 0xe) == 0xf1);
    CHECK(bupc_atomicU32_fetchnot_private(&bits) == 0xfe && bits == ~0xfeu);
    // What others change through pointers-to-shared at the same time.
    for (int i = 0; i < 200; i++) {
        bupc_atomicI64_fetchadd_private(mine, 1);
        bupc_atomicI64_fetchadd_relaxed(&places[16 * ((MYTHREAD + 1) % THREADS)], 1);
    }
    bupc_atomicD_set_private((double *)&reals[MYTHREAD], 0.5);
    CHECK(bupc_atomicD_cswap_private((double *)&reals[MYTHREAD], 0.5, 2.5) == 0.5);
    CHECK(bupc_atomicD_swap_private((double *)&reals[MYTHREAD], 1) == 2.5);
    upc_barrier;
    CHECK(*mine == 400 && places[16 * ((MYTHREAD + 1) % THREADS)] == 400 && reals[MYTHREAD] == 1);
    return t_done();
}
//--- events threads=1,2
#include "t.h"
#include <pupc.h>
#if !__UPC_PUPC__ || defined __UPC_PUPC_INST__
#error what the compiler says of pupc.h
#endif
int main(void)
{
    unsigned sweep = pupc_create_event("sweep", "step %d"), mark = pupc_create_event("mark", NULL);
    CHECK(sweep != mark);
    for (int i = 0; i < 3; i++) {
        pupc_event_start(sweep, i);
        upc_barrier;
        pupc_event_end(sweep, i);
    }
    pupc_event_atomic(mark);
    CHECK(pupc_control(0) == 1 && pupc_control(1) == 0 && pupc_control(1) == 1);
    return t_done();
}
//--- word_null threads=1 modes=proc rc=fail out= err=bupc_atomic:\sthe\starget\sis\snull
#include "t.h"
int main(void)
{
    shared int *p = NULL;
    return bupc_atomicI_read_strict(p);
}
//--- semaphores threads=1,4
#include "t.h"
bupc_sem_t *shared full[THREADS], *shared empty[THREADS], *shared flag[THREADS];
shared [256] char box[256 * THREADS];
int main(void)
{
    int to = (MYTHREAD + 1) % THREADS;
    full[MYTHREAD] = bupc_sem_alloc(BUPC_SEM_INTEGER | BUPC_SEM_SPRODUCER | BUPC_SEM_SCONSUMER);
    empty[MYTHREAD] = bupc_sem_alloc(0);
    flag[MYTHREAD] = bupc_sem_alloc(BUPC_SEM_BOOLEAN);
    CHECK(upc_threadof(full[MYTHREAD]) == MYTHREAD);
    CHECK(!bupc_sem_try(full[MYTHREAD]));
    upc_barrier;
    // A ring: what is put is there when the semaphore says so.
    char v[256];
    int before = (MYTHREAD + THREADS - 1) % THREADS;
    for (int round = 0; round < 30; round++) {
        memset(v, round + MYTHREAD, sizeof v);
        if (round % 2) {
            bupc_memput_signal(&box[256 * to], v, sizeof v, full[to], 1);
        } else {
            upc_memput(&box[256 * to], v, sizeof v);
            bupc_sem_post(full[to]);
        }
        bupc_sem_wait(full[MYTHREAD]);
        char *mine = (char *)&box[256 * MYTHREAD];
        CHECK(mine[0] == (char)(round + before) && mine[255] == (char)(round + before));
        bupc_sem_post(empty[before]);
        bupc_sem_wait(empty[MYTHREAD]);
    }
    upc_barrier;
    // Many post, one waits for all of them.
    bupc_memput_signal_async(&box[256 * MYTHREAD], v, 1, full[0], 2);
    if (MYTHREAD == 0) {
        bupc_sem_waitN(full[0], 2 * THREADS - 1);
        CHECK(!bupc_sem_tryN(full[0], 2) && bupc_sem_try(full[0]) && !bupc_sem_try(full[0]));
        bupc_sem_postN(full[0], 3);
        CHECK(bupc_sem_tryN(full[0], 3) && !bupc_sem_try(full[0]));
    }
    bupc_sem_post(flag[0]);
    upc_barrier;
    if (MYTHREAD == 0) {
        bupc_sem_wait(flag[0]); // boolean: the posts count once
        CHECK(!bupc_sem_try(flag[0]));
    }
    upc_barrier;
    bupc_sem_free(full[to]);
    bupc_sem_free(empty[MYTHREAD]);
    bupc_sem_free(flag[MYTHREAD]);
    bupc_sem_free(NULL);
    return t_done();
}
//--- semaphore_freed threads=1 modes=proc rc=fail out= err=bupc_sem_post:\sthe\spointer\sis\snot\sthat\sof\sa\ssemaphore
#include "t.h"
int main(void)
{
    bupc_sem_t *s = bupc_sem_alloc(0);
    bupc_sem_free(s);
    bupc_sem_post(s);
    return 0;
}
