// SPDX-License-Identifier: BSD-3-Clause
// What no MPI can be faster than: one cache line from core to core, and one copy of the data by
// one core. Two threads on two cores, without MPI.
#include "bind.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
    return 0;
}
