// SPDX-License-Identifier: BSD-3-Clause
// Triad with OpenMP, to lay beside the one in UPC. Prints "triad_GBs value".
//   upc_openmp ELEMENTS-PER-THREAD
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { PIECES = 20 };

int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) * omp_get_max_threads() : 0, bad = 0;
    if (n < 1) {
        fprintf(stderr, "usage: upc_openmp ELEMENTS-PER-THREAD\n");
        return 2;
    }
    double *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b), *c = malloc(n * sizeof *c);
    double best = 0;
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
        double t = omp_get_wtime() - begin;
        best = best == 0 || t < best ? t : best;
    }
    for (long i = 0; i < n; i++) {
        bad += a[i] != (double)i + 6;
    }
    printf("triad_GBs %.6g\n", 24.0 * (double)n / best / 1e9);
    free(a);
    free(b);
    free(c);
    return bad > 0;
}
