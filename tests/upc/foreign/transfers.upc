//--- handles threads=1,3
// bupc_mem*_async, their handles alone and in lists, and access regions.
#include "t.h"
shared [64] char a[64 * THREADS], b[64 * THREADS];
int main(void)
{
    int o = (MYTHREAD + 1) % THREADS;
    char mine[64], got[64];
    for (int i = 0; i < 64; i++) mine[i] = MYTHREAD + i;
    bupc_handle_t h = bupc_memput_async(&a[64 * o], mine, 64);
    bupc_waitsync(h);
    upc_barrier;
    h = bupc_memget_async(got, &a[64 * o], 64);
    while (!bupc_trysync(h)) bupc_poll();
    for (int i = 0; i < 64; i++) CHECK(got[i] == (char)(MYTHREAD + i));
    bupc_handle_t list[6];
    memset(got, 0, sizeof got);
    for (int i = 0; i < 4; i++) list[i] = bupc_memget_async(&got[16 * i], &a[64 * o + 16 * i], 16);
    list[4] = bupc_memset_async(&b[64 * o], 7, 32);
    list[5] = bupc_memcpy_async(&b[64 * o + 32], &a[64 * o], 32);
    bupc_waitsync_all(list, 6);
    for (int i = 0; i < 6; i++) CHECK(list[i] == BUPC_COMPLETE_HANDLE);
    for (int i = 0; i < 64; i++) CHECK(got[i] == (char)(MYTHREAD + i));
    upc_barrier;
    int before = (MYTHREAD + THREADS - 1) % THREADS;
    for (int i = 0; i < 64; i++) CHECK(b[64 * MYTHREAD + i] == (i < 32 ? 7 : (char)(before + i - 32)));
    upc_barrier; // b is written again

    memset(got, 0, sizeof got);
    for (int i = 0; i < 4; i++) list[i] = bupc_memget_async(&got[16 * i], &a[64 * o + 16 * i], 16);
    int n_call = 0;
    while (list[0] || list[1] || list[2] || list[3]) {
        bupc_waitsync_some(list, 4);
        n_call++;
    }
    CHECK(n_call <= 4);
    for (int i = 0; i < 64; i++) CHECK(got[i] == (char)(MYTHREAD + i));
    bupc_waitsync_some(list, 4); // nothing is under way
    CHECK(bupc_trysync_some(list, 4) && bupc_trysync_all(list, 4) && bupc_trysync_all(NULL, 0));
    memset(got, 0, sizeof got);
    for (int i = 0; i < 4; i++) list[i] = bupc_memget_async(&got[16 * i], &a[64 * o + 16 * i], 16);
    while (!bupc_trysync_all(list, 4)) bupc_poll();
    for (int i = 0; i < 64; i++) CHECK(got[i] == (char)(MYTHREAD + i));

    char outside[8] = { 0 };
    memset(got, 0, sizeof got);
    bupc_memget_asynci(outside, &a[64 * o], 8);
    bupc_begin_accessregion();
    for (int i = 0; i < 8; i++) bupc_memget_asynci(&got[8 * i], &a[64 * o + 8 * i], 8);
    h = bupc_end_accessregion();
    bupc_waitsync(h);
    for (int i = 0; i < 64; i++) CHECK(got[i] == (char)(MYTHREAD + i));
    bupc_waitsynci();
    for (int i = 0; i < 8; i++) CHECK(outside[i] == (char)(MYTHREAD + i));
    bupc_begin_accessregion();
    CHECK(bupc_end_accessregion() == BUPC_COMPLETE_HANDLE);
    bupc_memput_asynci(&b[64 * o], mine, 8);
    bupc_memset_asynci(&b[64 * o + 8], 3, 8);
    bupc_memcpy_asynci(&b[64 * o + 16], &a[64 * o], 8);
    while (!bupc_trysynci()) bupc_poll();
    upc_barrier;
    for (int i = 0; i < 8; i++) {
        CHECK(b[64 * MYTHREAD + i] == (char)(before + i) && b[64 * MYTHREAD + 8 + i] == 3);
        CHECK(b[64 * MYTHREAD + 16 + i] == (char)(before + i));
    }
    return t_done();
}
//--- lists threads=1,3
// Pieces of both sides of different lengths, empty ones among them, at several threads.
#include "t.h"
#define N 240
shared [N] unsigned char a[N * THREADS], b[N * THREADS];
int main(void)
{
    int o = (MYTHREAD + 1) % THREADS, p = (MYTHREAD + 2) % THREADS;
    unsigned char mine[N], got[N];
    for (int i = 0; i < N; i++) mine[i] = 3 * i + MYTHREAD;
    // 100 bytes: mine[10..40), mine[100..170) to o[0..50) and, by 0 bytes, o[200..250)
    bupc_pmemvec_t from[] = { { mine + 10, 30 }, { mine, 0 }, { mine + 100, 70 } };
    bupc_smemvec_t to[] = { { &a[N * o], 50 }, { &a[N * o + 7], 0 }, { &a[N * o + 190], 50 } };
    bupc_memput_vlist(3, to, 3, from);
    upc_barrier;
    bupc_smemvec_t back[] = { { &a[N * o + 190], 50 }, { &a[N * p], 50 } };
    bupc_pmemvec_t into[] = { { got, 1 }, { got + 1, 98 }, { got + 99, 1 } };
    for (int round = 0; round < 2; round++) {
        memset(got, 0, sizeof got);
        if (round == 0) bupc_memget_vlist(3, into, 2, back);
        else bupc_waitsync(bupc_memget_vlist_async(3, into, 2, back));
        for (int i = 0; i < 50; i++) {
            CHECK(got[i] == (unsigned char)(3 * (100 + 20 + i) + MYTHREAD));
            int w = (p + THREADS - 1) % THREADS, j = i < 30 ? 10 + i : 100 + i - 30;
            CHECK(got[50 + i] == (unsigned char)(3 * j + w));
        }
    }
    bupc_smemvec_t copy[] = { { &b[N * o + 1], 60 }, { &b[N * o + 100], 40 } };
    bupc_memcpy_vlist(2, copy, 2, back);
    upc_barrier;
    int before = (MYTHREAD + THREADS - 1) % THREADS; // who wrote b of mine
    CHECK(b[N * MYTHREAD] == 0 && b[N * MYTHREAD + 61] == 0);
    CHECK(b[N * MYTHREAD + 1] == (unsigned char)(3 * 120 + before));
    upc_barrier;

    // Indexed: 6 pieces of 4 from 3 of 8.
    void *places[] = { mine + 200, mine + 8, mine + 64 };
    shared void *there[] = { &b[N * o + 40], &b[N * o + 30], &b[N * o + 20],
                             &b[N * o + 10], &b[N * o],      &b[N * o + 50] };
    bupc_handle_t h = bupc_memput_ilist_async(6, there, 4, 3, (const void *const *)places, 8);
    bupc_waitsync(h);
    upc_barrier;
    void *here[] = { got + 100, got, got + 50 };
    memset(got, 0, sizeof got);
    bupc_memget_ilist(3, here, 8, 6, (shared const void *const *)there, 4);
    for (int i = 0; i < 8; i++) {
        CHECK(got[100 + i] == mine[200 + i] && got[i] == mine[8 + i] && got[50 + i] == mine[64 + i]);
    }
    shared void *ends[] = { &a[N * o + 100], &a[N * o + 130] };
    bupc_memcpy_ilist(2, ends, 12, 6, (shared const void *const *)there, 4);
    upc_barrier;
    for (int i = 0; i < 4; i++) CHECK(a[N * MYTHREAD + 100 + i] == (unsigned char)(3 * (200 + i) + before));
    for (int i = 0; i < 4; i++) CHECK(a[N * MYTHREAD + 138 + i] == (unsigned char)(3 * (68 + i) + before));
    bupc_memput_vlist(0, to, 0, from);
    return t_done();
}
//--- strided threads=1,3
// A plane of a box, and chunks of other lengths on both sides.
#include "t.h"
#define NX 6
#define NY 5
#define NZ 4
shared [NX * NY * NZ] int box[NX * NY * NZ * THREADS];
#define AT(t, z, y, x) box[(t) * NX * NY * NZ + ((z) * NY + (y)) * NX + (x)]
int main(void)
{
    int o = (MYTHREAD + 1) % THREADS, plane[3][2][2], out[3][2][2];
    for (int i = 0; i < NX * NY * NZ; i++) box[MYTHREAD * NX * NY * NZ + i] = 1000 * MYTHREAD + i;
    upc_barrier;
    // x 1..2, y 1..2, z 1..3 into plane
    size_t far_strides[] = { NX * sizeof(int), NX * NY * sizeof(int) };
    size_t near_strides[] = { 2 * sizeof(int), 4 * sizeof(int) };
    size_t count[] = { 2 * sizeof(int), 2, 3 };
    for (int round = 0; round < 2; round++) {
        memset(plane, 0, sizeof plane);
        if (round == 0) bupc_memget_strided(plane, near_strides, &AT(o, 1, 1, 1), far_strides, count, 2);
        else bupc_waitsync(bupc_memget_strided_async(plane, near_strides, &AT(o, 1, 1, 1), far_strides, count, 2));
        for (int z = 0; z < 3; z++)
            for (int y = 0; y < 2; y++)
                for (int x = 0; x < 2; x++)
                    CHECK(plane[z][y][x] == 1000 * o + ((z + 1) * NY + y + 1) * NX + x + 1);
    }
    upc_barrier;
    for (int i = 0; i < 12; i++) (&out[0][0][0])[i] = -1 - i;
    bupc_memput_strided(&AT(o, 0, 3, 4), far_strides, out, near_strides, count, 2);
    upc_barrier;
    for (int z = 0; z < NZ; z++)
        for (int y = 0; y < NY; y++)
            for (int x = 0; x < NX; x++) {
                int in = z < 3 && y >= 3 && x >= 4;
                int want = in ? -1 - (z * 4 + (y - 3) * 2 + x - 4) : 1000 * MYTHREAD + (z * NY + y) * NX + x;
                CHECK(AT(MYTHREAD, z, y, x) == want);
            }
    upc_barrier;
    size_t bytes[] = { 3 * sizeof(int) }; // no strides: one piece
    bupc_memcpy_strided(&AT(o, 3, 0, 0), NULL, &AT(o, 0, 0, 0), NULL, bytes, 0);
    upc_barrier;
    CHECK(AT(MYTHREAD, 3, 0, 2) == 1000 * MYTHREAD + 2);
    // a column of NY elements as one chunk here, and back to another column by two chunks
    int column[NY];
    bupc_memget_fstrided(column, sizeof column, sizeof column, 1, &AT(o, 0, 0, 0), sizeof(int), NX * sizeof(int), NY);
    for (int y = 0; y < NY; y++) CHECK(column[y] == 1000 * o + y * NX);
    upc_barrier;
    bupc_waitsync(bupc_memput_fstrided_async(&AT(o, 2, 0, 2), sizeof(int), NX * sizeof(int), 4, column, 2 * sizeof(int),
                                             3 * sizeof(int), 2));
    bupc_memcpy_fstrided(&AT(o, 0, 0, 1), sizeof(int), NX * sizeof(int), 2, &AT(o, 1, 0, 0), 2 * sizeof(int), 0, 1);
    upc_barrier;
    CHECK(AT(MYTHREAD, 2, 0, 2) == 1000 * MYTHREAD && AT(MYTHREAD, 2, 1, 2) == 1000 * MYTHREAD + NX);
    CHECK(AT(MYTHREAD, 2, 2, 2) == 1000 * MYTHREAD + 3 * NX && AT(MYTHREAD, 2, 3, 2) == 1000 * MYTHREAD + 4 * NX);
    CHECK(AT(MYTHREAD, 0, 0, 1) == 1000 * MYTHREAD + NX * NY && AT(MYTHREAD, 0, 1, 1) == 1000 * MYTHREAD + NX * NY + 1);
    return t_done();
}
//--- lists_differ threads=1 modes=proc rc=fail out= err=bupc_memput:\sthe\spieces\sof\sthe\sdestination\shave\s4\sbytes\sin\sall,\sthose\sof\sthe\ssource\s8
#include "t.h"
shared [] int x[2];
int main(void)
{
    int v[2] = { 0 };
    bupc_smemvec_t to = { x, 4 };
    bupc_pmemvec_t from = { v, 8 };
    bupc_memput_vlist(1, &to, 1, &from);
    return 0;
}
