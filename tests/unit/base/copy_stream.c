// SPDX-License-Identifier: BSD-3-Clause
// Long copies give the same bytes as memmove(), and touch none beside them: lengths around the
// limits, odd places at both ends, and runs that overlap.
#include "base/copy_stream.h"

#include "t.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { EDGE = 4096, LONGEST = 4 << 20, ROOM = LONGEST + 3 * EDGE };

static unsigned char *from, *to, *want;

static void fill(unsigned char *p, uint32_t seed)
{
    for (size_t i = 0; i < ROOM; i++) {
        seed = seed * 1664525 + 1013904223;
        p[i] = (unsigned char)(seed >> 24);
    }
}

// Copy `n` bytes between two places that do not overlap.
static void apart(size_t to_at, size_t from_at, size_t n)
{
    memset(to, 0x5a, ROOM);
    memset(want, 0x5a, ROOM);
    memcpy(want + to_at, from + from_at, n);
    pli_copy_stream(to + to_at, from + from_at, n);
    T_OK(memcmp(to, want, ROOM) == 0);
}

// Copy within one buffer.
static void within(size_t to_at, size_t from_at, size_t n)
{
    memcpy(to, from, ROOM);
    memcpy(want, from, ROOM);
    memmove(want + to_at, want + from_at, n);
    pli_copy_stream(to + to_at, to + from_at, n);
    T_OK(memcmp(to, want, ROOM) == 0);
}

int main(void)
{
    static const size_t at[] = { 0, 1, 8, 63, 64, 1000 };
    static const long around[] = { -257, -1, 0, 1, 255, 1279 };
    enum { N = sizeof at / sizeof at[0], M = sizeof around / sizeof around[0] };
    from = malloc(ROOM);
    to = malloc(ROOM);
    want = malloc(ROOM);
    T_MUST(from != NULL && to != NULL && want != NULL);
    fill(from, 1);
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < N; k++) {
            apart(at[i], at[k], PLI_COPY_STREAM_MIN + (size_t)(7 * i + k));
        }
    }
    for (int i = 0; i < M; i++) {
        apart(0, 3, (size_t)(PLI_COPY_STREAM_MIN + around[i]));
        apart(5, 0, (size_t)(LONGEST + around[i]));
    }
    apart(2, 1, 0);
    size_t half = ROOM / 2, n = 3 * PLI_COPY_STREAM_MIN;
    static const size_t step[] = { 1, 64, 1024, PLI_COPY_STREAM_MIN };
    for (int i = 0; i < 4; i++) {
        within(half - step[i], half, n);
        within(half, half - step[i], n);
    }
    within(0, n, n); // they touch
    within(n, 0, n);
    within(17, 17, n);
    free(from);
    free(to);
    free(want);
    return t_status();
}
