// SPDX-License-Identifier: BSD-3-Clause
// A library in UPC for programs of other languages: a histogram in shared memory that all processes
// fill, wherever its parts lie.
#include <upc.h>
#include <upc_atomic.h>

enum { BINS = 64 };
static shared [BINS] long bins[BINS * THREADS]; // a part on each thread
static upc_atomicdomain_t *domain;

// Collective: all threads call it.
void histogram_begin(void)
{
    domain = upc_all_atomicdomain_alloc(UPC_LONG, UPC_ADD, 0);
    upc_forall(int i = 0; i < BINS * THREADS; i++; &bins[i]) {
        bins[i] = 0;
    }
    upc_barrier;
}

void histogram_add(long bin)
{
    const long one = 1;
    upc_atomic_relaxed(domain, NULL, UPC_ADD, &bins[bin], &one, NULL);
}

// Collective: how many were added in all.
long histogram_total(void)
{
    long sum = 0;
    upc_barrier;
    for (int i = 0; i < BINS * THREADS; i++) {
        sum += bins[i];
    }
    upc_barrier;
    return sum;
}

long histogram_bins(void)
{
    return (long)BINS * THREADS;
}
