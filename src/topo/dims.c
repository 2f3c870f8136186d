// SPDX-License-Identifier: BSD-3-Clause
// Splits a number into factors as close to each other as possible. An exact search: the gap between
// the largest and the smallest factor is made least, then the largest factor, then the second. The
// best gap so far and the largest prime left bound it so well that microseconds suffice.
#include "topo/dims.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

enum { MAX_DIVISORS = 1536, MAX_PRIMES = 16, MAX_DEPTH = 31 }; // of any number that fits an int

struct search {
    int divisors[MAX_DIVISORS], n_divisor; // ascending
    int primes[MAX_PRIMES], n_prime;       // descending, each once
    int depth;                             // factors wanted
    int cur[MAX_DEPTH], best[MAX_DEPTH];
    int gap; // of best
    int64_t sum;
};

static int by_value(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

static void add_prime(struct search *s, int prime, int times)
{
    for (int i = s->n_prime++; i >= 0; i--) {
        s->primes[i] = i > 0 ? s->primes[i - 1] : prime; // found in ascending order
    }
    int n = s->n_divisor;
    for (int t = 0; t < times; t++) {
        for (int i = 0; i < n; i++) {
            s->divisors[s->n_divisor] = s->divisors[s->n_divisor - n] * prime;
            s->n_divisor++;
        }
    }
}

static void factorise(struct search *s, int n)
{
    s->divisors[s->n_divisor++] = 1;
    for (int p = 2; p <= n / p; p += p == 2 ? 1 : 2) {
        int times = 0;
        while (n % p == 0) {
            n /= p;
            times++;
        }
        if (times > 0) {
            add_prime(s, p, times);
        }
    }
    if (n > 1) {
        add_prime(s, n, 1);
    }
    qsort(s->divisors, (size_t)s->n_divisor, sizeof s->divisors[0], by_value);
}

// Whether r to the k-th is at most n.
static bool power_fits(int r, int k, int n)
{
    int64_t p = 1;
    for (int i = 0; i < k; i++) {
        p *= r;
        if (p > n) {
            return false;
        }
    }
    return true;
}

// The largest r with r^k <= n.
static int root_floor(int n, int k)
{
    if (k == 1 || n == 1) {
        return n;
    }
    if (k >= MAX_DEPTH) {
        return 1;
    }
    int r = (int)pow(n, 1.0 / k);
    while (r > 1 && !power_fits(r, k, n)) {
        r--;
    }
    while (power_fits(r + 1, k, n)) {
        r++;
    }
    return r;
}

// The first divisor that can be the largest of k factors of n.
static int first_divisor(const struct search *s, int n, int k)
{
    int least = root_floor(n, k);
    least += !power_fits(least, k, n) || (k < MAX_DEPTH && power_fits(least, k, n - 1));
    for (int i = 0; i < s->n_prime; i++) {
        if (n % s->primes[i] == 0) {
            least = s->primes[i] > least ? s->primes[i] : least;
            break;
        }
    }
    int lo = 0, hi = s->n_divisor;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (s->divisors[mid] < least) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

static void keep(struct search *s, int at)
{
    int last = at == 0 || at < s->depth ? 1 : s->cur[at - 1];
    int gap = s->cur[0] - last;
    int64_t sum = s->depth - at; // what is not chosen is 1
    int i = 0;
    for (int k = 0; k < at; k++) {
        sum += s->cur[k];
    }
    // Of equally close ones the largest smallest factor, then the smallest sum, then the first in
    // falling order: 21 x 16 x 15 before 20 x 18 x 14, 13 x 9 x 8 x 6 before 13 x 12 x 6 x 6.
    while (i < at && s->cur[i] == s->best[i]) {
        i++;
    }
    int best_last = s->best[s->depth - 1];
    bool is_better = gap != s->gap       ? gap < s->gap
                     : last != best_last ? last > best_last
                     : sum != s->sum     ? sum < s->sum
                                         : i < at && s->cur[i] > s->best[i];
    if (is_better) {
        s->sum = sum;
        s->gap = gap;
        for (i = 0; i < s->depth; i++) {
            s->best[i] = i < at ? s->cur[i] : 1;
        }
    }
}

// Choose factor `at`, at most `most`, of what is left: n.
static void choose(struct search *s, int at, int n, int most)
{
    int k = s->depth - at;
    if (n == 1 || k == 0) {
        if (n == 1) {
            keep(s, at);
        }
        return;
    }
    for (int i = first_divisor(s, n, k); i < s->n_divisor && s->divisors[i] <= most; i++) {
        int f = s->divisors[i];
        if (n % f != 0) {
            continue;
        }
        int largest = at == 0 ? f : s->cur[0];
        int smallest = k == 1 ? f : root_floor(n / f, k - 1); // at best
        if (largest - smallest > s->gap) {
            break; // and larger choices leave even less
        }
        s->cur[at] = f;
        choose(s, at + 1, n / f, f);
    }
}

static enum pli_err check(int n_node, int n_dim, const int dims[], int *n_free_out, int *rest_out)
{
    int64_t fixed = 1;
    int n_free = 0;
    for (int i = 0; i < n_dim; i++) {
        if (dims[i] < 0) {
            return pli_fail(PLI_ERR_DIMS, "dims[%d] is %d, but must be 0 (free) or more", i,
                            dims[i]);
        }
        n_free += dims[i] == 0;
        if (dims[i] > 0 && fixed <= n_node) {
            fixed *= dims[i];
        }
    }
    if (n_node % fixed != 0) {
        return pli_fail(PLI_ERR_DIMS,
                        "%d nodes cannot be divided by the product of the dimensions that are set",
                        n_node);
    }
    if (n_free == 0 && fixed != n_node) {
        return pli_fail(PLI_ERR_DIMS,
                        "all dimensions are set and their product is %lld, which is not %d",
                        (long long)fixed, n_node);
    }
    *n_free_out = n_free;
    *rest_out = (int)(n_node / fixed);
    return PLI_OK;
}

enum pli_err pli_dims_create(int n_node, int n_dim, int dims[])
{
    if (n_node < 1 || n_dim < 0 || (dims == NULL && n_dim > 0)) {
        return n_node < 1 ? pli_fail(PLI_ERR_ARG, "nnodes is %d, but must be 1 or more", n_node)
               : n_dim < 0
                   ? pli_fail(PLI_ERR_DIMS, "ndims is %d, but must be 0 or more", n_dim)
                   : pli_fail(PLI_ERR_ARG, "dims is NULL, but must point to %d numbers", n_dim);
    }
    if (n_dim == 0) {
        return PLI_OK;
    }
    int n_free = 0, rest = 0;
    enum pli_err err = check(n_node, n_dim, dims, &n_free, &rest);
    if (err != PLI_OK || n_free == 0) {
        return err;
    }
    struct search *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return pli_fail(PLI_ERR_NOMEM, "no memory to look for divisors");
    }
    s->depth = n_free < MAX_DEPTH ? n_free : MAX_DEPTH; // no int has more factors than that
    s->gap = INT_MAX;
    factorise(s, rest);
    choose(s, 0, rest, rest);
    for (int i = 0, at = 0; i < n_dim; i++) {
        if (dims[i] == 0) {
            dims[i] = rest == 1 || at >= s->depth ? 1 : s->best[at];
            at++;
        }
    }
    free(s);
    return PLI_OK;
}
