// SPDX-License-Identifier: BSD-3-Clause
// Which ranks exchange data with which at doubling distances. The ranks that act are as many as a
// power of two; of the first 2 * extra ranks each pair, 0-1, 2-3, ..., acts as one, by its second.
#ifndef PLI_COLL_ALGO_DOUBLING_H
#define PLI_COLL_ALGO_DOUBLING_H

#include <stdbool.h>

struct pli_doubling {
    int full;  // ranks that act
    int extra; // pairs
};

static inline struct pli_doubling pli_doubling_of(int n)
{
    int full = 1;
    while (full <= n / 2) {
        full *= 2;
    }
    return (struct pli_doubling){ full, n - full };
}

// Whether a rank is in a pair; the first of it leaves all to the second.
static inline bool pli_doubling_is_paired(struct pli_doubling d, int rank)
{
    return rank < 2 * d.extra;
}

// The number of a rank that acts, and the rank of such a number.
static inline int pli_doubling_number(struct pli_doubling d, int rank)
{
    return pli_doubling_is_paired(d, rank) ? rank / 2 : rank - d.extra;
}

static inline int pli_doubling_rank(struct pli_doubling d, int number)
{
    return number < d.extra ? 2 * number + 1 : number + d.extra;
}

#endif
