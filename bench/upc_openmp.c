// SPDX-License-Identifier: BSD-3-Clause
// Triad with OpenMP, to lay beside the one in UPC. Prints "triad_GBs value", the
// median of many pieces.
//   upc_openmp ELEMENTS-PER-THREAD
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { PIECES = 21 };

static int by_time(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) * omp_get_max_threads() : 0, bad = 0;
    if (n < 1) {
        fprintf(stderr, "usage: upc_openmp ELEMENTS-PER-THREAD\n");
        return 2;
    }
    double *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b), *c = malloc(n * sizeof *c);
    double times[PIECES];
#pragma omp parallel for
    for (long i = 0; i < n; i++) {
        a[i] = 0;
        b[i] = (double)i;
        c[i] = 2;
    }
    for (int p = 0; p < PIECES; p++) {
        double begin = omp_get_wtime();
#pragma omp parallel for
        for (long i = 0; i < n; i++) {
            a[i] = b[i] + 3.0 * c[i];
        }
        times[p] = omp_get_wtime() - begin;
    }
    for (long i = 0; i < n; i++) {
        bad += a[i] != (double)i + 6;
    }
    qsort(times, PIECES, sizeof times[0], by_time);
    printf("triad_GBs %.6g\n", 24.0 * (double)n / times[PIECES / 2] / 1e9);
    free(a);
    free(b);
    free(c);
    return bad > 0;
}
