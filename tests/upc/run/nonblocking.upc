//--- explicit_handles
#include "t.h"
#include <upc_nb.h>
shared [64] char a[64*THREADS], b[64*THREADS];
int main(void)
{
    int o = (MYTHREAD + 1) % THREADS;
    char mine[64], got[64];
    for (int i = 0; i < 64; i++) mine[i] = MYTHREAD + i;
    upc_handle_t h = upc_memput_nb(&a[64 * o], mine, 64);
    upc_sync(h);
    upc_barrier;
    h = upc_memget_nb(got, &a[64 * o], 64);
    while (!upc_sync_attempt(h)) ;
    for (int i = 0; i < 64; i++) CHECK(got[i] == (char)(MYTHREAD + i));
    h = upc_memcpy_nb(&b[64 * o], &a[64 * o], 32);
    upc_handle_t k = upc_memset_nb(&b[64 * o + 32], 9, 32);
    upc_sync(k); // in the other order
    upc_sync(h);
    upc_barrier;
    int before = (MYTHREAD + THREADS - 1) % THREADS;
    for (int i = 0; i < 64; i++) CHECK(b[64 * MYTHREAD + i] == (i < 32 ? before + i : 9));
    upc_sync(UPC_COMPLETE_HANDLE);
    CHECK(upc_sync_attempt(UPC_COMPLETE_HANDLE) != 0);
    return t_done();
}
//--- implicit_handles
#include "t.h"
#include <upc_nb.h>
shared [8] int a[8*THREADS], b[8*THREADS];
int main(void)
{
    int o = (MYTHREAD + 1) % THREADS, mine[8], got[8];
    CHECK(upc_synci_attempt() != 0);
    upc_synci();
    for (int i = 0; i < 8; i++) mine[i] = 100 * MYTHREAD + i;
    for (int i = 0; i < 8; i++) upc_memput_nbi(&a[8 * o + i], &mine[i], sizeof(int));
    while (!upc_synci_attempt()) ;
    upc_barrier;
    upc_memget_nbi(got, &a[8 * o], 4 * sizeof(int));
    upc_memget_nbi(got + 4, &a[8 * o + 4], 4 * sizeof(int));
    upc_synci();
    for (int i = 0; i < 8; i++) CHECK(got[i] == mine[i]);
    upc_memcpy_nbi(&b[8 * o], &a[8 * o], 4 * sizeof(int));
    upc_memset_nbi(&b[8 * o + 4], 0, 4 * sizeof(int));
    upc_synci();
    upc_barrier;
    int before = (MYTHREAD + THREADS - 1) % THREADS;
    for (int i = 0; i < 8; i++) CHECK(b[8 * MYTHREAD + i] == (i < 4 ? 100 * before + i : 0));
    return t_done();
}
//--- many_outstanding
#include "t.h"
#include <upc_nb.h>
enum { N = 500 };
shared [N] int a[N*THREADS];
int main(void)
{
    int o = (MYTHREAD + 1) % THREADS, mine[N], got[N];
    upc_handle_t h[N];
    for (int i = 0; i < N; i++) { mine[i] = i ^ MYTHREAD; h[i] = upc_memput_nb(&a[N * o + i], &mine[i], sizeof(int)); }
    for (int i = N; i-- > 0;) upc_sync(h[i]);
    upc_fence;
    for (int i = 0; i < N; i++) h[i] = upc_memget_nb(&got[i], &a[N * o + i], sizeof(int));
    for (int i = 0; i < N; i++) upc_sync(h[i]);
    for (int i = 0; i < N; i++) CHECK(got[i] == (i ^ MYTHREAD));
    upc_barrier;
    CHECK(a[N * MYTHREAD + 7] == (7 ^ (MYTHREAD + THREADS - 1) % THREADS));
    return t_done();
}
//--- across_barriers
#include "t.h"
#include <upc_nb.h>
enum { LEN = 200000 };
int main(void)
{
    shared [] char *p = NULL;
    shared [] char * shared *all = upc_all_alloc(THREADS, sizeof p);
    p = upc_alloc(LEN);
    all[MYTHREAD] = p;
    upc_barrier;
    char *mine = malloc(LEN);
    memset(mine, 'a' + MYTHREAD, LEN);
    upc_handle_t h = upc_memput_nb(all[(MYTHREAD + 1) % THREADS], mine, LEN);
    upc_barrier; // completes nothing, and does no harm
    upc_sync(h);
    upc_barrier;
    int before = (MYTHREAD + THREADS - 1) % THREADS, bad = 0;
    const char *l = (const char *)p;
    for (int i = 0; i < LEN; i++) bad += l[i] != 'a' + before;
    CHECK(bad == 0);
    free(mine);
    return t_done();
}
//--- no_bytes
#include "t.h"
#include <upc_nb.h>
shared int a[THREADS];
int main(void)
{
    int x = 5;
    upc_sync(upc_memput_nb(&a[0], &x, 0)); upc_sync(upc_memget_nb(&x, &a[0], 0));
    upc_memcpy_nbi(&a[0], &a[THREADS - 1], 0); upc_memset_nbi(&a[0], 7, 0);
    upc_synci();
    CHECK(x == 5 && a[0] == 0);
    return t_done();
}
