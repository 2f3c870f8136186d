// SPDX-License-Identifier: BSD-3-Clause
// Gets, puts and atomic operations of thread 0 at the memory of thread 1, which waits in a barrier; and random updates by both.
// Single gets while thread 1 waits, computes, or looks at its own memory, beside round trips of the two threads over a bare TCP
// socket: all in turns, each the median of single ones, so that other work of the machine counts little.
// Prints lines "name microseconds"; for messages, and for UCX itself:
//   upcc -O2 upc_far.upc -o far
//   PLIANT_UPC_FAR=1 PLIANT_NET=ucx UCX_TLS=tcp,self PLIANT_UCX_RMA=never upcrun -n 2 ./far ROUNDS
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
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

// Element after element, as a program writes it: the compiler has them read ahead.
static void gets_in_a_row(long n)
{
    long sum = 0, most = LARGE / 8;
    memset(mine, 1, sizeof mine);
    upc_memput(&data[most], mine, LARGE);
    upc_fence;
    double begin = now_us();
    for (long k = 0; k < n; k++) {
        for (long i = 0; i < most; i++) {
            sum += data[most + i];
        }
    }
    report("get_in_a_row_us", begin, n * most);
    if (sum != 0x0101010101010101L * most * n) {
        printf("WRONG: %lx\n", sum);
    }
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

enum { TURNS = 20, MOST = 100000 };
enum how { WAITING, COMPUTING, LOOKING, RAW, KINDS };
static const char *const names[KINDS] = { "get_us", "get_computing_us", "get_looking_us",
                                          "tcp_round_trip_us" };
static double times[KINDS][MOST];
shared strict int port;
shared [] int *over; // at thread 1
shared [] int *shared over_of;

static double precise_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void must(int is_good, const char *what)
{
    if (!is_good) {
        perror(what);
        upc_global_exit(1);
    }
}

// A connection of threads 0 and 1 over the loopback, which both look at without sleeping.
static int meet(void)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof a;
    int s = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
    must(s >= 0, "socket");
    if (MYTHREAD == 0) {
        must(bind(s, (struct sockaddr *)&a, sizeof a) == 0 && listen(s, 1) == 0 &&
                 getsockname(s, (struct sockaddr *)&a, &len) == 0,
             "listen");
        port = a.sin_port;
    }
    upc_barrier;
    if (MYTHREAD == 0) {
        int listener = s;
        s = accept(listener, NULL, NULL);
        must(s >= 0, "accept");
        close(listener);
    } else {
        a.sin_port = (in_port_t)port;
        must(connect(s, (struct sockaddr *)&a, sizeof a) == 0, "connect");
    }
    must(setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) == 0, "TCP_NODELAY");
    return s;
}

static void pass(int s, int is_send)
{
    long x = 1;
    ssize_t n;
    do {
        n = is_send ? send(s, &x, sizeof x, MSG_NOSIGNAL) : recv(s, &x, sizeof x, MSG_DONTWAIT);
    } while (n < 0);
    must(n == sizeof x, "bare TCP");
}

// What thread 1 does while thread 0 gets.
static void own(enum how how, int s, long n)
{
    volatile int *seen = (volatile int *)over;
    volatile double sum = 0;
    for (long i = 0; how == RAW && i < n; i++) {
        pass(s, 0);
        pass(s, 1);
    }
    while (how == LOOKING && *seen == 0) {
    }
    for (int k = 0; how == COMPUTING && *seen == 0; k++) {
        for (int i = 0; i < 100000; i++) {
            sum += 1.0 / (1 + i);
        }
    }
}

static void single(enum how how, int s, double *to, long n)
{
    for (long i = 0; i < n; i++) {
        double begin = precise_us();
        if (how == RAW) {
            pass(s, 1);
            pass(s, 0);
        } else {
            long x = word[8];
            __asm__ volatile("" : : "r"(x));
        }
        to[i] = precise_us() - begin;
    }
}

static void beside_tcp(long n)
{
    long each = n / TURNS + 1, got = each * TURNS;
    int s = meet();
    must(got <= MOST, "rounds");
    if (MYTHREAD == 1) {
        over = (shared [] int *)upc_alloc(sizeof(int));
        over_of = over;
    }
    upc_barrier;
    over = over_of;
    for (int t = 0; t < TURNS; t++) {
        for (int k = 0; k < KINDS; k++) {
            *over = 0;
            upc_barrier;
            if (MYTHREAD == 0) {
                single(k, s, &times[k][t * each], each);
                *over = 1;
                upc_fence;
            } else {
                own(k, s, each);
            }
            upc_barrier;
        }
    }
    for (int k = 0; k < KINDS && MYTHREAD == 0; k++) {
        qsort(times[k], (size_t)got, sizeof times[k][0], by_value);
        printf("%s %.3f\n", names[k], times[k][got / 2]);
    }
    close(s);
}

// Random updates of both threads' elements, one by one, and collected: each thread keeps a buffer for
// the other one, puts it there when it is full, and both then do what they were sent.
enum { TABLE = 1 << 16, BUFFER = 4096 };
shared unsigned long table[TABLE * THREADS];
shared[BUFFER] unsigned long inbox[BUFFER * THREADS];
shared[8] long n_inbox[8 * THREADS];

static unsigned long random_of(unsigned long x)
{
    x = (x + 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
    return x ^ (x >> 31);
}

static void update(unsigned long r)
{
    table[r % (TABLE * (unsigned long)THREADS)] ^= r;
}

static void updates_single(long n)
{
    upc_barrier;
    double begin = now_us();
    for (long i = MYTHREAD; i < n; i += THREADS) {
        update(random_of((unsigned long)i));
    }
    upc_barrier;
    if (MYTHREAD == 0) {
        report("update_us", begin, n);
    }
}

static void updates_collected(long n)
{
    static unsigned long buffer[BUFFER];
    int other = (MYTHREAD + 1) % THREADS;
    upc_barrier;
    double begin = now_us();
    for (long i = MYTHREAD, is_over = 0; !is_over;) {
        long k = 0;
        for (; k < BUFFER && i < n; i += THREADS) {
            unsigned long r = random_of((unsigned long)i);
            if (r % (unsigned long)THREADS == (unsigned long)MYTHREAD) {
                update(r);
            } else {
                buffer[k++] = r;
            }
        }
        upc_memput(&inbox[BUFFER * other], buffer, (size_t)k * sizeof buffer[0]);
        n_inbox[8 * other] = i < n ? k : -k - 1; // less than 0: it was the last
        upc_barrier;
        long got = n_inbox[8 * MYTHREAD];
        is_over = got < 0 && i >= n;
        got = got < 0 ? -got - 1 : got;
        for (long j = 0; j < got; j++) {
            update(inbox[BUFFER * MYTHREAD + j]);
        }
        upc_barrier; // both know whether it was the last
    }
    if (MYTHREAD == 0) {
        report("update_collected_us", begin, n);
    }
}

static void updates(long n)
{
    long bad = 0;
    for (long i = MYTHREAD; i < TABLE * THREADS; i += THREADS) {
        table[i] = (unsigned long)i;
    }
    updates_single(n);
    updates_collected(n); // undoes it
    updates_collected(100 * n);
    updates_collected(100 * n);
    for (long i = MYTHREAD; i < TABLE * THREADS; i += THREADS) {
        bad += table[i] != (unsigned long)i;
    }
    // Both threads may change one element at once, and one of the changes is lost.
    if (bad > n / 100 + 1) {
        printf("WRONG: %ld elements\n", bad);
    }
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
        gets_in_a_row(n / 500 + 1);
        adds(d, n);
    }
    upc_barrier;
    if (MYTHREAD == 1 && word[8] != 2 * n) {
        printf("WRONG: %ld\n", word[8]);
    }
    if (THREADS == 2) {
        beside_tcp(n);
        updates(n);
    }
    upc_all_atomicdomain_free(d);
    return 0;
}
