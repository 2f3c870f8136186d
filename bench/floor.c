// SPDX-License-Identifier: BSD-3-Clause
// What no MPI can be faster than: one cache line from core to core, and one copy of the data by
// one core; and what the kernel copies between two processes with both cores, in the pages that
// malloc() gives. Two threads or processes on two cores, without MPI.
#include "bind.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

enum { TRIPS = 20000, PIECES = 15 };

static _Alignas(128) _Atomic unsigned there;
static _Alignas(128) _Atomic unsigned back;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *answer(void *arg)
{
    b_bind(1);
    for (unsigned i = 1; i <= TRIPS * PIECES; i++) {
        while (atomic_load_explicit(&there, memory_order_acquire) != i) {
        }
        atomic_store_explicit(&back, i, memory_order_release);
    }
    return arg;
}

// Seconds for a line one way, in the fastest of the pieces.
static double line_time(void)
{
    pthread_t other;
    double best = 1e9;
    if (pthread_create(&other, NULL, answer, NULL) != 0) {
        return -1;
    }
    for (unsigned p = 0, i = 1; p < PIECES; p++) {
        double t = now();
        for (unsigned k = 0; k < TRIPS; k++, i++) {
            atomic_store_explicit(&there, i, memory_order_release);
            while (atomic_load_explicit(&back, memory_order_acquire) != i) {
            }
        }
        t = (now() - t) / TRIPS / 2;
        best = t < best ? t : best;
    }
    pthread_join(other, NULL);
    return best;
}

// Bytes in a second of memcpy, in the fastest of the pieces.
static double copy_rate(size_t size)
{
    char *from = malloc(size), *to = malloc(size);
    double best = 1e9;
    if (from == NULL || to == NULL) {
        exit(1);
    }
    memset(from, 1, size);
    memset(to, 2, size);
    int n = (int)((32u << 20) / size);
    for (int p = 0; p < PIECES; p++) {
        double t = now();
        for (int i = 0; i < n; i++) {
            memcpy(to, from, size);
            __asm__ volatile("" ::"r"(to) : "memory");
        }
        t = (now() - t) / n;
        best = t < best ? t : best;
    }
    free(from);
    free(to);
    return (double)size / best;
}

// Two processes, of which each copies half of what goes from the first to the second.
struct both {
    _Alignas(128) _Atomic unsigned n_there; // at the begin or the end of a piece
    _Atomic unsigned n_failed;
    pid_t pid[2];
    char *at[2];
};

// Wait for the other process.
static void meet(struct both *b)
{
    unsigned until = (atomic_fetch_add(&b->n_there, 1) / 2 + 1) * 2;
    while (atomic_load(&b->n_there) < until && atomic_load(&b->n_failed) == 0) {
    }
}

// The half of the data that process `me` copies. False: it may not.
static int copy_half(const struct both *b, int me, size_t size)
{
    size_t half = size / 2, at = me == 0 ? 0 : half;
    struct iovec mine = { b->at[me] + at, half }, other = { b->at[!me] + at, half };
    ssize_t n = me == 0 ? process_vm_writev(b->pid[1], &mine, 1, &other, 1, 0)
                        : process_vm_readv(b->pid[0], &mine, 1, &other, 1, 0);
    return n == (ssize_t)half;
}

// Seconds to copy the data once, in the fastest of the pieces. Negative: the kernel refused.
static double both_work(struct both *b, int me, size_t size)
{
    double best = 1e9;
    b_bind(me);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY); // where only descendants may be read
    b->pid[me] = getpid();
    b->at[me] = malloc(size);
    if (b->at[me] == NULL) {
        exit(1);
    }
    memset(b->at[me], me, size);
    int n = (int)((32u << 20) / size);
    for (int p = 0; p < PIECES; p++) {
        meet(b);
        double t = now();
        for (int i = 0; i < n; i++) {
            if (!copy_half(b, me, size)) {
                atomic_store(&b->n_failed, 1);
            }
        }
        meet(b);
        t = (now() - t) / n;
        best = t < best ? t : best;
    }
    int is_failed = atomic_load(&b->n_failed) != 0 || (me == 1 && b->at[1][0] != 0);
    free(b->at[me]);
    return is_failed ? -1 : best;
}

// Bytes in a second that the kernel copies. Negative: it refused.
static double kernel_rate(size_t size)
{
    struct both *b =
        mmap(NULL, sizeof *b, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (b == MAP_FAILED) {
        return -1;
    }
    fflush(stdout);
    pid_t other = fork();
    if (other < 0) {
        return -1;
    }
    double t = both_work(b, other == 0 ? 1 : 0, size);
    if (other == 0) {
        _exit(t < 0);
    }
    int status = 0;
    waitpid(other, &status, 0);
    munmap(b, sizeof *b);
    return t < 0 || status != 0 ? -1 : (double)size / t;
}

int main(void)
{
    static const size_t sizes[] = { 65536, 1048576, 4194304 };
    b_bind(0);
    if (CPU_COUNT(b_cores()) > 1) {
        printf("floor_line ranks=2 %.6g us\n", line_time() * 1e6);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        printf("floor_copy size=%zu %.6g GB/s\n", sizes[i], copy_rate(sizes[i]) / 1e9);
    }
    for (size_t i = 0; CPU_COUNT(b_cores()) > 1 && i < sizeof sizes / sizeof sizes[0]; i++) {
        double rate = kernel_rate(sizes[i]);
        if (rate > 0) {
            printf("floor_kernel size=%zu %.6g GB/s\n", sizes[i], rate / 1e9);
        }
    }
    return 0;
}
