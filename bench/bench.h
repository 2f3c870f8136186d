// SPDX-License-Identifier: BSD-3-Clause
// Shared by the benchmark programs, which are plain MPI and run on any implementation.
#ifndef PLI_BENCH_BENCH_H
#define PLI_BENCH_BENCH_H

#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { B_CHUNKS = 9, B_MANY_CHUNKS = 120, B_TAG_CONTROL = 32000 };

// run.py --best, for a machine with other work: many short chunks, of which the fastest counts. A
// chunk that nothing disturbed shows what a quiet machine would.
static inline int b_is_best(void)
{
    return getenv("BENCH_BEST") != NULL;
}

// One number: name, parameters, value, unit. run.py reads these lines.
static inline void b_report(const char *name, const char *params, double value, const char *unit)
{
    printf("%s %s %.6g %s\n", name, params, value, unit);
    fflush(stdout);
}

static inline void b_die(const char *why)
{
    fprintf(stderr, "bench: %s\n", why);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

static inline void *b_alloc(size_t n)
{
    void *p = NULL;
    if (posix_memalign(&p, 4096, n > 0 ? n : 1) != 0) {
        b_die("out of memory");
    }
    memset(p, 1, n); // touched, so that the first message does not pay for the pages
    return p;
}

static inline int b_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline double b_median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, b_compare);
    if (b_is_best()) {
        return v[0];
    }
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

// Ranks 0 and 1 meet.
static inline void b_meet(int me)
{
    if (me == 0) {
        MPI_Send(NULL, 0, MPI_BYTE, 1, B_TAG_CONTROL, MPI_COMM_WORLD);
        MPI_Recv(NULL, 0, MPI_BYTE, 1, B_TAG_CONTROL, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(NULL, 0, MPI_BYTE, 0, B_TAG_CONTROL, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(NULL, 0, MPI_BYTE, 0, B_TAG_CONTROL, MPI_COMM_WORLD);
    }
}

// Rank 0 tells rank 1 a number.
static inline int b_share(int me, int value)
{
    if (me == 0) {
        MPI_Send(&value, 1, MPI_INT, 1, B_TAG_CONTROL, MPI_COMM_WORLD);
    } else {
        MPI_Recv(&value, 1, MPI_INT, 0, B_TAG_CONTROL, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return value;
}

// What one pair of ranks repeats: `iters` times the pattern, on both ranks.
typedef void (*b_body_fn)(int me, int iters, void *arg);

// Seconds per iteration: enough iterations for `chunk_s` seconds, the median of several chunks (or
// the fastest of many).
// Both ranks call it; the result counts on rank 0.
static inline double b_measure(int me, b_body_fn body, void *arg, double chunk_s)
{
    int iters = 4, n = b_is_best() ? B_MANY_CHUNKS : B_CHUNKS;
    chunk_s = b_is_best() ? 0.002 : chunk_s;
    for (;;) { // find a count that fills the chunk, warming up on the way
        b_meet(me);
        double t = MPI_Wtime();
        body(me, iters, arg);
        b_meet(me);
        t = MPI_Wtime() - t;
        int next = 0;
        if (t < chunk_s / 2) {
            double grow = t > 0 ? chunk_s / t : 8;
            next = (int)(iters * (grow > 8 ? 8 : grow)) + 1;
        }
        next = b_share(me, next);
        if (next == 0) {
            break;
        }
        iters = next;
    }
    double v[B_MANY_CHUNKS];
    for (int i = 0; i < n; i++) {
        b_meet(me);
        double t = MPI_Wtime();
        body(me, iters, arg);
        v[i] = (MPI_Wtime() - t) / iters;
    }
    return b_median(v, n);
}

// The sizes given as arguments, or the usual ones. Returns how many.
static inline int b_sizes(int argc, char **argv, const long *usual, int n_usual, long *out, int cap)
{
    int n = 0;
    for (int i = 1; i < argc && n < cap; i++) {
        out[n] = atol(argv[i]);
        if (out[n] <= 0) {
            b_die("a size is a number above 0");
        }
        n++;
    }
    for (int i = 0; n < cap && argc < 2 && i < n_usual; i++) {
        out[n++] = usual[i];
    }
    return n;
}

// Fill with bytes that depend on place and round, so that a lost or doubled message shows.
static inline void b_fill(unsigned char *p, long n, int round)
{
    for (long i = 0; i < n; i++) {
        p[i] = (unsigned char)(i * 7 + round * 13 + (i >> 8));
    }
}

static inline void b_expect(const unsigned char *p, long n, int round)
{
    for (long i = 0; i < n; i++) {
        if (p[i] != (unsigned char)(i * 7 + round * 13 + (i >> 8))) {
            b_die("received data differ from what was sent");
        }
    }
}

// Go before other sessions' work when allowed (root). run.py does so for the launcher, but some
// launchers give each rank a session of its own. The session of a terminal is not ours to raise.
static inline void b_shield(void)
{
    if (b_is_best() || getsid(0) != getpid()) {
        return;
    }
    int fd = open("/proc/self/autogroup", O_WRONLY);
    if (fd >= 0) {
        ssize_t n = write(fd, "-20", 3);
        (void)n; // not root: other work disturbs, as run.py says
        close(fd);
    }
}

static inline int b_start(int *argc, char ***argv, int want)
{
    int me, n;
    b_shield();
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    if (want > 0 && n != want) {
        b_die("run this with another number of ranks");
    }
    return me;
}

#endif
