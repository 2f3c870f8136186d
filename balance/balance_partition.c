// SPDX-License-Identifier: BSD-3-Clause
// Shares a line of loads out among processes. Shares are contiguous: neighbours by rank are mostly
// neighbours in the computation, and stay in one process. All processes compute the same from the
// same numbers, so no message is needed.
#include "balance_priv.h"

#include <math.h>

// The furthest end of a share that begins at `from` and holds at most `cap`.
static int reach(const double *load, int n, int from, double cap)
{
    double sum = 0;
    int at = from;
    while (at < n && sum + load[at] <= cap) {
        sum += load[at++];
    }
    return at;
}

// The smallest beginning of a share that ends at `to`.
static int reach_back(const double *load, int to, double cap)
{
    double sum = 0;
    int at = to;
    while (at > 0 && sum + load[at - 1] <= cap) {
        sum += load[--at];
    }
    return at;
}

// What a process of this weight may hold when the worst load is `worst`; nothing when it has none,
// not even endpoints without load.
static double cap_of(double weight, double worst)
{
    return weight > 0 ? worst * weight : -1;
}

static int fits(const double *load, int n, const double *weight, int n_process, double worst)
{
    int at = 0;
    for (int p = 0; p < n_process; p++) {
        at = reach(load, n, at, cap_of(weight[p], worst));
    }
    return at == n;
}

double pli_balance_partition_load(const double *load, int n, const double *weight, int n_process,
                                  const int *owner, double *sum)
{
    double worst = 0;
    for (int p = 0; p < n_process; p++) {
        sum[p] = -1; // it has none
    }
    for (int i = 0; i < n; i++) {
        double *s = &sum[owner[i]];
        *s = (*s < 0 ? 0 : *s) + load[i];
    }
    for (int p = 0; p < n_process; p++) {
        if (sum[p] >= 0) {
            double here = weight[p] > 0 ? sum[p] / weight[p] : INFINITY;
            worst = here > worst ? here : worst;
        }
    }
    return worst;
}

// Between what the processes before can hold and what those behind can, as near as may be to where
// the border was: fewer endpoints move.
static void keep_near(const double *load, int n, const double *weight, int n_process, double worst,
                      const int *first, int *out)
{
    int low = n;
    worst *= 1 + 1e-9; // sums from the left and from the right round differently
    out[n_process] = n;
    for (int p = n_process - 1; p > 0; p--) {
        low = reach_back(load, low, cap_of(weight[p], worst));
        out[p] = low; // this far left at least, or those behind have too much
    }
    out[0] = 0;
    for (int p = 1; p < n_process; p++) {
        int high = reach(load, n, out[p - 1], cap_of(weight[p - 1], worst));
        int lowest = out[p] > out[p - 1] ? out[p] : out[p - 1];
        int want = first[p] < lowest ? lowest : first[p];
        out[p] = want > high ? high : want;
    }
}

void pli_balance_partition(const double *load, int n, const double *weight, int n_process,
                           const int *first, int *first_out)
{
    double sum = 0, of_weight = 0, most = 0, least = INFINITY;
    for (int i = 0; i < n; i++) {
        sum += load[i];
        most = load[i] > most ? load[i] : most;
    }
    for (int p = 0; p < n_process; p++) {
        of_weight += weight[p];
        least = weight[p] > 0 && weight[p] < least ? weight[p] : least;
    }
    double low = sum / of_weight, high = sum / least + most / least;
    for (int i = 0; i < 60 && high - low > high * 1e-6; i++) {
        double middle = low + (high - low) / 2;
        if (fits(load, n, weight, n_process, middle)) {
            high = middle;
        } else {
            low = middle;
        }
    }
    keep_near(load, n, weight, n_process, high, first, first_out);
}
