// SPDX-License-Identifier: BSD-3-Clause
// Small applications with fine-grained access to data of all threads: random updates (GUPS),
// histogram, index gather, topological sort, conjugate gradients and the search of an unbalanced
// tree. One source for four ways to share memory, to lay beside each other: upcc makes it UPC, cc
// one thread, cc -fopenmp OpenMP, and cc -DUSE_MPI an MPI program whose ranks share a window.
// Prints lines "name nanoseconds-per-item" and "name_check value".
//   upc_programs LOG2-OF-ITEMS
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined __UPC__
#include <upc.h>
#define GLOBAL shared
#define ME MYTHREAD
#define TEAM THREADS
#define BARRIER upc_barrier
#define ADD(p, v) bupc_atomicU64_fetchadd_relaxed((shared void *)(p), v)
#define ADD_LAST(p, v) bupc_atomicU64_fetchadd_strict((shared void *)(p), v)
#define FENCE upc_fence
#define ALLOC(T, n) ((shared T *)upc_all_alloc(n, sizeof(T)))
#define FREE(p) upc_all_free(p)
#elif defined USE_MPI
#include <mpi.h>
static int ME, TEAM;
#define GLOBAL
#define BARRIER MPI_Barrier(MPI_COMM_WORLD)
#define ALLOC(T, n) ((T *)share((n) * sizeof(T)))
#define FREE(p) unshare(p)
static struct {
    void *at;
    MPI_Win win;
} windows[16];
#else
#ifdef _OPENMP
#include <omp.h>
#define BARRIER _Pragma("omp barrier")
#else
#define BARRIER ((void)0)
#endif
static _Thread_local int ME;
static int TEAM = 1;
static void *common;
#define GLOBAL
#define ALLOC(T, n) ((T *)share((n) * sizeof(T)))
#define FREE(p) unshare(p)
#endif

#ifndef __UPC__
#define ADD(p, v) __atomic_fetch_add(p, v, __ATOMIC_RELAXED)
#define ADD_LAST(p, v) __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST)
#define FENCE __atomic_thread_fence(__ATOMIC_SEQ_CST)
#endif

enum { DEGREE = 4 }; // entries of a row

#ifdef USE_MPI
static void *share(size_t len)
{
    MPI_Aint size;
    int unit, k = 0;
    void *at;
    while (windows[k].at != NULL) {
        k++;
    }
    MPI_Win_allocate_shared(ME == 0 ? (MPI_Aint)len : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &at,
                            &windows[k].win);
    MPI_Win_shared_query(windows[k].win, 0, &size, &unit, &windows[k].at);
    return windows[k].at;
}

static void unshare(void *p)
{
    int k = 0;
    while (windows[k].at != p) {
        k++;
    }
    windows[k].at = NULL;
    MPI_Win_free(&windows[k].win);
}
#elif !defined __UPC__
static void *share(size_t len)
{
    BARRIER;
    if (ME == 0) {
        common = malloc(len);
    }
    BARRIER;
    return common;
}

static void unshare(void *p)
{
    BARRIER;
    if (ME == 0) {
        free(p);
    }
}
#endif

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

// A number that is random for each x.
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static void say(const char *name, double begin, double n_item, double check)
{
    BARRIER;
    if (ME == 0) {
        printf("%s %.6g\n%s_check %.15g\n", name, (now() - begin) / n_item, name, check);
    }
    BARRIER;
}

// The sum of what each thread has.
static double sum(GLOBAL double *part, double mine)
{
    double all = 0;
    part[ME] = mine;
    BARRIER;
    for (int t = 0; t < TEAM; t++) {
        all += part[t];
    }
    BARRIER;
    return all;
}

// How many of this thread's elements are not what all updates make of them, or as they began.
static double gups_wrong(long n, GLOBAL uint64_t *table, int is_updated)
{
    uint64_t *want = calloc((size_t)(n / TEAM + 1), sizeof *want);
    double n_wrong = 0;
    for (long i = 0; i < n && is_updated; i++) {
        uint64_t r = mix((uint64_t)i), at = r % (uint64_t)n;
        want[at / (uint64_t)TEAM] ^= at % (uint64_t)TEAM == (uint64_t)ME ? r : 0;
    }
    for (long i = ME; i < n; i += TEAM) {
        n_wrong += table[i] != ((uint64_t)i ^ want[i / TEAM]);
    }
    free(want);
    return n_wrong;
}

static void gups(long n, GLOBAL double *part)
{
    GLOBAL uint64_t *table = ALLOC(uint64_t, n);
    for (long i = ME; i < n; i += TEAM) {
        table[i] = (uint64_t)i;
    }
    double spent = 0, n_wrong = 0;
    for (int round = 0; round < 2; round++) { // the second undoes the first
        BARRIER;
        double begin = now();
        for (long i = ME; i < n; i += TEAM) {
            uint64_t r = mix((uint64_t)i);
            table[r % (uint64_t)n] ^= r;
        }
        BARRIER;
        spent += now() - begin;
        n_wrong += gups_wrong(n, table, round == 0);
    }
    n_wrong = sum(part, n_wrong);
    // Two threads may change one element at once, and one of the changes is lost, as in the
    // benchmark of that name; one thread loses none. A core that waits for a line has a hundred
    // updates under way, which is more than a hundredth of a small table.
    double most = TEAM == 1 ? 0 : 0.01 * (double)n + 100.0 * TEAM;
    say("gups", now() - spent, 2.0 * (double)n, n_wrong > most);
    FREE(table);
}

static void histo(long n, GLOBAL double *part)
{
    GLOBAL uint64_t *count = ALLOC(uint64_t, n / 8);
    for (long i = ME; i < n / 8; i += TEAM) {
        count[i] = 0;
    }
    BARRIER;
    double begin = now(), check = 0;
    for (long i = ME; i < n; i += TEAM) {
        ADD(&count[mix((uint64_t)i) % (uint64_t)(n / 8)], 1);
    }
    BARRIER;
    double end = now();
    for (long i = ME; i < n / 8; i += TEAM) {
        check += (double)(count[i] * (uint64_t)(i % 97));
    }
    check = sum(part, check);
    say("histo", now() - (end - begin), (double)n, check);
    FREE(count);
}

static void index_gather(long n, GLOBAL double *part)
{
    GLOBAL uint64_t *table = ALLOC(uint64_t, n / 8);
    uint64_t *got = malloc((size_t)(n / TEAM + 1) * sizeof *got), check = 0;
    for (long i = ME; i < n / 8; i += TEAM) {
        table[i] = mix((uint64_t)i);
    }
    BARRIER;
    long k = 0;
    double begin = now();
    for (long i = ME; i < n; i += TEAM) {
        got[k++] = table[mix((uint64_t)(n + i)) % (uint64_t)(n / 8)];
    }
    BARRIER;
    double end = now();
    while (k > 0) {
        check += got[--k] % 1009;
    }
    double all = sum(part, (double)check);
    say("ig", now() - (end - begin), (double)n, all);
    free(got);
    FREE(table);
}

// Row i of an upper triangle: its own column and some to the right. Rows are permuted, and the sort
// must find how: what is left of a row is counted, and its columns are added up.
static long column(long n, long i, int k)
{
    return k == 0 ? i : i + 1 + (long)(mix((uint64_t)(i * DEGREE + k)) % (uint64_t)(n - i - 1));
}

static int entries(long n, long i)
{
    return i == n - 1 ? 1 : DEGREE;
}

static void toposort(long n, GLOBAL double *part)
{
    GLOBAL uint64_t *left = ALLOC(uint64_t, n), *columns = ALLOC(uint64_t, n),
                    *begin_of = ALLOC(uint64_t, n + 1);
    GLOBAL uint64_t *rows = ALLOC(uint64_t, n * DEGREE), *fill = ALLOC(uint64_t, n);
    uint64_t odd =
        0x9e3779b1u; // position i of the triangle is row i * odd % n: n is a power of two
#define ROW(i) ((long)((uint64_t)(i)*odd % (uint64_t)n))
    for (long i = ME; i < n; i += TEAM) {
        fill[i] = 0;
    }
    BARRIER;
    for (long i = ME; i < n; i += TEAM) {
        uint64_t all = 0;
        for (int k = 0; k < entries(n, i); k++) {
            all += (uint64_t)column(n, i, k);
            ADD(&fill[column(n, i, k)], 1);
        }
        left[ROW(i)] = (uint64_t)entries(n, i);
        columns[ROW(i)] = all;
    }
    BARRIER;
    if (ME == 0) {
        uint64_t at = 0;
        for (long i = 0; i < n; i++) {
            begin_of[i] = at;
            at += fill[i];
            fill[i] = begin_of[i];
        }
        begin_of[n] = at;
    }
    BARRIER;
    for (long i = ME; i < n; i += TEAM) {
        for (int k = 0; k < entries(n, i); k++) {
            rows[ADD(&fill[column(n, i, k)], 1)] = (uint64_t)ROW(i);
        }
    }
    BARRIER;
    double begin = now(), check = 0, n_done = 0;
    while (n_done < (double)n) {
        double mine = 0;
        for (long r = ME; r < n; r += TEAM) {
            if (left[r] != 1) {
                continue;
            }
            FENCE; // then all has been taken off its columns too
            left[r] = 0;
            uint64_t c = columns[r];
            check += (double)(c * (uint64_t)(r % 13));
            mine++;
            for (uint64_t k = begin_of[c]; k < begin_of[c + 1]; k++) {
                if (rows[k] != (uint64_t)r) {
                    ADD(&columns[rows[k]], -c);
                    ADD_LAST(&left[rows[k]], (uint64_t)-1);
                }
            }
        }
        n_done += sum(part, mine);
    }
    double end = now();
    check = sum(part, check);
    say("toposort", now() - (end - begin), (double)n, check);
    FREE(fill);
    FREE(rows);
    FREE(begin_of);
    FREE(columns);
    FREE(left);
#undef ROW
}

// The Laplacian of a square, width * width points.
static void cg(long width, GLOBAL double *part)
{
    long n = width * width;
    GLOBAL double *x = ALLOC(double, n), *r = ALLOC(double, n), *p = ALLOC(double, n),
                  *q = ALLOC(double, n);
    double rho = 0;
    for (long i = ME; i < n; i += TEAM) {
        x[i] = 0;
        r[i] = p[i] = (double)(mix((uint64_t)i) % 100) / 100;
        rho += r[i] * r[i];
    }
    rho = sum(part, rho);
    double begin = now();
    enum { STEPS = 10 };
    for (int step = 0; step < STEPS; step++) {
        double pq = 0, next = 0;
        for (long i = ME; i < n; i += TEAM) {
            double all = 4 * p[i];
            all -= i >= width ? p[i - width] : 0;
            all -= i + width < n ? p[i + width] : 0;
            all -= i % width > 0 ? p[i - 1] : 0;
            all -= i % width < width - 1 ? p[i + 1] : 0;
            q[i] = all;
            pq += p[i] * all;
        }
        double alpha = rho / sum(part, pq);
        for (long i = ME; i < n; i += TEAM) {
            x[i] += alpha * p[i];
            r[i] -= alpha * q[i];
            next += r[i] * r[i];
        }
        next = sum(part, next);
        for (long i = ME; i < n; i += TEAM) {
            p[i] = r[i] + next / rho * p[i];
        }
        rho = next;
        BARRIER;
    }
    say("cg", begin, (double)n * STEPS, rho);
    FREE(q);
    FREE(p);
    FREE(r);
    FREE(x);
}

// How many nodes are below one, which has 0 or 6 children.
static uint64_t tree(uint64_t node, int depth)
{
    uint64_t n = 1;
    int has_children = depth < 40 && mix(node) % 1000 < 165;
    for (uint64_t i = 0; has_children && i < 6; i++) {
        n += tree(mix(node * 7 + i + 1), depth + 1);
    }
    return n;
}

// Threads take the next child of the root that no other has taken.
static void uts(long n_child, GLOBAL double *part)
{
    GLOBAL uint64_t *next = ALLOC(uint64_t, 1);
    if (ME == 0) {
        next[0] = 0;
    }
    BARRIER;
    double begin = now(), mine = 0;
    for (uint64_t i; (i = ADD(&next[0], 1)) < (uint64_t)n_child;) {
        mine += (double)tree(mix(i), 0);
    }
    double all = sum(part, mine);
    say("uts", begin, all, all);
    FREE(next);
}

static void all(int log2_n)
{
    long n = 1L << log2_n;
    GLOBAL double *part = ALLOC(double, TEAM);
    gups(n, part);
    histo(n, part);
    index_gather(n, part);
    toposort(n / 16, part);
    cg(1L << log2_n / 2, part);
    uts(n / 64, part);
    FREE(part);
}

int main(int argc, char **argv)
{
    int log2_n = argc > 1 ? atoi(argv[1]) : 0;
    if (log2_n < 8 || log2_n > 30) {
        fprintf(stderr, "usage: upc_programs LOG2-OF-ITEMS, 8 to 30\n");
        return 2;
    }
#if defined __UPC__
    all(log2_n);
#elif defined USE_MPI
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &ME);
    MPI_Comm_size(MPI_COMM_WORLD, &TEAM);
    all(log2_n);
    MPI_Finalize();
#elif defined _OPENMP
    TEAM = omp_get_max_threads();
#pragma omp parallel
    {
        ME = omp_get_thread_num();
        all(log2_n);
    }
#else
    all(log2_n);
#endif
    return 0;
}
