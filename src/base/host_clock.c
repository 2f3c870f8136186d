// SPDX-License-Identifier: BSD-3-Clause
// Answers that took much longer than the fastest say little, and are left out.
#include "base/host_clock.h"

#include <stdbool.h>
#include <stddef.h>

enum { SECOND = 1000000000, NOISE_NS = 20000 };

void pli_host_clock_add(struct pli_host_clock *c, uint64_t theirs, int64_t ahead, uint64_t way)
{
    struct pli_host_clock_point p = { theirs, ahead, way };
    if (ahead > INT64_MAX / 4 || ahead < -(INT64_MAX / 4)) {
        return; // no clock is 70 years ahead
    }
    struct pli_host_clock_point *last = c->n > 0 ? &c->points[c->n - 1] : NULL;
    if (last != NULL && theirs - last->theirs < SECOND) {
        *last = way < last->way ? p : *last;
        return;
    }
    if (c->n == PLI_HOST_CLOCK_N) { // a long job: every other one will do
        for (uint32_t i = 0; i < PLI_HOST_CLOCK_N / 2; i++) {
            c->points[i] = c->points[2 * i];
        }
        c->n = PLI_HOST_CLOCK_N / 2;
    }
    c->points[c->n++] = p;
}

static bool is_good(const struct pli_host_clock *c, uint32_t i, uint64_t best)
{
    return c->points[i].way <= 4 * best + NOISE_NS;
}

uint64_t pli_host_clock_convert(const struct pli_host_clock *c, uint64_t theirs)
{
    const struct pli_host_clock_point *before = NULL, *after = NULL;
    uint64_t best = UINT64_MAX;
    for (uint32_t i = 0; i < c->n; i++) {
        best = c->points[i].way < best ? c->points[i].way : best;
    }
    for (uint32_t i = 0; i < c->n && after == NULL; i++) {
        if (is_good(c, i, best)) {
            before = c->points[i].theirs <= theirs ? &c->points[i] : before;
            after = c->points[i].theirs > theirs ? &c->points[i] : NULL;
        }
    }
    if (before == NULL || after == NULL) { // at the ends the nearest one counts
        before = before != NULL ? before : after;
        return before != NULL ? theirs - (uint64_t)before->ahead : theirs;
    }
    double part = (double)(theirs - before->theirs) / (double)(after->theirs - before->theirs);
    double change = (double)(after->ahead - before->ahead) * part;
    return theirs - (uint64_t)(before->ahead + (int64_t)change);
}
