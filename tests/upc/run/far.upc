//--- order
// Large and small accesses to one thread, each seen by the next, over stretches of many megabytes.
#include "t.h"
enum { M = 1 << 20, SIZE = 40 * M };
static void fill(char *p, size_t n, int k)
{
    for (size_t i = 0; i < n; i++) {
        p[i] = (char)(i * 7 + i / 4096 + (size_t)k);
    }
}
int main(void)
{
    static const size_t lens[] = { 1, 8, 4096, 8192, 8193, 70000, M, 17 * M, SIZE };
    char *a = malloc(SIZE), *b = malloc(SIZE);
    shared[] char *shared *all = upc_all_alloc(THREADS, sizeof(shared[] char *));
    all[MYTHREAD] = upc_alloc(SIZE);
    upc_barrier;
    shared[] char *x = all[(MYTHREAD + 1) % THREADS];
    for (int k = 0; k < 9; k++) {
        size_t n = lens[k], at = (SIZE - n) / 2;
        fill(a, n, k + MYTHREAD);
        upc_memput(x + at, a, n);
        upc_memget(b, x + at, n);
        CHECK(memcmp(a, b, n) == 0);
        x[at + n / 2] = 'x'; // a small one behind a large one, and a large one behind that
        a[n / 2] = 'x';
        upc_memget(b, x + at, n);
        CHECK(memcmp(a, b, n) == 0);
        upc_memput(x + at, a, n);
        fill(a, n / 2, k + 77);
        upc_memput(x + at, a, n / 2);
        upc_memset(x + at + n - 1, 'y', 1);
        a[n - 1] = 'y';
        upc_memget(b, x + at, n);
        CHECK(memcmp(a, b, n) == 0);
    }
    upc_barrier;
    upc_free(x);
    upc_barrier;
    upc_all_free(all);
    free(a);
    free(b);
    return t_done();
}
//--- counters
// Operations that return the old value, that return nothing, and that UCX has not, on the same
// words, by threads that are near and far: none may be lost.
#include "t.h"
#include <upc_atomic.h>
enum { N = 300 };
shared long sum[THREADS];
shared int bits[THREADS], small[THREADS];
shared long swapped[THREADS];
shared[8] long own[8 * THREADS]; // a word for each of up to eight threads
int main(void)
{
    upc_atomicdomain_t *l = upc_all_atomicdomain_alloc(UPC_LONG, UPC_ADD | UPC_MAX | UPC_CSWAP | UPC_SET | UPC_GET, 0);
    upc_atomicdomain_t *i = upc_all_atomicdomain_alloc(UPC_INT, UPC_ADD | UPC_XOR | UPC_OR | UPC_AND, 0);
    long one = 1, none = 0, old, seen = 0;
    int bit = 1 << MYTHREAD, keep = ~bit, few = 2, was;
    upc_barrier;
    for (int k = 0; k < N; k++) {
        int t = k % THREADS;
        upc_atomic_relaxed(l, &old, UPC_ADD, &sum[t], &one, NULL);
        upc_atomic_relaxed(l, NULL, UPC_ADD, &sum[t], &one, NULL);
        upc_atomic_relaxed(l, NULL, UPC_MAX, &sum[t], &none, NULL);
        upc_atomic_relaxed(l, &seen, UPC_ADD, &sum[t], &one, NULL);
        CHECK(seen > old); // its own two lie between
        upc_atomic_relaxed(i, &was, UPC_XOR, &bits[0], &bit, NULL);
        CHECK(((was & bit) != 0) == (k % 2));
        upc_atomic_relaxed(i, &was, UPC_ADD, &small[t], &few, NULL);
        do { // nobody waits for anybody here: the owner of the word may not be looking
            upc_atomic_relaxed(l, &seen, UPC_GET, &swapped[THREADS - 1], NULL, NULL);
            long next = seen + 1;
            upc_atomic_relaxed(l, &old, UPC_CSWAP, &swapped[THREADS - 1], &seen, &next);
        } while (old != seen);
        upc_atomic_relaxed(l, &old, UPC_SET, &own[t * 8 + MYTHREAD], &one, NULL);
        CHECK(old == (k >= THREADS));
    }
    upc_barrier;
    long total = 0;
    int two = 0;
    for (int t = 0; t < THREADS; t++) {
        upc_atomic_relaxed(l, &old, UPC_GET, &sum[t], NULL, NULL);
        total += old;
        two += small[t];
    }
    CHECK(total == 3L * N * THREADS);
    CHECK(two == 2 * N * THREADS);
    CHECK(swapped[THREADS - 1] == (long)N * THREADS);
    CHECK(bits[0] == 0);
    upc_barrier;
    upc_atomic_relaxed(i, &was, UPC_OR, &bits[0], &bit, NULL);
    CHECK((was & bit) == 0);
    upc_atomic_relaxed(i, &was, UPC_AND, &bits[0], &keep, NULL);
    CHECK((was & bit) != 0);
    upc_all_atomicdomain_free(l);
    upc_all_atomicdomain_free(i);
    return t_done();
}
//--- begun
// Large gets under way while the owner computes, and others between them.
#include "t.h"
#include <upc_nb.h>
enum { M = 1 << 20, N = 6 };
shared[] char *shared where[THREADS];
int main(void)
{
    char *to = malloc(N * M);
    where[MYTHREAD] = upc_alloc(N * M);
    char *mine = (char *)where[MYTHREAD];
    for (int i = 0; i < N * M; i++) {
        mine[i] = (char)(i / 1000 + MYTHREAD);
    }
    upc_barrier;
    int from = (MYTHREAD + 1) % THREADS;
    shared[] char *x = where[from];
    upc_handle_t h[N];
    for (int i = 0; i < N; i++) {
        h[i] = upc_memget_nb(to + i * M, x + i * M, M);
        CHECK(x[i] == (char)from);
    }
    volatile double y = 0;
    for (int i = 0; i < 1000000; i++) {
        y += i;
    }
    for (int i = N - 1; i >= 0; i--) {
        upc_sync(h[i]);
    }
    for (int i = 0; i < N * M; i++) {
        if (to[i] != (char)(i / 1000 + from)) {
            CHECK(!"as it was there");
            break;
        }
    }
    upc_barrier;
    upc_free(where[MYTHREAD]);
    free(to);
    return t_done();
}
//--- owner_away races=a\sthread\slooks\sat\sits\sown\smemory\swhile\sothers\swrite\sit
// A thread that looks at its own memory through a plain pointer, without a call: others read, write
// and change what it has, lock its locks, and give it what it waits for.
#include "t.h"
#include <unistd.h>
#include <upc_atomic.h>
enum { N = 40 };
shared long word[THREADS], sum[THREADS], turn[THREADS];
upc_lock_t *shared lock;
int main(void)
{
    upc_atomicdomain_t *d = upc_all_atomicdomain_alloc(UPC_LONG, UPC_ADD | UPC_GET, 0);
    if (MYTHREAD == 0) {
        lock = upc_global_lock_alloc();
    }
    upc_barrier;
    volatile long *done = (volatile long *)&word[MYTHREAD];
    if (MYTHREAD == 0) {
        while (*done < THREADS - 1) {
        }
        CHECK(*(volatile long *)&sum[0] == N * (THREADS - 1));
    } else {
        long one = 1;
        for (int i = 0; i < N; i++) {
            upc_lock(lock);
            sum[0] = sum[0] + 1;
            upc_unlock(lock);
        }
        shared void *there = upc_global_alloc(1, 64); // thread 0 has the heap
        CHECK(there != NULL && upc_threadof(there) == 0);
        upc_free(there);
        upc_fence;
        upc_atomic_strict(d, NULL, UPC_ADD, &word[0], &one, NULL);
    }
    upc_barrier;
    // From hand to hand: each waits for a word that its neighbour puts here.
    volatile long *mine = (volatile long *)&turn[MYTHREAD];
    for (long k = 1; k <= 5; k++) {
        while (MYTHREAD != 0 && *mine < k) {
            usleep(100);
        }
        turn[(MYTHREAD + 1) % THREADS] = k;
        upc_fence;
        while (MYTHREAD == 0 && *mine < k) {
            usleep(100);
        }
    }
    upc_barrier;
    upc_all_atomicdomain_free(d);
    return t_done();
}
