// SPDX-License-Identifier: BSD-3-Clause
// Finds owners of elements. Block and cyclic distributions are computed, irregular ones searched.
#include "elastic/distribution.h"

#include <stdlib.h>

static MPI_Count block_first(const struct pli_distribution *d, int rank)
{
    return (MPI_Count)((__int128)d->n * rank / d->size);
}

static MPI_Count least(MPI_Count a, MPI_Count b)
{
    return a < b ? a : b;
}

static struct pli_range find_block(const struct pli_distribution *d, MPI_Count i)
{
    int rank = (int)((((__int128)i + 1) * d->size - 1) / d->n);
    return (struct pli_range){ i, block_first(d, rank + 1) - i, i - block_first(d, rank), rank };
}

static struct pli_range find_cyclic(const struct pli_distribution *d, MPI_Count i)
{
    MPI_Count b = i / d->block, in = i % d->block;
    return (struct pli_range){ i, least(d->block - in, d->n - i), b / d->size * d->block + in,
                               (int)(b % d->size) };
}

static struct pli_range find_listed(const struct pli_distribution *d, MPI_Count i)
{
    int64_t lo = 0, hi = d->n_range; // the first range that ends behind i
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (d->ranges[mid].first + d->ranges[mid].count <= i) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    if (lo == d->n_range || d->ranges[lo].first > i) {
        MPI_Count end = lo == d->n_range ? d->n : d->ranges[lo].first;
        return (struct pli_range){ i, end > i ? end - i : 0, 0, -1 };
    }
    MPI_Count in = i - d->ranges[lo].first;
    return (struct pli_range){ i, d->ranges[lo].count - in, d->ranges[lo].local + in,
                               d->ranges[lo].rank };
}

struct pli_range pli_distribution_find(const struct pli_distribution *d, MPI_Count i)
{
    if (d->kind == PLI_IRREGULAR) {
        return find_listed(d, i);
    }
    if (i >= d->n) {
        return (struct pli_range){ i, 0, 0, -1 };
    }
    return d->kind == PLI_BLOCK ? find_block(d, i) : find_cyclic(d, i);
}

bool pli_distribution_next(const struct pli_distribution *d, int rank, int64_t *k,
                           struct pli_range *out)
{
    if (rank < 0) {
        return false;
    }
    if (d->kind == PLI_BLOCK) {
        MPI_Count first = block_first(d, rank);
        *out = (struct pli_range){ first, block_first(d, rank + 1) - first, 0, rank };
        return (*k)++ == 0 && out->count > 0;
    }
    if (d->kind == PLI_CYCLIC) {
        __int128 first = ((__int128)*k * d->size + rank) * d->block;
        if (first >= d->n) {
            return false;
        }
        *out = find_cyclic(d, (MPI_Count)first);
        (*k)++;
        return true;
    }
    while (*k < d->n_range && d->ranges[*k].rank != rank) {
        (*k)++;
    }
    if (*k == d->n_range) {
        return false;
    }
    *out = d->ranges[(*k)++];
    return true;
}

MPI_Count pli_distribution_count(const struct pli_distribution *d, int rank)
{
    MPI_Count n = 0;
    struct pli_range r;
    if (d->kind == PLI_CYCLIC && rank >= 0) {
        __int128 turn = (__int128)d->block * d->size,
                 rest = d->n % turn - (__int128)rank * d->block;
        rest = rest < 0 ? 0 : rest > d->block ? d->block : rest;
        return (MPI_Count)(d->n / turn * d->block + rest);
    }
    for (int64_t k = 0; pli_distribution_next(d, rank, &k, &r);) {
        n += r.count;
    }
    return n;
}

static int by_first(const void *a, const void *b)
{
    const struct pli_range *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

enum pli_err pli_distribution_sort(struct pli_distribution *d)
{
    qsort(d->ranges, (size_t)d->n_range, sizeof *d->ranges, by_first);
    for (int64_t k = 0; k < d->n_range; k++) {
        const struct pli_range *r = &d->ranges[k];
        if (k > 0 && r[-1].first + r[-1].count > r->first) {
            return pli_fail(PLI_ERR_ARG,
                            "element %lld is in a range of rank %d and in one of rank %d; it must "
                            "be in one",
                            (long long)r->first, r[-1].rank, r->rank);
        }
        d->n = r->first + r->count > d->n ? r->first + r->count : d->n;
    }
    return PLI_OK;
}
