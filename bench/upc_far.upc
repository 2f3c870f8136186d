// SPDX-License-Identifier: BSD-3-Clause
// Gets, puts and atomic operations of thread 0 at the memory of thread 1, which waits in a barrier.
// Prints lines "name microseconds"; for messages, and for UCX itself:
//   upcc -O2 upc_far.upc -o far
//   PLIANT_UPC_FAR=1 PLIANT_NET=ucx UCX_TLS=tcp,self PLIANT_UCX_RMA=never upcrun -n 2 ./far ROUNDS
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <upc_relaxed.h>
#include <upc_atomic.h>

enum { LARGE = 1 << 20 };

shared[LARGE / 8] long data[LARGE / 8 * THREADS];
shared[8] long word[8 * THREADS];
static char mine[LARGE];

static double now_us(void)
{
    struct timeval t;
    gettimeofday(&t, NULL);
    return 1e6 * (double)t.tv_sec + (double)t.tv_usec;
}

static void report(const char *what, double begin, long n)
{
    printf("%s %.3f\n", what, (now_us() - begin) / (double)n);
}

static void gets(shared void *at, const char *what, size_t len, long n)
{
    double begin = now_us();
    for (long i = 0; i < n; i++) {
        upc_memget(mine, at, len);
    }
    report(what, begin, n);
}

// Each on its own, done at the other side; or many and then a fence.
static void puts_each(shared void *at, const char *what, size_t len, long n, int is_fenced)
{
    double begin = now_us();
    for (long i = 0; i < n; i++) {
        upc_memput(at, mine, len);
        if (is_fenced) {
            upc_fence;
        }
    }
    upc_fence;
    report(what, begin, n);
}

static void adds(upc_atomicdomain_t *d, long n)
{
    long one = 1, old;
    double begin = now_us();
    for (long i = 0; i < n; i++) {
        upc_atomic_relaxed(d, &old, UPC_ADD, &word[8], &one, NULL);
    }
    report("fetch_add_us", begin, n);
    begin = now_us();
    for (long i = 0; i < n; i++) {
        upc_atomic_relaxed(d, NULL, UPC_ADD, &word[8], &one, NULL);
    }
    upc_fence;
    report("add_stream_us", begin, n);
}

int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) : 2000;
    upc_atomicdomain_t *d = upc_all_atomicdomain_alloc(UPC_LONG, UPC_ADD, 0);
    memset(mine, 1, sizeof mine);
    upc_barrier;
    if (MYTHREAD == 0) {
        shared void *at = &data[LARGE / 8];
        gets(at, "get_8_us", 8, n);
        puts_each(at, "put_8_us", 8, n, 1);
        puts_each(at, "put_8_stream_us", 8, n, 0);
        gets(at, "get_4K_us", 4096, n);
        puts_each(at, "put_4K_us", 4096, n, 1);
        gets(at, "get_64K_us", 65536, n / 8 + 1);
        puts_each(at, "put_64K_us", 65536, n / 8 + 1, 1);
        gets(at, "get_1M_us", LARGE, n / 32 + 1);
        puts_each(at, "put_1M_us", LARGE, n / 32 + 1, 1);
        adds(d, n);
    }
    upc_barrier;
    if (MYTHREAD == 1 && word[8] != 2 * n) {
        printf("WRONG: %ld\n", word[8]);
    }
    upc_all_atomicdomain_free(d);
    return 0;
}
