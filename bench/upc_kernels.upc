// SPDX-License-Identifier: BSD-3-Clause
// Small measurements of UPC: triad and heat stencil on shared arrays, own shared elements through a cast pointer
// beside private ones, the barrier beside MPI's, single gets and puts. Prints lines "name value":
// medians of many pieces; what stands beside each other was measured in turns.
//   upc_kernels ROUNDS
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <upc.h>

#ifndef PER_THREAD
#define PER_THREAD 500000L // elements of the triad
#endif
enum { PIECES = 21, SLOTS = 1024, MINE = 1024 };
shared double a[PER_THREAD * THREADS], b[PER_THREAD * THREADS], c[PER_THREAD * THREADS];
shared double slots[SLOTS * THREADS];
shared double near_x[MINE * THREADS], near_y[MINE * THREADS], near_z[MINE * THREADS];
static double own_x[MINE], own_y[MINE], own_z[MINE];
shared double begins[THREADS], ends[THREADS];
shared int bad[THREADS];

// The pieces of one measurement.
struct pieces {
    double time[PIECES];
    int n;
};

static int by_time(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(struct pieces *p)
{
    qsort(p->time, p->n, sizeof p->time[0], by_time);
    return p->time[p->n / 2];
}

static void keep(struct pieces *p, double begin)
{
    p->time[p->n++] = MPI_Wtime() - begin;
}

// From the first thread's begin to the last one's end: where threads share a core, one may leave a
// barrier when another has already done its part.
static void span(struct pieces *p, double begin)
{
    begins[MYTHREAD] = begin;
    ends[MYTHREAD] = MPI_Wtime();
    upc_barrier;
    double first = begins[0], last = ends[0];
    for (int t = 1; t < THREADS; t++) {
        first = begins[t] < first ? begins[t] : first;
        last = ends[t] > last ? ends[t] : last;
    }
    p->time[p->n++] = last - first;
    upc_barrier; // the next piece writes there
}

static void say(const char *name, double value)
{
    if (MYTHREAD == 0) {
        printf("%s %.6g\n", name, value);
    }
}

static void triad_declared(void)
{
    struct pieces all = { .n = 0 };
    upc_forall(long i = 0; i < PER_THREAD * THREADS; i++; &a[i]) {
        a[i] = 0;
        b[i] = (double)i;
        c[i] = 2;
    }
    for (int p = 0; p < PIECES; p++) {
        upc_barrier;
        double begin = MPI_Wtime();
        upc_forall(long i = 0; i < PER_THREAD * THREADS; i++; &a[i]) {
            a[i] = b[i] + 3.0 * c[i];
        }
        span(&all, begin);
    }
    upc_forall(long i = 0; i < PER_THREAD * THREADS; i++; i + 1) { // what a neighbour wrote
        bad[MYTHREAD] += a[i] != (double)i + 6;
    }
    say("triad_GBs", 24.0 * PER_THREAD * THREADS / median(&all) / 1e9);
    upc_barrier;
}

// The same through pointers, of which the compiler does not know where they point.
static void triad_pointers(shared double *x, shared double *y, shared double *z)
{
    struct pieces all = { .n = 0 };
    for (int p = 0; p < PIECES; p++) {
        upc_barrier;
        double begin = MPI_Wtime();
        upc_forall(long i = 0; i < PER_THREAD * THREADS; i++; &x[i]) {
            x[i] = y[i] + 4.0 * z[i];
        }
        span(&all, begin);
    }
    upc_forall(long i = 0; i < PER_THREAD * THREADS; i++; i + 1) {
        bad[MYTHREAD] += x[i] != (double)i + 8;
    }
    say("triad_pointers_GBs", 24.0 * PER_THREAD * THREADS / median(&all) / 1e9);
    upc_barrier;
}

// A pointer of which the compiler does not know where it points.
static double *some(double *p)
{
    __asm__("" : "+r"(p));
    return p;
}

// Own elements through a plain pointer, beside private ones through a plain pointer.
static void cast_local(int rounds)
{
    struct pieces cast = { .n = 0 }, own = { .n = 0 };
    double *x = (double *)&near_x[MYTHREAD], *y = (double *)&near_y[MYTHREAD];
    double *z = (double *)&near_z[MYTHREAD];
    double *px = some(own_x), *py = some(own_y), *pz = some(own_z);
    for (int i = 0; i < MINE; i++) {
        y[i] = own_y[i] = i;
        z[i] = own_z[i] = 2;
    }
    upc_barrier;
    for (int p = 0; p < PIECES; p++) {
        double begin = MPI_Wtime();
        for (int r = 0; r < rounds; r++) {
            for (int i = 0; i < MINE; i++) {
                x[i] = y[i] + 3.0 * z[i];
            }
            __asm__ volatile("" ::: "memory"); // all rounds count
        }
        keep(&cast, begin);
        begin = MPI_Wtime();
        for (int r = 0; r < rounds; r++) {
            for (int i = 0; i < MINE; i++) {
                px[i] = py[i] + 3.0 * pz[i];
            }
            __asm__ volatile("" ::: "memory");
        }
        keep(&own, begin);
    }
    for (int i = 0; i < MINE; i++) {
        bad[MYTHREAD] += own_x[i] != i + 6 || near_x[MYTHREAD + i * THREADS] != i + 6;
    }
    say("cast_ns", median(&cast) / rounds / MINE * 1e9);
    say("private_ns", median(&own) / rounds / MINE * 1e9);
    upc_barrier;
}

static void barriers(int rounds)
{
    struct pieces upc = { .n = 0 }, mpi = { .n = 0 };
    for (int p = 0; p < PIECES; p++) {
        upc_barrier;
        double begin = MPI_Wtime();
        for (int i = 0; i < rounds; i++) {
            upc_barrier;
        }
        keep(&upc, begin);
        MPI_Barrier(MPI_COMM_WORLD);
        begin = MPI_Wtime();
        for (int i = 0; i < rounds; i++) {
            MPI_Barrier(MPI_COMM_WORLD);
        }
        keep(&mpi, begin);
    }
    say("upc_barrier_ns", median(&upc) / rounds * 1e9);
    say("MPI_Barrier_ns", median(&mpi) / rounds * 1e9);
}

// Thread 0 alone works on elements of thread 1, the others wait.
static void single(int rounds)
{
    struct pieces get = { .n = 0 }, put = { .n = 0 };
    for (int i = 0; i < SLOTS; i++) {
        slots[MYTHREAD + i * THREADS] = i;
    }
    upc_barrier;
    for (int p = 0; p < PIECES && MYTHREAD == 0 && THREADS > 1; p++) {
        double sum = 0, begin = MPI_Wtime();
        for (int i = 0; i < rounds; i++) {
            sum += slots[1 + i % SLOTS * THREADS];
        }
        keep(&get, begin);
        bad[0] += sum != (double)rounds / SLOTS * (SLOTS * (SLOTS - 1) / 2);
        begin = MPI_Wtime();
        for (int i = 0; i < rounds; i++) {
            slots[1 + i % SLOTS * THREADS] = i % SLOTS;
        }
        upc_fence;
        keep(&put, begin);
    }
    upc_barrier;
    if (THREADS > 1) {
        say("get_ns", median(&get) / rounds * 1e9);
        say("put_ns", median(&put) / rounds * 1e9);
        bad[MYTHREAD] += MYTHREAD == 1 && slots[1 + 7 * THREADS] != 7;
    }
}

// Heat diffusion as it is written without a thought, beside the same in C on private memory.
enum { ROWS = 100, COLS = 1000 }; // of each thread
shared [ROWS * COLS] double heat[ROWS * THREADS][COLS], next[ROWS * THREADS][COLS];
static double own_heat[ROWS][COLS], own_next[ROWS][COLS];

static void step_shared(void)
{
    upc_forall(int i = 1; i < ROWS * THREADS - 1; i++; &next[i][0]) {
        for (int j = 1; j < COLS - 1; j++) {
            next[i][j] = 0.25 * (heat[i - 1][j] + heat[i + 1][j] + heat[i][j - 1] + heat[i][j + 1]);
        }
    }
}

// The same in plain loops over the thread's own rows.
static void step_plain(void)
{
    int first = MYTHREAD * ROWS + (MYTHREAD == 0);
    int last = (MYTHREAD + 1) * ROWS - (MYTHREAD == THREADS - 1);
    for (int i = first; i < last; i++) {
        for (int j = 1; j < COLS - 1; j++) {
            next[i][j] = 0.25 * (heat[i - 1][j] + heat[i + 1][j] + heat[i][j - 1] + heat[i][j + 1]);
        }
    }
}

static void step_private(void)
{
    for (int i = 1; i < ROWS - 1; i++) {
        for (int j = 1; j < COLS - 1; j++) {
            own_next[i][j] =
                0.25 * (own_heat[i - 1][j] + own_heat[i + 1][j] + own_heat[i][j - 1] + own_heat[i][j + 1]);
        }
    }
    __asm__ volatile("" ::: "memory");
}

static void stencil(void)
{
    struct pieces all[3] = { { .n = 0 }, { .n = 0 }, { .n = 0 } };
    for (int i = 0; i < ROWS * COLS; i++) {
        heat[MYTHREAD * ROWS + i / COLS][i % COLS] = own_heat[i / COLS][i % COLS] = i % 17;
        next[MYTHREAD * ROWS + i / COLS][i % COLS] = own_next[i / COLS][i % COLS] = 0; // touched
    }
    for (int p = 0; p < PIECES; p++) {
        upc_barrier;
        double begin = MPI_Wtime();
        step_shared();
        keep(&all[0], begin);
        begin = MPI_Wtime();
        step_plain();
        keep(&all[1], begin);
        begin = MPI_Wtime();
        step_private();
        keep(&all[2], begin);
    }
    upc_barrier;
    for (int j = 1; j < COLS - 1; j++) { // of a row whose neighbours are the thread's own
        bad[MYTHREAD] += next[MYTHREAD * ROWS + 5][j] != own_next[5][j];
    }
    say("stencil_ns", median(&all[0]) / ROWS / COLS * 1e9);
    say("stencil_plain_ns", median(&all[1]) / ROWS / COLS * 1e9);
    say("stencil_c_ns", median(&all[2]) / ROWS / COLS * 1e9);
    upc_barrier;
}

// Sums over own elements, as loops are written that do not count in their head.
enum { LINE = 20000 }; // elements of each thread
shared [LINE] double line[LINE * THREADS];
shared double dealt[LINE * THREADS];

__attribute__((noinline)) static double sum_private(const double *p, long n)
{
    double s = 0;
    while (n-- > 0) {
        s += *p++;
    }
    return s;
}

__attribute__((noinline)) static double sum_walk(shared [LINE] const double *p, long n)
{
    double s = 0;
    while (n-- > 0) {
        s += *p++;
    }
    return s;
}

__attribute__((noinline)) static double sum_while(long i, long end)
{
    double s = 0;
    while (i < end) {
        s += line[i];
        i++;
    }
    return s;
}

__attribute__((noinline)) static double sum_dealt(void)
{
    double s = 0;
    int i = MYTHREAD;
    while (i < LINE * THREADS) {
        s += dealt[i];
        i += THREADS;
    }
    return s;
}

__attribute__((noinline)) static double sum_compared(shared [LINE] const double *p,
                                                     shared [LINE] const double *end)
{
    double s = 0;
    for (; p < end; p++) {
        s += *p;
    }
    return s;
}

__attribute__((noinline)) static double sum_strided(shared const double *p, shared const double *end)
{
    double s = 0;
    for (; p < end; p += THREADS) {
        s += *p;
    }
    return s;
}

static void sums(void)
{
    static const char *const names[] = { "sum_c_ns",     "sum_walk_ns",     "sum_while_ns",
                                         "sum_dealt_ns", "sum_compared_ns", "sum_strided_ns" };
    enum { N = sizeof names / sizeof names[0] };
    struct pieces all[N] = { { .n = 0 } };
    long first = (long)MYTHREAD * LINE;
    for (int i = 0; i < LINE; i++) {
        line[first + i] = dealt[i * THREADS + MYTHREAD] = i;
    }
    for (int p = 0; p < PIECES; p++) {
        for (int k = 0; k < N; k++) {
            double begin = MPI_Wtime();
            double s = k == 0   ? sum_private((double *)&line[first], LINE)
                       : k == 1 ? sum_walk(&line[first], LINE)
                       : k == 2 ? sum_while(first, first + LINE)
                       : k == 3 ? sum_dealt()
                       : k == 4 ? sum_compared(&line[first], &line[first] + LINE)
                                : sum_strided(&dealt[MYTHREAD], dealt + LINE * THREADS);
            keep(&all[k], begin);
            bad[MYTHREAD] += s != 0.5 * LINE * (LINE - 1);
        }
    }
    for (int k = 0; k < N; k++) {
        say(names[k], median(&all[k]) / LINE * 1e9);
    }
    upc_barrier;
}

// Stores alone: nothing hides what it takes to find where they go.
__attribute__((noinline)) static void fill_private(double *p, long n, double v)
{
    while (n-- > 0) {
        *p++ = v;
    }
}

__attribute__((noinline)) static void fill_walk(shared [LINE] double *p, long n, double v)
{
    while (n-- > 0) {
        *p++ = v;
    }
}

__attribute__((noinline)) static void fill_steps(shared [] double *p, long n, double v)
{
    for (long i = 0; i < n; i++) {
        *p = v;
        p++;
    }
}

__attribute__((noinline)) static void fill_index(shared [LINE] double *p, long n, double v)
{
    for (long i = 0; i < n; i++) {
        p[i] = v;
    }
}

static void fills(void)
{
    static const char *const names[] = { "fill_c_ns", "fill_walk_ns", "fill_steps_ns", "fill_index_ns" };
    struct pieces all[4] = { { .n = 0 } };
    shared [LINE] double *mine = &line[(long)MYTHREAD * LINE];
    for (int p = 0; p < PIECES; p++) {
        for (int k = 0; k < 4; k++) {
            double begin = MPI_Wtime(), v = 4 * p + k;
            if (k == 0) {
                fill_private((double *)mine, LINE, v);
            } else if (k == 1) {
                fill_walk(mine, LINE, v);
            } else if (k == 2) {
                fill_steps((shared [] double *)mine, LINE, v);
            } else {
                fill_index(mine, LINE, v);
            }
            keep(&all[k], begin);
            bad[MYTHREAD] += sum_private((double *)mine, LINE) != v * LINE;
        }
    }
    for (int k = 0; k < 4; k++) {
        say(names[k], median(&all[k]) / LINE * 1e9);
    }
    upc_barrier;
}

shared [LINE] double other[LINE * THREADS];

__attribute__((noinline)) static void copy_private(double *to, const double *from, long n)
{
    while (n-- > 0) {
        *to++ = *from++;
    }
}

__attribute__((noinline)) static void copy_walk(shared [LINE] double *to, shared [LINE] const double *from,
                                                long n)
{
    while (n-- > 0) {
        *to++ = *from++;
    }
}

__attribute__((noinline)) static void copy_compared(shared [LINE] double *to, shared [LINE] const double *from,
                                                    shared [LINE] const double *end)
{
    for (; from != end; from++, to++) {
        *to = *from;
    }
}

static void copies(void)
{
    static const char *const names[] = { "copy_c_ns", "copy_walk_ns", "copy_compared_ns" };
    struct pieces all[3] = { { .n = 0 } };
    shared [LINE] double *to = &other[(long)MYTHREAD * LINE], *from = &line[(long)MYTHREAD * LINE];
    for (int p = 0; p < PIECES; p++) {
        for (int k = 0; k < 3; k++) {
            *from = 4 * p + k;
            double begin = MPI_Wtime();
            if (k == 0) {
                copy_private((double *)to, (const double *)from, LINE);
            } else if (k == 1) {
                copy_walk(to, from, LINE);
            } else {
                copy_compared(to, from, from + LINE);
            }
            keep(&all[k], begin);
            bad[MYTHREAD] += sum_private((double *)to, LINE) != sum_private((double *)from, LINE);
        }
    }
    for (int k = 0; k < 3; k++) {
        say(names[k], median(&all[k]) / LINE * 1e9);
    }
    upc_barrier;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 0, n_bad = 0;
    if (rounds < 1) {
        fprintf(stderr, "usage: upc_kernels ROUNDS\n");
        return 2;
    }
    MPI_Init(&argc, &argv);
    triad_declared();
    triad_pointers(a, b, c);
    cast_local(1 + rounds / 4);
    stencil();
    sums();
    fills();
    copies();
    barriers(rounds);
    single(SLOTS * (1 + rounds / 100));
    upc_barrier;
    for (int t = 0; t < THREADS; t++) {
        n_bad += bad[t];
    }
    MPI_Finalize();
    if (n_bad > 0 && MYTHREAD == 0) {
        fprintf(stderr, "upc_kernels: %d values are wrong\n", n_bad);
    }
    return n_bad > 0;
}
